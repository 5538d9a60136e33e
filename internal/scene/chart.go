package scene

import (
	"math"
	"strconv"

	"github.com/mirador-trace/mirador/internal/typeface"
)

// Level is an amount during the time that a px stands for.
type Level struct{ Low, High, Last float64 }

// Chart is a picture of how an amount of memory went over time, and how that
// of a part of it.
type Chart struct {
	Width, Height float64   // px
	From, To      float64   // s, at the edges
	Top           float64   // the amount at the upper edge; below 1 it counts as 1
	Bytes         bool      // amounts are bytes, else a number of something
	All, Part     []Level   // a level for each px, from the left; nil for none
	Cycles        []float64 // when memory was collected, in s
	Peak          *Point    // the most of Part, or of All without one
	Meta          []byte    // JSON that the list carries
}

// Point is a moment of a Chart.
type Point struct{ Time, Amount float64 }

const (
	chartTop    = 30.0 // px above the highest amount: the axis and the peak's caption
	chartBottom = 2.0
	scaleApart  = 34.0 // px between two lines of the grid, at least
)

// Draw makes the chart a list, in the memory of the one that l had.
func (c *Chart) Draw(l *List) {
	l.reset(c.Width, c.Height)
	bottom := c.Height - chartBottom
	perPx := max(1, c.Height-chartTop-chartBottom) / max(1, c.Top)
	y := func(amount float64) float64 { return bottom - amount*perPx }
	c.cycles(l)
	c.area(l, c.All, ChartArea, ChartLine, y)
	c.area(l, c.Part, ChartPart, ChartPartLine, y)
	c.scale(l, y)
	c.times(l)
	c.peak(l, y)
	l.meta = append(l.meta[:0], c.Meta...)
	l.finish()
}

// area draws an area and the line above it.
func (c *Chart) area(l *List, levels []Level, fill, edge Style, y func(float64) float64) {
	if len(levels) == 0 {
		return
	}
	bottom := c.Height - chartBottom
	for i := 0; i < len(levels); {
		k := i + 1
		for k < len(levels) && levels[k].High == levels[i].High {
			k++
		}
		if levels[i].High > 0 {
			top := y(levels[i].High)
			l.rect(fill, Opaque, float64(i), top, float64(k-i), bottom-top)
		}
		i = k
	}
	points := make([]float64, 0, 4*len(levels))
	add := func(x, v float64) {
		if n := len(points); n >= 2 && points[n-2] == x && points[n-1] == v {
			return
		}
		if n := len(points); n >= 4 && points[n-1] == v && points[n-3] == v {
			points[n-2] = x // the line goes on
			return
		}
		points = append(points, x, v)
	}
	for i, v := range levels {
		x := float64(i)
		if i > 0 {
			add(x, y(levels[i-1].Last))
		}
		if v.High > max(v.Last, v.Low) {
			add(x+0.5, y(v.High))
		}
		if v.Low < min(v.Last, v.High) {
			add(x+0.5, y(v.Low))
		}
		add(x+1, y(v.Last))
	}
	l.polyline(edge, Opaque, points)
}

// cycles marks when memory was collected, as far as the marks keep apart.
func (c *Chart) cycles(l *List) {
	last := math.Inf(-1)
	for _, t := range c.Cycles {
		x := math.Round((t - c.From) / (c.To - c.From) * c.Width)
		if x >= 0 && x <= c.Width && x >= last+4 {
			l.rect(GC, Opaque, x-1, axisHeight, 2, c.Height-axisHeight)
			last = x
		}
	}
}

// scale draws the lines of the grid, with what they stand for.
func (c *Chart) scale(l *List, y func(float64) float64) {
	step := c.scaleStep(y)
	for v := step; v <= c.Top*1.02; v += step {
		at := hair(y(v))
		if at < axisHeight+8 {
			break
		}
		l.line(Grid, Opaque, 0, at, c.Width, at)
		text := c.amount(v)
		l.rect(LabelPlate, Opaque, 3, at-6, typeface.Width(text, Styles[ChartScale].Font)+6, 12)
		l.text(ChartScale, Opaque, 6, at+3.5, l.str(text))
	}
}

// scaleStep returns the least round amount whose lines are far enough apart.
func (c *Chart) scaleStep(y func(float64) float64) float64 {
	perPx := (y(0) - y(c.Top)) / max(1, c.Top)
	for step := 1.0; step < 1e18; {
		factors := []float64{1, 2, 5}
		if c.Bytes {
			factors = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
		}
		for _, f := range factors {
			if f*step*perPx >= scaleApart {
				return f * step
			}
		}
		if step *= 10; c.Bytes {
			step *= 102.4
		}
	}
	return 1e18
}

// amount writes an amount as people do: 64 KiB, 3.2 MiB.
func (c *Chart) amount(v float64) string {
	if !c.Bytes {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return formatBytes(v)
}

func formatBytes(v float64) string {
	unit := 0
	for ; math.Abs(v) >= 1024 && unit < 6; unit++ {
		v /= 1024
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + " " + [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[unit]
}

// times draws the time axis at the top.
func (c *Chart) times(l *List) {
	span := c.To - c.From
	if !(span > 0) {
		return
	}
	perSecond := c.Width / span
	step := math.Pow(10, math.Floor(2.5-math.Log10(perSecond)))
	unit := unitOf(max(math.Abs(c.From), math.Abs(c.To)))
	wide := typeface.Width(string(appendTime(nil, -max(math.Abs(c.From), math.Abs(c.To)), step, unit)), Styles[AxisCaption].Font) + 20
	every := 1.0
	for _, k := range [...]float64{2, 5, 10, 20, 50} {
		if step*perSecond*every >= wide {
			break
		}
		every = k
	}
	l.rect(LabelPlate, Opaque, 0, 0, c.Width, axisHeight)
	first := math.Ceil(c.From / step)
	for i := first; i*step <= c.To && i-first < 1000; i++ {
		x := (i*step - c.From) * perSecond
		if math.Mod(i, every) != 0 {
			l.line(Axis, Opaque, hair(x), 0, hair(x), 3)
			continue
		}
		l.line(Axis, Opaque, hair(x), 0, hair(x), 5)
		text := string(appendTime(nil, i*step, step, unit))
		w := typeface.Width(text, Styles[AxisCaption].Font)
		if from := x - w/2; from >= 2 && from+w <= c.Width-2 {
			l.text(AxisCaption, Opaque, from, 14, l.str(text))
		}
	}
}

// peak marks the moment at which the most was alive.
func (c *Chart) peak(l *List, y func(float64) float64) {
	if c.Peak == nil || c.Peak.Amount <= 0 {
		return
	}
	x := (c.Peak.Time - c.From) / (c.To - c.From) * c.Width
	if !(x >= 0 && x <= c.Width) {
		return
	}
	top := y(c.Peak.Amount)
	l.triangle(ChartPeak, Opaque, x, top-1, x-4, top-7, x+4, top-7)
	text := "peak " + c.amount(c.Peak.Amount)
	w := typeface.Width(text, Styles[ChartPeak].Font)
	at := x + 8
	if at+w > c.Width-4 {
		at = x - 8 - w
	}
	base := max(top-1, axisHeight+11)
	l.rect(LabelPlate, Opaque, at-2, base-9, w+4, 12)
	l.text(ChartPeak, Opaque, at, base, l.str(text))
}
