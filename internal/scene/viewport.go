package scene

import (
	"math"
	"slices"

	"github.com/mirador-trace/mirador/internal/thread"
)

// maxSize is the greatest width or height of a picture, in px.
const maxSize = 16384

// Viewport says what of a trace is seen, and how. The zero Viewport shows the
// whole trace at 1000 x 600 px.
type Viewport struct {
	From, To      float64 // the times at the edges, in s; the whole trace if To is not after From
	Width, Height float64 // of the picture, in px; 0 means 1000 or 600

	Rows   Rows    // how rows are put on the screen
	Focus  float64 // what row the fisheye is on, as a [thread.Thread.Y]
	Scroll float64 // how far linear rows are scrolled, in px
	Zoom   float64 // px per unit of linear rows, of which a row takes 30; 0 means 1

	HiddenCounters []string    // names of counters that are not drawn
	Highlighted    []thread.ID // threads to pick out
	SearchHits     []thread.ID // threads that were searched for; see [Index.Frame] for many
	Selected       thread.ID   // a thread that is selected, or 0 for none
	SelectedArrow  Arrow       // an arrow that is selected: it is drawn even where others are not
	Marks          []float64   // times that are marked, in s
	FoldIdle       bool        // draw long stretches in which the process slept as short breaks
}

// sane returns the viewport with its defaults, and with a sensible value for
// each that cannot be drawn.
func (v Viewport) sane(x *Index) Viewport {
	v.Width = size(v.Width, 1000)
	v.Height = size(v.Height, 600)
	if !(v.To > v.From) || math.IsInf(v.To-v.From, 0) {
		v.From, v.To = x.Whole(v)
	}
	// A view narrower than the numbers' resolution would show nothing.
	if least := max(math.Abs(v.From), math.Abs(v.To)) * 1e-13; v.To-v.From < max(least, 1e-12) {
		middle := (v.From + v.To) / 2
		half := max(least, 1e-12) / 2
		v.From, v.To = middle-half, middle+half
	}
	if !(v.Zoom > 0) {
		v.Zoom = 1
	}
	v.Zoom = min(max(v.Zoom, 1e-4), 100)
	if !(v.Focus >= 0) {
		v.Focus = 0
	}
	if !(math.Abs(v.Scroll) < 1e15) {
		v.Scroll = 0
	}
	return v
}

func size(v, otherwise float64) float64 {
	if !(v > 0) {
		return otherwise
	}
	return min(max(v, 1), maxSize)
}

func (v *Viewport) hides(counter string) bool { return slices.Contains(v.HiddenCounters, counter) }

// Projection returns where times and rows lie in a picture of the viewport.
func (x *Index) Projection(v Viewport) Projection {
	v = v.sane(x)
	return x.projection(&v)
}

// projection returns that of a sane viewport.
func (x *Index) projection(v *Viewport) Projection {
	var f folds
	if v.FoldIdle {
		f = x.folds
	}
	return newProjection(v, x.m.Height(), f)
}

// contentHeight returns how many px the rows take with linear rows.
func (x *Index) contentHeight(v *Viewport) float64 {
	return x.m.Height()*v.Zoom + 2*marginY
}
