package scene

import "math"

// Rows is a way to put rows on the screen.
type Rows uint8

// Fisheye shows all rows at once, those near the focus farther apart. Linear
// shows them at equal distances, as many as there is room for.
const (
	Fisheye Rows = iota
	Linear
)

const (
	marginX = 20.0 // px left free at each side when the whole trace is shown
	marginY = 30.0 // px left free above and below the rows
)

// Projection tells where times and rows lie on the screen, and back. All of it
// is closed form. (Sizes: 14 words)
type Projection struct {
	from, scale float64 // seconds, px per second; both of folded time
	folds       folds

	linear       bool
	zoom, scroll float64 // px per unit, px

	focus, spread    float64 // units
	base, gain, edge float64 // screen = edge + gain*(tanh((y-focus)/spread) - base)
	height           float64 // the y of the last row
}

// X returns where a time lies, in px from the left.
func (p *Projection) X(t float64) float64 { return (p.folds.fold(t) - p.from) * p.scale }

// Time returns the time that lies at x px from the left.
func (p *Projection) Time(x float64) float64 { return p.folds.unfold(p.from + x/p.scale) }

// Scale returns how many px a second takes, where time is not folded.
func (p *Projection) Scale() float64 { return p.scale }

// Y returns where a row's y, as of [thread.Thread.Y], lies, in px from the top.
func (p *Projection) Y(y float64) float64 {
	if p.linear {
		return y*p.zoom - p.scroll
	}
	return p.edge + p.gain*(math.Tanh((y-p.focus)/p.spread)-p.base)
}

// Row returns the y, as of [thread.Thread.Y], that lies y px from the top. In
// the fisheye it is no less than 0 and no more than that of the last row.
func (p *Projection) Row(y float64) float64 {
	if p.linear {
		return (y + p.scroll) / p.zoom
	}
	t := p.base + (y-p.edge)/p.gain
	if t <= -1 {
		return 0
	}
	if t >= 1 {
		return p.height
	}
	return min(max(0, p.focus+p.spread*math.Atanh(t)), p.height)
}

// GridStep returns the time between two lines of the grid: a power of ten that
// takes 32 to 316 px.
func (p *Projection) GridStep() float64 { return gridStep(p.scale) }

func gridStep(scale float64) float64 { return math.Pow(10, math.Floor(2.5-math.Log10(scale))) }

// Whole returns the times at the edges of a picture, of so many px, that shows
// a trace as a whole. A trace that takes no time is shown as if it took 1 µs.
func Whole(duration, width float64) (from, to float64) {
	if !(duration > 0) || math.IsInf(duration, 0) {
		duration = 1e-6
	}
	margin := marginX
	if width < 8*marginX {
		margin = width / 8
	}
	scale := (width - 2*margin) / duration
	from = -margin / scale
	return from, from + width/scale
}

// newProjection projects a trace whose last row is at y = height. The viewport
// is a sane one.
func newProjection(v *Viewport, height float64, f folds) Projection {
	p := Projection{
		from:   f.fold(v.From),
		scale:  v.Width / (f.fold(v.To) - f.fold(v.From)),
		folds:  f,
		linear: v.Rows == Linear,
		zoom:   v.Zoom,
		scroll: v.Scroll - marginY,
		focus:  min(max(0, v.Focus), height),
		edge:   min(marginY, v.Height/4),
		height: height,
	}
	// The farther the focus is from the edge, the more rows there are on
	// both sides of it and the less of them can be seen at once.
	d := min(p.focus, height-p.focus)
	p.spread = 2 * v.Height * (0.5 - 0.25*math.Tanh(d/1000))
	p.base = math.Tanh(-p.focus / p.spread)
	p.gain = (v.Height - 2*p.edge) / (math.Tanh((height-p.focus)/p.spread) - p.base)
	return p
}
