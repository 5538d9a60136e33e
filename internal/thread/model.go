// Package thread turns events into a model of what the threads of a program
// did: when each lived and ran, who created, woke and waited for whom, which
// promise became which, and how counters went.
//
// There are few types: a [Model] is a whole trace; it holds [Thread]s, each
// known by its [ID], and answers with a thread's [Label]s, [Interaction]s and
// running parts ([Span]s), with the program's collections and [Counter]s.
// [Build] makes a model from events.
//
// The rules are those of mirage-trace-viewer, which showed over the years
// what people can read; a model of a mirage-profile trace equals the
// original's to the last bit. They are told where they are applied, in
// build.go and simplify.go.
//
// All times are seconds since the trace's first event, as float64: the
// difference of two times in ns, each divided by 1e9. A model is made of
// columns without pointers: about 100 bytes a thread, 16 an interaction, a
// label or a running part. It is immutable once built, but for the rows that
// package layout sets, so that any number of goroutines may read it.
package thread

import (
	"math"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/event"
)

// ID names a thread within its model: an index into [Model.Threads].
type ID int32

// Top is the thread that stands for the process before the trace and while it
// is idle. Every other thread descends from it. None is no thread at all.
const (
	Top  ID = 0
	None ID = -1
)

// Thread is what is known of one thread. Its lists are asked of the model.
type Thread struct {
	TID     int64   // the thread's number in the trace, 63 bits wide; -1 for Top
	Start   float64 // when it was created or, once simplified, first woken
	End     float64 // when it was resolved, became another, or was last heard of
	Parent  ID      // under whom it is drawn; None for Top
	Becomes ID      // the thread that it became, or None
	Row     int32   // 0 is the first row; -1 until laid out, and for Top
	Stack   uint32  // where it was created, as a number in [Model.Stacks]; 0 where that is not known
	Failure TextID  // why it failed, or NoText

	firstChild, nextChild ID // newest first

	Type         Type
	Resolved     bool // it was resolved, or became another
	ShowCreation bool // whether its creation is worth a line
}

// Failed reports whether the thread failed.
func (t *Thread) Failed() bool { return t.Failure != NoText }

// RowHeight is the distance between rows, and FirstRow the y of the first, in
// the units in which package scene projects them.
const (
	RowHeight = 30
	FirstRow  = 0.5
)

// Y returns where the thread's row lies; -Inf for a thread without one.
func (t *Thread) Y() float64 {
	if t.Row < 0 {
		return math.Inf(-1)
	}
	return FirstRow + RowHeight*float64(t.Row)
}

// Type is the sort of promise that a thread stands for, as an [event.ThreadType],
// or Preexisting.
type Type uint8

// Preexisting is the type of a thread that was there before the trace began.
const Preexisting Type = 255

// String returns the type in lower case: "bind", "preexisting".
func (t Type) String() string {
	if t == Preexisting {
		return "preexisting"
	}
	return typeNames[event.ThreadType(t)]
}

// TextID names a string of the model; see [Model.Text].
type TextID uint32

// NoText is no string. It is not the empty string.
const NoText TextID = 0

// Label is something that was said of a thread.
type Label struct {
	Time   float64
	Text   TextID
	Change bool // that it changed a counter, as in "gntref+1"
}

// Op is how one thread acted on another.
type Op uint8

// The ways to interact.
const (
	Resolve Op = iota // resolved it, or made it fail
	Read              // was woken by its result
	TryRead           // looked at it, and waits
	Signal            // woke it
)

// String returns the interaction's name: "try_read".
func (o Op) String() string { return [...]string{"resolve", "read", "try_read", "signal"}[o] }

// Interaction is what a thread did with another one. (Sizes: 16 bytes)
type Interaction struct {
	Time  float64
	Other ID
	Op    Op
	stack [3]byte
}

// Stack returns where the thread was when it did that, as a number in
// [Model.Stacks]; 0 where that is not known.
func (i Interaction) Stack() uint32 {
	return uint32(i.stack[0]) | uint32(i.stack[1])<<8 | uint32(i.stack[2])<<16
}

// at returns the interaction with its stack.
func (i Interaction) at(stack uint32) Interaction {
	i.stack = [3]byte{byte(stack), byte(stack >> 8), byte(stack >> 16)}
	return i
}

// Span is a stretch of time.
type Span struct{ Start, End float64 }

// Wait is a stretch of time in which a thread waited, and for what, where the
// trace tells: "chan receive". (Sizes: 24 bytes)
type Wait struct {
	Span
	Reason TextID // NoText where the trace does not tell
	Stack  uint32 // what it was calling, as a number in [Model.Stacks]; 0 where that is not known
}

// Counter is a number that the program kept, and how it went.
type Counter struct {
	Name     string
	Min, Max float64 // its scale, which it may share with other counters
	Samples  []Sample
}

// InBytes reports whether a counter counts bytes, as its name says: it ends in
// "bytes", or is one of those that Go's runtime counts.
func (c *Counter) InBytes() bool {
	return c.Name == "HeapAlloc" || c.Name == "HeapGoal" || strings.HasSuffix(c.Name, "bytes")
}

// Sample is the value that a counter has from a time on.
type Sample struct{ Time, Value float64 }

// Model is a whole trace. The zero Model has no threads; [Build] makes others.
type Model struct {
	Threads  []Thread // Threads[Top] is the top thread
	GC       []Span   // collections, in the order in which they ended
	Pauses   []Wait   // when the whole program stood still, in the order in which that ended
	Counters []Counter
	Origin   float64 // the first event's time in seconds, on the trace's clock
	OriginNS int64   // the same in nanoseconds
	LastNS   int64   // the latest event's time in nanoseconds
	Events   int     // how many events the model was made of
	Rows     int     // how many rows the layout took; 0 until laid out

	Stacks     *event.Stacks  // the stacks whose numbers stand elsewhere; nil if there are none
	Simplified bool           // whether binds were simplified
	Notes      []event.Damage // events that cannot be true, and were passed over; the first 1000
	Passed     int            // how many events were passed over

	texts        texts
	labels       column[Label]
	interactions column[Interaction]
	activations  column[Span]
	waits        column[Wait]
}

// Duration returns the time from the first event to the last, in seconds.
func (m *Model) Duration() float64 { return m.Threads[Top].End }

// Text returns a string of the model; "" for [NoText]. Strings are bytes as
// they were recorded, most often UTF-8.
func (m *Model) Text(id TextID) string { return m.texts.get(id) }

// Labels returns what was said of a thread, in the order in which it was
// said; the last is the failure's text, if it failed. A thread of which
// nothing was said has none: see [Model.Title].
func (m *Model) Labels(t ID) []Label { return m.labels.of(t) }

// Interactions returns what a thread did with others, in order.
func (m *Model) Interactions(t ID) []Interaction { return m.interactions.of(t) }

// Activations returns when a thread ran, in order. The top thread's are the
// times when the process was idle.
func (m *Model) Activations(t ID) []Span { return m.activations.of(t) }

// Waits returns when a thread waited, in order, where the trace tells for
// what; it does in traces of Go. A wait ends when the thread is woken, which
// may be some time before it runs.
func (m *Model) Waits(t ID) []Wait { return m.waits.of(t) }

// HasWaits reports whether the trace tells when threads waited.
func (m *Model) HasWaits() bool { return len(m.waits.items) > 0 }

// Title returns what a thread is best called: what its [Name] says or, if nothing
// was said of it, its number.
func (m *Model) Title(t ID) string {
	if l := m.Name(t); l.Text != NoText {
		return m.Text(l.Text)
	}
	return strconv.FormatInt(m.Threads[t].TID, 10)
}

// Name returns the label that a thread is called after: the first one, but not
// a change of a counter or why it failed if there are others. It is zero if
// there are none.
func (m *Model) Name(t ID) Label {
	labels := m.Labels(t)
	said := labels
	if m.Threads[t].Failed() && len(said) > 1 {
		said = said[:len(said)-1] // the last says why
	}
	for _, l := range said {
		if !l.Change {
			return l
		}
	}
	if len(labels) > 0 {
		return labels[0]
	}
	return Label{}
}

// Children calls yield for the threads drawn under t: the newest first, but
// those of [Top] by number.
func (m *Model) Children(t ID) func(yield func(ID) bool) {
	return func(yield func(ID) bool) {
		for c := m.Threads[t].firstChild; c != None; c = m.Threads[c].nextChild {
			if !yield(c) {
				return
			}
		}
	}
}
