package heap

import (
	"math"
	"math/bits"
	"slices"

	"github.com/mirador-trace/mirador/memtrace"
)

// Leaks is what a trace tells about places whose blocks live long.
type Leaks struct {
	Stacks *Stacks
	Unit   float64 // bytes that a sample stands for
	Begin  int64   // µs since the Unix epoch
	End    int64
	Live   int64 // samples alive at the end
	Places []LeakPlace

	Lifetimes Histogram // of blocks that died, in µs
	Sizes     Histogram // of all blocks, in words
}

// LeakPlace is a place in the program, and what became of its blocks.
type LeakPlace struct {
	Location  memtrace.Location
	Blocks    int64 // sampled
	Samples   int64
	Live      int64 // samples alive at the end
	LiveCount int64 // blocks alive at the end
	Oldest    int64 // age of the oldest of them in µs
	Typical   int64 // median lifetime in µs of those that died, 0 when none has
	Site      Site  // the call stack that most of what is alive came from

	// What is alive over time, as a straight line: samples per second, and
	// how much of the changes the line explains, from 0 to 1.
	Slope, Steady float64
}

// Growing says that what is alive of the place goes up steadily, by more than
// chance explains.
func (p *LeakPlace) Growing(seconds float64) bool {
	return p.Steady >= 0.8 && p.LiveCount >= 8 && p.Slope*seconds > 3*math.Sqrt(float64(p.Live))
}

// NeverFreed says that of the place's blocks none has died, though it had
// several.
func (p *LeakPlace) NeverFreed() bool { return p.Blocks == p.LiveCount && p.Blocks >= 2 }

// history is what is known of a place while the trace is read.
type history struct {
	LeakPlace
	steps []int64 // what was alive at each tick
	lives [64]uint32
}

// FindLeaks reads a trace and follows the blocks of each place. It keeps an
// entry per live block, and about 1 KiB per place.
func FindLeaks(r *memtrace.Reader, s *Stacks, watch Watch) (*Leaks, error) {
	l := &Leaks{Stacks: s, Unit: unit(r), Begin: r.Info().Start, End: r.Info().Start}
	live := map[uint64]block{}
	var places []*history
	of := func(site Site) *history {
		place := s.sites[site].place
		for int(place) >= len(places) {
			places = append(places, nil)
		}
		if places[place] == nil {
			places[place] = &history{LeakPlace: LeakPlace{Location: s.places[place]}}
		}
		return places[place]
	}
	bury := func(id uint64) (block, *history, bool) {
		b, ok := live[id]
		if !ok {
			return b, nil, false
		}
		delete(live, id)
		h := of(b.site)
		h.Live -= b.samples
		h.LiveCount--
		return b, h, true
	}
	ticks := newTicker(l.Begin)
	w := s.Walk(r)
	n := 0
	tick := func() {
		n++
		for _, h := range places {
			if h != nil {
				h.steps = append(h.steps, make([]int64, n-len(h.steps))...)
				h.steps[n-1] = h.Live
			}
		}
	}
	merge := func() {
		n /= 2
		for _, h := range places {
			if h != nil {
				h.steps = halve(h.steps)
			}
		}
	}
	err := Each(r, watch, func(ev *memtrace.Event) bool {
		ticks.to(ev.Time, tick, merge)
		l.End = max(l.End, ev.Time)
		switch ev.Kind {
		case memtrace.Alloc:
			bury(ev.ID) // an id that comes again: what it was is forgotten
			site := w.Site(ev)
			h := of(site)
			h.Blocks++
			h.Samples += ev.Samples
			h.Live += ev.Samples
			h.LiveCount++
			live[ev.ID] = block{birth: ev.Time, samples: ev.Samples, site: site}
			l.Sizes.Add(ev.Length, ev.Samples)
		case memtrace.Collect:
			if b, h, ok := bury(ev.ID); ok {
				age := max(0, ev.Time-b.birth)
				h.lives[bits.Len64(uint64(age))&63]++
				l.Lifetimes.Add(age, b.samples)
			}
		}
		return true
	})
	bySite := &Profile{Stacks: s}
	for _, b := range live {
		h := of(b.site)
		h.Oldest = max(h.Oldest, l.End-b.birth)
		bySite.add(b.site, b.samples, 1)
		l.Live += b.samples
	}
	best := make([]int64, len(places))
	for i, samples := range bySite.Samples {
		if place := s.sites[i].place; samples > best[place] {
			best[place] = samples
			places[place].Site = Site(i)
		}
	}
	for _, h := range places {
		if h == nil {
			continue
		}
		h.Typical = median(&h.lives)
		h.Slope, h.Steady = line(h.steps, float64(ticks.step)/1e6)
		l.Places = append(l.Places, h.LeakPlace)
	}
	slices.SortFunc(l.Places, func(a, b LeakPlace) int {
		return most(a.Live, b.Live, a.Location.String(), b.Location.String())
	})
	return l, err
}

// median returns the middle of counts of lifetimes by their number of bits.
func median(lives *[64]uint32) int64 {
	var total, sum uint64
	for _, n := range lives {
		total += uint64(n)
	}
	for i, n := range lives {
		if sum += uint64(n); sum*2 >= total && n > 0 {
			if i < 2 {
				return int64(i)
			}
			return int64(3) << (i - 2) // the middle of [2^(i-1), 2^i)
		}
	}
	return 0
}

// line fits a straight line to the steps, from the first that is not 0, and
// returns its slope per second and how well it fits.
func line(steps []int64, seconds float64) (slope, steady float64) {
	for len(steps) > 0 && steps[0] == 0 {
		steps = steps[1:]
	}
	n := float64(len(steps))
	if n < 8 {
		return 0, 0
	}
	var x, y, xx, xy, yy float64
	for i, s := range steps {
		a, b := float64(i), float64(s)
		x, y, xx, xy, yy = x+a, y+b, xx+a*a, xy+a*b, yy+b*b
	}
	dx, dy, d := n*xx-x*x, n*yy-y*y, n*xy-x*y
	if dx == 0 || dy == 0 {
		return 0, 0
	}
	return d / dx / seconds, d * d / (dx * dy)
}
