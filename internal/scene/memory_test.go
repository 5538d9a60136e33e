package scene

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// texts returns what a list writes, and checks that the list is whole.
func texts(t *testing.T, l *List) string {
	t.Helper()
	whole, err := Decode(bytes.Clone(l.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for op, err := range whole.Ops() {
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; op.Kind == Texts && i < op.N; i++ {
			_, _, _, _, s := op.Text(i)
			all = append(all, string(s))
		}
	}
	return strings.Join(all, "|")
}

func TestChart(t *testing.T) {
	all, part := make([]Level, 600), make([]Level, 600)
	for i := range all {
		v := 1e6 * (1 + math.Sin(float64(i)/60))
		all[i], part[i] = Level{v * 0.9, v * 1.1, v}, Level{v / 3, v / 2, v / 2}
	}
	c := Chart{Width: 600, Height: 200, From: -1, To: 30, Top: 2.2e6, Bytes: true, All: all, Part: part,
		Peak: &Point{2.1, 2.2e6}, Meta: []byte(`{"a":1}`)}
	var l List
	for range 2 { // a list is used again and again
		c.Draw(&l)
		if got := texts(t, &l); !strings.Contains(got, "512 KiB|1 MiB|1.5 MiB") || !strings.Contains(got, "peak 2.1 MiB") || !strings.Contains(got, "10 s") {
			t.Errorf("the chart says %s", got)
		}
		if n := l.Primitives(); n < 1000 || n > 8000 {
			t.Errorf("%d primitives", n)
		}
	}
	for _, odd := range []Chart{
		{Width: 1, Height: 1}, {Width: 50, Height: 40, From: 1, To: 1 + 1e-12, Top: 0, All: all[:50]},
		{Width: 50, Height: 40, From: 0, To: 1e18, Top: 1e18, All: []Level{{math.NaN(), math.Inf(1), -1}}, Peak: &Point{math.NaN(), 1}},
	} {
		odd.Draw(&l)
		texts(t, &l)
	}
}

func TestIcicle(t *testing.T) {
	c := Icicle{Width: 400, Height: 100, Boxes: []FrameBox{
		{0, 1, 0, FrameAll, Opaque, "all", "", "12 MiB"}, {0, 0.5, 1, Frame1, Opaque, "Stdlib.List.map", "map", "6 MiB"},
		{0.5, 0.1, 1, Frame2, 6, "a long name that does not fit", "", ""}, {0.6, 0.001, 1, FrameRest, Opaque, "…", "", ""},
		{0.7, 0.2, 1, Frame2, 6, "A.module.that.is.long.short", "short", ""},
	}}
	var l List
	for _, c.Flipped = range []bool{false, true} {
		c.Draw(&l)
		if got := texts(t, &l); !strings.Contains(got, "12 MiB") || !strings.Contains(got, "Stdlib.List.map") || !strings.Contains(got, "a l") || strings.Contains(got, "does not fit") ||
			!strings.Contains(got, "|short") {
			t.Errorf("the icicle says %s", got)
		}
		for row := range 4 {
			if got := c.Row(c.Y(row) + 3); got != row {
				t.Errorf("row %d is found as %d", row, got)
			}
		}
	}
}
