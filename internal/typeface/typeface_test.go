package typeface

import (
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// What is read of the font is what the x/image module reads of it, for each
// character that there is.
func TestFont(t *testing.T) {
	f, err := sfnt.Parse(Regular)
	if err != nil {
		t.Fatal(err)
	}
	units := fixed.I(int(f.UnitsPerEm()))
	var b sfnt.Buffer
	for c := range rune(0x11000) {
		i, err := f.GlyphIndex(&b, c)
		if err != nil {
			t.Fatal(err)
		}
		advance, err := f.GlyphAdvance(&b, i, units, font.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		want := float64(float32(float64(advance) / float64(units)))
		if got := Advance(c); got != want && c < tableSize {
			t.Errorf("%U is %v wide, want %v", c, got, want)
		}
		if i == 0 && c != 0 {
			continue // the box
		}
		segments, err := f.LoadGlyph(&b, i, units, nil)
		if err != nil {
			t.Fatal(err)
		}
		shape := make(Outline, len(segments))
		for k, s := range segments {
			shape[k].Op = Op(s.Op)
			for j := range shape[k].Op.Points() {
				shape[k].P[j] = Point{float64(s.Args[j].X) / float64(units), float64(s.Args[j].Y) / float64(units)}
			}
		}
		if got := regular().load(c); !slices.Equal(got, shape) {
			t.Fatalf("%U is %v, want %v", c, got, shape)
		}
	}
}

// Widths that are the font's own, as its table of advances has them: 2048
// units an em.
func TestWidth(t *testing.T) {
	for s, units := range map[string]float64{"": 0, "a": 1139, "i": 505, " ": 569} {
		if got := Width(s, 2048); math.Abs(got-units) > 0.5 {
			t.Errorf("Width(%q) = %v, want %v", s, got, units)
		}
	}
	if a, b := Width("thread", 12), Width("thread", 24); math.Abs(2*a-b) > 1e-4 {
		t.Errorf("twice the size: %v and %v", a, b)
	}
	if Width("漢", 10) != Width("\U0001F600", 10) || Width("漢", 10) <= 0 {
		t.Error("characters without a glyph are not as wide as the box")
	}
}

// What fits is no wider than the room, and the next character would be.
func TestFit(t *testing.T) {
	const s = "never-resolved-wait °C µs ☃ \xff end"
	for room := 0.0; room < 300; room += 3.7 {
		n, w := Fit(s, 12, room)
		if w > room+1e-3 || math.Abs(w-Width(s[:n], 12)) > 1e-3 {
			t.Errorf("room %v: %q is %v wide", room, s[:n], w)
		}
		if n < len(s) {
			next := Width(s[:n], 12) + 12*Advance([]rune(s[n:])[0])
			if next <= room {
				t.Errorf("room %v: there was room after %q", room, s[:n])
			}
		}
	}
}

func TestGlyph(t *testing.T) {
	if len(Glyph(' ')) != 0 {
		t.Error("a space has a shape")
	}
	for _, c := range "aZµ…→�漢" {
		o := Glyph(c)
		if len(o) == 0 || o[0].Op != MoveTo {
			t.Fatalf("%q: %v", c, o)
		}
		for _, s := range o {
			for _, p := range s.P[:s.Op.Points()] {
				if math.Abs(p.X) > 2 || math.Abs(p.Y) > 2 {
					t.Errorf("%q: %v", c, p)
				}
			}
		}
	}
	if top := Glyph('l')[0].P[0].Y; top > 0.2 {
		t.Errorf("l lies below the baseline: %v", top)
	}
}

func BenchmarkWidth(b *testing.B) {
	s := strings.Repeat("thread ", 10)
	for b.Loop() {
		Width(s, 12)
	}
}
