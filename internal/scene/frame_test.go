package scene_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/typeface"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s:%d: got %q, want %q (go test -update, then look at the difference)", path, i+1, g[i], w[min(i, len(w)-1)])
		}
	}
	t.Fatalf("%s: %d lines, want %d", path, len(g), len(w))
}

func TestFrameGolden(t *testing.T) {
	x := scene.NewIndex(small())
	var l scene.List
	x.Frame(smallView, &l)
	golden(t, "fisheye.txt", l.String())
	golden(t, "small.mdl", string(l.Bytes())) // what the painters' tests paint
	v := smallView
	v.Rows, v.Scroll, v.From, v.To = scene.Linear, 20, 20e-6, 90e-6
	v.HiddenCounters = []string{"queue"}
	x.Frame(v, &l)
	golden(t, "linear.txt", l.String())
	x.Frame(scene.Viewport{Width: 480, Height: 260, FoldIdle: true}, &l)
	golden(t, "folded.txt", l.String())
}

// Everything that a trace can show is in the small one's picture.
func TestFrameShowsAll(t *testing.T) {
	x := scene.NewIndex(small())
	var l scene.List
	drawn := make(map[scene.Style]bool)
	for _, v := range []scene.Viewport{smallView, {FoldIdle: true}} {
		x.Frame(v, &l)
		for op, err := range l.Ops() {
			if err != nil {
				t.Fatal(err)
			}
			drawn[op.Style] = true
		}
	}
	for s := range scene.ChartArea {
		if s == scene.Merged || s > scene.Counter0 && s <= scene.Counter7 {
			continue
		}
		if !drawn[s] {
			t.Errorf("no %v", s)
		}
	}
}

// Viewports that no caller should ask for show something sensible.
func TestFrameOddViewports(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	models := map[string]*thread.Model{
		"small": small(),
		"empty": {Threads: []thread.Thread{{Row: -1, Parent: thread.None, Becomes: thread.None}}},
		"nothing happens": {Rows: 1, Threads: []thread.Thread{
			{Row: -1, Parent: thread.None, Becomes: thread.None},
			{TID: 1, Parent: thread.Top, Becomes: thread.None, End: 1e-6},
		}},
	}
	for name, m := range models {
		x := scene.NewIndex(m)
		for _, v := range []scene.Viewport{
			{}, {From: nan, To: nan}, {From: 1, To: 0}, {From: -inf, To: inf}, {From: 1e300, To: 1.7e308},
			{From: 1e9, To: 1e9 + 1}, {From: 5e-5, To: 5e-5}, {From: 5e-5, To: math.Nextafter(5e-5, 1)},
			{Width: 1, Height: 1}, {Width: nan, Height: -1}, {Width: inf, Height: 1e9}, {Width: 30, Height: 5000},
			{Focus: nan}, {Focus: inf}, {Focus: -5}, {Rows: scene.Linear, Scroll: nan, Zoom: nan},
			{Rows: scene.Linear, Scroll: 1e18, Zoom: 1e-9}, {Rows: scene.Linear, Scroll: -1e7, Zoom: 1e9}, {Rows: 7},
			{Highlighted: []thread.ID{-1, 0, 1 << 30}, SearchHits: []thread.ID{-7, 99}, Selected: -3, Marks: []float64{nan, inf}},
			{HiddenCounters: []string{"", "queue", "queue"}}, {FoldIdle: true}, {FoldIdle: true, From: 4e-5, To: 4.1e-5},
			{FoldIdle: true, From: 4e-5, To: 1e9}, {FoldIdle: true, From: -1e12, To: 5e-5},
		} {
			var l scene.List
			x.Frame(v, &l)
			if _, err := scene.Decode(l.Bytes()); err != nil {
				t.Errorf("%s, %+v: %v", name, v, err)
			}
			checkMeta(t, &l)
			for _, at := range [][2]float64{{nan, nan}, {0, 0}, {1e9, -1e9}, {inf, inf}, {500, 300}} {
				if id, ok := x.Pick(v, at[0], at[1]); ok && (id <= 0 || int(id) >= len(m.Threads)) {
					t.Errorf("%s, %+v: picked %d", name, v, id)
				}
			}
		}
	}
}

func checkMeta(t *testing.T, l *scene.List) scene.Meta {
	t.Helper()
	var meta scene.Meta
	d := json.NewDecoder(bytes.NewReader(l.Meta()))
	d.DisallowUnknownFields()
	if err := d.Decode(&meta); err != nil {
		t.Fatalf("meta %s: %v", l.Meta(), err)
	}
	if !(meta.To > meta.From) || !(meta.GridStep > 0) || !strings.HasPrefix(meta.GridCaption, "1 div = ") || meta.Counters == nil {
		t.Errorf("meta %s", l.Meta())
	}
	return meta
}

// box is where a text is.
type box struct {
	x0, y0, x1, y1 float64
	text           string
}

// Texts never lie on each other, whatever the trace and the view: the picture
// is never a smear.
func TestTextsDoNotOverlap(t *testing.T) {
	var l scene.List
	texts := 0
	forReferenceFrames(t, &l, func(name string, m *thread.Model, x *scene.Index, v scene.Viewport) {
		var boxes []box
		for op, err := range l.Ops() {
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; op.Kind == scene.Texts && i < op.N; i++ {
				px, y, _, _, s := op.Text(i)
				size := scene.Styles[op.Style].Font
				boxes = append(boxes, box{px, y - 0.7*size, px + typeface.Width(string(s), size), y, string(s)})
			}
		}
		texts += len(boxes)
		for i, a := range boxes {
			for _, b := range boxes[:i] {
				if a.x0 < b.x1-0.5 && b.x0 < a.x1-0.5 && a.y0 < b.y1-0.5 && b.y0 < a.y1-0.5 {
					t.Errorf("%s: %q at %.1f,%.1f lies on %q at %.1f,%.1f", name, a.text, a.x0, a.y1, b.text, b.x0, b.y1)
				}
			}
			if a.x0 < 0 || a.x1 > v.Width+1 || a.y1 > v.Height+0.5 || a.y0 < -0.5 {
				t.Errorf("%s: %q reaches out of the picture: %+v", name, a.text, a)
			}
		}
	})
	if texts < 5000 {
		t.Errorf("only %d texts", texts)
	}
}

// A frame of a real trace keeps to its budget, whatever the view.
func TestReferenceFrames(t *testing.T) {
	var l scene.List
	forReferenceFrames(t, &l, func(name string, m *thread.Model, x *scene.Index, v scene.Viewport) {
		if n := l.Primitives(); n > 8000 {
			t.Errorf("%s: %d primitives", name, n)
		}
		if n := len(l.Bytes()); n > 160<<10 {
			t.Errorf("%s: %d bytes", name, n)
		}
		if meta := checkMeta(t, &l); meta.RowsTotal != m.Rows || meta.MergedThreads > meta.ThreadsVisible {
			t.Errorf("%s: %s", name, l.Meta())
		}
		if _, err := scene.Decode(l.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

func forReferenceFrames(t *testing.T, l *scene.List, check func(string, *thread.Model, *scene.Index, scene.Viewport)) {
	for _, path := range append(reference.Glob(t, "mirage/*/[a-z]_*.ctf*"), reference.Glob(t, "mirage/net/net.ctf")...) {
		m, x := load(t, path)
		d := m.Duration()
		for _, size := range [][2]float64{{1600, 900}, {1000, 600}, {400, 700}} {
			for _, part := range [][2]float64{{0, 0}, {0.1, 0.4}, {0.5, 0.51}, {0.3, 0.3001}} {
				for _, focus := range []float64{0, 0.5, 1} {
					v := scene.Viewport{Width: size[0], Height: size[1], From: part[0] * d, To: part[1] * d}
					v.Focus = focus * m.Height()
					if focus == 0.5 {
						v.Rows, v.Scroll = scene.Linear, m.Height()/3
					}
					v.FoldIdle = focus == 1
					x.Frame(v, l)
					check(strings.TrimPrefix(path, reference.Dir(t)), m, x, v)
				}
			}
		}
	}
}

// Frames may be made of one index by several goroutines at once, and the same
// viewport always gives the same picture, whatever the list showed before.
func TestFramesAreDeterministic(t *testing.T) {
	m := bigModel("rows2k", 20_000)
	x := scene.NewIndex(m)
	views := viewports(m)
	want := make(map[string]string)
	for name, v := range views {
		var l scene.List
		x.Frame(v, &l)
		want[name] = string(l.Bytes())
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var l scene.List
			for range 3 {
				for name, v := range views { // in any order
					x.Frame(v, &l)
					if string(l.Bytes()) != want[name] {
						t.Errorf("%s: another picture", name)
					}
				}
			}
		})
	}
	wg.Wait()
}

// A thread that failed is seen even in the crowd, and so is what was searched
// for.
func TestFailuresAreSeen(t *testing.T) {
	m := bigModel("flat", 60_000)
	x := scene.NewIndex(m)
	var l scene.List
	v := scene.Viewport{Width: 1600, Height: 900, SearchHits: []thread.ID{777, 778}}
	x.Frame(v, &l)
	p := x.Projection(v)
	bars := make(map[int]bool)
	hits := 0
	for op := range l.Ops() {
		for i := 0; op.Kind == scene.Lines && i < op.N; i++ {
			switch op.Style {
			case scene.FailedLine:
				bars[int(op.Float(4*i))/20] = true
			case scene.SearchHit:
				hits++
			}
		}
	}
	failed, seen := 0, 0
	for id := range m.Threads {
		if m.Threads[id].Failed() {
			failed++
			if px := int(p.X(m.Threads[id].End)) / 20; bars[px] || bars[px-1] || bars[px+1] {
				seen++
			}
		}
	}
	if failed < 50 || seen < failed*9/10 || hits == 0 {
		t.Errorf("%d of %d failures, %d hits", seen, failed, hits)
	}
}

func TestOverview(t *testing.T) {
	m := small()
	x := scene.NewIndex(m)
	o := x.Overview(10)
	ran, gc := 0.0, 0.0
	for i := range o.Run {
		ran += float64(o.Run[i]) * o.Duration / 10
		gc += float64(o.GC[i]) * o.Duration / 10
	}
	want := 0.0
	for id := 1; id < len(m.Threads); id++ {
		for _, s := range m.Activations(thread.ID(id)) {
			want += s.End - s.Start
		}
	}
	if math.Abs(ran-want) > 1e-9 || math.Abs(gc-2e-6) > 1e-9 {
		t.Errorf("ran %v of %v, GC %v", ran, want, gc)
	}
	failures, threads := int32(0), int32(0)
	for i := range o.Failures {
		failures, threads = failures+o.Failures[i], threads+o.Threads[i]
	}
	if failures != 1 || int(threads) != len(m.Threads)-1 {
		t.Errorf("%d failures, %d threads", failures, threads)
	}
	if c := o.Counters[0]; c.Name != "queue" || c.Low[4] != 3 || c.High[6] != 7 || c.Low[9] != 1 || c.High[9] != 1 {
		t.Errorf("counter %+v", c)
	}
	if o := x.Overview(-1); len(o.Run) != 1 {
		t.Errorf("%d buckets", len(o.Run))
	}
}
