package thread_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// lines gives events from their text form. "P2: " before one is its processor,
// "S3: " its stack.
type lines []string

func (l *lines) Next(e *event.Event) bool {
	for len(*l) > 0 {
		line := strings.TrimSpace((*l)[0])
		if *l = (*l)[1:]; line == "" {
			continue
		}
		*e = event.Event{}
		for line[0] == 'P' || line[0] == 'S' {
			number, rest, _ := strings.Cut(line[1:], ": ")
			n := 0
			fmt.Sscan(number, &n)
			if line[0] == 'P' {
				e.Proc = int32(n)
			} else {
				e.Stack = uint32(n)
			}
			line = rest
		}
		if err := e.ParseText([]byte(line)); err != nil {
			panic(err)
		}
		return true
	}
	return false
}

// tell writes what the model knows of its threads' time, in ns.
func tell(m *thread.Model) string {
	var b strings.Builder
	ns := func(s thread.Span) string { return fmt.Sprintf("%.0f-%.0f", s.Start*1e9, s.End*1e9) }
	for id := range m.Threads {
		t := &m.Threads[id]
		fmt.Fprintf(&b, "%d:", t.TID)
		for _, a := range m.Activations(thread.ID(id)) {
			fmt.Fprintf(&b, " ran %s", ns(a))
		}
		for _, w := range m.Waits(thread.ID(id)) {
			fmt.Fprintf(&b, " waited %s %q@%d", ns(w.Span), m.Text(w.Reason), w.Stack)
		}
		for _, i := range m.Interactions(thread.ID(id)) {
			fmt.Fprintf(&b, " %s %d@%d", i.Op, m.Threads[i.Other].TID, i.Stack())
		}
		fmt.Fprintf(&b, " created@%d, %.0f-%.0f\n", t.Stack, t.Start*1e9, t.End*1e9)
	}
	for _, p := range m.Pauses {
		fmt.Fprintf(&b, "pause %s %q@%d\n", ns(p.Span), m.Text(p.Reason), p.Stack)
	}
	return b.String()
}

// A wait ends when its thread is woken, not when that runs; its thread stops
// running wherever it did, and nobody else does; and a goroutine lives on until
// the end.
func TestWaits(t *testing.T) {
	for name, test := range map[string]struct{ events, want string }{
		"woken before it runs": {`
			0 switch thread=1
			P1: S7: 100 creates thread=1 child=2 type=Goroutine(100)
			P1: 200 switch thread=2
			P1: S8: 300 wait thread=2 reason="chan receive"
			S9: 400 signal_only thread=2 source=1
			P1: 600 switch thread=2
			P1: 700 wait thread=2 reason="sleep"
			900 wait thread=1 reason="sync"`, `
			-1: created@0, 0-900
			1: ran 0-900 waited 900-900 "sync"@0 signal 2@9 created@0, 0-1900
			2: ran 200-300 ran 600-700 waited 300-400 "chan receive"@8 waited 700-900 "sleep"@0 created@7, 100-900`},
		"a wait elsewhere stops nobody else": {`
			0 switch thread=1
			P1: 100 switch thread=2
			P0: 200 wait thread=3 reason="runnable"
			P0: 300 wait thread=2 reason="syscall"
			400 label thread=1 label="x"`, `
			-1: created@0, 0-400
			1: ran 0-400 created@0, 0-1400
			2: ran 100-300 waited 300-400 "syscall"@0 created@0, 0-1400
			3: waited 200-400 "runnable"@0 created@0, 0-1400`},
		"since before the trace": {`
			100 switch thread=1
			S5: 500 wait thread=2 reason=""
			600 wait thread=2 reason="sync"
			700 wait thread=1 reason=""`, `
			-1: ran 600-600 created@0, 0-600
			1: ran 0-600 waited 600-600 ""@0 created@0, 0-1600
			2: waited 0-500 ""@5 waited 500-600 "sync"@0 created@0, 0-1600`},
		"pauses": {`
			100 switch thread=1
			S4: 500 pause thread=1 duration_ns=300 reason="GC"`, `
			-1: created@0, 0-400
			1: ran 0-400 created@0, 0-1400
			pause 100-400 "GC"@4`},
	} {
		t.Run(name, func(t *testing.T) {
			events := lines(strings.Split(test.events, "\n"))
			got := tell(thread.Build(&events, thread.Options{}))
			want := strings.ReplaceAll(strings.TrimSpace(test.want), "\t", "") + "\n"
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// A thread is called after what was first said of it, and after a counter that
// it changed only if that is all there is.
func TestTitle(t *testing.T) {
	m := thread.Build(&lines{
		"0 creates thread=0 child=1 type=Task(1)", "1 creates thread=0 child=2 type=Task(1)", "2 creates thread=0 child=3 type=Task(1)",
		`3 increase thread=1 amount=1 counter="queue"`, `4 label thread=1 label="worker"`, `5 label thread=1 label="job 7"`,
		`6 increase thread=2 amount=-2 counter="queue"`, `7 increase thread=2 amount=1 counter="queue"`,
	}, thread.Options{})
	want := map[int64]string{1: "worker", 2: "queue-2", 3: "3"}
	for id := range m.Threads {
		if title, ok := want[m.Threads[id].TID]; ok && m.Title(thread.ID(id)) != title {
			t.Errorf("thread %d is called %q, not %q", m.Threads[id].TID, m.Title(thread.ID(id)), title)
		}
	}
}

// What counts bytes says so in its name.
func TestCounterInBytes(t *testing.T) {
	for name, want := range map[string]bool{"HeapAlloc": true, "HeapGoal": true, "sent bytes": true, "queue:bytes": true, "bytes in flight": false, "goroutines": false, "": false} {
		if got := (&thread.Counter{Name: name}).InBytes(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
