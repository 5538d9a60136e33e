package engine

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Request is one question. Which of its fields count depends on Ask:
//
//	hello     what is open, and the palette            (no fields)
//	frame     the picture of View                      View
//	export    View as an SVG file                      View Theme
//	pick      what lies at X, Y of View                View X Y
//	overview  the whole trace, Width columns wide      Width Query
//	arrow     all about an arrow                       How TID ToTID Time
//	thread    all about a thread                       Thread or TID
//	follow    the cause (Back) or effect of a thread   Thread Time Back Other
//	chain     the threads that became one another      Thread
//	search    where Query occurs                       Query Offset Limit Time
//	findings  what is worth a look                     (no fields)
//	next      the next (Back: previous) event          What Time Back
//	range     what happened from From to To            From To
//	table     a page of the list of threads            Query Sort Desc Offset Limit
//
// [Memory] lists the questions about traces of memory.
type Request struct {
	Version int    `json:"v"`
	ID      uint32 `json:"id"`
	Ask     string `json:"ask"`
	Trace   int    `json:"trace"`

	View   View       `json:"view"`
	X      float64    `json:"x"`
	Y      float64    `json:"y"`
	Thread *thread.ID `json:"thread"`
	TID    string     `json:"tid"`
	ToTID  string     `json:"toTid"`
	How    string     `json:"how"`
	Other  *thread.ID `json:"other"`
	Time   float64    `json:"time"`
	From   float64    `json:"from"`
	To     float64    `json:"to"`
	Query  string     `json:"query"`
	What   string     `json:"what"`
	Back   bool       `json:"back"`
	Offset int        `json:"offset"`
	Limit  int        `json:"limit"`
	Sort   string     `json:"sort"`
	Desc   bool       `json:"desc"`
	Width  int        `json:"width"`
	Theme  string     `json:"theme"`
	Memory *Memory    `json:"memory"`

	base           *Trace // what Memory.Base names
	baseGeneration uint32
}

// View is what a viewer looks at.
type View struct {
	From     float64    `json:"from"`   // the time at the left edge, in s
	To       float64    `json:"to"`     // and at the right one
	Width    float64    `json:"width"`  // in px
	Height   float64    `json:"height"` // in px
	Rows     string     `json:"rows"`   // "fisheye" or "linear"
	Focus    float64    `json:"focus"`  // the row that the fisheye enlarges, in rows' units
	Scroll   float64    `json:"scroll"` // how far linear rows are scrolled, in px
	Fold     bool       `json:"fold"`   // draw long idle stretches as short breaks
	Zoom     float64    `json:"zoom"`   // px per unit of linear rows; 0 means 1
	Hidden   []string   `json:"hidden"` // names of counters that are switched off
	Marks    []float64  `json:"marks"`  // times that are marked
	Selected *thread.ID `json:"selected"`
	Arrow    *ArrowName `json:"arrow"` // the one that is selected
	Chain    *thread.ID `json:"chain"` // highlight what this thread became
	Query    string     `json:"query"` // highlight what this finds
	Only     bool       `json:"only"`  // draw only the threads that Query finds, if there is one
}

const (
	maxSide = 16384 // of a picture, in px
	maxList = 1000  // entries of a list in an answer
	maxText = 256   // bytes of a text in an answer
)

// check refuses what would cost too much or cannot be drawn.
func (v *View) check() error {
	for _, f := range []float64{v.From, v.To, v.Width, v.Height, v.Focus, v.Scroll} {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return refuse("bad-view", "a view with a number that is not finite")
		}
	}
	switch {
	case v.Width < 1 || v.Height < 1 || v.Width > maxSide || v.Height > maxSide:
		return refuse("bad-view", "a picture of %g x %g px: 1 to %d each", v.Width, v.Height, maxSide)
	case !(v.From < v.To):
		return refuse("bad-view", "a view from %g s to %g s", v.From, v.To)
	}
	return nil
}

// limit is the size of a page of a list: 0 stands for 50.
func limit(n int) int {
	if n <= 0 {
		return 50
	}
	return min(n, maxList)
}

// page cuts offset:offset+limit out of a list of n entries.
func page(n, offset, count int) (from, to int) {
	from = min(max(offset, 0), n)
	return from, min(from+limit(count), n)
}

// clip makes a text fit for an answer: valid UTF-8 of bounded size.
func clip(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	cut := maxText
	for cut > maxText-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.ToValidUTF8(s[:cut], "\uFFFD") + "…"
}

// Link names a thread, and perhaps when and how it is met.
type Link struct {
	Thread thread.ID `json:"thread"`
	TID    string    `json:"tid"`
	Title  string    `json:"title"`
	Type   string    `json:"type"`
	Time   *float64  `json:"time,omitempty"`
	How    string    `json:"how,omitempty"` // "resolve", "read", "try_read" or "signal"
	Failed bool      `json:"failed,omitempty"`
}

func (t *Trace) link(id thread.ID) Link {
	th := &t.model.Threads[id]
	return Link{
		Thread: id,
		TID:    strconv.FormatInt(th.TID, 10),
		Title:  clip(t.model.Title(id)),
		Type:   th.Type.String(),
		Failed: th.Failed(),
	}
}

func (t *Trace) linkAt(id thread.ID, time float64, how string) Link {
	l := t.link(id)
	l.Time, l.How = &time, how
	return l
}

// which finds the thread that a request is about.
func (t *Trace) which(r *Request) (thread.ID, error) {
	if r.Thread != nil {
		if id := *r.Thread; id >= 0 && int(id) < len(t.model.Threads) {
			return id, nil
		}
		return thread.None, refuse("no-thread", "there is no thread %d", *r.Thread)
	}
	tid, err := strconv.ParseInt(r.TID, 10, 64)
	if err != nil {
		return thread.None, refuse("bad-request", "not a thread: %q", clip(r.TID))
	}
	for i := range t.model.Threads {
		if t.model.Threads[i].TID == tid {
			return thread.ID(i), nil
		}
	}
	return thread.None, refuse("no-thread", "this trace has no thread %d", tid)
}

// About says where a trace came from. It is shown, not interpreted.
type About struct {
	Name        string         `json:"name"` // the file's, for people
	Format      string         `json:"format"`
	Packets     int            `json:"packets"`
	LostPackets int            `json:"lostPackets"`
	Damage      []event.Damage `json:"damage"`
	Start       float64        `json:"start"` // time 0, in s since the Unix epoch; 0 when that is not known
}
