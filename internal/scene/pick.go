package scene

import (
	"math"

	"github.com/mirador-trace/mirador/internal/thread"
)

// near is how far from a point a thread may be picked, in px.
const near = 16.0

// mostRows is how many rows are looked into, where many share the px.
const mostRows = 512

// Place tells where a thread lies in a picture, in px: from X0 to X1 at Y.
type Place struct{ X0, X1, Y float64 }

// Place returns where a thread lies, also outside of the picture. Y is -Inf
// for a thread without a row.
func (x *Index) Place(p *Projection, t thread.ID) Place {
	th := &x.m.Threads[t]
	if th.Row < 0 {
		return Place{p.X(th.Start), p.X(th.End), math.Inf(-1)}
	}
	return Place{p.X(th.Start), p.X(th.End), p.Y(th.Y())}
}

// Pick returns the thread that lies nearest to a point of the picture, no
// farther than 16 px.
func (x *Index) Pick(v Viewport, px, py float64) (thread.ID, bool) {
	v = v.sane(x)
	p := x.projection(&v)
	t, _ := x.pick(&p, px, py)
	return t, t != thread.None
}

// pick is Pick, and says how far off the thread is; near if there is none.
func (x *Index) pick(p *Projection, px, py float64) (best thread.ID, least float64) {
	best, least = thread.None, near
	if x.m.Rows == 0 || math.IsNaN(px) || math.IsNaN(py) {
		return best, least
	}
	first, last := x.rowAt(p, py-near), x.rowAt(p, py+near)
	if middle := x.rowAt(p, py); last-first > mostRows {
		first, last = max(first, middle-mostRows/2), min(last, middle+mostRows/2)
	}
	t := p.Time(px)
	consider := func(row, i int) {
		s := x.rows.spans[i]
		dx := max(0, p.X(s.Start)-px, px-p.X(s.End))
		if d := math.Hypot(dx, p.Y(rowY(row))-py); d <= least {
			best, least = x.order[i], d
		}
	}
	for row := first; row <= last; row++ {
		from, end := int(x.rows.from[row]), int(x.rows.from[row+1])
		i := x.rows.first(from, end, t)
		if i > from {
			consider(row, i-1)
		}
		// Where threads overlap, the one that started last lies on top.
		for k := i; k < end && k < i+near; k++ {
			consider(row, k)
			if x.rows.spans[k].Start > t {
				break
			}
		}
	}
	return best, least
}

const (
	reach      = 5.0 // how far from a point an arrow may be picked, in px
	leastPicks = 3   // the step of alpha below which an arrow is too faint to be picked
)

// PickArrow returns the arrow that is drawn nearest to a point of the picture,
// no farther than 5 px, nor than the nearest thread. It looks at those that
// [Index.Frame] draws, which costs a part of a frame. What is left out, or
// faded until it is hardly seen, is not picked.
func (x *Index) PickArrow(v Viewport, px, py float64) (Arrow, bool) {
	f := frame{x: x, m: x.m, v: v.sane(x)}
	f.p, f.w, f.h = x.projection(&f.v), f.v.Width, f.v.Height
	_, line := x.pick(&f.p, px, py)
	var best Arrow
	least := reach
	consider := func(a Arrow, s shaft) {
		if d := s.distance(px, py); s.alpha >= leastPicks && d <= least && d < line {
			best, least = a, d
		}
	}
	f.eachArrow(consider)
	if s, ok := f.selectedShaft(); ok {
		consider(f.v.SelectedArrow, s)
	}
	return best, best != Arrow{}
}

// distance returns how far a point lies from an arrow, in px.
func (s *shaft) distance(px, py float64) float64 {
	dx, dy := s.x2-s.x1, s.y2-s.y1
	along := 0.0
	if long := dx*dx + dy*dy; long > 0 {
		along = max(0, min(((px-s.x1)*dx+(py-s.y1)*dy)/long, 1))
	}
	return math.Hypot(s.x1+along*dx-px, s.y1+along*dy-py)
}

// Arrow returns the arrow of what was done from one thread to another at a
// time, as [Arrow.Time] has it, within half a nanosecond: times are written in
// decimals on the way. It costs a binary search.
func (x *Index) Arrow(op thread.Op, from, to thread.ID, at float64) (Arrow, bool) {
	if int(op) >= len(x.arrows) {
		return Arrow{}, false
	}
	by, other := from, to
	if op == thread.Read {
		by, other = to, from
	}
	l := &x.arrows[op]
	const slack = 0.5e-9 // s
	for i, end := l.between(at-slack, at+slack); i < end; i++ {
		if l.from[i] == by && l.to[i] == other {
			return x.arrow(op, l.at[i], by, other), true
		}
	}
	return Arrow{}, false
}

// rowAt returns the row nearest to y px from the top.
func (x *Index) rowAt(p *Projection, y float64) int {
	r := math.Round((p.Row(y) - thread.FirstRow) / thread.RowHeight)
	return int(max(0, min(r, float64(x.m.Rows-1))))
}
