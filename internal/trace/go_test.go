package trace_test

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"github.com/mirador-trace/mirador/bench/busy"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

// eachGoTrace loads the small recorded trace, the reference trace, and one of
// a busy program that is recorded now.
func eachGoTrace(t *testing.T, test func(t *testing.T, tr *trace.Trace)) {
	load := func(t *testing.T, path string, stdin []byte) {
		tr, err := trace.Load(path, bytes.NewReader(stdin), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if tr.Go == nil || tr.Model.Stacks.Len() == 0 {
			t.Fatalf("%s is not loaded as a Go execution trace", path)
		}
		test(t, tr)
	}
	t.Run("small", func(t *testing.T) { load(t, filepath.FromSlash("../format/gotrace/testdata/small.trace"), nil) })
	t.Run("reference", func(t *testing.T) { load(t, reference.Glob(t, "go/http-go1.26.trace.gz")[0], nil) })
	t.Run("busy", func(t *testing.T) {
		data, err := busy.Record(2e6)
		if err != nil {
			t.Skip(err)
		}
		load(t, "-", data)
	})
}

// A goroutine does one thing at a time: it runs on one P, or it waits for one
// thing, or neither.
func TestGoroutinesDoOneThing(t *testing.T) {
	eachGoTrace(t, func(t *testing.T, tr *trace.Trace) {
		m := tr.Model
		for id := range m.Threads {
			if id == int(thread.Top) {
				continue
			}
			ran, waits := m.Activations(thread.ID(id)), m.Waits(thread.ID(id))
			last := math.Inf(-1)
			for len(ran)+len(waits) > 0 {
				var next thread.Span
				if len(waits) == 0 || len(ran) > 0 && ran[0].Start < waits[0].Start {
					next, ran = ran[0], ran[1:]
				} else {
					next, waits = waits[0].Span, waits[1:]
				}
				if next.End < next.Start || next.Start < last {
					t.Fatalf("thread %d: %v overlaps what ended at %v", m.Threads[id].TID, next, last)
				}
				last = next.End
			}
		}
		if m.Passed > 0 {
			t.Errorf("%d events cannot be true: %v", m.Passed, m.Notes)
		}
	})
}

// The model's parts add up to the times that the states lasted.
func TestGoroutinesRunAsLongAsTheirStates(t *testing.T) {
	eachGoTrace(t, func(t *testing.T, tr *trace.Trace) {
		m := tr.Model
		var ran, calls float64
		for id := range m.Threads {
			if id == int(thread.Top) {
				continue
			}
			for _, a := range m.Activations(thread.ID(id)) {
				ran += a.End - a.Start
			}
			for _, w := range m.Waits(thread.ID(id)) {
				if m.Text(w.Reason) == "syscall" {
					calls += w.End - w.Start
				}
			}
		}
		// The trace's last event may be one that the model has none for.
		const slack = 0.000_1
		if want := float64(tr.Go.Running) / 1e9; math.Abs(ran-want) > slack {
			t.Errorf("threads run for %v s, goroutines for %v s", ran, want)
		}
		if want := float64(tr.Go.Syscall) / 1e9; math.Abs(calls-want) > slack {
			t.Errorf("threads are in system calls for %v s, goroutines for %v s", calls, want)
		}
	})
}

// Goroutines have a name, know where they were created and where they wait,
// and live until they end or the trace does.
func TestGoroutinesAreKnown(t *testing.T) {
	eachGoTrace(t, func(t *testing.T, tr *trace.Trace) {
		m := tr.Model
		goroutines := 0
		for id := range m.Threads {
			th := &m.Threads[id]
			if th.Type != thread.Type(event.Goroutine) {
				continue
			}
			goroutines++
			if len(m.Labels(thread.ID(id))) == 0 {
				t.Errorf("goroutine %d has no name", th.TID)
			}
			if m.Stacks.Frames(th.Stack) == nil {
				t.Errorf("nobody knows where goroutine %d was created", th.TID)
			}
			if !th.Resolved && th.End != m.Duration() {
				t.Errorf("goroutine %d goes on and ends at %v of %v", th.TID, th.End, m.Duration())
			}
			for _, w := range m.Waits(thread.ID(id)) {
				if w.Reason != thread.NoText && w.Stack == 0 && m.Text(w.Reason) != "runnable" {
					t.Errorf("goroutine %d waits for %q at no place", th.TID, m.Text(w.Reason))
					break
				}
			}
			for _, i := range m.Interactions(thread.ID(id)) {
				if i.Op == thread.Signal && m.Stacks.Frames(i.Stack()) == nil {
					t.Errorf("goroutine %d wakes %d from no place", th.TID, m.Threads[i.Other].TID)
					break
				}
			}
		}
		if goroutines == 0 || goroutines > tr.Go.Goroutines {
			t.Errorf("%d of %d goroutines were created", goroutines, tr.Go.Goroutines)
		}
	})
}
