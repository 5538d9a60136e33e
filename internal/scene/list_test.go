package scene

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// example is a list with one primitive of each kind, and with what a trace may
// hold but a picture may not.
func example() *List {
	l := new(List)
	l.reset(200, 100)
	l.rect(Background, Opaque, 0, 0, 200, 100)
	l.line(Grid, 8, 10, 0, 10, 100)
	l.line(Grid, 8, 20, 0, 20, 100)
	l.line(Grid, 9, math.NaN(), math.Inf(-1), math.Inf(1), 1e30)
	l.polyline(Counter0, Opaque, []float64{0, 90, 50, 90, 50, 20, 200, 20})
	l.polyline(Counter0, Opaque, []float64{0, 80})
	l.triangle(ReadArrow, 3, 100, 50, 93, 47, 93, 53)
	l.text(ThreadLabel, Opaque, 12, 40, l.str("a <&> \"b\" µ"))
	l.text(ThreadLabel, Opaque, 12, 60, l.str("bad \xff\x00\n\u0085 bytes"))
	l.text(ThreadLabel, Opaque, 12, 80, l.str("a <&> \"b\" µ"))
	l.text(TypeLabel, Opaque, 12, 90, l.shortened("preexisting", 4, true))
	l.meta = append(l.meta, `{"from":0}`...)
	l.finish()
	return l
}

const exampleText = `picture 200 x 100
rects background
  0.0 0.0 200.0 100.0
lines grid alpha 8
  10.0 0.0 10.0 100.0
  20.0 0.0 20.0 100.0
lines grid alpha 9
  -1000000.0 -1000000.0 1000000.0 1000000.0
polyline counter-0
  0.0 90.0
  50.0 90.0
  50.0 20.0
  200.0 20.0
triangles read-arrow alpha 3
  100.0 50.0 93.0 47.0 93.0 53.0
texts thread-label
  12.0 40.0 "a <&> \"b\" µ"
  12.0 60.0 "bad �� � bytes"
  12.0 80.0 "a <&> \"b\" µ"
texts type-label
  12.0 90.0 "pree…"
meta {"from":0}
`

func TestList(t *testing.T) {
	l := example()
	if got := l.String(); got != exampleText {
		t.Errorf("got:\n%s\nwant:\n%s", got, exampleText)
	}
	if n := l.Primitives(); n != 13 {
		t.Errorf("%d primitives", n)
	}
	d, err := Decode(bytes.Clone(l.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if d.String() != exampleText || d.Primitives() != l.Primitives() {
		t.Errorf("decoded, %d primitives:\n%s", d.Primitives(), d)
	}
	// The same list is used again.
	l.reset(200, 100)
	l.finish()
	if s := l.String(); s != "picture 200 x 100\nmeta \n" {
		t.Errorf("used again: %s", s)
	}
}

// The header and the first operation are where the page looks for them.
func TestListBytes(t *testing.T) {
	b := example().Bytes()
	le := binary.LittleEndian
	if string(b[:4]) != "MDL1" || int(le.Uint32(b[4:])) != len(b) || len(b)%4 != 0 {
		t.Errorf("header % x of %d bytes", b[:8], len(b))
	}
	if w := math.Float32frombits(le.Uint32(b[8:])); w != 200 {
		t.Errorf("width %v", w)
	}
	if op, n := le.Uint32(b[32:]), le.Uint32(b[36:]); op != 1|uint32(Background)<<8|16<<16 || n != 1 {
		t.Errorf("first operation %#x of %d", op, n)
	}
	strings, meta := le.Uint32(b[20:]), le.Uint32(b[24:])
	if n := le.Uint32(b[strings:]); n != 3 {
		t.Errorf("%d strings", n)
	}
	if s := b[meta:][:le.Uint32(b[28:])]; string(s) != `{"from":0}` {
		t.Errorf("meta %s", s)
	}
}

// Every word of a list is made wrong in several ways, and it is cut at every
// byte. No list that is damaged may pass as one that is not well-formed.
func TestDecodeDamaged(t *testing.T) {
	whole := example().Bytes()
	for n := range len(whole) {
		if _, err := Decode(whole[:n]); err == nil {
			t.Errorf("cut at %d: no error", n)
		}
	}
	for at := 0; at < len(whole); at += 4 {
		for _, v := range []uint32{0, 1, 5, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, uint32(len(whole))} {
			b := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(b[at:], v)
			checkDecode(t, b)
		}
	}
	var format *FormatError
	if _, err := Decode(nil); !errors.As(err, &format) || format.Offset != 0 || strings.Contains(err.Error(), "\n") {
		t.Errorf("nothing: %v", err)
	}
}

// checkDecode decodes bytes that may be anything, and looks at all of them.
func checkDecode(t *testing.T, b []byte) {
	t.Helper()
	l, err := Decode(b)
	if err != nil {
		var format *FormatError
		if !errors.As(err, &format) || format.Offset < 0 || format.Offset > len(b) {
			t.Fatalf("error %#v", err)
		}
		_ = (&List{buf: b}).String()
		return
	}
	if s := l.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Fatal(s)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(example().Bytes())
	l := new(List)
	l.reset(1, 1)
	l.finish()
	f.Add(l.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) { checkDecode(t, b) })
}

func TestStyles(t *testing.T) {
	names := make(map[string]bool)
	for i, s := range Styles {
		if s.Name == "" || names[s.Name] || strings.ToLower(s.Name) != s.Name {
			t.Errorf("style %d is called %q", i, s.Name)
		}
		names[s.Name] = true
	}
	// Arrows can be told apart without their colours.
	shapes := make(map[string]Style)
	for s := TryReadArrow; s <= SignalArrow; s++ {
		f := frame{l: new(List)}
		f.l.reset(100, 100)
		f.emitArrows([]shaft{{10, 10, 60, 10, s, Opaque}}, Opaque)
		f.l.finish()
		shape := strings.ReplaceAll(f.l.String(), s.String(), "")
		if other, ok := shapes[shape]; ok {
			t.Errorf("%v has the shape of %v", s, other)
		}
		shapes[shape] = s
	}
}

// Cells of the grid are taken and free as a plain grid of booleans has it.
func TestGrid(t *testing.T) {
	var g grid
	g.reset(700, 90)
	g.put(0, 0, 4, 2)
	g.put(250, 10, 520, 13)
	for _, c := range []struct {
		x0, y0, x1, y1 float64
		free           bool
	}{
		{0, 0, 1, 1, false}, {4, 0, 240, 90, true}, {0, 2, 248, 90, true}, {240, 10, 249, 11, false},
		{521, 0, 700, 90, true}, {519, 12, 700, 13, false}, {-50, -50, 1e6, 1e6, false}, {300, 14, 400, 90, true},
		{650, 85, 5000, 5000, true}, {-9, 40, -1, 50, true}, {256, 12, 257, 12.5, false},
	} {
		if got := g.free(c.x0, c.y0, c.x1, c.y1); got != c.free {
			t.Errorf("%+v: free %v", c, got)
		}
	}
	if g.put(300, 10, 310, 11) || !g.put(300, 20, 310, 21) {
		t.Error("put does not tell new places")
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		t, step, most float64
		want          string
	}{
		{0, 1, 5, "0 s"},
		{-1e-12, 0.1, 5, "0.0 s"},
		{0.0124, 1e-4, 0.0131, "12.4 ms"},
		{12.4000001, 1e-7, 12.5, "12.400 000 1 s"},
		{100e-6, 100e-6, 100e-6, "100 µs"},
		{1e-3, 1e-3, 1e-3, "1 ms"},
		{5e-9, 1e-9, 8e-9, "5 ns"},
		{5e-10, 1e-10, 8e-10, "0.5 ns"},
		{3600, 100, 7200, "3600 s"},
	} {
		got := string(appendTime(nil, c.t, c.step, unitOf(c.most)))
		if got = strings.ReplaceAll(got, "\u2009", " "); got != c.want {
			t.Errorf("%v by %v up to %v: %q, want %q", c.t, c.step, c.most, got, c.want)
		}
	}
}
