// Package svg paints draw lists as SVG pictures. Text is drawn by the shapes
// of its glyphs, so that it looks the same everywhere, and is told beside
// them, so that it can be read aloud and searched.
//
// There are no types: [Write] paints a list. The list may come from anywhere;
// one that is damaged gives an error.
package svg

import (
	"bufio"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	"github.com/mirador-trace/mirador/internal/typeface"
)

// em is the units of a glyph's shape for its font size.
const em = 1000

// Write paints a list. The errors are a [*scene.FormatError] for a damaged
// list and those of w.
func Write(w io.Writer, l *scene.List, p palette.Palette) error {
	return WriteTitled(w, l, p, "what threads did over time")
}

// WriteTitled is Write for a picture of something else, which title says.
func WriteTitled(w io.Writer, l *scene.List, p palette.Palette, title string) error {
	glyphs, err := used(l)
	if err != nil {
		return fmt.Errorf("paint: %w", err)
	}
	s := &writer{w: bufio.NewWriterSize(w, 1<<16)}
	width, height := l.Size()
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-label="`,
		number(width), number(height))
	s.escape([]byte(title))
	s.printf("\">\n")
	s.glyphs(glyphs)
	for op, err := range l.Ops() {
		if err != nil {
			return fmt.Errorf("paint: %w", err)
		}
		s.op(&op, p[op.Style])
	}
	s.printf("</svg>\n")
	return s.w.Flush()
}

// used returns the characters of all texts, in order.
func used(l *scene.List) ([]rune, error) {
	seen := make(map[rune]bool)
	for op, err := range l.Ops() {
		if err != nil {
			return nil, err
		}
		for i := 0; op.Kind == scene.Texts && i < op.N; i++ {
			_, _, _, _, s := op.Text(i)
			for _, r := range string(s) {
				seen[r] = true
			}
		}
	}
	var all []rune
	for r := range seen {
		all = append(all, r)
	}
	slices.Sort(all)
	return all, nil
}

type writer struct {
	w     *bufio.Writer
	b     []byte
	clips int
}

func (s *writer) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

func number(v float64) string { return string(appendNumber(nil, v)) }

// appendNumber appends a number with two digits behind the point at most.
func appendNumber(b []byte, v float64) []byte {
	v = math.Round(v*100) / 100
	if v == 0 {
		v = 0 // not -0
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// path appends a letter and numbers to the path that is being made.
func (s *writer) path(letter byte, v ...float64) {
	s.b = append(s.b, letter)
	for i, v := range v {
		if i > 0 {
			s.b = append(s.b, ' ')
		}
		s.b = appendNumber(s.b, v)
	}
}

func (s *writer) glyphs(all []rune) {
	s.printf("<defs>\n")
	for _, r := range all {
		s.b = s.b[:0]
		for _, seg := range typeface.Glyph(r) {
			var v []float64
			for _, p := range seg.P[:seg.Op.Points()] {
				v = append(v, math.Round(p.X*em), math.Round(p.Y*em))
			}
			if seg.Op == typeface.MoveTo && len(s.b) > 0 {
				s.b = append(s.b, 'z')
			}
			s.path("MLQC"[seg.Op], v...)
		}
		if len(s.b) > 0 {
			s.printf(`<path id="g%x" d="%sz"/>`+"\n", r, s.b)
		}
	}
	s.printf("</defs>\n")
}

func paint(c color.NRGBA, alpha float64, attribute string) string {
	s := fmt.Sprintf(`%s="#%02x%02x%02x"`, attribute, c.R, c.G, c.B)
	if a := float64(c.A) / 255 * alpha; a < 1 {
		s += fmt.Sprintf(` %s-opacity="%s"`, attribute, number(a))
	}
	return s
}

func (s *writer) op(op *scene.Op, c color.NRGBA) {
	s.b = s.b[:0]
	switch op.Kind {
	case scene.Rects:
		for i := 0; i < 4*op.N; i += 4 {
			s.path('M', op.Float(i), op.Float(i+1))
			s.path('h', op.Float(i+2))
			s.path('v', op.Float(i+3))
			s.path('h', -op.Float(i+2))
			s.b = append(s.b, 'z')
		}
		s.printf(`<path class="%v" %s d="%s"/>`+"\n", op.Style, paint(c, op.Alpha, "fill"), s.b)
	case scene.Lines:
		for i := 0; i < 4*op.N; i += 4 {
			s.path('M', op.Float(i), op.Float(i+1))
			s.path('L', op.Float(i+2), op.Float(i+3))
		}
		s.stroke(op, c, "")
	case scene.Polyline:
		for i := 0; i < 2*op.N; i += 2 {
			s.path("ML"[min(i, 1)], op.Float(i), op.Float(i+1))
		}
		s.stroke(op, c, ` stroke-linejoin="round"`)
	case scene.Triangles:
		for i := 0; i < 6*op.N; i += 6 {
			s.path('M', op.Float(i), op.Float(i+1))
			s.path('L', op.Float(i+2), op.Float(i+3))
			s.path('L', op.Float(i+4), op.Float(i+5))
			s.b = append(s.b, 'z')
		}
		s.printf(`<path class="%v" %s d="%s"/>`+"\n", op.Style, paint(c, op.Alpha, "fill"), s.b)
	case scene.Texts:
		s.printf(`<g class="%v" %s>`+"\n", op.Style, paint(c, op.Alpha, "fill"))
		for i := range op.N {
			s.text(op, i)
		}
		s.printf("</g>\n")
	}
}

func (s *writer) stroke(op *scene.Op, c color.NRGBA, more string) {
	if dash := scene.Styles[op.Style].Dash; dash != nil && op.N <= scene.DashLimit {
		more += ` stroke-dasharray="`
		for i, d := range dash {
			if i > 0 {
				more += " "
			}
			more += number(d)
		}
		more += `"`
	}
	s.printf(`<path class="%v" fill="none" %s stroke-width="%s"%s d="%s"/>`+"\n",
		op.Style, paint(c, op.Alpha, "stroke"), number(op.Width), more, s.b)
}

// text draws a text glyph by glyph, and tells it as the title of the group.
func (s *writer) text(op *scene.Op, i int) {
	x, y, from, to, text := op.Text(i)
	if len(text) == 0 {
		return
	}
	size := scene.Styles[op.Style].Font
	_, height := 0.0, size
	if to != 0 {
		s.clips++
		s.printf(`<clipPath id="c%d"><path d="M%s %sh%sv%sh%sz"/></clipPath><g clip-path="url(#c%[1]d)">`, s.clips,
			number(from), number(y-height), number(to-from), number(1.4*height), number(from-to))
	}
	s.printf(`<g transform="translate(%s %s) scale(%s)"><title>`, number(x), number(y), strconv.FormatFloat(size/em, 'g', 6, 64))
	s.escape(text)
	s.printf("</title>")
	at := 0.0
	for _, r := range string(text) {
		if len(typeface.Glyph(r)) > 0 {
			s.printf(`<use href="#g%x" x="%s"/>`, r, number(math.Round(at*em)))
		}
		at += typeface.Advance(r)
	}
	s.printf("</g>")
	if to != 0 {
		s.printf("</g>")
	}
	s.printf("\n")
}

// escape writes a text as XML, with U+FFFD for what cannot be in it.
func (s *writer) escape(text []byte) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r == '&':
			s.w.WriteString("&amp;")
		case r == '<':
			s.w.WriteString("&lt;")
		case r == '>':
			s.w.WriteString("&gt;")
		case r < ' ' && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
			s.w.WriteRune(utf8.RuneError)
		default:
			s.w.WriteRune(r)
		}
	}
}
