package scene

import (
	"math"

	"github.com/mirador-trace/mirador/internal/thread"
)

// How many primitives of each sort a frame has at most, more or less. Together
// they are what a browser replays in less than 16 ms.
const (
	frameBudget    = 7600 // all of them, of which rows get what the others leave
	verticalBudget = 500
	arrowBudget    = 700 // each of them a line and its head
	labelBudget    = 1200
	bandBudget     = 200
	failureBudget  = 150
	counterBudget  = 2400 // numbers of their lines, which are drawn twice
	hitBudget      = 300

	mostPicked = 1 << 14 // threads that were searched for that are looked at
)

// frame is a picture that is being made, and the memory for the next one.
type frame struct {
	x    *Index
	m    *thread.Model
	l    *List
	v    Viewport
	p    Projection
	w, h float64

	lines   [NumStyles][]float64 // x1, y1, x2, y2 of what is not in the list yet
	running [3][]float64         // the same of running parts, by how much of it they ran
	count   int                  // primitives of rows so far

	candidates []candidate
	latest     int  // the index of the row's last candidate, or -1
	taken      grid // places where texts and threads are
	hits       grid // places where search hits are
	plates     []float64
	texts      []placed

	alive  []thread.ID // of the few that are seen, if there are few
	byRow  []thread.ID
	pixels []int32

	arrows, sorted []shaft
	points         []float64 // of bands
	steps          []float64 // of counters
	names          []counterName

	budget int // how many primitives rows may have
	whole  int // threads that are drawn one by one
	hidden int // arrows that are not drawn because there are too many
}

// Frame draws what is seen of the model into l. It does not allocate once l
// has been used for a picture of the same sort, and takes a few ms at most
// whatever the size of the model: what lies too close to be told apart is
// drawn as one, and of arrows beyond a limit some are left out and counted.
// Search hits and highlighted threads are looked at one by one, but of more
// than 16,384 only every nth.
func (x *Index) Frame(v Viewport, l *List) {
	f := &l.frame
	f.x, f.m, f.l, f.v = x, x.m, l, v.sane(x)
	f.p = x.projection(&f.v)
	f.w, f.h = f.v.Width, f.v.Height
	f.whole, f.hidden = 0, 0
	f.taken.reset(f.w, f.h)
	f.texts, f.plates, f.names = f.texts[:0], f.plates[:0], f.names[:0]

	l.reset(f.w, f.h)
	l.rect(Background, Opaque, 0, 0, f.w, f.h)
	f.keepFree()
	f.bands()
	f.gridLines()
	f.foldLines()
	f.picked()
	f.findCounters()
	f.share()
	f.rows()
	f.selected()
	f.verticals()
	f.emitRows()
	f.drawArrows()
	f.drawCounters()
	f.labels()
	f.failures()
	f.counterNames()
	f.marks()
	f.axis()
	f.meta()
	l.finish()
	f.x, f.m, f.l = nil, nil, nil
	f.v = Viewport{}
}

// share sets the rows' budget: what the others are going to leave of it.
func (f *frame) share() {
	seen := func(l *timeline) int {
		lo, hi := l.between(f.v.From, f.v.To)
		return hi - lo
	}
	arrows := 0
	for op := range f.x.arrows {
		arrows += seen(&f.x.arrows[op])
	}
	f.budget = frameBudget - f.l.primitives - labelBudget - 3*min(arrows, arrowBudget) -
		min(seen(&f.x.created)+seen(&f.x.became), verticalBudget) - min(seen(&f.x.failed), failureBudget)
	f.budget = max(f.budget-len(f.steps)-4*len(f.names), 1000)
}

// between returns the part of a stretch of time that is seen, in px, a little
// wider than the picture so that what ends outside is not seen to end.
func (f *frame) between(start, end float64) (x0, x1 float64) {
	return max(-20, min(f.p.X(start), f.w+20)), max(-20, min(f.p.X(end), f.w+20))
}

// y returns where a thread's row lies.
func (f *frame) y(t thread.ID) float64 { return crisp(f.p.Y(f.m.Threads[t].Y())) }

// crisp moves a line of an even width, in px, to where its edges are sharp,
// and hair one of an odd width.
func crisp(v float64) float64 { return math.Round(v) }

func hair(v float64) float64 { return math.Floor(v) + 0.5 }

func (f *frame) line(style Style, x1, y1, x2, y2 float64) {
	f.lines[style] = append(f.lines[style], x1, y1, x2, y2)
}

// emit moves the lines of some styles into the list.
func (f *frame) emit(styles ...Style) {
	for _, s := range styles {
		f.emitLines(s, Opaque, f.lines[s])
		f.lines[s] = f.lines[s][:0]
	}
}

func (f *frame) emitLines(s Style, alpha uint8, l []float64) {
	for ; len(l) > 0; l = l[4:] {
		f.l.line(s, alpha, l[0], l[1], l[2], l[3])
	}
}

// bands draws when the process slept and when memory was collected, and says
// so where there is room.
func (f *frame) bands() {
	fine := 1 / f.p.scale
	for _, b := range []struct {
		style Style
		list  *spanList
		name  string
	}{{Idle, &f.x.idle, "sleeping"}, {GC, &f.x.gc, "GC"}} {
		f.band(b.style, b.list, b.name, fine)
	}
}

func (f *frame) band(style Style, list *spanList, name string, fine float64) {
	for !f.tryBand(style, list, fine) {
		fine *= 2
	}
	bands := f.points
	for i := 0; i < len(bands); i += 4 {
		x0, x1 := bands[i], bands[i+1]
		alpha := uint8(max(3, math.Round(bands[i+2]*Opaque)))
		f.l.rect(style, alpha, x0, 0, x1-x0, f.h)
		if x1-x0 > 16 && bands[i+2] == 1 {
			f.bandCaption(name, max(x0, 0), min(x1, f.w), bands[i+3])
		}
	}
}

// tryBand collects bands as start and end in px, share of the time, and length
// in s, in f.points.
func (f *frame) tryBand(style Style, list *spanList, fine float64) bool {
	f.points = f.points[:0]
	return list.walk(0, len(list.spans), f.v.From, f.v.To, fine, func(r run) bool {
		x0, x1 := f.between(r.start, r.end)
		share := 1.0
		if r.n > 1 {
			share = min(1, r.ran/max(r.end-r.start, 1e-12))
		} else if x1-x0 < 1 {
			share = max(x1-x0, 0.5)
		}
		if x1-x0 < 1 {
			x1 = x0 + 1
		}
		f.points = append(f.points, x0, x1, share, r.end-r.start)
		return len(f.points) < 4*bandBudget
	})
}

// verticals draws the lines of creations and of promises that became others.
func (f *frame) verticals() {
	x := f.x
	lo, hi := x.created.between(f.v.From, f.v.To)
	from, to := x.became.between(f.v.From, f.v.To)
	share := verticalBudget
	if n := hi - lo + to - from; n > verticalBudget {
		share = max(verticalBudget/8, verticalBudget*(hi-lo)/n)
	}
	column := 2 / f.p.scale
	vertical := func(style Style, at float64, y0, y1 float64) {
		if px := hair(f.p.X(at)); math.Abs(y1-y0) >= 2 && max(y0, y1) > 0 && min(y0, y1) < f.h {
			f.line(style, px, y0, px, y1)
		}
	}
	x.created.sample(lo, hi, column, share, func(i int) {
		t := x.created.from[i]
		vertical(Creation, x.created.at[i], f.y(f.m.Threads[t].Parent), f.y(t))
	})
	x.became.sample(from, to, column, max(verticalBudget-share, verticalBudget/8), func(i int) {
		t := x.became.from[i]
		vertical(BecomesLine, x.became.at[i], f.y(t), f.y(f.m.Threads[t].Becomes))
	})
}

// failures draws a bar where a thread failed. A failure is seen even when its
// thread is too short to be.
func (f *frame) failures() {
	f.emit(FailedLine)
	lo, hi := f.x.failed.between(f.v.From, f.v.To)
	f.x.failed.sample(lo, hi, 2/f.p.scale, failureBudget, func(i int) {
		px, y := crisp(f.p.X(f.x.failed.at[i])), f.y(f.x.failed.from[i])
		if y > -10 && y < f.h+10 {
			f.l.line(FailedLine, Opaque, px, y-5, px, y+5)
		}
	})
}

// picked draws what lies under threads that were searched for, picked out or
// selected.
func (f *frame) picked() {
	seen := 0
	pick := func(style Style, t thread.ID, budget int) {
		if t <= thread.Top || int(t) >= len(f.m.Threads) || f.m.Threads[t].Row < 0 || seen >= budget {
			return
		}
		th := &f.m.Threads[t]
		if th.End < f.v.From || th.Start > f.v.To {
			return
		}
		x0, x1 := f.between(th.Start, th.End)
		if y := f.y(t); y > -10 && y < f.h+10 {
			if style == SearchHit && !f.hits.put(x0-2, y-1, max(x1, x0+4), y+1) {
				return // there is a hit already
			}
			f.l.line(style, Opaque, x0-2, y, max(x1, x0)+2, y)
			seen++
		}
	}
	if len(f.v.SearchHits) > 0 {
		f.hits.reset(f.w, f.h)
	}
	for _, p := range []struct {
		style Style
		ids   []thread.ID
	}{{SearchHit, f.v.SearchHits}, {Highlight, f.v.Highlighted}} {
		seen = 0
		every := 1 + len(p.ids)/mostPicked
		for i := 0; i < len(p.ids); i += every {
			pick(p.style, p.ids[i], hitBudget)
		}
	}
	seen = 0
	pick(Selection, f.v.Selected, 1)
	if s, ok := f.selectedShaft(); ok {
		f.l.op(Lines, Selection, Opaque, 4*arrowGlow)
		f.l.put4(s.x1, s.y1, s.x2, s.y2)
	}
}

// arrowGlow is how wide that is what lies under the selected arrow, in px.
const arrowGlow = 8

func (f *frame) marks() {
	for _, t := range f.v.Marks {
		if t >= f.v.From && t <= f.v.To {
			px := hair(f.p.X(t))
			f.l.line(Mark, Opaque, px, 0, px, f.h)
			f.l.triangle(Mark, Opaque, px-5, 0, px+5, 0, px, 8)
		}
	}
}
