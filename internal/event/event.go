// Package event is the vocabulary that every trace format is translated into:
// what a thread did, to whom, and when.
//
// There are few types: an [Event] is one thing that happened; its [Kind] says
// what, and the table [Specs] says which fields such an event has and what
// they are called; a [ThreadType] says what sort of promise a new thread is;
// the [Stacks] of a trace resolve the stack numbers in its events into
// [Frame]s; a [Damage] is a place in a file that could not be read.
//
// The words are those of the mirage-profile trace format, whose fourteen
// operations are the first fourteen kinds, under the same numbers. The kinds
// after those are our own.
package event

import "fmt"

// NoThread is the thread id that stands for no thread: switching to it means
// that the process goes idle, and what it creates was there before the trace.
const NoThread = -1

// Kind is what an event tells. (Sizes: 8 bits)
type Kind uint8

// The kinds, first in the order of mirage-profile's operations.
const (
	Creates    Kind = iota // Thread creates Other, of type Type
	Read                   // Thread reads the resolved Other, and runs
	Fulfills               // Thread resolves Other
	Fails                  // Thread resolves Other with the failure Text
	Becomes                // the promise Thread from now on is Other
	Label                  // Thread is described by Text
	Increase               // Thread adds Value to the counter Text
	Switch                 // Thread runs now
	GC                     // a collection that took Value ns ends
	Signal                 // Other wakes Thread, which runs now
	TryRead                // Thread looks at the unresolved Other, and waits
	Counter                // Thread sets the counter Text to Value
	ReadLater              // Thread reads Other, without running
	SignalOnly             // Other wakes Thread, which does not run yet

	// What mirage-profile has no operation for.
	Log         // Thread says Text, which does not describe it
	RegionBegin // Thread enters the region Text, inside of any it is in
	RegionEnd   // Thread leaves the region Text
	Wait        // Thread stops running on Proc and waits, for the reason Text; if that is empty, it has waited since before the trace
	Send        // Thread sends the message Text out of the process
	Receive     // Thread receives the message Text from outside
	Pause       // Thread let the whole program stand still for Value ns until now, for the reason Text
	NumKinds
)

// Spec says how the events of one kind are called and which fields they have.
// A field that the kind does not have is the empty string.
type Spec struct {
	Name   string // the event's name
	Thread string // the name of the field Event.Thread
	Other  string // the name of the field Event.Other, a thread
	Value  string // the name of the field Event.Value, a number
	Text   string // the name of the field Event.Text
	Typed  bool   // whether the event has a thread type
}

// Specs describes every kind. The names are those of the CTF metadata that
// mirage-profile's own tools use.
var Specs = [NumKinds]Spec{
	Creates:    {Name: "creates", Thread: "thread", Other: "child", Typed: true},
	Read:       {Name: "read", Thread: "thread", Other: "source"},
	Fulfills:   {Name: "fulfills", Thread: "thread", Other: "resolvee"},
	Fails:      {Name: "fails", Thread: "thread", Other: "resolvee", Text: "exn"},
	Becomes:    {Name: "becomes", Thread: "thread", Other: "sleeper"},
	Label:      {Name: "label", Thread: "thread", Text: "label"},
	Increase:   {Name: "increase", Thread: "thread", Value: "amount", Text: "counter"},
	Switch:     {Name: "switch", Thread: "thread"},
	GC:         {Name: "gc", Value: "duration_ns"},
	Signal:     {Name: "signal", Thread: "thread", Other: "source"},
	TryRead:    {Name: "try_read", Thread: "thread", Other: "source"},
	Counter:    {Name: "counter", Thread: "thread", Value: "value", Text: "counter"},
	ReadLater:  {Name: "read_later", Thread: "thread", Other: "source"},
	SignalOnly: {Name: "signal_only", Thread: "thread", Other: "source"},

	Log:         {Name: "log", Thread: "thread", Text: "text"},
	RegionBegin: {Name: "region_begin", Thread: "thread", Text: "region"},
	RegionEnd:   {Name: "region_end", Thread: "thread", Text: "region"},
	Wait:        {Name: "wait", Thread: "thread", Text: "reason"},
	Send:        {Name: "send", Thread: "thread", Text: "message"},
	Receive:     {Name: "receive", Thread: "thread", Text: "message"},
	Pause:       {Name: "pause", Thread: "thread", Value: "duration_ns", Text: "reason"},
}

// String returns the kind's name, as in "try_read".
func (k Kind) String() string {
	if k < NumKinds {
		return Specs[k].Name
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ThreadType is the sort of promise that a thread stands for. (Sizes: 8 bits)
type ThreadType uint8

// Unknown is the type that a recorder writes when it does not know it.
// Goroutine is the type of goroutines; mirage-profile does not have it.
const (
	Unknown   ThreadType = 99
	Goroutine ThreadType = 100
)

var threadTypes = [...]string{
	"Wait", "Task", "Bind", "Try", "Choose", "Pick", "Join", "Map",
	"Condition", "On_success", "On_failure", "On_termination", "On_any",
	"Ignore_result", "Async", "Promise", "Semaphore", "Switch",
}

// Thread types that are referred to by name.
const (
	WaitType ThreadType = iota
	Task
	Bind
	Try
	Choose
	Pick
	Join
	Map
	Condition
	OnSuccess
	OnFailure
	OnTermination
	OnAny
	IgnoreResult
	Async
	Promise
	Semaphore
	SwitchType
)

// Known reports whether the type is one that some recorder writes.
func (t ThreadType) Known() bool { return int(t) < len(threadTypes) || t == Unknown }

// String returns the type's name, as in "On_success"; "Unknown" for a number
// that stands for none.
func (t ThreadType) String() string {
	switch {
	case int(t) < len(threadTypes):
		return threadTypes[t]
	case t == Goroutine:
		return "Goroutine"
	}
	return "Unknown"
}

// Event is one thing that happened. Readers overwrite one in place, so copy
// what you keep. The fields a kind does not have (see [Specs]) are unset and
// hold whatever was there; Proc and Stack are always set. (Sizes: 80 bytes)
type Event struct {
	Offset int64      // where the event starts in its file, in bytes
	Time   int64      // when it happened, in ns since an epoch of the trace's own
	Thread int64      // the thread that did it
	Other  int64      // the thread it was done to
	Value  int64      // an amount, a counter's value or a duration in ns
	Text   []byte     // a label, failure or counter's name, raw; valid until the reader's next call
	Proc   int32      // on which processor (P, CPU, domain) it happened; 0 where there is one
	Stack  uint32     // what Thread was calling then (Switch, SignalOnly: Other), a number in [Stacks]; 0 where that is not known
	Kind   Kind       // what happened
	Type   ThreadType // the type of the thread that was created
}

// Damage is a place in a trace that could not be read, or that could be read
// but cannot be true.
type Damage struct {
	Offset int64  `json:"offset"` // where it begins in its file, in bytes
	What   string `json:"what"`   // lower case, without a final period
}

// String returns the damage as one line: "offset 246: unknown operation 14".
func (d Damage) String() string { return fmt.Sprintf("offset %d: %s", d.Offset, d.What) }
