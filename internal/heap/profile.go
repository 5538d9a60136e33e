package heap

import (
	"io"
	"slices"

	"github.com/mirador-trace/mirador/memtrace"
)

// Profile is an amount of memory per site.
type Profile struct {
	Stacks *Stacks
	Unit   float64 // bytes that a sample stands for; 0 when the rate is not known

	// By site. A site beyond their end has nothing.
	Samples []int64
	Blocks  []int64 // that were sampled: not how many there were
}

// add adds to a site's amounts.
func (p *Profile) add(i Site, samples, blocks int64) {
	if n := int(i) + 1; n > len(p.Samples) {
		p.Samples = append(p.Samples, make([]int64, n-len(p.Samples))...)
		p.Blocks = append(p.Blocks, make([]int64, n-len(p.Blocks))...)
	}
	p.Samples[i] += samples
	p.Blocks[i] += blocks
}

// Total returns the samples and the blocks of all sites.
func (p *Profile) Total() (samples, blocks int64) {
	for i := range p.Samples {
		samples += p.Samples[i]
		blocks += p.Blocks[i]
	}
	return samples, blocks
}

// Bytes returns the bytes that samples stand for.
func (p *Profile) Bytes(samples int64) float64 { return float64(samples) * p.Unit }

// unit returns how many bytes a sample of the trace stands for.
func unit(r *memtrace.Reader) float64 {
	info := r.Info()
	return info.Bytes(1)
}

// Watch is called now and then while a trace is read, with the number of
// events so far. An error stops the reading and is returned. It may be nil.
type Watch func(events int64) error

// Each calls f for each event of the trace until f returns false. The error
// is the reader's or the watch's.
func Each(r *memtrace.Reader, watch Watch, f func(*memtrace.Event) bool) error {
	var ev memtrace.Event
	for n := int64(1); ; n++ {
		if err := r.Next(&ev); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if !f(&ev) {
			return nil
		}
		if n&0xffff == 0 && watch != nil {
			if err := watch(n); err != nil {
				return err
			}
		}
	}
}

// Allocated reads a trace into a profile of what was allocated, with the
// given stacks.
func Allocated(r *memtrace.Reader, s *Stacks, watch Watch) (*Profile, error) {
	p := &Profile{Stacks: s, Unit: unit(r)}
	w := s.Walk(r)
	err := Each(r, watch, func(ev *memtrace.Event) bool {
		if ev.Kind == memtrace.Alloc {
			p.add(w.Site(ev), ev.Samples, 1)
		}
		return true
	})
	return p, err
}

// Func is a function's line of a report.
type Func struct {
	Name    string
	Samples int64 // allocated by the function itself
	Blocks  int64
	Places  []Place // in it, the largest first
	Via     []Via   // functions that it was called through, the largest first
}

// Place is a place in a function.
type Place struct {
	Location memtrace.Location
	Samples  int64
}

// Via is a function on the stacks of another's allocations.
type Via struct {
	Name    string
	Samples int64 // of the allocations, how much went through it
	Under   int64 // how much it had on its stacks in all
}

// Hotspots returns the n functions that have the most, the largest first, by
// name where they have the same; each with at most via of the functions that
// it was called through, but only those that had at least a tenth of their
// own through it.
func (p *Profile) Hotspots(n, via int) []Func {
	s := p.Stacks
	byFunc := map[string]*Func{}
	places := map[uint32]int64{}
	for i := range p.Samples {
		if p.Samples[i] == 0 && p.Blocks[i] == 0 {
			continue
		}
		place := s.sites[i].place
		name := s.places[place].Func
		f := byFunc[name]
		if f == nil {
			f = &Func{Name: name}
			byFunc[name] = f
		}
		f.Samples += p.Samples[i]
		f.Blocks += p.Blocks[i]
		places[place] += p.Samples[i]
	}
	list := make([]*Func, 0, len(byFunc))
	for _, f := range byFunc {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *Func) int { return most(a.Samples, b.Samples, a.Name, b.Name) })
	list = list[:min(n, len(list))]
	for _, f := range list {
		f.Places = nil
	}
	chosen := map[string]*Func{}
	for _, f := range list {
		chosen[f.Name] = f
	}
	for place, samples := range places {
		l := s.places[place]
		if f := chosen[l.Func]; f != nil {
			f.Places = append(f.Places, Place{l, samples})
		}
	}
	p.callers(chosen, via)
	result := make([]Func, len(list))
	for i, f := range list {
		slices.SortFunc(f.Places, func(a, b Place) int {
			return most(a.Samples, b.Samples, a.Location.String(), b.Location.String())
		})
		result[i] = *f
	}
	return result
}

// most orders by amount, the largest first, then by name.
func most(a, b int64, x, y string) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// callers fills in what the chosen functions were called through.
func (p *Profile) callers(chosen map[string]*Func, limit int) {
	if limit == 0 {
		return
	}
	s := p.Stacks
	under := p.Under()
	type pair struct{ leaf, via uint32 }
	through := map[pair]int64{}
	for i, samples := range p.Samples {
		name := s.places[s.sites[i].place].Func
		if samples == 0 || chosen[name] == nil {
			continue
		}
		leaf := s.byName[name]
		for n := s.sites[i].node; n != 0; n = s.nodes[n].parent {
			if key := s.nodes[n].key; key != leaf {
				through[pair{leaf, key}] += samples
			}
		}
	}
	for k, samples := range through {
		if samples*10 >= under[k.via] {
			f := chosen[s.names[k.leaf]]
			f.Via = append(f.Via, Via{s.names[k.via], samples, under[k.via]})
		}
	}
	for _, f := range chosen {
		slices.SortFunc(f.Via, func(a, b Via) int { return most(a.Samples, b.Samples, a.Name, b.Name) })
		f.Via = f.Via[:min(limit, len(f.Via))]
	}
}

// Under returns, by the number of a function, what was allocated by it and by
// everything that it called.
func (p *Profile) Under() []int64 {
	s := p.Stacks
	sum := s.totals(s.own(p.Samples))
	under := make([]int64, len(s.names))
	for n := 1; n < len(sum); n++ {
		under[s.nodes[n].key] += sum[n] // once per stack: a function is in it once
	}
	return under
}
