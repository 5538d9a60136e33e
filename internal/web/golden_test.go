package web

import (
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden pictures anew")

// coarse is how many pixels of a picture's side become one of the golden's:
// enough that another version of the browser, which smooths letters in another
// way, gives about the same.
const coarse = 4

// shrink makes a small picture of a large one.
func shrink(img image.Image) *image.RGBA {
	b := img.Bounds()
	small := image.NewRGBA(image.Rect(0, 0, b.Dx()/coarse, b.Dy()/coarse))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			var sum [3]int
			for i := range coarse * coarse {
				c := color.RGBAModel.Convert(img.At(b.Min.X+x*coarse+i%coarse, b.Min.Y+y*coarse+i/coarse)).(color.RGBA)
				sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
			}
			const n = coarse * coarse
			small.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return small
}

// difference returns how far apart two pictures are: on average, in steps of
// 255, and in what share of the pixels more than 48.
func difference(a, b image.Image) (mean, far float64) {
	n := a.Bounds().Dx() * a.Bounds().Dy()
	for i := range n {
		x, y := i%a.Bounds().Dx(), i/a.Bounds().Dx()
		p := color.RGBAModel.Convert(a.At(x, y)).(color.RGBA)
		q := color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
		d := math.Max(math.Abs(float64(p.R)-float64(q.R)), math.Max(math.Abs(float64(p.G)-float64(q.G)), math.Abs(float64(p.B)-float64(q.B))))
		mean += d
		if d > 48 {
			far++
		}
	}
	return mean / float64(n), far / float64(n)
}

// The page looks as it did when somebody last found it good. To find it good
// again: go test -run TestLooks -update, and look at testdata.
func TestLooks(t *testing.T) {
	s := sample(t)
	for _, dark := range []bool{false, true} {
		name := map[bool]string{false: "light", true: "dark"}[dark]
		t.Run(name, func(t *testing.T) {
			p := browse(t, s, look{width: 1000, height: 600, dark: dark, calm: true, fragment: "thread=8@0.034&search=job+5&mark=0.025:here"})
			p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
			p.until(`document.querySelector('.search-count')?.textContent === '11'`)
			p.view()
			got := shrink(p.shot(".page"))
			file := filepath.Join("testdata", "page-"+name+".png")
			if *update {
				f, err := os.Create(file)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := png.Encode(f, got); err != nil {
					t.Fatal(err)
				}
				return
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			want, err := png.Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			if got.Bounds() != want.Bounds() {
				t.Fatalf("the page takes %v, took %v", got.Bounds(), want.Bounds())
			}
			if mean, far := difference(got, want); mean > 3 || far > 0.01 {
				kept := filepath.Join(t.ArtifactDir(), name+".png")
				if f, err := os.Create(kept); err == nil {
					png.Encode(f, got)
					f.Close()
				}
				t.Errorf("the page looks other than %s: %.1f on average, %.1f %% of it very much so", file, mean, 100*far)
			}
		})
	}
}
