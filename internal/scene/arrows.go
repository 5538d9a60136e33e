package scene

import (
	"math"

	"github.com/mirador-trace/mirador/internal/thread"
)

// Arrow is something that a thread did with another one, as it is drawn: from
// where it sets out to its tip. The zero Arrow is none. (Sizes: 32 bytes)
type Arrow struct {
	Op         thread.Op
	From, To   thread.ID // who did it, or whose result was read; and with whom
	Start, End float64   // when it sets out, and when it comes up, in s
}

// Time returns when it was done: see [thread.Interaction].
func (a *Arrow) Time() float64 {
	if a.Op == thread.TryRead {
		return a.Start
	}
	return a.End
}

// arrow returns how what one thread did with another one at a time is drawn.
// Neither end lies where its thread is over.
func (x *Index) arrow(op thread.Op, at float64, by, other thread.ID) Arrow {
	a := Arrow{op, by, other, at, at}
	switch op {
	case thread.TryRead:
		a.End = min(at, x.m.Threads[other].End)
	case thread.Read:
		a.From, a.To = other, by
		a.Start = min(at, x.m.Threads[other].End)
	case thread.Resolve:
		a.Start = min(at, x.m.Threads[by].End)
	}
	return a
}

// shaft is where an arrow is going to be drawn. (Sizes: 40 bytes)
type shaft struct {
	x1, y1, x2, y2 float64
	style          Style
	alpha          uint8
}

const (
	fadeWidth = 6000.0 // px; arrows fade out as they get that wide
	leastSeen = 0.01   // the alpha below which they are left out
	headSize  = 7.0    // px
)

// drawArrows draws who looked at whom, woke whom and resolved whom. Where there
// are too many to be told apart, some are left out, evenly over the time.
func (f *frame) drawArrows() {
	f.arrows = f.arrows[:0]
	f.hidden = f.eachArrow(func(_ Arrow, s shaft) { f.arrows = append(f.arrows, s) })
	f.sortArrows()
	// Where there are many they are paler, so that what they cross is seen.
	crowd := max(0.5, min(0.6*f.w/float64(len(f.arrows)+f.hidden+1), 1))
	for i := 0; i < len(f.sorted); {
		n := i + 1
		for n < len(f.sorted) && f.sorted[n].style == f.sorted[i].style && f.sorted[n].alpha == f.sorted[i].alpha {
			n++
		}
		f.emitArrows(f.sorted[i:n], uint8(max(1, math.Round(crowd*float64(f.sorted[i].alpha)))))
		i = n
	}
	if s, ok := f.selectedShaft(); ok && math.Hypot(s.x2-s.x1, s.y2-s.y1) >= 1 {
		f.arrows = append(f.arrows[:0], s)
		f.emitArrows(f.arrows, Opaque)
	}
}

// eachArrow yields the arrows that are drawn, and where, and returns how many
// are not because there are too many.
func (f *frame) eachArrow(yield func(Arrow, shaft)) (hidden int) {
	total := 0
	for op := range f.x.arrows {
		lo, hi := f.x.arrows[op].between(f.v.From, f.v.To)
		total += hi - lo
	}
	width := f.v.To - f.v.From
	for _, op := range [...]thread.Op{thread.TryRead, thread.Read, thread.Resolve, thread.Signal} {
		l := &f.x.arrows[op]
		lo, hi := l.between(f.v.From, f.v.To)
		budget := arrowBudget
		if total > arrowBudget {
			budget = max(arrowBudget/20, arrowBudget*(hi-lo)/total)
		}
		seen := 0
		see := func(i int) {
			seen++
			a := f.x.arrow(op, l.at[i], l.from[i], l.to[i])
			if s := f.shaft(&a); f.fade(&s) {
				if only := f.x.only; only != nil && !(only.has(a.From) && only.has(a.To)) {
					s.alpha = (s.alpha + 1) / 2 // it leads to what is not drawn
				}
				yield(a, s)
			}
		}
		l.sample(lo, hi, 2/f.p.scale, budget, see)
		hidden += hi - lo - seen
		// Those that come up to one width later may have set out before.
		lo, hi = l.between(f.v.To, f.v.To+width)
		l.sample(lo, hi, 2/f.p.scale, budget/4, see)
	}
	return hidden
}

// shaft returns where an arrow lies, in the picture or outside of it.
func (f *frame) shaft(a *Arrow) shaft {
	s := shaft{x1: f.p.X(a.Start), y1: f.y(a.From), x2: f.p.X(a.End), y2: f.y(a.To), alpha: Opaque}
	switch a.Op {
	case thread.TryRead:
		s.style = TryReadArrow
	case thread.Read:
		s.style = ReadArrow
		if f.m.Threads[a.From].Failed() {
			s.style = ReadFailedArrow
		}
	case thread.Resolve:
		s.style = ResolveArrow
	case thread.Signal:
		s.style = SignalArrow
	}
	if math.Abs(s.x2-s.x1) < 1 {
		s.x1 = hair(s.x2)
		s.x2 = s.x1
	}
	return s
}

// fade makes an arrow the fainter the wider it is, and says whether it can be
// seen.
func (f *frame) fade(s *shaft) bool {
	long := math.Abs(s.x2 - s.x1)
	alpha := 1 - min(1, long/fadeWidth)
	if alpha < leastSeen || long < 3 && math.Abs(s.y2-s.y1) < 3 || f.outside(s) {
		return false
	}
	s.alpha = uint8(max(1, math.Round(alpha*Opaque)))
	return true
}

// outside says whether no part of an arrow can lie in the picture.
func (f *frame) outside(s *shaft) bool {
	return max(s.x1, s.x2) < 0 || min(s.x1, s.x2) > f.w || max(s.y1, s.y2) < 0 || min(s.y1, s.y2) > f.h
}

// selectedShaft returns where the selected arrow is drawn, if there is one in
// sight. It does not fade: of one that is far too wide, what is seen of it is
// left.
func (f *frame) selectedShaft() (s shaft, ok bool) {
	a := &f.v.SelectedArrow
	for _, t := range [...]thread.ID{a.From, a.To} {
		if t <= thread.Top || int(t) >= len(f.m.Threads) || f.m.Threads[t].Row < 0 {
			return s, false
		}
	}
	s = f.shaft(a)
	if f.outside(&s) {
		return s, false
	}
	const far = 100.0 // px; where a head is not seen any more
	cut := func(x, y, x2, y2 float64) (float64, float64) {
		if to := max(-far, min(x, f.w+far)); to != x {
			return to, y + (y2-y)*(to-x)/(x2-x)
		}
		return x, y
	}
	x1, y1 := cut(s.x1, s.y1, s.x2, s.y2)
	x2, y2 := cut(s.x2, s.y2, s.x1, s.y1)
	s.x1, s.y1, s.x2, s.y2 = x1, y1, x2, y2
	return s, true
}

// sortArrows sorts the arrows by style and alpha, the faint ones first.
func (f *frame) sortArrows() {
	const styles = int(SignalArrow-TryReadArrow) + 1
	var count [styles*(Opaque+1) + 1]int
	key := func(a *shaft) int { return int(a.style-TryReadArrow)*(Opaque+1) + int(a.alpha) }
	for i := range f.arrows {
		count[key(&f.arrows[i])+1]++
	}
	for k := range len(count) - 1 {
		count[k+1] += count[k]
	}
	if cap(f.sorted) < len(f.arrows) {
		f.sorted = make([]shaft, 2*len(f.arrows))
	}
	f.sorted = f.sorted[:len(f.arrows)]
	for i := range f.arrows {
		k := key(&f.arrows[i])
		f.sorted[count[k]] = f.arrows[i]
		count[k]++
	}
}

// emitArrows draws arrows of one style and alpha: all lines, then all heads.
// Each style has a head of its own:
//
//	try-read  an open one     read  a filled one    failed read  the same, barred
//	resolve   a diamond       signal  two filled ones behind each other
func (f *frame) emitArrows(arrows []shaft, alpha uint8) {
	style := arrows[0].style
	for i := range arrows {
		a := &arrows[i]
		f.l.line(style, alpha, a.x1, a.y1, a.x2, a.y2)
		if style == TryReadArrow || style == ReadFailedArrow {
			h := a.head()
			if style == TryReadArrow {
				x, y, x2, y2 := h.side(1, 0.5)
				f.l.line(style, alpha, x, y, a.x2, a.y2)
				f.l.line(style, alpha, a.x2, a.y2, x2, y2)
			} else {
				x, y, x2, y2 := h.side(0, 0.6)
				f.l.line(style, alpha, x, y, x2, y2)
			}
		}
	}
	for i := range arrows {
		h := arrows[i].head()
		switch style {
		case ReadArrow, ReadFailedArrow:
			h.triangle(f.l, style, alpha, 1, 0)
		case ResolveArrow:
			h.triangle(f.l, style, alpha, 0.5, 0)
			h.triangle(f.l, style, alpha, 0.5, 1)
		case SignalArrow:
			h.triangle(f.l, style, alpha, 0.6, 0)
			h.triangle(f.l, style, alpha, 1.2, 0.6)
		}
	}
}

// head is where an arrow's tip is, and its size and direction in one.
type head struct{ x, y, dx, dy float64 }

func (a *shaft) head() head {
	dx, dy := a.x2-a.x1, a.y2-a.y1
	long := math.Hypot(dx, dy)
	size := min(headSize, long*0.6) / long
	return head{a.x2, a.y2, dx * size, dy * size}
}

// side returns the two points that lie so far back, and so far to each side.
func (h *head) side(back, out float64) (x1, y1, x2, y2 float64) {
	x, y := h.x-h.dx*back, h.y-h.dy*back
	return x - h.dy*out, y + h.dx*out, x + h.dy*out, y - h.dx*out
}

// triangle draws a triangle whose base lies so far back, and its tip too.
func (h *head) triangle(l *List, style Style, alpha uint8, base, tip float64) {
	x1, y1, x2, y2 := h.side(base, 0.42)
	l.triangle(style, alpha, h.x-h.dx*tip, h.y-h.dy*tip, x1, y1, x2, y2)
}
