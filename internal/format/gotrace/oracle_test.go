package gotrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/mirador-trace/mirador/bench/busy"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/reference"
)

// eachTrace runs a test on a trace that the test records, on the one in
// testdata, on the reference trace and on one of several generations.
func eachTrace(t *testing.T, test func(t *testing.T, data []byte)) {
	t.Run("recorded", func(t *testing.T) { test(t, record(t)) })
	t.Run("small", func(t *testing.T) { test(t, small(t)) })
	t.Run("reference", func(t *testing.T) {
		test(t, reference.Read(t, reference.Glob(t, "go/http-go1.26.trace.gz")[0]))
	})
	t.Run("busy", func(t *testing.T) {
		data, err := busy.Record(1e6)
		if err != nil {
			t.Skip(err)
		}
		test(t, data)
	})
	t.Run("generations", func(t *testing.T) { test(t, generations(t)) })
}

// slow is a trace of three generations: the runtime ends one each second.
var slow = sync.OnceValues(func() ([]byte, error) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, err
	}
	for start := time.Now(); time.Since(start) < 2200*time.Millisecond; {
		trace.WithRegion(context.Background(), "turn", func() { time.Sleep(time.Millisecond) })
	}
	trace.Stop()
	return b.Bytes(), nil
})

func generations(tb testing.TB) []byte {
	if testing.Short() {
		tb.Skip("takes two seconds")
	}
	data, err := slow()
	if err != nil {
		tb.Skip(err)
	}
	return data
}

func small(tb testing.TB) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", "small.trace"))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// readAll reads a trace to its end.
func readAll(tb testing.TB, data []byte) (*gotrace.Reader, []event.Event) {
	tb.Helper()
	r, err := gotrace.NewReader(data)
	if err != nil {
		tb.Fatal(err)
	}
	var all []event.Event
	for e := (event.Event{}); r.Next(&e); {
		all = append(all, e)
	}
	return r, all
}

// oracle counts what is in a trace by the plainest means: a list of states for
// each goroutine.
func oracle(t *testing.T, data []byte) gotrace.Totals {
	r, err := xtrace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	type change struct {
		to   xtrace.GoState
		time xtrace.Time
	}
	var totals gotrace.Totals
	changes := make(map[xtrace.GoID][]change)
	last := xtrace.Time(0)
	for {
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Logf("ends early: %.100v", err)
			break
		}
		totals.Events++
		last = e.Time()
		if e.Kind() != xtrace.EventStateTransition {
			continue
		}
		if st := e.StateTransition(); st.Resource.Kind == xtrace.ResourceGoroutine {
			_, to := st.Goroutine()
			id := st.Resource.Goroutine()
			changes[id] = append(changes[id], change{to, e.Time()})
		}
	}
	totals.Goroutines = len(changes)
	sums := make(map[xtrace.GoState]int64)
	for _, list := range changes {
		for i, c := range list {
			end := last
			if i+1 < len(list) {
				end = list[i+1].time
			}
			sums[c.to] += int64(end - c.time)
		}
	}
	totals.Running, totals.Runnable = sums[xtrace.GoRunning], sums[xtrace.GoRunnable]
	totals.Waiting, totals.Syscall = sums[xtrace.GoWaiting], sums[xtrace.GoSyscall]
	return totals
}

func TestTotalsAreTheOracles(t *testing.T) {
	eachTrace(t, func(t *testing.T, data []byte) {
		r, _ := readAll(t, data)
		if got, want := r.Totals(), oracle(t, data); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if r.Damage() != nil {
			t.Errorf("damage in a whole trace: %v", r.Damage())
		}
	})
}

// However a trace is cut or changed, what is counted is what the decoder
// delivered up to there.
func TestTotalsOfDamagedTraces(t *testing.T) {
	data := record(t)
	for i := range 40 {
		cut := data[:len(data)*(i+1)/41]
		changed := bytes.Clone(data)
		changed[len(data)*(i+1)/41] ^= 1 << (i % 8)
		for name, damaged := range map[string][]byte{"cut": cut, "changed": changed} {
			r, err := gotrace.NewReader(damaged)
			if errors.Is(err, gotrace.ErrNoGeneration) {
				continue
			}
			if err != nil {
				t.Fatalf("%s at part %d: %v", name, i, err)
			}
			for e := (event.Event{}); r.Next(&e); {
			}
			if got, want := r.Totals(), oracle(t, damaged); got != want {
				t.Errorf("%s at part %d: got %+v, want %+v", name, i, got, want)
			}
		}
	}
}

func TestClock(t *testing.T) {
	r, all := readAll(t, record(t))
	c, ok := r.Clock()
	if !ok || c.Wall.IsZero() || c.Mono == 0 {
		t.Fatalf("no clock: %+v", c)
	}
	if first := all[0].Time; c.Trace < first-1e9 || c.Trace > first+1e9 {
		t.Errorf("the clock was read at %d, the trace begins at %d", c.Trace, first)
	}
}
