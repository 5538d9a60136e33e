package png

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/png"
	"os"
	"testing"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	"github.com/mirador-trace/mirador/internal/thread"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func small(t testing.TB) []byte {
	b, err := os.ReadFile("../testdata/small.mdl")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The picture is that of the golden file, but for what rounding may do on
// another machine.
func TestGolden(t *testing.T) {
	l, err := scene.Decode(small(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]palette.Palette{"light": palette.Light, "dark": palette.Dark} {
		var b bytes.Buffer
		if err := Write(&b, l, p); err != nil {
			t.Fatal(err)
		}
		path := "testdata/" + name + ".png"
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if share := different(t, b.Bytes(), want); share > 0.002 {
			t.Errorf("%s: %.2f %% of the pixels differ (go test -update, then look at it)", path, 100*share)
		}
	}
}

// different returns the share of pixels that differ by more than a little.
func different(t *testing.T, a, b []byte) float64 {
	t.Helper()
	one, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	two, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	bounds := one.Bounds()
	if bounds != two.Bounds() {
		t.Fatalf("%v, want %v", bounds, two.Bounds())
	}
	n := 0
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			r, g, b, _ := one.At(x, y).RGBA()
			r2, g2, b2, _ := two.At(x, y).RGBA()
			if far(r, r2) || far(g, g2) || far(b, b2) {
				n++
			}
		}
	}
	return float64(n) / float64(bounds.Dx()*bounds.Dy())
}

func far(a, b uint32) bool { return max(a, b)-min(a, b) > 0x1800 }

// Rectangles, lines, triangles and text cover the pixels that they should.
func TestCoverage(t *testing.T) {
	l, err := scene.Decode(small(t))
	if err != nil {
		t.Fatal(err)
	}
	img, err := Paint(l, palette.Light)
	if err != nil {
		t.Fatal(err)
	}
	at := func(x, y int, want scene.Style) {
		t.Helper()
		c, w := img.RGBAAt(x, y), palette.Light[want]
		if c.R != w.R || c.G != w.G || c.B != w.B {
			t.Errorf("%d,%d is %v, want %v %v", x, y, c, want, w)
		}
	}
	at(5, 200, scene.Background)
	at(200, 200, scene.Idle)
	at(351, 136, scene.ThreadLine)
	at(60, 31, scene.Running)
	for i := 3; i < len(img.Pix); i += 4 {
		if img.Pix[i] != 0xff {
			t.Fatal("the picture is not opaque")
		}
	}
}

func TestTooLarge(t *testing.T) {
	var l scene.List
	x := scene.NewIndex(&thread.Model{Threads: []thread.Thread{{Row: -1}}})
	x.Frame(scene.Viewport{Width: 16384, Height: 16384}, &l)
	if _, err := Paint(&l, palette.Light); err == nil {
		t.Error("a picture of 1 GB was painted")
	}
	var none scene.List
	if err := Write(nil, &none, palette.Light); err == nil {
		t.Error("no list was painted")
	}
}

func TestDamaged(t *testing.T) {
	b := small(t)
	l, err := scene.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	b[32] = 77 // an operation that there is not, written after it was checked
	var format *scene.FormatError
	if _, err := Paint(l, palette.Light); !errors.As(err, &format) || format.Offset != 32 {
		t.Errorf("error %v", err)
	}
}

// Whatever a list is, painting it ends, in a picture or an error.
func FuzzPaint(f *testing.F) {
	f.Add(small(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := scene.Decode(b)
		if err != nil {
			return
		}
		if w, h := l.Size(); w*h > 1e6 {
			return
		}
		img, err := Paint(l, palette.Dark)
		if err != nil {
			t.Fatalf("decoded, but not painted: %v", err)
		}
		if img.Bounds() == (image.Rectangle{}) {
			t.Fatal("no picture")
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	l, err := scene.Decode(small(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var out bytes.Buffer
		if err := Write(&out, l, palette.Light); err != nil {
			b.Fatal(err)
		}
	}
}
