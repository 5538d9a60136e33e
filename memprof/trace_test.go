package memprof

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/memprof/note"
	"github.com/mirador-trace/mirador/memtrace"
)

// traced is what a trace tells, by object.
type traced struct {
	info    memtrace.Info
	size    int
	objects []tracedObject // by id
	notes   []note.Note
	cycles  []note.Note // of them
	lost    [2]uint64
	damage  []*memtrace.Damage
	unknown int // deaths and promotions of objects that were never born
	twice   int // deaths of objects that were dead
}

type tracedObject struct {
	born, died int64 // µs; died is 0 for one that lives
	promoted   bool
	words      int64
	samples    int64
	source     memtrace.Source
	goroutine  uint64
	leaf       string // the innermost function
	stack      int    // frames
}

// bytes is an estimate of what o stands for.
func (tr *traced) bytes(o *tracedObject) float64 { return tr.info.Bytes(o.samples) }

// cycle returns the number of the collection that found dead what died at a
// time, 0 when there was none yet.
func (tr *traced) cycle(time int64) uint64 {
	i := sort.Search(len(tr.cycles), func(i int) bool { return tr.cycles[i].Time > time })
	if i == 0 {
		return 0
	}
	return tr.cycles[i-1].Number
}

// site returns the objects that a function allocated.
func (tr *traced) site(name string) (list []*tracedObject) {
	for i := range tr.objects {
		if strings.HasSuffix(tr.objects[i].leaf, name) {
			list = append(list, &tr.objects[i])
		}
	}
	return list
}

func readTrace(t testing.TB, name string) *traced {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return parseTrace(t, b)
}

func parseTrace(t testing.TB, b []byte) *traced {
	t.Helper()
	r, err := memtrace.NewReaderBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	tr := &traced{size: len(b)}
	places := map[memtrace.Frame]string{}
	var ev memtrace.Event
	for {
		err := r.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == memtrace.Alloc {
			if ev.ID != uint64(len(tr.objects)) {
				t.Fatalf("object %d comes after %d others", ev.ID, len(tr.objects))
			}
			o := tracedObject{born: ev.Time, words: ev.Length, samples: ev.Samples, source: ev.Source, stack: len(ev.Stack)}
			if n := len(ev.Stack); n > 0 {
				leaf := ev.Stack[n-1]
				name, ok := places[leaf]
				if !ok {
					if at := r.Locations(nil, leaf); len(at) == 1 {
						name = at[0].Func
						places[leaf] = name
					}
				}
				o.leaf = name
			}
			tr.objects = append(tr.objects, o)
			continue
		}
		if ev.ID >= uint64(len(tr.objects)) {
			tr.unknown++
			continue
		}
		o := &tr.objects[ev.ID]
		switch {
		case ev.Kind == memtrace.Promote:
			o.promoted = true
		case o.died != 0:
			tr.twice++
		default:
			o.died = ev.Time
		}
	}
	tr.info = r.Info()
	for _, d := range r.Damage() {
		if d.Kind != memtrace.Foreign { // those are the notes
			tr.damage = append(tr.damage, d)
		}
	}
	tr.readNotes(t, b)
	return tr
}

func (tr *traced) readNotes(t testing.TB, b []byte) {
	t.Helper()
	for len(b) >= note.HeaderSize {
		size := int(binary.LittleEndian.Uint32(b[4:]) / 8)
		if size > len(b) {
			break
		}
		if note.Is(b) {
			if err := note.Parse(b[:size], func(n note.Note) { tr.notes = append(tr.notes, n) }); err != nil {
				t.Fatal(err)
			}
		}
		b = b[size:]
	}
	for _, n := range tr.notes {
		switch n.Kind {
		case note.Cycle:
			tr.cycles = append(tr.cycles, n)
		case note.Lost:
			tr.lost[0] += n.Allocs
			tr.lost[1] += n.Deaths
		case note.Goroutines:
			id := n.First
			for _, r := range n.Runs {
				for range r.Allocs {
					tr.objects[id].goroutine = r.Goroutine
					id++
				}
			}
		}
	}
}

// sound fails the test when the trace is damaged or contradicts itself.
func (tr *traced) sound(t testing.TB) {
	t.Helper()
	for _, d := range tr.damage {
		t.Error(d)
	}
	if tr.unknown+tr.twice > 0 {
		t.Errorf("%d events of unknown objects, %d second deaths", tr.unknown, tr.twice)
	}
	for i := range tr.objects {
		if o := &tr.objects[i]; o.samples < 1 || o.words < 1 || o.died != 0 && o.died < o.born || o.stack < 1 {
			t.Fatalf("object %d: %+v", i, *o)
		}
	}
}

// needExact skips a test that is about exact traces in a build that cannot
// make them. TestMemprof of internal/overlay runs it in one that can.
func needExact(t testing.TB) {
	t.Helper()
	if !Exact() {
		t.Skip("needs the patched runtime: run mirador go test ./memprof")
	}
}

// traceFile starts a trace to a file, and returns a function that ends it and
// reads it.
func traceFile(t testing.TB, c Config) func() *traced {
	t.Helper()
	c.File = filepath.Join(t.TempDir(), "trace.mem")
	if err := Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop() })
	return func() *traced {
		t.Helper()
		if err := Stop(); err != nil {
			t.Fatal(err)
		}
		return readTrace(t, c.File)
	}
}
