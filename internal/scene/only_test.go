package scene_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Only all threads are all threads: the pictures are the same to the byte. Of no
// threads there is nothing but what concerns the process.
func TestOnlyAllOrNone(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var l, o scene.List
	for _, m := range []*thread.Model{small(), bigModel("rows2k", 20_000), bigModel("rows100k", 3000)} {
		x := scene.NewIndex(m)
		var ids []thread.ID
		for id := range m.Threads {
			ids = append(ids, thread.ID(id))
		}
		all, none := x.Only(ids), x.Only(nil)
		for _, v := range arrowViews(m, rnd) {
			x.Frame(v, &l)
			all.Frame(v, &o)
			if !bytes.Equal(l.Bytes(), o.Bytes()) {
				t.Fatalf("%+v: with only all threads the picture is\n%.3000s\nand not\n%.3000s", v, o.String(), l.String())
			}
			none.Frame(v, &o)
			for op, err := range o.Ops() {
				if err != nil {
					t.Fatal(err)
				}
				if op.Style >= scene.Highlight && op.Style <= scene.FailedLine || op.Style >= scene.LabelTick && op.Style <= scene.FailureLabel {
					t.Fatalf("%+v: with no threads there are %d of %v", v, op.N, op.Style)
				}
			}
			if _, ok := none.Pick(v, 300, 300); ok {
				t.Fatalf("%+v: a thread is picked where there is none", v)
			}
		}
	}
}

// With only some threads, what is picked is one of them, lies where it lies among
// all, and each arrow has one of them at an end.
func TestOnlySome(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	var l scene.List
	threads, arrows := 0, 0
	for _, m := range []*thread.Model{bigModel("rows2k", 20_000), bigModel("flat", 5000)} {
		x := scene.NewIndex(m)
		for _, share := range []float64{0.001, 0.03, 0.5} {
			var ids []thread.ID
			for id := 1; id < len(m.Threads); id++ {
				if rnd.Float64() < share {
					ids = append(ids, thread.ID(id))
				}
			}
			some := x.Only(ids)
			in := func(id thread.ID) bool { _, ok := slices.BinarySearch(ids, id); return ok }
			for _, v := range arrowViews(m, rnd) {
				some.Frame(v, &l)
				drawn := drawnArrows(t, &l)
				for range 40 {
					px, py := rnd.Float64()*1000, rnd.Float64()*600
					if id, ok := some.Pick(v, px, py); ok {
						threads++
						if !in(id) {
							t.Fatalf("%+v: thread %d is picked, but not drawn", v, id)
						}
					}
					if len(drawn) > 0 {
						d := drawn[rnd.IntN(len(drawn))]
						px, py = (d.x1+d.x2)/2, (d.y1+d.y2)/2
					}
					if a, ok := some.PickArrow(v, px, py); ok {
						arrows++
						if !in(a.From) && !in(a.To) {
							t.Fatalf("%+v: an arrow from %d to %d is picked, neither of which is drawn", v, a.From, a.To)
						}
					}
					checkPickArrow(t, some, v, drawn, px, py)
				}
				p, q := x.Projection(v), some.Projection(v)
				if id := thread.ID(1 + rnd.IntN(len(m.Threads)-1)); x.Place(&p, id) != some.Place(&q, id) {
					t.Fatalf("%+v: thread %d moved from %v to %v", v, id, x.Place(&p, id), some.Place(&q, id))
				}
			}
		}
	}
	if threads < 100 || arrows < 100 {
		t.Errorf("%d threads and %d arrows were picked: too few to tell", threads, arrows)
	}
}

// The selected thread is drawn even where it is none of them.
func TestOnlyAndSelected(t *testing.T) {
	m := bigModel("rows2k", 20_000)
	x := scene.NewIndex(m).Only([]thread.ID{5})
	lines := func(v scene.Viewport) (n int) {
		var l scene.List
		x.Frame(v, &l)
		for op, err := range l.Ops() {
			if err != nil {
				t.Fatal(err)
			}
			if op.Style == scene.ThreadLine || op.Style == scene.FailedLine && op.Kind == scene.Lines {
				n += op.N
			}
		}
		return n
	}
	th := &m.Threads[7000]
	v := scene.Viewport{From: th.Start - 1e-3, To: th.End + 1e-3, Width: 1000, Height: 600, Focus: th.Y()}
	before := lines(v)
	v.Selected = 7000
	if now := lines(v); now != before+1 {
		t.Errorf("with a selected thread there are %d lines, %d without", now, before)
	}
	v.Selected = 1 << 30
	if now := lines(v); now != before {
		t.Errorf("with a thread selected that there is not there are %d lines, not %d", now, before)
	}
}

// BenchmarkOnly makes the index of a hundredth of a million threads.
func BenchmarkOnly(b *testing.B) {
	m := bigModel("rows2k", million)
	x := scene.NewIndex(m)
	var ids []thread.ID
	for id := 1; id < len(m.Threads); id += 100 {
		ids = append(ids, thread.ID(id))
	}
	b.ReportAllocs()
	for b.Loop() {
		x.Only(ids)
	}
}
