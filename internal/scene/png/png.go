// Package png paints draw lists as PNG pictures, smooth at the edges.
//
// There are no types: [Write] paints a list. The list may come from anywhere;
// one that is damaged gives an error.
package png

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/vector"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	"github.com/mirador-trace/mirador/internal/typeface"
)

// maxPixels is how large a picture may be: it takes 4 bytes a px in memory,
// and 4 more while it is painted.
const maxPixels = 64 << 20

// Write paints a list and writes the picture. The errors are a
// [*scene.FormatError] for a damaged list and those of w.
func Write(w io.Writer, l *scene.List, p palette.Palette) error {
	img, err := Paint(l, p)
	if err != nil {
		return err
	}
	return png.Encode(w, img)
}

// Paint paints a list into a new image.
func Paint(l *scene.List, p palette.Palette) (*image.RGBA, error) {
	w, h := l.Size()
	if !(w*h <= maxPixels) || w < 1 || h < 1 {
		return nil, fmt.Errorf("paint: a picture of %v x %v px", w, h)
	}
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(w)), int(math.Ceil(h))))}
	for op, err := range l.Ops() {
		if err != nil {
			return nil, fmt.Errorf("paint: %w", err)
		}
		c.paint(&op, p[op.Style])
	}
	return c.img, nil
}

// canvas is an image and the shape that is being put together for it.
type canvas struct {
	img    *image.RGBA
	color  color.NRGBA
	raster vector.Rasterizer

	edges                  []edge
	minX, minY, maxX, maxY float64
}

// edge is a piece of an outline: a move, or a line or curve to a point.
type edge struct {
	op typeface.Op
	p  [3]typeface.Point
}

func (c *canvas) paint(op *scene.Op, col color.NRGBA) {
	col.A = uint8(math.Round(float64(col.A) * op.Alpha))
	c.color = col
	c.clear()
	switch op.Kind {
	case scene.Rects:
		for i := 0; i < 4*op.N; i += 4 {
			x, y := op.Float(i), op.Float(i+1)
			c.rect(x, y, x+op.Float(i+2), y+op.Float(i+3))
		}
	case scene.Lines:
		dash := scene.Styles[op.Style].Dash
		if op.N > scene.DashLimit {
			dash = nil
		}
		for i := 0; i < 4*op.N; i += 4 {
			c.dashes(op.Float(i), op.Float(i+1), op.Float(i+2), op.Float(i+3), op.Width, dash)
		}
	case scene.Polyline:
		for i := 0; i < 2*op.N-2; i += 2 {
			// Ends that are square meet without a gap.
			c.stroke(op.Float(i), op.Float(i+1), op.Float(i+2), op.Float(i+3), op.Width, op.Width/2)
		}
	case scene.Triangles:
		for i := 0; i < 6*op.N; i += 6 {
			c.triangle(op, i)
		}
	case scene.Texts:
		for i := range op.N {
			c.text(op, i)
		}
	}
	c.fill(c.img)
}

func (c *canvas) clear() {
	c.edges = c.edges[:0]
	c.minX, c.minY = math.Inf(1), math.Inf(1)
	c.maxX, c.maxY = math.Inf(-1), math.Inf(-1)
}

func (c *canvas) add(op typeface.Op, p ...typeface.Point) {
	e := edge{op: op}
	for i, p := range p {
		e.p[i] = p
		c.minX, c.maxX = min(c.minX, p.X), max(c.maxX, p.X)
		c.minY, c.maxY = min(c.minY, p.Y), max(c.maxY, p.Y)
	}
	c.edges = append(c.edges, e)
}

// fill paints what was put together. All shapes turn the same way, so that
// where they overlap they add up.
func (c *canvas) fill(dst draw.Image) {
	if len(c.edges) == 0 {
		return
	}
	bounds := dst.Bounds()
	x0 := int(math.Floor(max(c.minX, float64(bounds.Min.X))))
	y0 := int(math.Floor(max(c.minY, float64(bounds.Min.Y))))
	x1 := int(math.Ceil(min(c.maxX, float64(bounds.Max.X))))
	y1 := int(math.Ceil(min(c.maxY, float64(bounds.Max.Y))))
	if x0 < x1 && y0 < y1 {
		c.raster.Reset(x1-x0, y1-y0)
		pt := func(p typeface.Point) (float32, float32) {
			return float32(p.X - float64(x0)), float32(p.Y - float64(y0))
		}
		for i := range c.edges {
			e := &c.edges[i]
			ax, ay := pt(e.p[0])
			bx, by := pt(e.p[1])
			cx, cy := pt(e.p[2])
			switch e.op {
			case typeface.MoveTo:
				c.raster.ClosePath()
				c.raster.MoveTo(ax, ay)
			case typeface.LineTo:
				c.raster.LineTo(ax, ay)
			case typeface.QuadTo:
				c.raster.QuadTo(ax, ay, bx, by)
			case typeface.CubeTo:
				c.raster.CubeTo(ax, ay, bx, by, cx, cy)
			}
		}
		c.raster.ClosePath()
		c.raster.Draw(dst, image.Rect(x0, y0, x1, y1), image.NewUniform(c.color), image.Point{})
	}
	c.clear()
}

// rect paints a rectangle, whose edges may lie between pixels.
func (c *canvas) rect(x0, y0, x1, y1 float64) {
	b := c.img.Bounds()
	x0, x1 = max(min(x0, x1), 0), min(max(x0, x1), float64(b.Max.X))
	y0, y1 = max(min(y0, y1), 0), min(max(y0, y1), float64(b.Max.Y))
	for y := int(y0); float64(y) < y1; y++ {
		rows := min(y1, float64(y+1)) - max(y0, float64(y))
		for x := int(x0); float64(x) < x1; x++ {
			c.blend(x, y, rows*(min(x1, float64(x+1))-max(x0, float64(x))))
		}
	}
}

// blend lays the colour over a pixel that is covered to some share.
func (c *canvas) blend(x, y int, share float64) {
	a := uint32(math.Round(float64(c.color.A) * share))
	p := c.img.Pix[c.img.PixOffset(x, y):][:4:4]
	over := func(below, above uint8) uint8 { return uint8((uint32(below)*(255-a) + uint32(above)*a + 127) / 255) }
	p[0], p[1], p[2] = over(p[0], c.color.R), over(p[1], c.color.G), over(p[2], c.color.B)
	p[3] = over(p[3], 255)
}

// stroke adds a line, longer by some px at its start and end.
func (c *canvas) stroke(x1, y1, x2, y2, width, longer float64) {
	dx, dy := x2-x1, y2-y1
	long := math.Hypot(dx, dy)
	if long == 0 {
		if longer == 0 {
			return
		}
		dx, dy, long = 1, 0, 1
	}
	dx, dy = dx/long, dy/long
	x1, y1, x2, y2 = x1-dx*longer, y1-dy*longer, x2+dx*longer, y2+dy*longer
	ox, oy := -dy*width/2, dx*width/2
	if longer == 0 && (dx == 0 || dy == 0) {
		c.rect(x1-math.Abs(ox), y1-math.Abs(oy), x2+math.Abs(ox), y2+math.Abs(oy))
		return
	}
	c.add(typeface.MoveTo, typeface.Point{X: x1 + ox, Y: y1 + oy})
	c.add(typeface.LineTo, typeface.Point{X: x1 - ox, Y: y1 - oy})
	c.add(typeface.LineTo, typeface.Point{X: x2 - ox, Y: y2 - oy})
	c.add(typeface.LineTo, typeface.Point{X: x2 + ox, Y: y2 + oy})
}

// dashes adds a line in dashes, only where it is in the picture.
func (c *canvas) dashes(x1, y1, x2, y2, width float64, dash []float64) {
	long := math.Hypot(x2-x1, y2-y1)
	if len(dash) == 0 || long == 0 {
		c.stroke(x1, y1, x2, y2, width, 0)
		return
	}
	dx, dy := (x2-x1)/long, (y2-y1)/long
	period := 0.0
	for _, d := range dash {
		period += d
	}
	b := c.img.Bounds()
	from, to := inside(x1, dx, long, float64(b.Max.X))
	fromY, toY := inside(y1, dy, long, float64(b.Max.Y))
	from, to = max(from, fromY), min(to, toY)
	for at := math.Floor(from/period) * period; at < to; {
		for i, d := range dash {
			if i%2 == 0 {
				s, e := max(at, 0), min(at+d, long)
				if s < e {
					c.stroke(x1+dx*s, y1+dy*s, x1+dx*e, y1+dy*e, width, 0)
				}
			}
			at += d
		}
	}
}

// inside returns from where to where a line is inside the picture in one
// dimension, in px along the line.
func inside(at, d, long, size float64) (from, to float64) {
	if d == 0 {
		return 0, long
	}
	a, b := (-10-at)/d, (size+10-at)/d
	return max(0, min(a, b)), min(long, max(a, b))
}

func (c *canvas) triangle(op *scene.Op, i int) {
	p := [3]typeface.Point{}
	for k := range p {
		p[k] = typeface.Point{X: op.Float(i + 2*k), Y: op.Float(i + 2*k + 1)}
	}
	if (p[1].X-p[0].X)*(p[2].Y-p[0].Y) > (p[2].X-p[0].X)*(p[1].Y-p[0].Y) {
		p[1], p[2] = p[2], p[1]
	}
	c.add(typeface.MoveTo, p[0])
	c.add(typeface.LineTo, p[1])
	c.add(typeface.LineTo, p[2])
}

func (c *canvas) text(op *scene.Op, i int) {
	x, y, from, to, s := op.Text(i)
	size := scene.Styles[op.Style].Font
	limit := float64(c.img.Bounds().Max.X)
	if to != 0 {
		c.fill(c.img)
	}
	for _, r := range string(s) {
		if x > limit {
			break
		}
		for _, seg := range typeface.Glyph(r) {
			p := seg.P
			for k := range p {
				p[k] = typeface.Point{X: x + p[k].X*size, Y: y + p[k].Y*size}
			}
			c.add(seg.Op, p[:seg.Op.Points()]...)
		}
		x += typeface.Advance(r) * size
	}
	if to != 0 {
		b := c.img.Bounds()
		b.Min.X, b.Max.X = int(max(0, from)), int(max(0, min(to, limit)))
		if b.Min.X < b.Max.X {
			c.fill(c.img.SubImage(b).(draw.Image))
		}
		c.clear()
	}
}
