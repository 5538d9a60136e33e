package heap

import (
	"cmp"
	"slices"
	"sync"
)

// Selection is those blocks of a [Blocks] that some clauses hold for, and what
// is known of them all. It may be used by several goroutines.
type Selection struct {
	Blocks  *Blocks
	Clauses []Clause
	Count   int64   // blocks
	Samples int64   // theirs
	Profile Profile // by site

	of     set
	once   sync.Once
	course *Course

	summed sync.Once
	own    []int64 // samples by node of the stacks
	sum    []int64 // with those of the nodes below
}

// All returns all blocks.
func (b *Blocks) All() *Selection {
	b.once.Do(func() { b.all, _ = b.Select(nil) })
	return b.all
}

func (b *Blocks) whole() *Course { return b.All().Course() }

// Select returns the blocks that all clauses hold for. The error is about a
// clause that makes no sense.
func (b *Blocks) Select(clauses []Clause) (*Selection, error) {
	of, err := b.match(clauses)
	if err != nil {
		return nil, err
	}
	s := &Selection{Blocks: b, Clauses: clauses, of: of}
	s.Profile = Profile{Stacks: b.Stacks, Unit: b.Unit,
		Samples: make([]int64, len(b.Stacks.sites)), Blocks: make([]int64, len(b.Stacks.sites))}
	s.each(func(i int) {
		s.Profile.Samples[b.site[i]] += int64(b.samples[i])
		s.Profile.Blocks[b.site[i]]++
	})
	s.Samples, s.Count = s.Profile.Total()
	return s, nil
}

// each calls f for each block of the selection, in the order of allocation.
func (s *Selection) each(f func(i int)) {
	if s.of == nil {
		for i := range s.Blocks.Len() {
			f(i)
		}
		return
	}
	s.of.each(f)
}

// Bytes returns what the selection's samples stand for.
func (s *Selection) Bytes() float64 { return s.Profile.Bytes(s.Samples) }

// Course returns how much of the selection was alive over time.
func (s *Selection) Course() *Course {
	s.once.Do(func() { s.course = s.Blocks.course(s.of) })
	return s.course
}

// sums returns the samples of each node of the stacks: its own, and with those
// of all nodes below.
func (s *Selection) sums() (own, sum []int64) {
	s.summed.Do(func() {
		s.own = s.Blocks.Stacks.own(s.Profile.Samples)
		s.sum = s.Blocks.Stacks.totals(s.own)
	})
	return s.own, s.sum
}

// Histograms counts the selection's blocks by size in bytes, and those that
// have died by how long they lived, in µs.
func (s *Selection) Histograms() (sizes, lifetimes *Histogram) {
	sizes, lifetimes = new(Histogram), new(Histogram)
	b := s.Blocks
	s.each(func(i int) {
		sizes.Add(b.bytes(i), int64(b.samples[i]))
		if b.death[i] != never {
			lifetimes.Add(b.lived(i), int64(b.samples[i]))
		}
	})
	return sizes, lifetimes
}

// Group is the part of a selection that a domain, a goroutine or a source
// allocated.
type Group struct {
	Number  int64 // of the domain or goroutine; the source
	Samples int64
	Blocks  int64
	Live    int64 // samples alive at the end
}

// By groups the selection by OfDomain, OfGoroutine or OfSource, the largest group
// first.
func (s *Selection) By(what What) []Group {
	b := s.Blocks
	number := func(i int) int64 { return int64(b.domain[i]) }
	switch {
	case what == OfSource:
		number = func(i int) int64 { return int64(b.flags[i] & sourceBits) }
	case what == OfGoroutine && b.goroutine == nil:
		return nil
	case what == OfGoroutine:
		number = func(i int) int64 { return int64(b.goroutine[i]) }
	}
	places := map[int64]int{}
	var groups []Group
	s.each(func(i int) {
		n := number(i)
		at, ok := places[n]
		if !ok {
			at = len(groups)
			places[n] = at
			groups = append(groups, Group{Number: n})
		}
		g := &groups[at]
		g.Samples += int64(b.samples[i])
		g.Blocks++
		if b.death[i] == never {
			g.Live += int64(b.samples[i])
		}
	})
	sortGroups(groups)
	return groups
}

func sortGroups(groups []Group) {
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Number, b.Number))
	})
}
