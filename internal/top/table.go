// Package top is a live table of what the threads of a recording program do:
// which run, which wait, on what and since when.
//
// There are few types: a [Table] is what a model says of all threads that have
// not ended, sorted by a [Column]; a [Screen] shows it in a terminal and obeys
// its keys.
package top

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mirador-trace/mirador/internal/thread"
)

// State is what a thread does at the end of the trace, which is now.
type State uint8

// The states, the most urgent first.
const (
	Running State = iota
	Waiting       // for another thread, which has not ended
	Idle          // it does not run, and the trace does not tell why
)

func (s State) String() string { return [...]string{"run", "wait", "idle"}[s] }

// Row is a thread. Times are in seconds.
type Row struct {
	ID    thread.ID
	TID   int64
	Title string
	Type  string
	State State
	Since float64 // how long it has been in this state
	On    string  // what it waits for
	Age   float64 // since its creation
	Ran   float64
	Woken int // how often it was woken, read or ran
}

// Busy is the share of its life in which the thread ran, from 0 to 1.
func (r *Row) Busy() float64 {
	if r.Age <= 0 {
		return 0
	}
	return min(r.Ran/r.Age, 1)
}

// Table is what the threads of a program do now.
type Table struct {
	Rows    []Row
	Ended   int // threads that have ended
	States  [Idle + 1]int
	GC      int
	GCShare float64 // of the time of the trace, from 0 to 1
	Length  float64 // of the trace, in s
	Latest  []Gauge
}

// Gauge is a counter's value now.
type Gauge struct {
	Name  string
	Value float64
	Bytes bool // what it counts
}

// NewTable looks at the end of a trace.
func NewTable(m *thread.Model) *Table {
	t := &Table{GC: len(m.GC), Length: m.Duration()}
	for _, gc := range m.GC {
		t.GCShare += gc.End - gc.Start
	}
	if t.Length > 0 {
		t.GCShare = min(t.GCShare/t.Length, 1)
	}
	for i := range m.Counters {
		c := &m.Counters[i]
		if n := len(c.Samples); n > 0 {
			t.Latest = append(t.Latest, Gauge{c.Name, c.Samples[n-1].Value, c.InBytes()})
		}
	}
	for id := range m.Threads {
		th := &m.Threads[id]
		switch {
		case thread.ID(id) == thread.Top:
		case th.Resolved:
			t.Ended++
		case acts(m, thread.ID(id)):
			row := newRow(m, thread.ID(id))
			t.States[row.State]++
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// acts reports whether a thread ever did something by itself: a promise that
// others resolve is no row, but what somebody waits on.
func acts(m *thread.Model, id thread.ID) bool {
	return len(m.Activations(id)) > 0 || len(m.Interactions(id)) > 0 || len(m.Waits(id)) > 0
}

func newRow(m *thread.Model, id thread.ID) Row {
	th, now := &m.Threads[id], m.Duration()
	r := Row{ID: id, TID: th.TID, Title: m.Title(id), Type: th.Type.String(), State: Idle, Age: now - th.Start}
	last := th.Start
	spans := m.Activations(id)
	for _, s := range spans {
		r.Ran += s.End - s.Start
	}
	r.Woken = len(spans)
	if n := len(spans); n > 0 {
		last = spans[n-1].End
		if last >= now {
			r.State, last = Running, spans[n-1].Start
		}
	}
	if labels := m.Labels(id); len(labels) > 0 && r.State == Idle {
		last = max(last, labels[len(labels)-1].Time)
	}
	// A thread that looked at another one which has not ended waits for it,
	// whatever it ran before.
	if does := m.Interactions(id); len(does) > 0 {
		i := does[len(does)-1]
		if i.Op == thread.TryRead && !m.Threads[i.Other].Resolved {
			r.State, last, r.On = Waiting, i.Time, m.Title(i.Other)
		} else if r.State == Idle {
			last = max(last, i.Time)
		}
	}
	if waits := m.Waits(id); len(waits) > 0 && r.State != Running {
		if w := waits[len(waits)-1]; w.End >= now {
			r.State, last, r.On = Waiting, w.Start, m.Text(w.Reason)
		}
	}
	r.Since = max(now-last, 0)
	return r
}

// Column is what a table may be sorted by.
type Column uint8

// The columns, from left to right.
const (
	ByThread Column = iota
	ByTitle
	ByState
	BySince
	ByBusy
	ByRan
	ByWoken
	ByOn
	NumColumns
)

// Columns says how the columns are headed.
var Columns = [NumColumns]string{"thread", "label", "state", "since", "busy", "ran", "woken", "waits for"}

// Sort sorts the rows by a column, the greatest first where that is what one
// looks for, and the other way round if inverted.
func (t *Table) Sort(by Column, inverted bool) {
	slices.SortStableFunc(t.Rows, func(a, b Row) int {
		order := compare(&a, &b, by)
		if inverted {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.TID, b.TID))
	})
}

func compare(a, b *Row, by Column) int {
	switch by {
	case ByTitle:
		return strings.Compare(a.Title, b.Title)
	case ByState:
		return cmp.Compare(a.State, b.State)
	case BySince:
		return cmp.Compare(b.Since, a.Since)
	case ByBusy:
		return cmp.Compare(b.Busy(), a.Busy())
	case ByRan:
		return cmp.Compare(b.Ran, a.Ran)
	case ByWoken:
		return cmp.Compare(b.Woken, a.Woken)
	case ByOn:
		return strings.Compare(a.On, b.On)
	}
	return cmp.Compare(a.TID, b.TID)
}
