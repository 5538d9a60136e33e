package scene_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// drawnArrow is a line of an arrow in a list.
type drawnArrow struct {
	style          scene.Style
	alpha          float64
	x1, y1, x2, y2 float64
}

func (d *drawnArrow) distance(px, py float64) float64 {
	dx, dy := d.x2-d.x1, d.y2-d.y1
	along := 0.0
	if long := dx*dx + dy*dy; long > 0 {
		along = max(0, min(((px-d.x1)*dx+(py-d.y1)*dy)/long, 1))
	}
	return math.Hypot(d.x1+along*dx-px, d.y1+along*dy-py)
}

// drawnArrows returns the lines of a list's arrows, with those of their heads.
func drawnArrows(t *testing.T, l *scene.List) []drawnArrow {
	t.Helper()
	var all []drawnArrow
	for op, err := range l.Ops() {
		if err != nil {
			t.Fatal(err)
		}
		if op.Kind != scene.Lines || op.Style < scene.TryReadArrow || op.Style > scene.SignalArrow {
			continue
		}
		for i := range op.N {
			all = append(all, drawnArrow{op.Style, op.Alpha, op.Float(4 * i), op.Float(4*i + 1), op.Float(4*i + 2), op.Float(4*i + 3)})
		}
	}
	return all
}

var arrowStyles = map[thread.Op][]scene.Style{
	thread.TryRead: {scene.TryReadArrow},
	thread.Read:    {scene.ReadArrow, scene.ReadFailedArrow},
	thread.Resolve: {scene.ResolveArrow},
	thread.Signal:  {scene.SignalArrow},
}

// checkPickArrow picks at a point: what is picked is drawn within 5 px of it, and
// where an arrow is seen that near, and no thread is nearer, one is picked.
func checkPickArrow(t *testing.T, x *scene.Index, v scene.Viewport, drawn []drawnArrow, px, py float64) (picked bool) {
	t.Helper()
	const slack = 0.05 // px; a list's numbers have 32 bits
	a, ok := x.PickArrow(v, px, py)
	line := math.Inf(1)
	if id, ok := x.Pick(v, px, py); ok {
		p := x.Projection(v)
		at := x.Place(&p, id)
		line = math.Hypot(max(0, at.X0-px, px-at.X1), at.Y-py)
	}
	if ok {
		least := math.Inf(1)
		for i := range drawn {
			for _, s := range arrowStyles[a.Op] {
				if drawn[i].style == s {
					least = min(least, drawn[i].distance(px, py))
				}
			}
		}
		if least > 5+slack || least > line+slack {
			t.Fatalf("%+v is picked at %.1f, %.1f, where the next %v is drawn %.2f px off, and the next thread %.2f", a, px, py, a.Op, least, line)
		}
		if again, ok := x.Arrow(a.Op, a.From, a.To, a.Time()); !ok || again != a {
			t.Fatalf("the arrow %+v is found as %+v, %v", a, again, ok)
		}
		return true
	}
	for i := range drawn {
		d := &drawn[i]
		head := math.Hypot(d.x2-d.x1, d.y2-d.y1) < 9
		if near := d.distance(px, py); !head && d.alpha >= 3./16 && near < 5-slack && near < line-slack {
			t.Fatalf("nothing is picked at %.1f, %.1f, but %+v lies %.2f px off, and no thread nearer than %.2f", px, py, *d, near, line)
		}
	}
	return false
}

// arrowViews are views of all sorts of a model.
func arrowViews(m *thread.Model, rnd *rand.Rand) []scene.Viewport {
	d := m.Duration()
	var all []scene.Viewport
	for _, share := range []float64{1.04, 0.1, 0.01, 0.001, 1e-5} {
		from := d * rnd.Float64() * max(0, 1-share)
		v := scene.Viewport{From: from, To: from + d*share, Width: 1000, Height: 600, Focus: rnd.Float64() * m.Height()}
		all = append(all, v)
		v.FoldIdle = true
		all = append(all, v)
		v.Rows, v.Scroll = scene.Linear, rnd.Float64()*max(0, m.Height()-600)
		all = append(all, v)
	}
	return all
}

func TestPickArrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	var l scene.List
	picked, missed := 0, 0
	for _, m := range []*thread.Model{small(), bigModel("rows2k", 20_000), bigModel("flat", 5000)} {
		x := scene.NewIndex(m)
		for _, v := range arrowViews(m, rnd) {
			x.Frame(v, &l)
			drawn := drawnArrows(t, &l)
			for i := range 300 {
				px, py := rnd.Float64()*1000, rnd.Float64()*600
				if len(drawn) > 0 && i%2 == 0 { // on an arrow, or nearly
					d := drawn[rnd.IntN(len(drawn))]
					k := rnd.Float64()
					px, py = d.x1+k*(d.x2-d.x1)+8*rnd.Float64()-4, d.y1+k*(d.y2-d.y1)+8*rnd.Float64()-4
				}
				if checkPickArrow(t, x, v, drawn, px, py) {
					picked++
				} else {
					missed++
				}
			}
		}
	}
	if picked < 500 || missed < 500 {
		t.Errorf("%d arrows were picked and %d were not: too few to tell", picked, missed)
	}
}

// In the pictures that OCaml's software was asked for, too.
func TestPickArrowInReferences(t *testing.T) {
	var l scene.List
	rnd := rand.New(rand.NewPCG(9, 9))
	picked := 0
	forReferenceFrames(t, &l, func(name string, m *thread.Model, x *scene.Index, v scene.Viewport) {
		drawn := drawnArrows(t, &l)
		for range min(len(drawn), 12) {
			d := drawn[rnd.IntN(len(drawn))]
			k := rnd.Float64()
			if checkPickArrow(t, x, v, drawn, d.x1+k*(d.x2-d.x1), d.y1+k*(d.y2-d.y1)+rnd.Float64()) {
				picked++
			}
		}
	})
	if picked < 100 {
		t.Errorf("%d arrows were picked", picked)
	}
}

// A selected arrow is drawn as nothing fades and nothing is too dense, and can be
// picked, wherever a part of it is seen; another viewport's is no trouble.
func TestSelectedArrow(t *testing.T) {
	m := bigModel("rows2k", 20_000)
	x := scene.NewIndex(m)
	var l scene.List
	d := m.Duration()
	var selected scene.Arrow
	for id := range m.Threads {
		for _, in := range m.Interactions(thread.ID(id)) {
			if a, ok := x.Arrow(in.Op, thread.ID(id), in.Other, in.Time); ok && in.Op == thread.Resolve && a.End > d/2 {
				selected = a
			}
		}
		if selected != (scene.Arrow{}) {
			break
		}
	}
	if selected == (scene.Arrow{}) {
		t.Fatal("no thread resolved another")
	}
	glow := func(v scene.Viewport) (n int) {
		x.Frame(v, &l)
		for op, err := range l.Ops() {
			if err != nil {
				t.Fatal(err)
			}
			if op.Style == scene.Selection {
				n += op.N
			}
		}
		return n
	}
	v := scene.Viewport{From: 0, To: d, Width: 1000, Height: 600, SelectedArrow: selected}
	if n := glow(v); n != 1 {
		t.Errorf("the selected arrow has %d lines under it", n)
	}
	opaque := 0
	for _, a := range drawnArrows(t, &l) {
		if a.style == scene.ResolveArrow && a.alpha == 1 {
			opaque++
		}
	}
	if opaque == 0 {
		t.Error("the selected arrow is not drawn as if it were alone")
	}
	v.From, v.To = -2*d, -d
	if n := glow(v); n != 0 {
		t.Errorf("an arrow out of sight has %d lines under it", n)
	}
	for _, a := range []scene.Arrow{{From: -1, To: 3}, {From: 1 << 30, To: 1}, {From: 1, To: 2, Start: math.NaN(), End: math.Inf(1)}} {
		v := scene.Viewport{SelectedArrow: a}
		x.Frame(v, &l)
		if _, err := scene.Decode(l.Bytes()); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
		x.PickArrow(v, 100, 100)
	}
}

// BenchmarkPickArrow points anywhere at a million threads.
func BenchmarkPickArrow(b *testing.B) {
	m := bigModel("rows2k", million)
	x := scene.NewIndex(m)
	views := viewports(m)
	for _, name := range sortedKeys(views) {
		b.Run(name, func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				x.PickArrow(views[name], 1600*rnd.Float64(), 900*rnd.Float64())
			}
		})
	}
}
