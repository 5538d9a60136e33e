package thread

import (
	"bufio"
	"io"
	"math"
	"strconv"

	"github.com/mirador-trace/mirador/internal/event"
)

// WriteJSON writes the model as one JSON object: the trace's start, the
// collections, the counters with their samples and scales, and every thread,
// parents first, with its labels, interactions and running parts as arrays.
// Where the trace tells of waits and pauses, those are there too, as arrays of
// start, end and reason. Times are seconds; y is where the thread's row lies,
// "-inf" for none.
func (m *Model) WriteJSON(w io.Writer) error {
	j := &jsonWriter{w: bufio.NewWriterSize(w, 1<<16)}
	j.text(`{"simplify":`)
	j.bool(m.Simplified)
	j.text(`,"events":`)
	j.int(int64(m.Events))
	j.text(`,"trace_start_time":`)
	j.float(m.Origin)
	j.text(`,"max_y":`)
	j.float(m.Height())
	j.text(",\n\"gc\":")
	list(j, m.GC, j.span)
	if len(m.Pauses) > 0 {
		j.text(",\n\"pauses\":")
		list(j, m.Pauses, func(w Wait) { j.wait(m, w) })
	}
	j.text(",\n\"counters\":")
	list(j, m.Counters, j.counter)
	j.text(",\n\"threads\":[\n")
	first := true
	for t := range m.Descend(Top) {
		if !first {
			j.text(",\n")
		}
		first = false
		j.thread(m, t)
		j.flushAt(1 << 15)
	}
	j.text("]}\n")
	j.flushAt(0)
	if j.err != nil {
		return j.err
	}
	return j.w.Flush()
}

// Height returns the y of the last row; that of the first if there is none.
func (m *Model) Height() float64 {
	return FirstRow + RowHeight*float64(max(m.Rows-1, 0))
}

// jsonWriter appends to a buffer, and remembers the first error.
type jsonWriter struct {
	w   *bufio.Writer
	b   []byte
	err error
}

func (j *jsonWriter) flushAt(size int) {
	if len(j.b) > size && j.err == nil {
		_, j.err = j.w.Write(j.b)
		j.b = j.b[:0]
	}
}

func (j *jsonWriter) text(s string)   { j.b = append(j.b, s...) }
func (j *jsonWriter) int(v int64)     { j.b = strconv.AppendInt(j.b, v, 10) }
func (j *jsonWriter) bool(v bool)     { j.b = strconv.AppendBool(j.b, v) }
func (j *jsonWriter) string(s string) { j.b = event.AppendJSONString(j.b, s) }

func (j *jsonWriter) float(v float64) {
	if math.IsInf(v, -1) {
		j.text(`"-inf"`)
		return
	}
	j.b = strconv.AppendFloat(j.b, v, 'g', -1, 64)
}

func list[T any](j *jsonWriter, items []T, one func(T)) {
	j.text("[")
	for i, item := range items {
		if i > 0 {
			j.text(",")
		}
		one(item)
		j.flushAt(1 << 15)
	}
	j.text("]")
}

func (j *jsonWriter) pair(a, b float64) {
	j.text("[")
	j.float(a)
	j.text(",")
	j.float(b)
	j.text("]")
}

func (j *jsonWriter) span(s Span)     { j.pair(s.Start, s.End) }
func (j *jsonWriter) sample(s Sample) { j.pair(s.Time, s.Value) }

func (j *jsonWriter) counter(c Counter) {
	j.text("\n{\"name\":")
	j.string(c.Name)
	j.text(`,"scale":{"min":`)
	j.float(c.Min)
	j.text(`,"max":`)
	j.float(c.Max)
	j.text(`},"values":`)
	list(j, c.Samples, j.sample)
	j.text("}")
}

func (j *jsonWriter) thread(m *Model, id ID) {
	t := &m.Threads[id]
	j.text(`{"tid":`)
	j.int(t.TID)
	j.text(`,"type":"`)
	j.text(t.Type.String())
	j.text(`","start":`)
	j.float(t.Start)
	j.text(`,"end":`)
	j.float(t.End)
	j.text(`,"resolved":`)
	j.bool(t.Resolved)
	j.text(`,"failure":`)
	if t.Failed() {
		j.string(m.Text(t.Failure))
	} else {
		j.text("null")
	}
	j.text(`,"becomes":`)
	if t.Becomes != None {
		j.int(m.Threads[t.Becomes].TID)
	} else {
		j.text("null")
	}
	j.text(`,"show_creation":`)
	j.bool(t.ShowCreation)
	j.text(`,"y":`)
	j.float(t.Y())
	j.text(`,"creates":[`)
	first := true
	for c := range m.Children(id) {
		if !first {
			j.text(",")
		}
		first = false
		j.int(m.Threads[c].TID)
	}
	j.text(`],"labels":`)
	if labels := m.Labels(id); len(labels) > 0 {
		list(j, labels, func(l Label) { j.label(l.Time, m.Text(l.Text)) })
	} else {
		j.text("[")
		j.label(t.Start, m.Title(id))
		j.text("]")
	}
	j.text(`,"interactions":`)
	list(j, m.Interactions(id), func(i Interaction) {
		j.text("[")
		j.float(i.Time)
		j.text(`,"`)
		j.text(i.Op.String())
		j.text(`",`)
		j.int(m.Threads[i.Other].TID)
		j.text("]")
	})
	j.text(`,"activations":`)
	list(j, m.Activations(id), j.span)
	if waits := m.Waits(id); len(waits) > 0 {
		j.text(`,"waits":`)
		list(j, waits, func(w Wait) { j.wait(m, w) })
	}
	j.text("}")
}

func (j *jsonWriter) wait(m *Model, w Wait) {
	j.text("[")
	j.float(w.Start)
	j.text(",")
	j.float(w.End)
	j.text(",")
	j.string(m.Text(w.Reason))
	j.text("]")
}

func (j *jsonWriter) label(time float64, text string) {
	j.text("[")
	j.float(time)
	j.text(",")
	j.string(text)
	j.text("]")
}
