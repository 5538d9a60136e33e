// Package story reads what somebody has to tell of some traces: a Markdown
// file of a title, an introduction and steps, each of which shows the reader a
// view of one of the traces.
//
// There are few types: [Parse] reads a file into a [Draft], whose views
// [Draft.Locate] finds in the [Trace]s; the result is a [Story]. It has [Step]s,
// whose text is [Node]s, a tree of the few things that a text is made of here.
// An [Error] says in which line of the file something is wrong.
//
// # The file
//
//	# A lost wake-up
//
//	A producer puts letters into a box, and a consumer takes them out.
//
//	## The signal wakes the consumer
//
//	```view
//	trace: good
//	from: "signalled letter 5" - 1ms
//	to: "signalled letter 5" + 9ms
//	thread: "consumer"
//	mark: "signalled letter 5": signal
//	```
//
//	The arrow goes from the producer to the [consumer](#thread="consumer").
//
// The first heading of the first level is the title, and what stands before
// the first heading of the second level is the introduction. Each heading of
// the second level begins a step. A fenced block called "view" is not shown:
// it says where the reader is to look. It has a line for each part, a name, a
// colon and a value; or it is a link that was copied from the page ("Copy
// link"), of which only what follows the # counts. A step without a view leaves
// the picture as it is. Links to # in the text are views, too, their parts
// joined with &.
//
// The parts are those of the page's address:
//
//	trace   a trace's name, with or without its extension, or its number from
//	        1 on (the address says tab); the one of the step before if left out
//	from    a time, at the left edge of the picture
//	to      a time, at the right one; from the whole trace's, if both are left out
//	thread  a thread, which is selected; with @ and a time, at that time
//	mark    a time and, after a colon, what is to stand there; any number of them
//	range   two times with ~ between, a stretch that is shaded
//	pin     a thread to keep at hand; chain a thread whose becomes are highlighted
//
// and the others, which are passed on as they are: rows, focus, scroll, search,
// hide, fold, show, only, arrow, and those of traces of memory.
//
// # Times and threads
//
// A recording of the same program has other times and numbers each time it
// runs, so a view can name what is to be seen by what it is:
//
//	0.0125           a time in s since the trace's start, as in the address
//	12.5ms           the same
//	start, end       of the trace
//	"text"           when a thread said so, in a label or a log
//	start "text"     when the thread began whose title, the first thing that
//	                 was said of it, is this
//	end "text"       when it ended
//	wait "text"      when it began to wait
//
// The text in quotes is all of the label. The first that fits is meant; with
// [2] behind it, the second, and with [-1] the last. Any number of lengths of
// time may be added and taken away: "signalled" + 2ms - 10us. A thread is its
// title in quotes, perhaps with a number behind it, too, or its number in the
// trace.
//
// # What a text may have
//
// Paragraphs, emphasis, code, lists, quotes, lines and links, as CommonMark has
// them. Whatever looks like HTML is shown as it stands. Images are left out but
// for their description: a report loads nothing.
package story

import "fmt"

// Story is a text that leads through views of traces.
type Story struct {
	Title string `json:"title"` // "" if it has none
	Intro []Node `json:"intro"` // what comes before the first step
	Steps []Step `json:"steps"`
}

// Draft is a story whose views have not been looked for yet.
type Draft struct {
	told  Story // a node of a view has the view's number as its text
	name  string
	views []*view // in the order of the file
}

// Step is one view with what is said of it.
type Step struct {
	Title string `json:"title"`
	View  string `json:"view"` // the fragment of the page's address; "" leaves the view as it is
	Body  []Node `json:"body"`
}

// Node is a part of a text.
type Node struct {
	// Kind is the name of the element of HTML that it is: p, em, strong, code,
	// pre, ul, ol, li, blockquote, h3, hr, br; a for a link; view for a link to
	// a view; or text.
	Kind string `json:"kind"`
	// Text is that of text, code and pre; of a the address, which is one of
	// https, http or mailto; of view the fragment.
	Text     string `json:"text,omitempty"`
	Children []Node `json:"children,omitempty"`
}

// Error says what is wrong with a file that tells a story.
type Error struct {
	Name string // the file's
	Line int    // from 1 on
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// MaxSize is how long a file may be, in bytes.
const MaxSize = 1 << 20

// maxDepth is how deep a text's parts may lie in each other.
const maxDepth = 64
