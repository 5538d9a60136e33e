package scene

import (
	"cmp"
	"slices"

	"github.com/mirador-trace/mirador/internal/typeface"
)

// Icicle is a picture of a flame graph: boxes within boxes.
type Icicle struct {
	Width, Height float64    // px
	Scroll        float64    // px by which the rows are moved, away from the first
	Flipped       bool       // the first row is at the bottom, as in a flame
	Boxes         []FrameBox // those that may be seen
	Meta          []byte     // JSON that the list carries
}

// FrameBox is a box of an Icicle.
type FrameBox struct {
	X, W  float64 // shares of the width
	Row   int
	Style Style
	Alpha uint8 // of [Opaque] steps
	Name  string
	Short string // what stands for the name where there is less room; "" for nothing
	Note  string // what stands at the right, if there is room for it and some of the name
}

// The geometry of flame graphs, in px.
const (
	IcicleRow  = 20.0 // from a row to the next
	icicleGap  = 1.0
	icicleText = 14.0 // from a row's top to the names' baseline
	icicleRoom = 22.0 // the narrowest box that has a name
)

// Y returns where a row begins, in px from the top.
func (c *Icicle) Y(row int) float64 {
	if c.Flipped {
		return c.Height - float64(row+1)*IcicleRow + c.Scroll
	}
	return float64(row)*IcicleRow - c.Scroll
}

// Row returns the row that lies at a place.
func (c *Icicle) Row(y float64) int {
	if c.Flipped {
		y = c.Height - y
	}
	return int((y + c.Scroll) / IcicleRow)
}

// Draw makes the icicle a list, in the memory of the one that l had. It puts
// the boxes in the order in which they are painted.
func (c *Icicle) Draw(l *List) {
	l.reset(c.Width, c.Height)
	slices.SortStableFunc(c.Boxes, func(a, b FrameBox) int {
		return cmp.Or(cmp.Compare(a.Style, b.Style), cmp.Compare(a.Alpha, b.Alpha))
	})
	for i := range c.Boxes {
		b := &c.Boxes[i]
		x, w := c.place(b)
		l.rect(b.Style, b.Alpha, x, c.Y(b.Row), w, IcicleRow-icicleGap)
	}
	for i := range c.Boxes {
		c.name(l, &c.Boxes[i])
	}
	l.meta = append(l.meta[:0], c.Meta...)
	l.finish()
}

// place is where a box lies: boxes have a gap between them when there is room.
func (c *Icicle) place(b *FrameBox) (x, w float64) {
	x, w = b.X*c.Width, b.W*c.Width
	if w > 3 {
		w -= icicleGap
	}
	return x, max(w, 0.5)
}

// name writes a box's name, as much of it as there is room for.
func (c *Icicle) name(l *List, b *FrameBox) {
	x, w := c.place(b)
	room := w - 10
	if w < icicleRoom {
		return
	}
	size := Styles[FrameText].Font
	alpha := uint8(Opaque)
	if b.Alpha < Opaque {
		alpha = max(b.Alpha, 10)
	}
	y := c.Y(b.Row) + icicleText
	note := 0.0
	if b.Note != "" {
		note = typeface.Width(b.Note, size)
		if note+30 > room {
			note = 0
		} else {
			l.text(FrameText, max(alpha-5, 8), x+w-5-note, y, l.str(b.Note))
			room -= note + 10
		}
	}
	name := b.Name
	if b.Short != "" && typeface.Width(name, size) > room {
		name = b.Short
	}
	if typeface.Width(name, size) <= room {
		l.text(FrameText, alpha, x+5, y, l.str(name))
		return
	}
	n, _ := typeface.Fit(name, size, room-typeface.Width("…", size))
	if n > 0 {
		l.text(FrameText, alpha, x+5, y, l.shortened(name, n, true))
	}
}
