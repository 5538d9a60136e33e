package memtrace

import "strconv"

// Kind says what an [Event] is about.
type Kind uint8

const (
	Alloc   Kind = iota // a sampled block was allocated
	Promote             // it survived its first collection
	Collect             // it is gone
)

// String returns the word that the text form has for k.
func (k Kind) String() string {
	switch k {
	case Alloc:
		return "alloc"
	case Promote:
		return "promote"
	case Collect:
		return "collect"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Source says from where an allocation was served.
type Source uint8

const (
	Minor    Source = iota // the minor heap: small and young
	Major                  // the major heap directly
	External               // memory outside the heap
)

// String returns minor, major or external.
func (s Source) String() string {
	switch s {
	case Minor:
		return "minor"
	case Major:
		return "major"
	case External:
		return "external"
	}
	return "source " + strconv.Itoa(int(s))
}

// Frame is a place in the program as one [Reader] numbers them: small numbers
// from 1 on, in the order in which the trace names them. Frame 0 is a place
// that nothing is known about.
//
// Size: 32 bits.
type Frame uint32

// Event is one thing that happened to a sampled block. [Reader.Next] fills
// it; Promote and Collect leave the fields that only an allocation has at
// their zero values.
type Event struct {
	Kind      Kind
	Source    Source // of an Alloc
	Uncertain bool   // some of Stack may be wrong: what it is told relative to was lost
	Domain    uint16 // the domain (thread of the runtime) that wrote the event

	// Prefix is how many frames Stack shares with the Stack of the same
	// domain's previous Alloc, at least. What came before them need not be
	// looked at again: Stack[Prefix:] is what is new.
	Prefix int

	// Lost is how many frames of the previous Stack the writer had cut off
	// at its end. When it is not 0, Stack is the previous one as it was, the
	// best that is known. Prefix + Lost is what the trace has for Prefix.
	Lost int

	Time    int64  // µs since the Unix epoch
	ID      uint64 // of the block: unique in a trace, and rising within a domain
	Length  int64  // of an Alloc: words, without the block's header
	Samples int64  // of an Alloc: how many of the block's words were drawn, at the trace's rate

	// Stack is the backtrace of an Alloc, the outermost caller first. It
	// belongs to the Reader and is overwritten by the next event.
	Stack []Frame
}

// Location is a line of the program. One [Frame] has several when functions
// were inlined, the outermost first, and none when the program did not know.
type Location struct {
	File       string
	Line       int // up to 1,048,575, where it stops counting
	Start, End int // columns, up to 255 and 1,023, where they stop counting
	Func       string
}

// AppendText appends l as func@file:line:start-end.
func (l Location) AppendText(b []byte) []byte {
	b = append(b, l.Func...)
	b = append(b, '@')
	b = append(b, l.File...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(l.Line), 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(l.Start), 10)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(l.End), 10)
}

// String is the text of [Location.AppendText].
func (l Location) String() string { return string(l.AppendText(nil)) }

// Info is what a trace says about itself.
type Info struct {
	Version       int     // of the format: 1, 2 or 3
	SampleRate    float64 // how many of the allocated words are drawn, 1e-6 for one in a million
	WordSize      int     // bits
	Executable    string
	Host          string
	RuntimeParams string // of the OCaml runtime; free text for others
	PID           uint64
	Context       string // free text; "" is none. Version 1 has none
	Start         int64  // µs since the Unix epoch
}

// Bytes returns how many allocated bytes that many samples stand for, 0 when
// the rate is not known.
func (i *Info) Bytes(samples int64) float64 {
	if !(i.SampleRate > 0) {
		return 0
	}
	return float64(samples) / i.SampleRate * float64(i.WordSize) / 8
}

// Anonymous returns i without what tells whose trace it is, and with the
// start at 0: what the original's strip leaves.
func (i Info) Anonymous() Info {
	i.Executable, i.Host = "<anonymous>", "<anonymous>"
	i.PID, i.Context, i.Start = 0, "", 0
	return i
}
