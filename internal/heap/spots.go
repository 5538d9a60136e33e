package heap

import (
	"math"
	"math/bits"
	"slices"
)

// Spot is a place in the program that allocates, and what became of the
// blocks of a selection that it made.
type Spot struct {
	LeakPlace
	Stack []string // the call stack that most of it came from
}

const (
	spotsFollowed = 256 // places whose lives are looked at
	spotSteps     = 32
)

// Spots returns the places that allocated the most of a selection, at most
// 256, the most first. What is alive of each is followed over the time of the
// trace, from which [LeakPlace.Growing] tells.
func (s *Selection) Spots() []Spot {
	st := s.Blocks.Stacks
	samples := make([]int64, len(st.places))
	best := make([]Site, len(st.places)) // + 1
	for i, n := range s.Profile.Samples {
		place := st.sites[i].place
		samples[place] += n
		if n > 0 && (best[place] == 0 || n > s.Profile.Samples[best[place]-1]) {
			best[place] = Site(i) + 1
		}
	}
	var chosen []uint32
	for place, n := range samples {
		if n > 0 {
			chosen = append(chosen, uint32(place))
		}
	}
	slices.SortFunc(chosen, func(x, y uint32) int {
		return most(samples[x], samples[y], st.places[x].String(), st.places[y].String())
	})
	chosen = chosen[:min(len(chosen), spotsFollowed)]
	number := make([]int32, len(st.places)) // + 1
	spots := make([]Spot, len(chosen))
	for i, place := range chosen {
		number[place] = int32(i) + 1
		site := best[place] - 1
		spots[i] = Spot{LeakPlace{Location: st.places[place], Site: site}, st.Stack(nil, st.Node(site))}
	}
	s.follow(spots, number)
	return spots
}

// follow goes through the events and fills in what became of the blocks.
func (s *Selection) follow(spots []Spot, number []int32) {
	b := s.Blocks
	bySite := make([]int32, len(b.Stacks.sites))
	for i := range bySite {
		bySite[i] = number[b.Stacks.sites[i].place]
	}
	lives := make([][64]uint32, len(spots))
	steps := make([][spotSteps]int64, len(spots))
	step := max(1, (b.End-b.Begin+spotSteps-1)/spotSteps)
	tick, next := 0, b.Begin+step
	for event, e := range b.order {
		i := e >> 1
		n := bySite[b.site[i]]
		if n == 0 || !s.of.has(i) {
			continue
		}
		for at := b.at(event); at >= next && tick < spotSteps-1; tick++ {
			for k := range spots {
				steps[k][tick] = spots[k].Live
			}
			next += step
		}
		p := &spots[n-1].LeakPlace
		if e&1 == 0 {
			p.Blocks++
			p.Samples += int64(b.samples[i])
			p.Live += int64(b.samples[i])
			p.LiveCount++
			if b.death[i] == never {
				p.Oldest = max(p.Oldest, b.End-b.birth[i])
			}
			continue
		}
		p.Live -= int64(b.samples[i])
		p.LiveCount--
		lives[n-1][bits.Len64(uint64(b.lived(int(i))))&63]++
	}
	for k := range spots {
		for t := tick; t < spotSteps; t++ {
			steps[k][t] = spots[k].Live
		}
		spots[k].Typical = median(&lives[k])
		spots[k].Slope, spots[k].Steady = line(steps[k][:], float64(step)/1e6)
	}
}

// Seconds is how long the trace is.
func (b *Blocks) Seconds() float64 { return math.Max(0, float64(b.End-b.Begin)/1e6) }
