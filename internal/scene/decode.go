package scene

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"unicode/utf8"
)

// FormatError reports where the bytes of a list are not those of a list.
type FormatError struct {
	Offset int    // from the list's start, in bytes
	What   string // lower case, without a final period
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("draw list: offset %d: %s", e.Offset, e.What)
}

// Decode returns the list whose wire form is b, which must not change any
// more. The error is a [*FormatError]: a list that Decode returns can be
// walked without one.
func Decode(b []byte) (*List, error) {
	l := &List{buf: b}
	for op, err := range l.Ops() {
		if err != nil {
			return nil, err
		}
		l.ops++
		l.primitives += op.N
	}
	return l, nil
}

// Size returns the picture's width and height in px; 0, 0 for no picture.
func (l *List) Size() (width, height float64) {
	if len(l.buf) < headerSize {
		return 0, 0
	}
	return float64(float(l.buf[8:])), float64(float(l.buf[12:]))
}

// Meta returns what the list says about itself, as JSON; nil if it is damaged.
func (l *List) Meta() []byte {
	if len(l.buf) < headerSize {
		return nil
	}
	from, n := uint64(word(l.buf[24:])), uint64(word(l.buf[28:]))
	if from+n > uint64(len(l.buf)) {
		return nil
	}
	return l.buf[from : from+n]
}

// Op is a run of primitives of one kind that look alike.
type Op struct {
	Kind  Kind
	Style Style
	Alpha float64 // 0 to 1
	Width float64 // of lines, in px
	N     int     // how many primitives, or points of the one polyline

	data    []byte
	strings *stringTable
}

// Float returns the i'th number of the operation: see [Kind] for how many a
// primitive has. It is finite.
func (o *Op) Float(i int) float64 { return float64(float(o.data[4*i:])) }

// Text returns the i'th primitive of an operation that draws [Texts]. There is
// no clip if to is 0. The string is valid UTF-8 and shares the list's memory.
func (o *Op) Text(i int) (x, y, from, to float64, s []byte) {
	k := 5 * i
	return o.Float(k), o.Float(k + 1), o.Float(k + 2), o.Float(k + 3), o.strings.get(word(o.data[4*k+16:]))
}

// Ops walks over the list's operations. Where the bytes are not a list's it
// yields a [*FormatError] and ends, so that a list from elsewhere may be
// walked without [Decode].
func (l *List) Ops() iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		w := walker{b: l.buf}
		if err := w.header(); err != nil {
			yield(Op{}, err)
			return
		}
		for range w.ops {
			op, err := w.op()
			if !yield(op, err) || err != nil {
				return
			}
		}
		if w.at != w.end {
			yield(Op{}, w.bad(w.at, "%d bytes between operations and strings", w.end-w.at))
		}
	}
}

type walker struct {
	b       []byte
	at, end int // of the operations
	ops     uint32
	strings stringTable
}

func (w *walker) bad(offset int, format string, args ...any) error {
	return &FormatError{offset, fmt.Sprintf(format, args...)}
}

func (w *walker) header() error {
	switch n := len(w.b); {
	case n < headerSize:
		return w.bad(0, "%d bytes, too few for a header", n)
	case word(w.b) != magic:
		return w.bad(0, "magic %#x instead of %#x", word(w.b), uint32(magic))
	case uint64(word(w.b[4:])) != uint64(n):
		return w.bad(4, "%d bytes, of which there are %d", word(w.b[4:]), n)
	case n%4 != 0:
		return w.bad(4, "%d bytes are no whole words", n)
	}
	width, height := float(w.b[8:]), float(w.b[12:])
	if !(width >= 1 && width <= maxSize && height >= 1 && height <= maxSize) {
		return w.bad(8, "a picture of %v x %v px", width, height)
	}
	n := uint64(len(w.b))
	w.ops = word(w.b[16:])
	strings, meta, metaSize := uint64(word(w.b[20:])), uint64(word(w.b[24:])), uint64(word(w.b[28:]))
	if strings%4 != 0 || strings < headerSize || strings > n {
		return w.bad(20, "strings at %d", strings)
	}
	if meta%4 != 0 || meta < strings || meta+metaSize > n {
		return w.bad(24, "meta of %d bytes at %d", metaSize, meta)
	}
	w.at, w.end = headerSize, int(strings)
	return w.table(int(strings), int(meta))
}

// stringTable is the list's strings: offsets, then characters.
type stringTable struct {
	offsets []byte
	chars   []byte
	n       uint32
}

func (t *stringTable) get(i uint32) []byte {
	return t.chars[word(t.offsets[4*i:]):word(t.offsets[4*i+4:])]
}

func (w *walker) table(from, to int) error {
	if to-from < 8 {
		return w.bad(from, "no room for a table of strings")
	}
	n := word(w.b[from:])
	if uint64(n)*4+8 > uint64(to-from) {
		return w.bad(from, "%d strings in %d bytes", n, to-from)
	}
	chars := from + 8 + 4*int(n)
	w.strings = stringTable{w.b[from+4 : chars], w.b[chars:to], n}
	last := uint32(0)
	for i := range int(n) + 1 {
		end := word(w.strings.offsets[4*i:])
		if i == 0 && end != 0 || end < last || uint64(end) > uint64(to-chars) {
			return w.bad(from+4+4*i, "string ends at %d after %d, of %d", end, last, to-chars)
		}
		if s := w.strings.chars[last:end]; !utf8.Valid(s) {
			return w.bad(chars+int(last), "string %d is not UTF-8", i-1)
		}
		last = end
	}
	return nil
}

func (w *walker) op() (Op, error) {
	at := w.at
	if w.end-at < 8 {
		return Op{}, w.bad(at, "no room for an operation")
	}
	head, n := word(w.b[at:]), word(w.b[at+4:])
	op := Op{
		Kind: Kind(head), Style: Style(head >> 8), Alpha: float64(head>>16&0xff) / Opaque,
		Width: float64(head>>24) / 4, N: int(n), strings: &w.strings,
	}
	switch {
	case op.Kind < Rects || op.Kind > Texts:
		return Op{}, w.bad(at, "unknown kind %d", op.Kind)
	case op.Style >= NumStyles:
		return Op{}, w.bad(at, "unknown style %d", op.Style)
	case op.Alpha > 1:
		return Op{}, w.bad(at, "alpha %d", head>>16&0xff)
	}
	if op.Width == 0 {
		op.Width = Styles[op.Style].Width
	}
	size := uint64(n) * uint64(words[op.Kind]) * 4
	if size > uint64(w.end-at-8) {
		return Op{}, w.bad(at+4, "%d primitives in %d bytes", n, w.end-at-8)
	}
	op.data = w.b[at+8 : at+8+int(size)]
	for i := 0; i < len(op.data); i += 4 {
		if op.Kind == Texts && i%20 == 16 {
			if word(op.data[i:]) >= w.strings.n {
				return Op{}, w.bad(at+8+i, "string %d of %d", word(op.data[i:]), w.strings.n)
			}
		} else if v := float(op.data[i:]); !(v >= -farAway && v <= farAway) {
			return Op{}, w.bad(at+8+i, "%v is not on the screen", v)
		}
	}
	w.at += 8 + int(size)
	return op, nil
}

func word(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func float(b []byte) float32 { return math.Float32frombits(word(b)) }
