//go:build linux

package harvest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring"
)

// record starts a recording of two goroutines that count in a loop, each
// pausing after so many events, and returns what stops them.
func record(t testing.TB, dir string, size int64, burst int) (stop func()) {
	t.Helper()
	s, err := ring.Start(ring.Options{Dir: dir, Size: size, Program: "test", Sample: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			me := goid.Get()
			for n := int64(0); ; n++ {
				ring.EmitOther(event.Read, me, n)
				if n%int64(burst) == 0 {
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		wait.Wait()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// check reads a trace, and fails the test unless it is whole and, from when it
// says so, has everything. It returns the number of reads.
func check(t testing.TB, dir string) (r *native.Reader, events int) {
	t.Helper()
	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	type last struct{ value, time int64 }
	lasts := make(map[int64]last)
	for e := (event.Event{}); r.Next(&e); {
		if e.Kind != event.Read {
			continue
		}
		events++
		was, known := lasts[e.Thread]
		if known && was.time >= r.Complete() && e.Other != was.value+1 {
			t.Fatalf("goroutine %d: %d follows %d", e.Thread, e.Other, was.value)
		}
		lasts[e.Thread] = last{e.Other, e.Time}
	}
	for _, d := range r.Damage() {
		t.Errorf("damage: %v", d)
	}
	if babeltrace, err := exec.LookPath("babeltrace2"); err == nil {
		out, err := exec.Command(babeltrace, "-o", "dummy", dir).CombinedOutput()
		if err != nil || r.Lost() == 0 && len(out) > 0 {
			t.Errorf("babeltrace2: %v\n%.2000s", err, out)
		}
	}
	return r, events
}

// A running trace is saved again and again, and each copy is consistent.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	stop := record(t, dir, 1<<20, 1000)
	defer stop()
	n := 30
	if testing.Short() {
		n = 5
	}
	for i := range n {
		time.Sleep(time.Millisecond)
		out := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if _, err := Save(out, dir); err != nil {
			t.Fatal(err)
		}
		check(t, out)
		if _, err := Save(out, dir); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("a second save: %v", err)
		}
	}
	stop()
	// A copy of the dead trace has every event, and so has a copy of the copy.
	_, want := check(t, dir)
	from := dir
	for i := range 2 {
		out := filepath.Join(t.TempDir(), fmt.Sprint("dead", i))
		report, err := Save(out, from)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := check(t, out); got != want || report.Overwritten != 0 {
			t.Errorf("%d events of %d; %+v", got, want, report)
		}
		from = out
	}
}

// A stream has what a ring cannot hold.
func TestStream(t *testing.T) {
	tmp := t.TempDir()
	dir, out := filepath.Join(tmp, "trace"), filepath.Join(tmp, "out")
	stop := record(t, dir, 1<<20, 500)
	s, err := NewStream(out, dir)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(500*time.Millisecond, stop)
	report, err := s.Follow(context.Background())
	stop()
	if err != nil {
		t.Fatal(err)
	}
	r, events := check(t, out)
	_, ring := check(t, dir)
	if r.Lost() != report.Overwritten || events <= ring {
		t.Errorf("the stream has %d events, the ring %d; lost %d, %+v", events, ring, r.Lost(), report)
	}
	t.Logf("%d events in the stream, %d in the ring; %+v", events, ring, report)

	// What was streamed can be saved and streamed once more.
	again := filepath.Join(tmp, "again")
	if _, err := Save(again, out); err != nil {
		t.Fatal(err)
	}
	if _, n := check(t, again); n != events {
		t.Errorf("%d events saved of %d", n, events)
	}
}

// A stream that cannot keep up says what it has missed.
func TestStreamLoses(t *testing.T) {
	tmp := t.TempDir()
	dir, out := filepath.Join(tmp, "trace"), filepath.Join(tmp, "out")
	stop := record(t, dir, 256<<10, 1<<20)
	defer stop()
	s, err := NewStream(out, dir)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	s.Lost = func(_ uint64, packets int) { told += packets }
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	report, err := s.Follow(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := check(t, out)
	if report.Overwritten == 0 || told != report.Overwritten || r.Lost() != told {
		t.Errorf("told of %d, reported %+v, the trace says %d", told, report, r.Lost())
	}
}

func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	stop := record(t, dir, 1<<20, 10)
	defer stop()
	for _, name := range []string{dir, fmt.Sprint(os.Getpid())} {
		if got, err := Find(name); err != nil || got != dir {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	for name, want := range map[string]error{"/no/such": os.ErrNotExist, "999999999": ErrNoProcess, "1": ErrNoProcess} {
		if got, err := Find(name); !errors.Is(err, want) {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	if _, err := Save(filepath.Join(t.TempDir(), "x"), t.TempDir()); !errors.Is(err, native.ErrNoTrace) {
		t.Errorf("a directory without a trace: %v", err)
	}
}

// BenchmarkSave copies a full ring of 16 MiB.
func BenchmarkSave(b *testing.B) {
	tmp := b.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "mirador"); err == nil {
		b.Cleanup(func() { os.RemoveAll(shm) })
		tmp = shm
	}
	dir := filepath.Join(tmp, "trace")
	stop := record(b, dir, 16<<20, 1<<20)
	time.Sleep(200 * time.Millisecond)
	stop()
	var took []time.Duration
	for b.Loop() {
		out := filepath.Join(tmp, "out")
		began := time.Now()
		report, err := Save(out, dir)
		took = append(took, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(report.Bytes)
		b.StopTimer()
		os.RemoveAll(out)
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
}
