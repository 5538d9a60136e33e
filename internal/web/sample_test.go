package web

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/trace"
	"github.com/mirador-trace/mirador/memtrace"
)

// The sample is a trace of 100 ms in which there is one of everything: thread
// 2 becomes 3 and then 4, thread 5 fails, 6 is never resolved, 7 signals 8, a
// collection ends at 40 ms, and the process sleeps from 60 to 85 ms. Threads
// 100 to 159 live side by side, more than there is room for.
func sampleEvents(extra int) []event.Event {
	var all []event.Event
	at := func(ms float64, e event.Event) {
		e.Time = 1_000_000_000 + int64(ms*1e6)
		all = append(all, e)
	}
	creates := func(ms float64, parent, child int64, typ event.ThreadType, label string) {
		at(ms, event.Event{Kind: event.Creates, Thread: parent, Other: child, Type: typ})
		if label != "" {
			at(ms, event.Event{Kind: event.Label, Thread: child, Text: []byte(label)})
		}
	}
	counter := func(ms float64, name string, value int64) {
		at(ms, event.Event{Kind: event.Counter, Thread: 1, Value: value, Text: []byte(name)})
	}
	creates(0, -1, 1, event.Task, "main loop")
	at(0.1, event.Event{Kind: event.Switch, Thread: 1})
	counter(0.2, "queue", 0)
	counter(0.3, "bytes", 10)
	creates(1, 1, 2, event.Task, "connect")
	creates(2, 1, 3, event.Task, "handshake")
	creates(3, 1, 4, event.Task, "ARP response")
	creates(5, 1, 5, event.Task, "write <b>bold</b>")
	creates(6, 1, 6, event.Condition, "waiting for nobody")
	creates(7, 1, 7, event.Task, "sender")
	creates(8, 1, 8, event.Condition, "receiver")
	for i := range int64(60) {
		creates(9+float64(i)/10, 1, 100+i, event.Task, fmt.Sprintf("job %d", i))
	}
	counter(16, "queue", 60)
	counter(17, "bytes", 900)
	at(20, event.Event{Kind: event.Becomes, Thread: 2, Other: 3})
	at(24, event.Event{Kind: event.Switch, Thread: 5})
	at(25, event.Event{Kind: event.Fails, Thread: 5, Other: 5, Text: []byte("Timeout")})
	at(30, event.Event{Kind: event.Becomes, Thread: 3, Other: 4})
	at(32, event.Event{Kind: event.TryRead, Thread: 8, Other: 7})
	at(33, event.Event{Kind: event.Switch, Thread: 7})
	at(34, event.Event{Kind: event.Signal, Thread: 8, Other: 7})
	at(36, event.Event{Kind: event.Fulfills, Thread: 8, Other: 7})
	at(36.5, event.Event{Kind: event.Read, Thread: 8, Other: 7})
	at(40, event.Event{Kind: event.GC, Value: 2_000_000})
	for i := range int64(60) {
		ms := 41 + float64(i)/5
		at(ms, event.Event{Kind: event.Switch, Thread: 100 + i})
		at(ms+0.1, event.Event{Kind: event.Fulfills, Thread: 100 + i, Other: 100 + i})
	}
	counter(55, "queue", 3)
	at(56, event.Event{Kind: event.Switch, Thread: 4})
	at(58, event.Event{Kind: event.Fulfills, Thread: 4, Other: 4})
	at(60, event.Event{Kind: event.Switch, Thread: -1})
	at(85, event.Event{Kind: event.Switch, Thread: 1})
	at(90, event.Event{Kind: event.Switch, Thread: 8})
	at(91, event.Event{Kind: event.Fulfills, Thread: 8, Other: 8})
	for i := range int64(extra) {
		creates(92+float64(i)/10, 1, 1000+i, event.Task, fmt.Sprintf("late %d", i))
	}
	at(99, event.Event{Kind: event.Fulfills, Thread: 1, Other: 1})
	at(100, event.Event{Kind: event.Switch, Thread: -1})
	return all
}

// writeSample writes the sample as a file.
func writeSample(t testing.TB, path string, extra int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := mirage.NewWriter(f)
	for _, e := range sampleEvents(extra) {
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// fileSource is a source that loads a file.
func fileSource(path string) Source {
	return Source{Path: path, Load: func() (*engine.Trace, error) {
		t, err := trace.Load(path, nil, trace.Options{})
		var unknown *format.Unknown
		if errors.As(err, &unknown) && unknown.Like != "" {
			return loadMemory(path)
		}
		if err != nil {
			return nil, err
		}
		return engine.NewTrace(engine.About{Name: filepath.Base(path), Format: t.Format, Damage: t.Damage,
			Start: float64(t.Start) / 1e9}, t.Model), nil
	}}
}

// loadThreads loads a trace of threads that began at a time, in s.
func loadThreads(path string, start float64) (*engine.Trace, error) {
	t, err := trace.Load(path, nil, trace.Options{})
	if err != nil {
		return nil, err
	}
	return engine.NewTrace(engine.About{Name: filepath.Base(path), Format: t.Format, Start: start}, t.Model), nil
}

// loadMemory loads a trace of memory.
func loadMemory(path string) (*engine.Trace, error) {
	file, err := input.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := memtrace.NewReaderBytes(file.Data)
	if err != nil {
		return nil, err
	}
	b, err := heap.ReadBlocks(r, nil, nil)
	if err != nil {
		return nil, err
	}
	return engine.NewMemory(engine.About{Name: filepath.Base(path), Format: "memtrace", Start: float64(b.Begin) / 1e6}, b), nil
}

// sampleIndex tells where the sample's threads are drawn.
func sampleIndex(t testing.TB) *scene.Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.ctf")
	writeSample(t, path, 0)
	tr, err := trace.Load(path, nil, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return scene.NewIndex(tr.Model)
}
