package scene

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mirador-trace/mirador/internal/thread"
)

func randomSpans(rnd *rand.Rand, n int) []thread.Span {
	spans := make([]thread.Span, n)
	t, unit := 0.0, math.Pow(10, -3*rnd.Float64())
	for i := range spans {
		t += rnd.ExpFloat64() * unit
		spans[i] = thread.Span{Start: t, End: t + rnd.ExpFloat64()*unit*2}
		if rnd.IntN(50) == 0 {
			spans[i].End += 100 * unit // over many that follow
		}
	}
	return spans
}

// What a walk says is merged is what is there: each span that is seen is in
// exactly one run, alone if it is long, and no run hides a gap or reaches
// beyond its spans.
func TestWalk(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		spans := randomSpans(rnd, rnd.IntN(700))
		l := newSpanList(spans, nil)
		i := rnd.IntN(len(spans) + 1)
		end := i + rnd.IntN(len(spans)-i+1)
		from := rnd.Float64() * 100
		to := from + rnd.Float64()*100
		fine := math.Pow(10, rnd.Float64()*4-3)

		first := slices.IndexFunc(spans[i:end], func(s thread.Span) bool { return s.End > from })
		if first < 0 {
			first = end - i
		}
		if got := l.first(i, end, from); got != i+first {
			t.Fatalf("first is %d, want %d", got, i+first)
		}
		seen := make([]int, len(spans))
		last := -1
		l.walk(i, end, from, to, fine, func(r run) bool {
			if r.first <= last {
				t.Fatalf("run at %d after %d", r.first, last)
			}
			last = r.first + r.n - 1
			latest, ran := math.Inf(-1), 0.0
			for k := r.first; k < r.first+r.n; k++ {
				s := spans[k]
				seen[k]++
				if r.n > 1 && s.End-s.Start >= fine && s.End > from {
					t.Fatalf("span %d of %v is merged", k, s.End-s.Start)
				}
				if k > r.first && s.Start-latest >= fine && s.Start > from {
					t.Fatalf("a gap of %v is hidden", s.Start-latest)
				}
				latest = max(latest, s.End)
				ran += s.End - s.Start
			}
			if r.start != spans[r.first].Start || r.end > latest+1e-9 {
				t.Fatalf("run %+v of spans up to %v", r, latest)
			}
			if r.ran > ran*(1+1e-5)+1e-9 {
				t.Fatalf("ran %v of %v", r.ran, ran)
			}
			return true
		})
		for k := i; k < end; k++ {
			if s := spans[k]; s.End > from && s.Start < to && seen[k] != 1 {
				t.Fatalf("span %d is seen %d times", k, seen[k])
			}
		}
	}
}

// byTime sorts as the library does, and keeps the order of equal times.
func TestByTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		times := make([]float64, rnd.IntN(3000))
		for i := range times {
			times[i] = float64(rnd.IntN(200)-100) * math.Pow(10, float64(rnd.IntN(9)-6))
		}
		want := make([]uint32, len(times))
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int {
			switch {
			case times[a] < times[b]:
				return -1
			case times[a] > times[b]:
				return 1
			}
			return 0
		})
		got := byTime(len(times), func(i int) float64 { return times[i] })
		if got == nil {
			if !slices.IsSorted(times) {
				t.Fatal("not sorted")
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %v", times, got)
		}
		ticks := make([]uint32, len(times))
		for i := range ticks {
			ticks[i] = rnd.Uint32()
		}
		sortTicks(ticks)
		if !slices.IsSorted(ticks) {
			t.Fatal("ticks are not sorted")
		}
	}
}

// A sample keeps within its budget, is in order, has all if there is room, and
// leaves no column empty that could be told apart within the budget. Dragging
// the view does not change what is seen.
func TestSample(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		var l timeline
		at := 0.0
		for range rnd.IntN(5000) {
			at += rnd.ExpFloat64() * math.Pow(10, float64(rnd.IntN(3)))
			l.add(at, 0)
		}
		lo, hi := l.between(at*rnd.Float64()/2, at*(1+rnd.Float64())/2)
		column, budget := 1+rnd.Float64()*100, 1+rnd.IntN(1000)
		var got []int
		l.sample(lo, hi, column, budget, func(i int) { got = append(got, i) })
		if len(got) > budget || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%d of a budget of %d: %v", len(got), budget, got)
		}
		if hi-lo <= budget && len(got) != hi-lo {
			t.Fatalf("%d of %d though the budget is %d", len(got), hi-lo, budget)
		}
		if len(got) > 0 && (got[0] < lo || got[len(got)-1] >= hi) {
			t.Fatalf("%v of %d to %d", got, lo, hi)
		}
		columns := 0
		for i := lo; i < hi; i = l.column(i, hi, column) {
			columns++
		}
		if columns <= budget && len(got) < columns {
			t.Fatalf("%d of %d columns", len(got), columns)
		}
	}
}

// The lowest and highest of any samples are those that a loop finds.
func TestCounterExtremes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		samples := make([]thread.Sample, 1+rnd.IntN(2000))
		for i := range samples {
			samples[i] = thread.Sample{Time: float64(i), Value: rnd.NormFloat64()}
		}
		x := Index{m: &thread.Model{Counters: []thread.Counter{{Samples: samples}}}}
		x.indexCounters()
		i := rnd.IntN(len(samples))
		end := i + 1 + rnd.IntN(len(samples)-i)
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range samples[i:end] {
			low, high = min(low, s.Value), max(high, s.Value)
		}
		if l, h := x.counters[0].between(samples, i, end); l != low || h != high {
			t.Fatalf("%d to %d: %v %v, want %v %v", i, end, l, h, low, high)
		}
	}
}

// randomModel has threads anywhere, on rows where they may overlap.
func randomModel(rnd *rand.Rand, rows, threads int) *thread.Model {
	m := &thread.Model{Threads: make([]thread.Thread, threads+1), Rows: rows}
	for i := range m.Threads {
		start := rnd.Float64()
		m.Threads[i] = thread.Thread{
			TID: int64(i), Start: start, End: start + rnd.ExpFloat64()*0.02,
			Parent: thread.ID(rnd.IntN(i + 1)), Becomes: thread.None, Row: int32(rnd.IntN(rows)),
			ShowCreation: true, Resolved: rnd.IntN(2) == 0,
		}
	}
	m.Threads[thread.Top] = thread.Thread{TID: -1, End: 1, Row: -1, Parent: thread.None, Becomes: thread.None}
	return m
}

// The threads that are alive are found, all of them, unless they are too many.
func TestEnumeration(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		m := randomModel(rnd, 10, rnd.IntN(2000))
		e := newEnumeration(m)
		for range 10 {
			from := rnd.Float64()
			to := from + rnd.Float64()*rnd.Float64()
			var want []thread.ID
			for i := 1; i < len(m.Threads); i++ {
				if th := m.Threads[i]; th.Start < to && th.End > from {
					want = append(want, thread.ID(i))
				}
			}
			got, ok := e.alive(nil, from, to, math.MaxInt)
			if !slices.IsSortedFunc(got, func(a, b thread.ID) int {
				return int(math.Copysign(1, m.Threads[a].Start-m.Threads[b].Start))
			}) {
				t.Fatal("not by start")
			}
			slices.Sort(got)
			if !ok || !slices.Equal(got, want) {
				t.Fatalf("%d alive, want %d", len(got), len(want))
			}
			if _, ok := e.alive(nil, from, to, len(want)-1); ok && len(want) > 0 {
				t.Fatal("more than the limit")
			}
			x := NewIndex(m)
			if n := x.byStart.before(to) - x.endedBefore(from); n < len(want)-blockSize || n > len(want)+blockSize {
				t.Fatalf("%d counted, want %d", n, len(want))
			}
		}
	}
}

// A group of rows covers all that its rows cover, and fills no gap that is
// longer than it says.
func TestGroups(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		m := randomModel(rnd, 129+rnd.IntN(2000), rnd.IntN(20000))
		x := NewIndex(m)
		for g := range x.far {
			for i := range x.far[g].filled {
				checkGroup(t, x, g, i)
			}
		}
	}
}

func checkGroup(t *testing.T, x *Index, g, i int) {
	bits := groupBits * (g + 1)
	var all []thread.Span
	for r := i << bits; r < min((i+1)<<bits, x.m.Rows); r++ {
		all = append(all, x.rows.spans[x.rows.from[r]:x.rows.from[r+1]]...)
	}
	slices.SortFunc(all, func(a, b thread.Span) int { return int(math.Copysign(1, a.Start-b.Start)) })
	l := &x.far[g]
	group := l.spans[l.from[i]:l.from[i+1]]
	k, latest := 0, math.Inf(-1)
	for _, s := range all {
		for k < len(group) && group[k].End < s.Start {
			k++
			latest = math.Inf(-1)
		}
		if k == len(group) || s.Start < group[k].Start || s.End > group[k].End {
			t.Fatalf("%v is not covered", s)
		}
		if gap := s.Start - latest; !math.IsInf(latest, 0) && gap > float64(l.filled[i])+1e-12 {
			t.Fatalf("a gap of %v is filled, not just of %v", gap, l.filled[i])
		}
		latest = max(latest, s.End)
	}
}

// What is picked is what a look at all threads finds nearest.
func TestPick(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		m := randomModel(rnd, 1+rnd.IntN(200), rnd.IntN(300))
		// No overlaps: which of two on one place is picked is left open.
		for i := range m.Threads {
			m.Threads[i].End = min(m.Threads[i].End, 1)
		}
		x := NewIndex(m)
		v := Viewport{Width: 1000, Height: 600, Focus: rnd.Float64() * m.Height()}
		p := x.Projection(v)
		px, py := rnd.Float64()*1000, rnd.Float64()*600
		distance := func(id thread.ID) float64 {
			at := x.Place(&p, id)
			return math.Hypot(max(0, at.X0-px, px-at.X1), at.Y-py)
		}
		least := math.Inf(1)
		for i := 1; i < len(m.Threads); i++ {
			least = min(least, distance(thread.ID(i)))
		}
		got, ok := x.Pick(v, px, py)
		switch {
		case !ok && least < near-1e-9:
			t.Fatalf("nothing is picked, though one is %v px away", least)
		case ok && distance(got) > least+1e-9 && !overlapping(x, m):
			t.Fatalf("picked one %v px away, not %v", distance(got), least)
		}
	}
}

func overlapping(x *Index, m *thread.Model) bool {
	for r := range m.Rows {
		row := x.rows.spans[x.rows.from[r]:x.rows.from[r+1]]
		for i := 1; i < len(row); i++ {
			if row[i].Start < row[i-1].End {
				return true
			}
		}
	}
	return false
}
