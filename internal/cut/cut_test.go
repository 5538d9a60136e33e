package cut

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

// load opens a trace and reads it.
func load(t *testing.T, path string) (*format.Trace, *trace.Trace) {
	t.Helper()
	file, err := format.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	loaded, err := trace.Read(file, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return file, loaded
}

// recorded is a recording of ours, with the runtime's trace if goTrace is not
// negative.
func recorded(t *testing.T, name string, goTrace int64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	r, err := mirador.Start(mirador.Config{Path: dir, Size: 1 << 20, GoTrace: goTrace, Sample: -1})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	letters := mirador.NewChan[int]("letters", 1)
	count := mirador.NewCounter("count")
	for i := range 8 {
		group.Add(2)
		mirador.Go(fmt.Sprint("sender ", i), func() {
			defer group.Done()
			mirador.Label(fmt.Sprint("second name of sender ", i))
			time.Sleep(time.Duration(i) * time.Millisecond)
			count.Add(1)
			letters.Send(i)
		})
		mirador.Go(fmt.Sprint("receiver ", i), func() {
			defer group.Done()
			n, _ := letters.Recv()
			mirador.Log(fmt.Sprint("received ", n))
		})
	}
	group.Wait()
	if goTrace >= 0 {
		time.Sleep(1100 * time.Millisecond) // the runtime ends a generation
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// each cuts parts out of traces of all formats.
func each(t *testing.T, test func(t *testing.T, whole *thread.Model, w Window, part []byte, cut *thread.Model)) {
	paths := []string{recorded(t, "own.trace", -1), recorded(t, "joined.trace", 0), filepath.FromSlash("../format/gotrace/testdata/small.trace")}
	for _, name := range []string{"combinators.ctf.gz", "conditions.ctf.gz", "counters.ctf.gz", "failures.ctf.gz"} {
		paths = append(paths, filepath.Join("..", "..", "testdata", name))
	}
	for _, path := range paths {
		eachPart(t, path, test)
	}
	t.Run("net", func(t *testing.T) { eachPart(t, reference.Glob(t, "mirage/net/net.ctf")[0], test) })
	t.Run("http", func(t *testing.T) { eachPart(t, reference.Glob(t, "go/http-go1.26.trace.gz")[0], test) })
}

func eachPart(t *testing.T, path string, test func(t *testing.T, whole *thread.Model, w Window, part []byte, cut *thread.Model)) {
	file, whole := load(t, path)
	for _, share := range [][2]float64{{0, 1}, {0, 0.3}, {0.2, 0.6}, {0.45, 0.55}, {0.9, 1}} {
		d := whole.Model.Duration()
		w := Window{share[0] * d, share[1] * d}
		t.Run(fmt.Sprintf("%s-%v", filepath.Base(path), share), func(t *testing.T) {
			var part, again bytes.Buffer
			for _, to := range []*bytes.Buffer{&part, &again} {
				if err := Write(to, file, whole.Model, whole.Start, w); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(part.Bytes(), again.Bytes()) {
				t.Error("the same part is written in two ways")
			}
			opened, err := format.OpenBytes("part", part.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			cut, err := trace.Read(opened, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range cut.Damage {
				t.Errorf("damage: %v", d)
			}
			for _, n := range cut.Model.Notes {
				t.Errorf("passed over: %v", n)
			}
			if got, want := cut.Model.Duration(), w.To-w.From; math.Abs(got-want) > 2e-9 {
				t.Errorf("it lasts %g s; want %g s", got, want)
			}
			if whole.Start != 0 {
				if got, want := cut.Start, whole.Start+int64(w.From*1e9); got-want > 2 || want-got > 2 {
					t.Errorf("it starts at %d; want %d", got, want)
				}
			}
			test(t, whole.Model, w, part.Bytes(), cut.Model)
		})
	}
}

func byNumber(m *thread.Model) map[int64]thread.ID {
	all := make(map[int64]thread.ID)
	for i := range m.Threads {
		if id := thread.ID(i); id != thread.Top {
			all[m.Threads[i].TID] = id
		}
	}
	return all
}

// clip is what of spans lies in a window, with times from its start; what is
// shorter than 2 ns is left out, since times are rounded.
func clip(spans []thread.Span, w Window) (in []thread.Span) {
	for _, s := range spans {
		s = thread.Span{Start: max(s.Start, w.From) - w.From, End: min(s.End, w.To) - w.From}
		if s.End-s.Start > 2e-9 {
			if n := len(in); n > 0 && s.Start-in[n-1].End < 2e-9 {
				in[n-1].End = s.End
				continue
			}
			in = append(in, s)
		}
	}
	return in
}

func same(a, b []thread.Span) bool {
	for i := range a {
		if len(a) != len(b) || math.Abs(a[i].Start-b[i].Start) > 4e-9 || math.Abs(a[i].End-b[i].End) > 4e-9 {
			return false
		}
	}
	return len(a) == len(b)
}

// A part has the threads that live in its window, each as long as it does
// there, running when it does, with its name and its arrows, and no others.
func TestPart(t *testing.T) {
	each(t, func(t *testing.T, whole *thread.Model, w Window, _ []byte, cut *thread.Model) {
		got := byNumber(cut)
		arrows := 0
		for tid, id := range byNumber(whole) {
			th := &whole.Threads[id]
			other, there := got[tid]
			if live := th.Start <= w.To && th.End >= w.From; live != there {
				if th.End-w.From > 2e-9 && w.To-th.Start > 2e-9 || !live {
					t.Errorf("thread %d, %g–%g s: in the part %v", tid, th.Start, th.End, there)
				}
				continue
			} else if !live {
				continue
			}
			c := &cut.Threads[other]
			delete(got, tid)
			if c.Type != th.Type {
				t.Errorf("thread %d is a %v; want %v", tid, c.Type, th.Type)
			}
			want := clip([]thread.Span{{Start: th.Start, End: th.End}}, w)
			if life := clip([]thread.Span{{Start: c.Start, End: c.End}}, Window{0, w.To - w.From}); len(want) > 0 && !same(life, want) {
				t.Errorf("thread %d, %v %g–%g s, lives %v; want %v", tid, th.Type, th.Start, th.End, life, want)
			}
			if ran, want := clip(cut.Activations(other), Window{0, w.To}), clip(whole.Activations(id), w); !same(ran, want) {
				t.Errorf("thread %d, %v, runs %v; want %v", tid, th.Type, ran, want)
			}
			if name := whole.Name(id); name.Text != thread.NoText && name.Time < w.To && cut.Title(other) != whole.Title(id) && !th.Failed() {
				t.Errorf("thread %d is called %q; want %q", tid, cut.Title(other), whole.Title(id))
			}
			if never := !th.Resolved; never != !c.Resolved && th.Type != thread.Type(100) {
				t.Errorf("thread %d: never resolved %v", tid, !c.Resolved)
			}
			for _, a := range whole.Interactions(id) {
				if a.Time <= w.From+2e-9 || a.Time >= w.To-2e-9 {
					continue
				}
				to := &whole.Threads[a.Other]
				if to.Start > w.To || to.End < w.From || a.Other == thread.Top {
					continue
				}
				arrows++
				found := false
				for _, b := range cut.Interactions(other) {
					found = found || b.Op == a.Op && math.Abs(a.Time-w.From-b.Time) < 4e-9 && cut.Threads[b.Other].TID == to.TID
				}
				if !found {
					t.Errorf("thread %d: no %v of %d at %g s", tid, a.Op, to.TID, a.Time)
				}
			}
		}
		for tid, id := range got {
			if cut.Title(id) != "outside" {
				t.Errorf("thread %d, %q, is not of the window", tid, cut.Title(id))
			}
		}
		t.Logf("%d of %d threads, %d arrows", len(cut.Threads), len(whole.Threads), arrows)
	})
}

// Nothing that was said outside of the window is in the file.
func TestNothingFromOutside(t *testing.T) {
	each(t, func(t *testing.T, whole *thread.Model, w Window, part []byte, cut *thread.Model) {
		inside := "outside __should_resolve"
		outside := make(map[string]bool)
		for i := range whole.Threads {
			th := &whole.Threads[i]
			for _, l := range whole.Labels(thread.ID(i)) {
				text := whole.Text(l.Text)
				live := th.Start <= w.To && th.End >= w.From
				switch {
				case live && l == whole.Name(thread.ID(i)) && l.Time <= w.To, live && l.Time >= w.From-2e-9 && l.Time <= w.To+2e-9:
					inside += "\n" + text
				default:
					outside[text] = true
				}
			}
		}
		for _, c := range whole.Counters {
			inside += "\n" + c.Name
		}
		looked := 0
		for text := range outside {
			if strings.Contains(inside, text) || len(text) < 4 {
				continue
			}
			looked++
			if bytes.Contains(part, []byte(text)) {
				t.Errorf("the file contains %q, which was said outside", text)
			}
		}
		t.Logf("looked for %d texts", looked)
	})
}

// A cut of a trace that is damaged is what could be read of it.
func TestDamaged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "nul.ctf"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.ctf")
	for n := 200; n < len(data); n += 97 {
		if err := os.WriteFile(path, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := format.Open(path, nil)
		if err != nil {
			continue
		}
		whole, err := trace.Read(file, trace.Options{})
		if err == nil {
			var part bytes.Buffer
			d := whole.Model.Duration()
			if err := Write(&part, file, whole.Model, whole.Start, Window{d / 3, d}); err != nil {
				t.Fatal(err)
			}
		}
		file.Close()
	}
}

// Whatever a trace contains, a part of it can be written, and read again.
func FuzzPart(f *testing.F) {
	for _, name := range []string{"nul.ctf", "odd.ctf", "ring.ctf"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 4096)], 0.2, 0.7)
	}
	small, err := os.ReadFile(filepath.FromSlash("../format/gotrace/testdata/small.trace"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small, 0.3, 0.4)
	f.Fuzz(func(t *testing.T, data []byte, from, to float64) {
		file, err := format.OpenBytes("fuzz", data)
		if err != nil {
			return
		}
		whole, err := trace.Read(file, trace.Options{NoRows: true})
		d := 0.0
		if err == nil {
			d = whole.Model.Duration()
		}
		if err != nil || !(0 <= from && from < to && to <= 1) || !(d > 0) || from*d >= to*d {
			return
		}
		var part bytes.Buffer
		if err := Write(&part, file, whole.Model, whole.Start, Window{from * d, to * d}); err != nil {
			return
		}
		opened, err := format.OpenBytes("part", part.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Read(opened, trace.Options{NoRows: true}); err != nil {
			t.Fatal(err)
		}
	})
}
