package scene

import (
	"cmp"
	"math"
	"slices"

	"github.com/mirador-trace/mirador/internal/thread"
)

// Index is what has to be known of a model to draw any part of it at once. It
// is immutable, so that any number of goroutines may make frames of it. It
// takes about 50 bytes a thread, 16 an arrow and 2 a running part beside the
// model, which must not change either.
type Index struct {
	m *thread.Model

	order []thread.ID // threads by row and start, as in rows
	rows  layer
	far   []layer // far[g] has the rows in groups of 8^(g+1); none if there are few rows

	only    set // the threads that are drawn; nil for all that have a row
	byStart enumeration
	ended   []uint32 // when threads ended, as ticks, in order: every 16th

	created, became timeline // threads that were created on another row, or became one there
	failed          timeline // threads that failed
	arrows          [4]timeline

	idle, gc spanList
	folds    folds                  // long parts of idle
	busy     map[thread.ID]spanList // running parts of threads that have many
	counters []counterIndex
}

// layer is the rows of a model, or groups of them: row r has the spans
// from[r] to from[r+1].
type layer struct {
	spanList
	from   []uint32
	filled []float32 // the longest gap in each row that was filled; nil if none was
}

// manyParts is how many running parts a thread has when they get a pyramid.
const manyParts = 64

// NewIndex makes an index of a model whose rows are laid out. It takes about
// 0.2 s for a million threads.
func NewIndex(m *thread.Model) *Index {
	x := &Index{m: m, byStart: newEnumeration(m)}
	x.sortRows()
	x.groupRows()
	x.findLines()
	x.findEnds()
	x.findArrows()
	x.idle = newSpanList(sortedSpans(m.Activations(thread.Top)), nil)
	x.folds = findFolds(m)
	x.gc = newSpanList(sortedSpans(m.GC), nil)
	x.busy = make(map[thread.ID]spanList)
	for t := range m.Threads {
		if parts := m.Activations(thread.ID(t)); t != int(thread.Top) && len(parts) > manyParts {
			x.busy[thread.ID(t)] = newSpanList(sortedSpans(parts), nil)
		}
	}
	x.indexCounters()
	return x
}

// Model returns the model that the index is of.
func (x *Index) Model() *thread.Model { return x.m }

// sortedSpans returns spans by start; themselves if they are.
func sortedSpans(spans []thread.Span) []thread.Span {
	byStart := func(a, b thread.Span) int { return cmp.Compare(a.Start, b.Start) }
	if slices.IsSortedFunc(spans, byStart) {
		return spans
	}
	spans = slices.Clone(spans)
	slices.SortFunc(spans, byStart)
	return spans
}

// sortRows sorts the threads by row and start.
func (x *Index) sortRows() {
	m := x.m
	from := make([]uint32, m.Rows+1)
	for _, t := range x.byStart.order {
		from[m.Threads[t].Row+1]++
	}
	for r := range m.Rows {
		from[r+1] += from[r]
	}
	n := len(x.byStart.order)
	next := slices.Clone(from[:m.Rows])
	x.order = make([]thread.ID, n)
	for _, t := range x.byStart.order {
		r := m.Threads[t].Row
		x.order[next[r]] = t
		next[r]++
	}
	spans, ran := make([]thread.Span, n), make([]float32, n)
	for i, t := range x.order {
		spans[i] = thread.Span{Start: m.Threads[t].Start, End: m.Threads[t].End}
		for _, a := range m.Activations(t) {
			ran[i] += float32(a.End - a.Start)
		}
	}
	x.rows = layer{newSpanList(spans, ran), from, nil}
}

// findLines finds the vertical lines of creations and of promises that became
// others, and the threads that failed.
func (x *Index) findLines() {
	m := x.m
	drawn := func(t, other thread.ID) bool {
		return other > thread.Top && m.Threads[other].Row >= 0 && m.Threads[other].Row != m.Threads[t].Row
	}
	var created, became, failed int
	for pass := range 2 {
		if pass == 1 {
			x.created, x.became, x.failed = newTimeline(created), newTimeline(became), newTimeline(failed)
		}
		for _, id := range x.byStart.order {
			t := &m.Threads[id]
			if t.ShowCreation && drawn(id, t.Parent) {
				if created++; pass == 1 {
					x.created.add(t.Start, id)
				}
			}
			if drawn(id, t.Becomes) {
				if became++; pass == 1 {
					x.became.add(t.End, id)
				}
			}
			if t.Failed() {
				if failed++; pass == 1 {
					x.failed.add(t.End, id)
				}
			}
		}
	}
	x.created.sort()
	x.became.sort()
	x.failed.sort()
}

// findArrows sorts what threads did with each other by time, without what is
// not drawn: what the top thread did, and what one did with itself.
func (x *Index) findArrows() {
	m := x.m
	var count [4]int
	for pass := range 2 {
		for i := range m.Threads {
			if m.Threads[i].Row < 0 {
				continue
			}
			t := thread.ID(i)
			for _, a := range m.Interactions(t) {
				if a.Other <= thread.Top || a.Other == t || m.Threads[a.Other].Row < 0 {
					continue
				}
				if pass == 0 {
					count[a.Op]++
				} else {
					x.arrows[a.Op].add(a.Time, t)
					x.arrows[a.Op].to = append(x.arrows[a.Op].to, a.Other)
				}
			}
		}
		for op := range count {
			if pass == 0 {
				x.arrows[op] = newTimeline(count[op])
				x.arrows[op].to = make([]thread.ID, 0, count[op])
			} else {
				x.arrows[op].sort()
			}
		}
	}
}

// findEnds sorts the times at which threads ended.
func (x *Index) findEnds() {
	ends := make([]uint32, len(x.order))
	for i, t := range x.order {
		ends[i] = x.tick(x.m.Threads[t].End)
	}
	sortTicks(ends)
	for i := 0; i < len(ends); i += blockSize {
		x.ended = append(x.ended, ends[i])
	}
}

// tick returns a time as a share of the trace's, in 32 bits.
func (x *Index) tick(t float64) uint32 {
	return uint32(max(0, min(t/max(x.m.Duration(), 1e-12), 1)) * math.MaxUint32)
}

// endedBefore returns how many threads had ended at a time, within 16.
func (x *Index) endedBefore(t float64) int {
	i, _ := slices.BinarySearch(x.ended, x.tick(t))
	return min(i*blockSize, len(x.order))
}
