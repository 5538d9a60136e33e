// Package chrome writes a model as a trace in the Chrome trace event format,
// which Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// It has one function, [Write]. Each row of the layout becomes a track, each
// thread a slice on it, with its running parts inside; resolves, reads and
// signals become flows from slice to slice; collections and idle times have a
// track of their own; counters stay counters, labels become instants.
//
// Source of the format: "Trace Event Format", the Chromium project, the
// JSON object form. Its times are microseconds.
package chrome

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Tracks besides the rows, which are tracks 10, 11, 12 …
const (
	process    = 1
	idleTrack  = 1
	gcTrack    = 2
	firstTrack = 10
)

// Write writes the model, laid out, to w. source names it.
func Write(w io.Writer, m *thread.Model, source string) error {
	c := &writer{w: bufio.NewWriterSize(w, 1<<16), m: m}
	c.raw(`{"displayTimeUnit":"ns","otherData":{"source":`)
	c.string(source)
	c.raw(`},"traceEvents":[`)
	c.names(source)
	for _, span := range m.Activations(thread.Top) {
		c.slice(idleTrack, span, "sleeping", "idle")
	}
	for _, span := range m.GC {
		c.slice(gcTrack, span, "GC", "gc")
	}
	for id := range m.Descend(thread.Top) {
		if id != thread.Top {
			c.thread(id)
		}
	}
	for _, counter := range m.Counters {
		for _, s := range counter.Samples {
			c.begin("C", s.Time, 0)
			c.name(counter.Name)
			c.raw(`,"args":{"value":`)
			c.b = strconv.AppendFloat(c.b, s.Value, 'g', -1, 64)
			c.raw(`}}`)
		}
	}
	c.raw("\n]}\n")
	c.flush()
	if c.err != nil {
		return c.err
	}
	return c.w.Flush()
}

// writer appends one event after the other, and remembers the first error.
type writer struct {
	w     *bufio.Writer
	m     *thread.Model
	b     []byte
	n     int // events
	flows int
	err   error
}

func (c *writer) raw(s string)    { c.b = append(c.b, s...) }
func (c *writer) string(s string) { c.b = event.AppendJSONString(c.b, s) }

func (c *writer) name(s string) {
	c.raw(`,"name":`)
	c.string(s)
}

func (c *writer) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(c.b)
	}
	c.b = c.b[:0]
}

// begin starts an event of a phase on a track at a time in s.
func (c *writer) begin(phase string, time float64, track int) {
	if len(c.b) > 1<<15 {
		c.flush()
	}
	if c.n++; c.n > 1 {
		c.raw(",")
	}
	c.raw("\n{\"ph\":\"")
	c.raw(phase)
	c.raw(`","ts":`)
	c.micros(time)
	c.raw(`,"pid":`)
	c.b = strconv.AppendInt(c.b, process, 10)
	c.raw(`,"tid":`)
	c.b = strconv.AppendInt(c.b, int64(track), 10)
}

func (c *writer) micros(s float64) { c.b = strconv.AppendFloat(c.b, s*1e6, 'f', 3, 64) }

func (c *writer) slice(track int, span thread.Span, name, category string) {
	c.begin("X", span.Start, track)
	c.raw(`,"dur":`)
	c.micros(max(span.End-span.Start, 0))
	c.name(name)
	c.raw(`,"cat":"`)
	c.raw(category)
	c.raw(`"}`)
}

func (c *writer) names(source string) {
	meta := func(what string, track int, name string) {
		c.begin("M", 0, track)
		c.name(what)
		c.raw(`,"args":{"name":`)
		c.string(name)
		c.raw(`}}`)
	}
	meta("process_name", 0, source)
	meta("thread_name", idleTrack, "sleeping")
	meta("thread_name", gcTrack, "GC")
	for row := range c.m.Rows {
		meta("thread_name", firstTrack+row, fmt.Sprintf("row %d", row+1))
	}
}

func (c *writer) thread(id thread.ID) {
	t := &c.m.Threads[id]
	track := firstTrack + int(t.Row)
	c.begin("X", t.Start, track)
	c.raw(`,"dur":`)
	c.micros(t.End - t.Start)
	c.name(c.m.Title(id))
	c.raw(`,"cat":"`)
	c.raw(t.Type.String())
	c.raw(`","args":{"thread":`)
	c.b = strconv.AppendInt(c.b, t.TID, 10)
	if t.Failed() {
		c.raw(`,"failure":`)
		c.string(c.m.Text(t.Failure))
	}
	if t.Becomes != thread.None {
		c.raw(`,"becomes":`)
		c.b = strconv.AppendInt(c.b, c.m.Threads[t.Becomes].TID, 10)
	}
	if t.Failed() {
		c.raw(`},"cname":"terrible"}`)
	} else {
		c.raw(`}}`)
	}
	for _, span := range c.m.Activations(id) {
		inside := thread.Span{Start: max(span.Start, t.Start), End: min(span.End, t.End)}
		if inside.Start <= inside.End {
			c.slice(track, inside, "running", "running")
		}
	}
	for _, label := range c.m.Labels(id) {
		c.begin("i", label.Time, track)
		c.name(c.m.Text(label.Text))
		c.raw(`,"s":"t"}`)
	}
	for _, i := range c.m.Interactions(id) {
		c.interaction(id, i)
	}
}

// interaction becomes a flow from the thread that gave to the one that got.
func (c *writer) interaction(id thread.ID, i thread.Interaction) {
	from, to := id, i.Other
	start, end := i.Time, i.Time
	switch i.Op {
	case thread.Read:
		from, to = to, from
		start = min(start, c.m.Threads[from].End)
	case thread.TryRead:
		return // the read or the wait that follows says it
	case thread.Resolve:
		start = min(start, c.m.Threads[from].End)
	}
	if from == to || from == thread.Top || to == thread.Top {
		return
	}
	c.flows++
	c.flowEnd("s", start, from, i.Op)
	c.flowEnd("f", end, to, i.Op)
}

func (c *writer) flowEnd(phase string, time float64, id thread.ID, op thread.Op) {
	c.begin(phase, time, firstTrack+int(c.m.Threads[id].Row))
	c.name(op.String())
	c.raw(`,"cat":"flow","id":`)
	c.b = strconv.AppendInt(c.b, int64(c.flows), 10)
	if phase == "f" {
		c.raw(`,"bp":"e"`) // it belongs to the slice around it
	}
	c.raw("}")
}
