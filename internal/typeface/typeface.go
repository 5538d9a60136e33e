// Package typeface is the one font of all pictures: Go Regular, which lies in
// the program, so that a picture looks the same everywhere.
//
// There is one type: an [Outline] is a glyph's shape, made of [Segment]s.
// [Width] and [Fit] measure text without asking for shapes, in about 2 ns a
// character; [Glyph] gives the shape. All functions are safe for concurrent
// use. The font has the Latin, Greek and Cyrillic letters and some symbols;
// any other character is drawn as a box.
package typeface

import (
	"sync"
	"unicode/utf8"
)

// tableSize is up to where characters are in the table of widths. There are
// no glyphs beyond but some ligatures.
const tableSize = 0x2700

// face is the parsed font and what was asked of it most.
type face struct {
	font     *truetype
	advances [tableSize]float32 // per em
	unknown  float32

	mu     sync.Mutex
	shapes map[rune]*Outline
}

var regular = sync.OnceValue(func() *face {
	f, err := parse(Regular)
	if err != nil {
		panic("typeface: the font in the program: " + err.Error())
	}
	r := &face{font: f, shapes: make(map[rune]*Outline)}
	r.unknown = r.measure(0)
	for c := range r.advances {
		r.advances[c] = r.measure(f.glyph(rune(c)))
	}
	return r
})

func (f *face) measure(glyph int) float32 {
	return float32(float64(f.font.advance(glyph)) / float64(f.font.units))
}

func (f *face) advance(c rune) float32 {
	if uint32(c) < tableSize {
		return f.advances[c]
	}
	return f.unknown
}

// Advance returns how far a character moves the pen, per px of font size.
func Advance(c rune) float64 { return float64(regular().advance(c)) }

// Width returns how wide a text is, in px, at a font size in px.
func Width(s string, size float64) float64 {
	f, w := regular(), float32(0)
	for _, c := range s {
		w += f.advance(c)
	}
	return float64(w) * size
}

// Fit returns how many bytes of a text fit into so many px, and how wide they
// are. It looks at no more than these.
func Fit(s string, size, room float64) (n int, width float64) {
	f, w, limit := regular(), float32(0), float32(room/size)
	for n < len(s) {
		c, k := utf8.DecodeRuneInString(s[n:])
		a := f.advance(c)
		if w+a > limit {
			break
		}
		w += a
		n += k
	}
	return n, float64(w) * size
}

// Op is how a segment goes on from where the last one ended.
type Op uint8

// The ways to go on.
const (
	MoveTo Op = iota // to P[0], without a line
	LineTo           // to P[0]
	QuadTo           // by P[0] to P[1], a quadratic curve
	CubeTo           // by P[0] and P[1] to P[2], a cubic curve
)

// Points returns how many points a segment has.
func (o Op) Points() int { return [...]int{1, 1, 2, 3}[o] }

// Point is a place in a glyph, per px of font size: x to the right, y down
// from the baseline.
type Point struct{ X, Y float64 }

// Segment is a piece of a glyph's edge.
type Segment struct {
	Op Op
	P  [3]Point
}

// Outline is a glyph's shape: closed edges, filled by the nonzero rule.
type Outline []Segment

// Glyph returns a character's shape, empty for a space. It must not be
// changed.
func Glyph(c rune) Outline {
	f := regular()
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.shapes[c]; o != nil {
		return *o
	}
	o := f.load(c)
	if len(f.shapes) < 4096 { // a trace may hold any characters
		f.shapes[c] = &o
	}
	return o
}

func (f *face) load(c rune) (o Outline) {
	units := float64(f.font.units)
	f.font.outline(f.font.glyph(c), point{}, func(op Op, points ...point) {
		s := Segment{Op: op}
		for i, p := range points {
			s.P[i] = Point{float64(p.x) / units, -float64(p.y) / units}
		}
		o = append(o, s)
	})
	return o
}
