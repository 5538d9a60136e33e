// Package cut makes a trace of a part of another one: of what happened in a
// window of time.
//
// There is one type, [Window], and one function, [Write]. The part has the
// threads that live in the window, as the model of the whole trace has it,
// with what happened to them there, and nothing else: no label and no event
// from outside is in the file. At the window's start it says what there is by
// then: the threads and what each is called, what runs and what waits, and the
// counters with their values.
//
// What is cut off shows in a few ways:
//
//   - A thread that was there before begins with the window, below no other.
//   - A thread that was resolved later is resolved at the window's end, so that
//     only those that never are look like it.
//   - Where a thread of the window runs into one that is over before, which
//     happens in traces of mirage-profile, a thread called "outside" stands for it.
//
// A trace of mirage-profile stays one; of others, a trace of our own is made,
// without the stacks of Go's execution traces.
package cut

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Window is a stretch of time, in seconds since the trace's first event.
type Window struct{ From, To float64 }

// Write writes the part of a trace as one file that [format.OpenBytes] takes.
// m is the whole trace's model, simplified; start is when it began, in ns since
// the Unix epoch, or 0. The error is that of [format.Trace.Read], or of w.
func Write(w io.Writer, t *format.Trace, m *thread.Model, start int64, window Window) error {
	from := m.OriginNS + int64(math.Round(window.From*1e9))
	to := m.OriginNS + int64(math.Round(window.To*1e9))
	return t.Read(func(events format.Events) error {
		if t.Format == format.Mirage {
			out := mirage.NewWriter(w)
			c := newCutter(m, from, to, out.Write)
			if err := c.run(events); err != nil {
				return err
			}
			return out.Close()
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "mirador cut %d %d %d", start, from, to))
		out := native.NewWriter(time.Unix(0, start+from-m.OriginNS), [16]byte(sum[:16]))
		c := newCutter(m, from, to, func(e *event.Event) error {
			e.Time -= from
			out.Write(e)
			return nil
		})
		_, c.quiet = events.(*gotrace.Reader)
		if err := c.run(events); err != nil {
			return err
		}
		return format.PackFiles(w, out.Files())
	})
}

// cutter lets pass what belongs into the window.
type cutter struct {
	model    *thread.Model
	from, to int64
	write    func(*event.Event) error
	quiet    bool // counters are nobody's: see [thread.Options]

	live     map[int64]thread.ID // the threads that live in the window, by number
	became   map[int64]int64     // before the window
	outside  int64               // the thread that stands for those outside of it
	stands   bool                // whether it has been written
	order    []creation          // of threads that live in it, before it
	counters []event.Event       // at its start
	places   map[string]int      // of counters
	on       map[int32]int64     // what runs on each processor, before it
	begun    bool
	last     int64 // the time of the newest event of the window
	err      error
}

type creation struct {
	tid int64
	typ event.ThreadType
}

func newCutter(m *thread.Model, from, to int64, write func(*event.Event) error) *cutter {
	c := &cutter{model: m, from: from, to: to, write: write,
		live: make(map[int64]thread.ID), became: make(map[int64]int64),
		places: make(map[string]int), on: make(map[int32]int64)}
	start, end := c.seconds(from), c.seconds(to)
	for i := range m.Threads {
		th := &m.Threads[i]
		c.outside = max(c.outside, th.TID+1)
		if id := thread.ID(i); id != thread.Top && th.Start <= end && th.End >= start {
			c.live[th.TID] = id
		}
	}
	return c
}

// seconds is a time as the model has it.
func (c *cutter) seconds(ns int64) float64 { return float64(ns)/1e9 - c.model.Origin }

func (c *cutter) run(events format.Events) error {
	var e event.Event
	for events.Next(&e) && c.err == nil {
		e.Stack = 0
		c.resolve(&e)
		span := int64(0)
		if e.Kind == event.GC || e.Kind == event.Pause {
			span = e.Value
		}
		switch {
		case e.Time < c.from:
			c.before(&e)
		case e.Time > c.to && e.Time-span >= c.to:
		default:
			c.begin()
			if e.Time-span < c.from && span > 0 {
				e.Value = e.Time - c.from
			}
			if e.Time > c.to {
				e.Time, e.Value = c.to, e.Value-(e.Time-c.to)
			}
			c.within(&e)
		}
	}
	c.begin()
	c.end()
	return c.err
}

// resolve puts what a thread has become before the window in its place.
func (c *cutter) resolve(e *event.Event) {
	spec := &event.Specs[e.Kind]
	if spec.Thread != "" {
		e.Thread = c.now(e.Thread)
	}
	if spec.Other != "" && e.Kind != event.Creates {
		e.Other = c.now(e.Other)
	}
}

func (c *cutter) now(tid int64) int64 {
	for next, ok := c.became[tid]; ok; next, ok = c.became[tid] {
		if further, ok := c.became[next]; ok {
			c.became[tid] = further // chains of any length cost next to nothing
		}
		tid = next
	}
	return tid
}

// emit writes an event, which may use the text of the one that is read.
func (c *cutter) emit(e event.Event) {
	if c.err == nil {
		c.err = c.write(&e)
	}
}

// before takes in what happened before the window.
func (c *cutter) before(e *event.Event) {
	switch e.Kind {
	case event.Creates:
		if id, ok := c.live[e.Other]; ok && c.model.Threads[id].Type != thread.Preexisting {
			c.order = append(c.order, creation{e.Other, event.ThreadType(c.model.Threads[id].Type)})
		}
	case event.Becomes:
		if e.Thread != e.Other {
			c.became[e.Thread] = e.Other
			for proc, tid := range c.on {
				if tid == e.Thread {
					c.on[proc] = e.Other
				}
			}
		}
	case event.Counter, event.Increase:
		i, ok := c.places[string(e.Text)]
		if !ok {
			i = len(c.counters)
			name := string(e.Text)
			c.places[name] = i
			c.counters = append(c.counters, event.Event{Kind: event.Counter, Time: c.from, Thread: event.NoThread, Text: []byte(name)})
		}
		if e.Kind == event.Increase {
			c.counters[i].Value += e.Value
		} else {
			c.counters[i].Value = e.Value
		}
	case event.Switch, event.Read, event.Signal:
		for proc, tid := range c.on {
			if tid == e.Thread && tid != event.NoThread && proc != e.Proc {
				c.on[proc] = event.NoThread
			}
		}
		c.on[e.Proc] = e.Thread
	case event.Wait, event.Fulfills, event.Fails:
		if e.Kind == event.Wait || e.Thread == e.Other && len(c.on) > 1 {
			for proc, tid := range c.on {
				if tid == e.Thread {
					c.on[proc] = event.NoThread
				}
			}
		}
	}
}

// shouldResolve is the label that says that a thread that never resolves is a
// mistake.
const shouldResolve = "__should_resolve"
