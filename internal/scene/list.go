package scene

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Kind is what an operation of a list draws.
type Kind uint8

// The kinds of operations, with what each of their primitives is made of.
const (
	Rects     Kind = 1 // x, y, width, height
	Lines     Kind = 2 // x1, y1, x2, y2
	Polyline  Kind = 3 // x, y; all of them are one line
	Triangles Kind = 4 // x1, y1, x2, y2, x3, y3
	Texts     Kind = 5 // x, baseline y, clip from x, clip to x (0: no clip), string
)

// words is how many 32-bit words a primitive of each kind takes.
var words = [...]int{Rects: 4, Lines: 4, Polyline: 2, Triangles: 6, Texts: 5}

// Opaque is the alpha of what nothing shines through.
const Opaque = 16

const (
	magic      = 0x314C444D // "MDL1"
	headerSize = 32
	maxString  = 400 // bytes of a text that are drawn at most
	farAway    = 1e6 // px; nothing is drawn beyond
)

// List is a picture as a list of what to draw, in order. The zero List is
// ready for [Index.Frame], which makes a new picture in the memory of the old
// one. It is not safe for concurrent use.
type List struct {
	buf  []byte // header and operations; strings and meta too, once finished
	last uint32 // the word of the operation that is being written
	n    int    // where its number of primitives stands

	ops, primitives int

	ends  []uint32 // where each string ends in chars
	chars []byte
	known map[string]uint32 // strings of the model that are in chars already

	meta  []byte
	frame frame // what Frame reuses
}

// Bytes returns the list's wire form, which is valid until its next frame:
//
//	header   u32 magic "MDL1", u32 bytes in all, f32 width, f32 height,
//	         u32 number of operations, u32 offset of strings,
//	         u32 offset of meta, u32 bytes of meta
//	op       u32 kind | style<<8 | alpha<<16 | line width<<24, u32 n,
//	         n primitives of 32-bit words each, see [Kind]
//	strings  u32 count, count+1 u32 offsets from the end of this table,
//	         UTF-8, padding to 4 bytes
//	meta     JSON, see [Meta]
//
// All of it is little-endian and aligned to 4 bytes. Alpha is of [Opaque]
// steps; the line width is in quarters of a px, where 0 is the style's own.
func (l *List) Bytes() []byte { return l.buf }

// Primitives returns how many rectangles, lines, triangles, texts and points
// of polylines there are.
func (l *List) Primitives() int { return l.primitives }

func (l *List) reset(width, height float64) {
	l.buf = append(l.buf[:0], make([]byte, headerSize)...)
	binary.LittleEndian.PutUint32(l.buf[0:], magic)
	binary.LittleEndian.PutUint32(l.buf[8:], math.Float32bits(float32(width)))
	binary.LittleEndian.PutUint32(l.buf[12:], math.Float32bits(float32(height)))
	l.last, l.n, l.ops, l.primitives = 0, 0, 0, 0
	l.ends, l.chars, l.meta = l.ends[:0], l.chars[:0], l.meta[:0]
	if l.known == nil {
		l.known = make(map[string]uint32)
	}
	clear(l.known)
}

// finish puts the strings and the meta, which l.meta holds, behind the
// operations.
func (l *List) finish() {
	le := binary.LittleEndian
	le.PutUint32(l.buf[16:], uint32(l.ops))
	le.PutUint32(l.buf[20:], uint32(len(l.buf)))
	l.buf = le.AppendUint32(l.buf, uint32(len(l.ends)))
	l.buf = le.AppendUint32(l.buf, 0)
	for _, end := range l.ends {
		l.buf = le.AppendUint32(l.buf, end)
	}
	l.buf = pad(append(l.buf, l.chars...))
	le.PutUint32(l.buf[24:], uint32(len(l.buf)))
	le.PutUint32(l.buf[28:], uint32(len(l.meta)))
	l.buf = pad(append(l.buf, l.meta...))
	le.PutUint32(l.buf[4:], uint32(len(l.buf)))
}

func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// op makes room for a primitive, in the operation that is being written if it
// is the same.
func (l *List) op(kind Kind, style Style, alpha, width uint8) {
	word := uint32(kind) | uint32(style)<<8 | uint32(alpha)<<16 | uint32(width)<<24
	l.primitives++
	if word != l.last || kind == Polyline {
		l.buf = binary.LittleEndian.AppendUint32(l.buf, word)
		l.n = len(l.buf)
		l.buf = binary.LittleEndian.AppendUint32(l.buf, 0)
		l.last = word
		l.ops++
	}
	binary.LittleEndian.PutUint32(l.buf[l.n:], binary.LittleEndian.Uint32(l.buf[l.n:])+1)
}

func (l *List) put(v float64) {
	if !(v > -farAway) { // also when it is not a number
		v = -farAway
	} else if v > farAway {
		v = farAway
	}
	l.buf = binary.LittleEndian.AppendUint32(l.buf, math.Float32bits(float32(v)))
}

func (l *List) put4(a, b, c, d float64) { l.put(a); l.put(b); l.put(c); l.put(d) }

func (l *List) rect(style Style, alpha uint8, x, y, w, h float64) {
	l.op(Rects, style, alpha, 0)
	l.put4(x, y, w, h)
}

func (l *List) line(style Style, alpha uint8, x1, y1, x2, y2 float64) {
	l.op(Lines, style, alpha, 0)
	l.put4(x1, y1, x2, y2)
}

func (l *List) triangle(style Style, alpha uint8, x1, y1, x2, y2, x3, y3 float64) {
	l.op(Triangles, style, alpha, 0)
	l.put4(x1, y1, x2, y2)
	l.put(x3)
	l.put(y3)
}

// polyline draws the points x, y, x, y… in one line.
func (l *List) polyline(style Style, alpha uint8, points []float64) {
	if len(points) < 4 {
		return
	}
	l.op(Polyline, style, alpha, 0)
	n := len(points) / 2
	l.primitives += n - 1
	binary.LittleEndian.PutUint32(l.buf[l.n:], uint32(n))
	for _, v := range points[:2*n] {
		l.put(v)
	}
}

// text draws a string that was made by one of the functions below.
func (l *List) text(style Style, alpha uint8, x, y float64, s uint32) {
	l.op(Texts, style, alpha, 0)
	l.put4(x, y, 0, 0)
	l.buf = binary.LittleEndian.AppendUint32(l.buf, s)
}

// str returns the number of a string that lives as long as the list's frame.
// Equal ones get the same number.
func (l *List) str(s string) uint32 {
	if i, ok := l.known[s]; ok {
		return i
	}
	i := l.shortened(s, len(s), false)
	l.known[s] = i
	return i
}

// shortened returns the number of a new string, made of the first n bytes of
// s and, if it is told so, an ellipsis.
func (l *List) shortened(s string, n int, ellipsis bool) uint32 {
	if n > maxString {
		n, ellipsis = maxString, true
	}
	for i, size := 0, 0; i < n; i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		l.chars = utf8.AppendRune(l.chars, printable(r))
	}
	if ellipsis {
		l.chars = append(l.chars, "…"...)
	}
	return l.endString()
}

// endString makes what was appended to l.chars a string of its own.
func (l *List) endString() uint32 {
	l.ends = append(l.ends, uint32(len(l.chars)))
	return uint32(len(l.ends) - 1)
}

// printable returns what is drawn for a character of a text.
func printable(r rune) rune {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return ' '
	case r < 0x20, 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
		return utf8.RuneError
	}
	return r
}
