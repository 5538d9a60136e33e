//go:build linux

package main

import "math"

// side is the icon's, in px. Its drawing is 32 wide.
const (
	side    = 128
	drawing = 32.0
)

// stroke is a line with round ends.
type stroke struct {
	x0, y0, x1, y1, width float64
	color                 [3]float64
}

// The page's icon: see app/src/icon.svg of package web.
var (
	plate   = [3]float64{0x3d, 0x5a, 0xfe}
	white   = [3]float64{0xff, 0xff, 0xff}
	bright  = [3]float64{0xa9, 0xb8, 0xff}
	strokes = []stroke{
		{6, 10, 26, 10, 2.5, white}, {6, 16, 15, 16, 2.5, white}, {19, 16, 26, 16, 2.5, white}, {6, 22, 20, 22, 2.5, white},
		{15, 16, 20, 22, 2, bright},
	}
)

// icon is the window's, 4 bytes a pixel: red, green, blue and how opaque.
func icon() []byte {
	data := make([]byte, 0, 4*side*side)
	const scale = drawing / side
	// covered is how much of a pixel lies within an edge at a distance.
	covered := func(distance float64) float64 { return min(1, max(0, 0.5-distance/scale)) }
	for y := range side {
		for x := range side {
			px, py := (float64(x)+0.5)*scale, (float64(y)+0.5)*scale
			c := plate
			for _, s := range strokes {
				part := covered(s.distance(px, py) - s.width/2)
				for i := range c {
					c[i] += (s.color[i] - c[i]) * part
				}
			}
			// The plate's corners have a radius of 8.
			dx, dy := max(0, math.Abs(px-16)-8), max(0, math.Abs(py-16)-8)
			opaque := covered(math.Hypot(dx, dy) - 8)
			data = append(data, uint8(c[0]), uint8(c[1]), uint8(c[2]), uint8(255*opaque))
		}
	}
	return data
}

// distance is how far a point is from the line.
func (s stroke) distance(x, y float64) float64 {
	dx, dy := s.x1-s.x0, s.y1-s.y0
	along := min(1, max(0, ((x-s.x0)*dx+(y-s.y0)*dy)/(dx*dx+dy*dy)))
	return math.Hypot(x-s.x0-along*dx, y-s.y0-along*dy)
}

func (p *program) putIcon() {
	data := icon()
	bytes := p.Bytes(data, uint64(len(data))) // a copy
	pixbuf := p.Pixbuf(bytes, 0, 1, 8, side, side, 4*side)
	p.FreeBytes(bytes)
	if pixbuf != 0 {
		p.Icon(p.window, pixbuf)
		p.Unref(pixbuf)
	}
}
