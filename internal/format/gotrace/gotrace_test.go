package gotrace_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The small trace in our words, each with the call that its thread was in.
func TestSmall(t *testing.T) {
	r, all := readAll(t, small(t))
	var got []byte
	for _, e := range all {
		got = e.AppendText(got)
		if frames := r.Stacks().Frames(e.Stack); frames != nil {
			got = fmt.Appendf(got, " @ %s:%d", frames[0].Func, frames[0].Line)
		}
		got = append(got, '\n')
	}
	got = fmt.Appendf(got, "totals %+v\n", r.Totals())
	golden := filepath.Join("testdata", "small.txt")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not as in %s (-update writes it anew):\n%s", golden, firstDifference(got, want))
	}
}

func firstDifference(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: got %s\nwant %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// What the recorded program did is in its trace, event for event.
func TestEverythingIsThere(t *testing.T) {
	r, all := readAll(t, record(t))
	names := make(map[int64]string)
	counts := make(map[string]int)
	waits := make(map[string]map[string]int) // of goroutines with a name, by reason
	ended := make(map[string]int)
	for i := range all {
		e := &all[i]
		switch e.Kind {
		case event.Label:
			if names[e.Thread] == "" {
				names[e.Thread] = string(e.Text)
			}
		case event.Wait:
			name := names[e.Thread]
			if waits[name] == nil {
				waits[name] = make(map[string]int)
			}
			waits[name][string(e.Text)]++
		case event.Fulfills:
			ended[names[e.Other]]++
		case event.Log, event.RegionBegin, event.RegionEnd:
			counts[fmt.Sprint(e.Kind, " ", string(e.Text))]++
		case event.Counter:
			counts[string(e.Text)]++
		case event.GC, event.Pause:
			counts[e.Kind.String()]++
			if e.Value < 0 {
				t.Errorf("%s takes %d ns", e.Kind, e.Value)
			}
		}
	}
	const pkg = "github.com/mirador-trace/mirador/internal/format/gotrace_test."
	for what, want := range map[string]int{"region_begin sleeping": requests, "region_end sleeping": requests,
		"log number: 0": 1, "log number: 19": 1} {
		if counts[what] != want {
			t.Errorf("%d times %s, want %d", counts[what], what, want)
		}
	}
	for _, what := range []string{"HeapAlloc", "HeapGoal", "GOMAXPROCS", "gc", "pause"} {
		if counts[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
	for name, want := range map[string]int{"request": requests, "part": requests} {
		if ended[name] != want {
			t.Errorf("%d threads %q end, want %d", ended[name], name, want)
		}
	}
	if ended[pkg+"waitsForever"] != 0 || waits[pkg+"waitsForever"]["chan receive"] != 1 {
		t.Errorf("the goroutine that waits forever: ended %d times, waits %v",
			ended[pkg+"waitsForever"], waits[pkg+"waitsForever"])
	}
	reasons := make(map[string]int)
	for _, of := range waits {
		for reason, n := range of {
			reasons[reason] += n
		}
	}
	for _, reason := range []string{"chan receive", "sync", "sleep", "syscall", "runtime.Gosched", "coroutine switch"} {
		if reasons[reason] == 0 {
			t.Errorf("nobody waits for %q: %v", reason, reasons)
		}
	}
	if n := reasons["chan receive"] + reasons["chan send"]; n < handed/2 {
		t.Errorf("%d waits for channels, too few for %d numbers", n, handed)
	}
	if r.Stacks().Len() == 0 || r.Version() != "1.26" {
		t.Errorf("%d stacks, version %s", r.Stacks().Len(), r.Version())
	}
}

// Events are in order, threads are created once and before they are resolved,
// and who starts to run stops where it runs.
func TestLaws(t *testing.T) {
	eachTrace(t, func(t *testing.T, data []byte) {
		r, all := readAll(t, data)
		created, resolved := make(map[int64]bool), make(map[int64]bool)
		on := make(map[int32]int64) // which goroutine runs on a P
		at := make(map[int64]int32) // and where
		for i := range all {
			e := &all[i]
			if i > 0 && e.Time < all[i-1].Time {
				t.Fatalf("event %d happens before the one before it", i)
			}
			if int(e.Stack) > r.Stacks().Len() {
				t.Fatalf("event %d has stack %d of %d", i, e.Stack, r.Stacks().Len())
			}
			if resolved[e.Thread] && e.Kind != event.Fulfills && e.Kind != event.Signal {
				t.Errorf("event %d: thread %d has ended and does %s", i, e.Thread, e.Kind)
			}
			switch e.Kind {
			case event.Creates:
				if created[e.Other] {
					t.Errorf("event %d: thread %d is created again", i, e.Other)
				}
				created[e.Other] = true
			case event.Fulfills:
				resolved[e.Other] = true
			case event.Switch:
				if was, runs := on[e.Proc]; runs {
					if p, ok := at[was]; ok && p == e.Proc {
						delete(at, was)
					}
				}
				if e.Thread == event.NoThread {
					delete(on, e.Proc)
					continue
				}
				if p, runs := at[e.Thread]; runs {
					t.Errorf("event %d: thread %d runs on P %d and starts on P %d", i, e.Thread, p, e.Proc)
				}
				on[e.Proc], at[e.Thread] = e.Thread, e.Proc
			case event.Wait:
				if p, runs := at[e.Thread]; runs && p != e.Proc {
					t.Errorf("event %d: thread %d runs on P %d and stops on P %d", i, e.Thread, p, e.Proc)
				} else if runs {
					delete(at, e.Thread)
					delete(on, e.Proc)
				}
			}
		}
	})
}

// A trace of several generations that is cut opens up to the last whole one.
func TestCutAtGenerations(t *testing.T) {
	data := generations(t)
	_, all := readAll(t, data)
	var ends []int // bytes up to the end of each generation
	for i := range all {
		if i > 0 && all[i].Offset != all[i-1].Offset {
			ends = append(ends, int(all[i].Offset))
		}
	}
	if len(ends) < 2 {
		t.Fatalf("only %d generations", len(ends)+1)
	}
	for i, end := range ends {
		for _, cut := range []int{end, end + 1, end + 100} {
			r, some := readAll(t, data[:cut])
			whole := 0
			for whole < len(all) && all[whole].Offset < int64(end) {
				whole++
			}
			// A few follow that tell what was still open when it ended.
			if len(some) < whole {
				t.Errorf("cut %d bytes into generation %d: %d events, want %d", cut-end, i+2, len(some), whole)
			}
			for j := range whole {
				if got, want := string(some[j].AppendText(nil)), string(all[j].AppendText(nil)); got != want {
					t.Fatalf("event %d: got %s, want %s", j, got, want)
				}
			}
			switch damage := r.Damage(); {
			case cut == end && damage != nil:
				t.Errorf("cut between generations: %v", damage)
			case cut > end && (len(damage) != 1 || damage[0].Offset != int64(end)):
				t.Errorf("cut %d bytes into the generation at %d: damage %v", cut-end, end, damage)
			}
		}
	}
}

func TestNoTrace(t *testing.T) {
	for text, want := range map[string]error{
		"go 1.21 trace\x00\x00\x00":             gotrace.ErrVersion,
		"go 1.99 trace\x00\x00\x00":             gotrace.ErrVersion,
		"go 1.26 trace\x00\x00\x00what is this": gotrace.ErrNoGeneration,
		"go 1.26 trace\x00\x00\x00\x01\x01\x01": gotrace.ErrNoGeneration,
		"go 1.22 trace\x00\x00\x00":             gotrace.ErrNoGeneration,
	} {
		if !gotrace.Is([]byte(text)) {
			t.Errorf("%q is not taken for a trace", text)
		}
		if _, err := gotrace.NewReader([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
	}
	for _, text := range []string{"", "go 1.26 trace", "go 1.x trace\x00\x00\x00\x00", "go 2.26 trace\x00\x00\x00", "package main // go"} {
		if gotrace.Is([]byte(text)) {
			t.Errorf("%q is taken for a trace", text)
		}
	}
}

// Whatever the bytes are, reading ends, events are in order, and none names a
// stack that there is not.
func FuzzReader(f *testing.F) {
	data := small(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	for _, version := range []string{"22", "23", "25"} {
		older := bytes.Clone(data)
		copy(older[5:], version)
		f.Add(older)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := gotrace.NewReader(data)
		if err != nil {
			return
		}
		last := int64(-1 << 63)
		for e := (event.Event{}); r.Next(&e); last = e.Time {
			if e.Time < last {
				t.Fatalf("time goes back from %d to %d", last, e.Time)
			}
			if int(e.Stack) > r.Stacks().Len() || e.Kind >= event.NumKinds || e.Proc < 0 {
				t.Fatalf("impossible event: %+v", e)
			}
			if e.Offset < 0 || e.Offset > int64(len(data)) {
				t.Fatalf("offset %d of %d bytes", e.Offset, len(data))
			}
		}
		for _, d := range r.Damage() {
			if d.Offset < 0 || d.Offset > int64(len(data)) || d.What == "" || strings.Contains(d.What, "\n") {
				t.Fatalf("damage %v of %d bytes", d, len(data))
			}
		}
	})
}
