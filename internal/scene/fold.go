package scene

import (
	"math"
	"sort"

	"github.com/mirador-trace/mirador/internal/thread"
)

// fold is a stretch of time that takes less room than it should. What happens
// in it is still drawn, if anything does, but closer together.
type fold struct {
	start, end float64 // s
	gone       float64 // how much shorter time is from here on, earlier folds included
}

// folds are in order and apart from each other. Time without the stretches is
// called folded below; it goes on as real time does before the first fold.
type folds []fold

const (
	foldKept   = 0.04 // the room that a fold takes, as a share of the time without sleep
	foldsKept  = 0.5  // the room that all folds take at most, likewise
	foldLeast  = 3    // how many times longer than that a sleep has to be to be folded
	drawnFolds = 200
)

// findFolds returns the stretches in which the process slept so long that what
// it did before and after would be drawn very small.
func findFolds(m *thread.Model) folds {
	sleeps := sortedSpans(m.Activations(thread.Top))
	busy := m.Duration()
	for _, s := range sleeps {
		busy -= max(0, s.End-s.Start)
	}
	kept := max(busy*foldKept, m.Duration()*1e-6)
	long := func(s thread.Span) bool { return s.End-s.Start > foldLeast*kept }
	n := 0
	for _, s := range sleeps {
		if long(s) {
			n++
		}
	}
	each := kept
	if most := max(busy, m.Duration()*1e-4) * foldsKept; float64(n)*kept > most {
		each = most / float64(n)
	}
	var all folds
	gone, last := 0.0, math.Inf(-1)
	for _, s := range sleeps {
		if s.Start >= last && long(s) {
			gone += s.End - s.Start - each
			all = append(all, fold{s.Start, s.End, gone})
			last = s.End
		}
	}
	return all
}

// fold returns the folded time that a real one becomes.
func (f folds) fold(t float64) float64 {
	i := sort.Search(len(f), func(i int) bool { return f[i].start > t }) - 1
	if i < 0 {
		return t
	}
	if t >= f[i].end {
		return t - f[i].gone
	}
	start, kept := f.folded(i)
	return start + kept*(t-f[i].start)/(f[i].end-f[i].start)
}

// unfold returns the real time of a folded one.
func (f folds) unfold(t float64) float64 {
	i := sort.Search(len(f), func(i int) bool { start, _ := f.folded(i); return start > t }) - 1
	if i < 0 {
		return t
	}
	start, kept := f.folded(i)
	if t >= start+kept {
		return t + f[i].gone
	}
	return f[i].start + (f[i].end-f[i].start)*(t-start)/kept
}

// folded returns when fold i starts in folded time, and how long it is.
func (f folds) folded(i int) (start, kept float64) {
	before := 0.0
	if i > 0 {
		before = f[i-1].gone
	}
	return f[i].start - before, f[i].end - f[i].start - (f[i].gone - before)
}

// at returns the fold that a real time lies in.
func (f folds) at(t float64) (fold, bool) {
	i := sort.Search(len(f), func(i int) bool { return f[i].end > t })
	if i < len(f) && f[i].start < t {
		return f[i], true
	}
	return fold{}, false
}

// Whole returns the times at the edges of a viewport that shows the whole
// trace.
func (x *Index) Whole(v Viewport) (from, to float64) {
	width := size(v.Width, 1000)
	if !v.FoldIdle {
		return Whole(x.m.Duration(), width)
	}
	from, to = Whole(x.folds.fold(x.m.Duration()), width)
	return from, x.folds.unfold(to)
}

// seenFolds calls yield for the folds that are seen, and where they are.
func (f *frame) seenFolds(yield func(s fold, x0, x1 float64)) {
	n := 0
	for _, s := range f.p.folds {
		if s.end <= f.v.From || s.start >= f.v.To || n == drawnFolds {
			continue
		}
		n++
		yield(s, f.p.X(s.start), f.p.X(s.end))
	}
}

// foldLines draws the edges of the folds.
func (f *frame) foldLines() {
	f.seenFolds(func(_ fold, x0, x1 float64) {
		f.l.line(FoldLine, Opaque, hair(x0), 0, hair(x0), f.h)
		f.l.line(FoldLine, Opaque, hair(x1), 0, hair(x1), f.h)
	})
}

// ticks calls yield for the multiples of a step that are seen and not folded
// away. The step is every times that of the grid.
func (f *frame) ticks(every float64, yield func(i, t float64)) {
	step := f.p.GridStep()
	for i := math.Ceil(f.v.From/step/every) * every; i*step <= f.v.To; i += every {
		if s, ok := f.p.folds.at(i * step); ok {
			i = math.Floor(s.end/step/every) * every
			continue
		}
		yield(i, i*step)
	}
}
