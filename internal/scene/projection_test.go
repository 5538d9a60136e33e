package scene_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

// load returns a trace's model and index.
func load(t testing.TB, path string) (*thread.Model, *scene.Index) {
	t.Helper()
	tr, err := trace.Load(path, nil, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr.Model, scene.NewIndex(tr.Model)
}

// original is the 1000x600 view that the original viewer has of a trace.
type original struct {
	ViewStartTime any `json:"view_start_time"`
	GridStep      any `json:"grid_step"`
	Threads       [][4]any
}

// Where the original viewer puts a thread, we put it too: x within 1e-6 px, y
// within 0.5 px, the grid's step to the last bit. Where it divides by a
// duration of zero, we have something finite.
func TestViewIsTheOriginals(t *testing.T) {
	views := append(reference.Glob(t, "mirage/*/view.json.gz"), reference.Glob(t, "mirage/edge/*.view.json")...)
	compared := 0
	for _, path := range views {
		tracePath := strings.TrimSuffix(path, ".view.json") + ".ctf"
		if strings.HasSuffix(path, "view.json.gz") {
			found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.ctf*"))
			if len(found) != 1 {
				t.Fatalf("%s: traces %v", path, found)
			}
			tracePath = found[0]
		}
		t.Run(strings.TrimPrefix(path, reference.Dir(t)), func(t *testing.T) {
			compared += compareView(t, tracePath, reference.Read(t, path))
		})
	}
	if len(views) < 25 || compared < 10000 {
		t.Errorf("only %d threads of %d views compared", compared, len(views))
	}
}

func compareView(t *testing.T, path string, view []byte) (compared int) {
	var want original
	if err := json.Unmarshal(view, &want); err != nil {
		t.Fatal(err)
	}
	m, x := load(t, path)
	p := x.Projection(scene.Viewport{Width: 1000, Height: 600})
	number := func(what string, got float64, want any, within float64) {
		t.Helper()
		if math.IsNaN(got) || math.IsInf(got, 0) {
			t.Errorf("%s is %v", what, got)
		}
		if w, ok := want.(float64); ok && !(math.Abs(got-w) <= within) {
			t.Errorf("%s = %v, want %v", what, got, w)
		}
	}
	if m.Duration() > 0 {
		number("grid step", p.GridStep(), want.GridStep, 0)
		number("start", p.Time(0), want.ViewStartTime, 1e-15)
	}
	ids := make(map[int64]thread.ID)
	for id := range m.Threads {
		ids[m.Threads[id].TID] = thread.ID(id)
	}
	for _, w := range want.Threads {
		id, ok := ids[int64(w[0].(float64))]
		if !ok {
			t.Errorf("no thread %v", w[0])
			continue
		}
		at := x.Place(&p, id)
		number("x of start", at.X0, w[1], 1e-6)
		number("x of end", at.X1, w[2], 1e-6)
		number("y", at.Y, w[3], 0.5)
		compared++
	}
	return compared
}

// A projection that is not injective, or whose inverse is not its inverse,
// makes the picture jump under the pointer.
func TestProjectionLaws(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		m := &thread.Model{Threads: []thread.Thread{{Row: -1}}, Rows: 1 + rnd.IntN(400)}
		m.Threads[0].End = math.Pow(10, rnd.Float64()*12-9)
		x := scene.NewIndex(m)
		v := scene.Viewport{
			Width: 1 + rnd.Float64()*3000, Height: 1 + rnd.Float64()*2000,
			Focus: rnd.Float64() * m.Height(), Scroll: rnd.Float64() * 1000, Zoom: 0.1 + rnd.Float64(),
			Rows: scene.Rows(rnd.IntN(2)),
		}
		if rnd.IntN(2) == 0 {
			v.From = rnd.Float64() * m.Duration()
			v.To = v.From + m.Duration()*math.Pow(10, -rnd.Float64()*6)
		}
		p := x.Projection(v)
		last := math.Inf(-1)
		for i := range m.Rows {
			y := thread.FirstRow + thread.RowHeight*float64(i)
			s := p.Y(y)
			if math.IsNaN(s) || s < last || v.Rows == scene.Linear && s == last {
				t.Fatalf("%+v: row %d at %v, the one before at %v", v, i, s, last)
			}
			last = s
			// Far from the focus the fisheye has no digits left to tell.
			if back := p.Row(s); math.Abs(back-y) > 1e-3 && math.Abs(p.Y(back)-s) > 1e-6 {
				t.Fatalf("%+v: y %v at %v, which is %v", v, y, s, back)
			}
		}
		for range 20 {
			px := rnd.Float64() * v.Width
			if back := p.X(p.Time(px)); math.Abs(back-px) > 1e-3 {
				t.Fatalf("%+v: %v px is %v s is %v px", v, px, p.Time(px), back)
			}
		}
		if v.Rows == scene.Fisheye && v.Height >= 120 {
			top, bottom := p.Y(0), p.Y(m.Height())
			if math.Abs(top-30) > 1e-6 || math.Abs(bottom-(v.Height-30)) > 1e-6 {
				t.Fatalf("%+v: rows from %v to %v", v, top, bottom)
			}
		}
	}
}

// The grid's lines are 31.6 to 316 px apart, at powers of ten.
func TestGridStep(t *testing.T) {
	for scale := 1e-4; scale < 1e14; scale *= 1.37 {
		x := scene.NewIndex(&thread.Model{Threads: []thread.Thread{{End: 1, Row: -1}}})
		p := x.Projection(scene.Viewport{From: 0, To: 1000 / scale, Width: 1000})
		if step := p.GridStep(); step*scale < 31.6 || step*scale > 316.3 {
			t.Errorf("%v px per s: a step of %v px", scale, step*scale)
		}
	}
}

// With folds, too, time only goes forward, and what lies at x px is where it
// came from; all of the trace is seen, and no more than a third of it is breaks.
func TestFoldLaws(t *testing.T) {
	folded := 0
	for _, path := range reference.Glob(t, "mirage/*/*.ctf*") {
		if strings.Contains(path, "/edge/") || strings.Contains(path, "/torn/") {
			continue
		}
		m, x := load(t, path)
		var l scene.List
		x.Frame(scene.Viewport{FoldIdle: true}, &l)
		p := x.Projection(scene.Viewport{FoldIdle: true})
		last, d := math.Inf(-1), m.Duration()
		for i := range 10_001 {
			at := d * (float64(i)/10_000*1.2 - 0.1)
			px := p.X(at)
			if !(px >= last) || d > 0 && i > 0 && px == last {
				t.Fatalf("%s: %v s at %v px, the time before at %v px", path, at, px, last)
			}
			if back := p.Time(px); math.Abs(back-at) > 1e-9*d+1e-15 {
				t.Fatalf("%s: %v s is at %v px, which is %v s", path, at, px, back)
			}
			last = px
		}
		if d > 0 && (math.Abs(p.X(0)-20) > 1e-6 || math.Abs(p.X(d)-980) > 1e-3) {
			t.Errorf("%s: from %v to %v px", path, p.X(0), p.X(d))
		}
		meta, breaks := checkMeta(t, &l), 0.0
		for _, f := range meta.Folds {
			folded++
			breaks += f.X1 - f.X0
			if math.Abs(p.X(f.From)-f.X0) > 1e-6 || math.Abs(p.X(f.To)-f.X1) > 1e-6 {
				t.Errorf("%s: %+v", path, f)
			}
		}
		if breaks > 340 {
			t.Errorf("%s: %v px of breaks", path, breaks)
		}
	}
	if folded < 10 {
		t.Errorf("only %d folds", folded)
	}
}
