package engine

import (
	"cmp"
	"slices"
	"sort"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Findings is what is worth a look in a trace.
type Findings struct {
	Unresolved Links          `json:"unresolved"` // never resolved, the first ones
	Failed     Links          `json:"failed"`
	Gaps       Gaps           `json:"gaps"`
	GC         Collections    `json:"gc"`
	Lost       int            `json:"lost"` // packets that are not in the file any more
	Damage     []event.Damage `json:"damage"`
	Notes      []event.Damage `json:"notes"`
}

// Gaps is when the process was idle for long. Longest has the longest first.
type Gaps struct {
	Over    float64 `json:"over"`  // what counts as long, in s
	Total   int     `json:"total"` // how many are long
	Idle    float64 `json:"idle"`  // all idle time, in s
	Longest []Gap   `json:"longest"`
}

// Gap is a stretch of time, with who ran when it ended.
type Gap struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Collections is the share of the garbage collector.
type Collections struct {
	Total   int     `json:"total"`
	Time    float64 `json:"time"` // in s
	Longest []Gap   `json:"longest"`
}

// longGap is what counts as a long idle gap: a hundredth of the trace, but at
// least 1 ms and at most 1 s; in steps of ten, so that it reads well.
func longGap(duration float64) float64 {
	for _, step := range []float64{1, 0.1, 0.01} {
		if step <= duration/100 {
			return step
		}
	}
	return 0.001
}

func (t *Trace) findings(*Request) (*Findings, error) {
	m := t.model
	f := &Findings{Lost: t.about.LostPackets, Damage: cut(t.about.Damage), Notes: cut(m.Notes)}
	for i := 1; i < len(m.Threads); i++ {
		th, id := &m.Threads[i], thread.ID(i)
		switch {
		case th.Failed():
			f.Failed.add(func() Link {
				l := t.linkAt(id, th.End, "")
				l.Title = clip(m.Text(th.Failure)) + " – " + l.Title
				return l
			})
		case !th.Resolved:
			f.Unresolved.add(func() Link { return t.linkAt(id, th.Start, "") })
		}
	}
	times := t.times()
	over := longGap(m.Duration())
	f.Gaps = Gaps{Over: over, Idle: times.idle.in(0, m.Duration()), Longest: longest(times.idle.spans)}
	for _, s := range times.idle.spans {
		if s.End-s.Start >= over {
			f.Gaps.Total++
		}
	}
	f.GC = Collections{Total: len(m.GC), Time: times.gc.in(0, m.Duration()), Longest: longest(times.gc.spans)}
	return f, nil
}

func cut[T any](list []T) []T { return list[:min(len(list), maxDetail)] }

// longest returns the ten longest spans, the longest first.
func longest(spans []thread.Span) []Gap {
	const most = 10
	top := make([]Gap, 0, most+1)
	for _, s := range spans {
		i := sort.Search(len(top), func(i int) bool { return top[i].To-top[i].From < s.End-s.Start })
		if i < most {
			top = slices.Insert(top, i, Gap{s.Start, s.End})
			top = top[:min(len(top), most)]
		}
	}
	return top
}

// Next is the event that a viewer jumps to.
type Next struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Thread *Link   `json:"thread,omitempty"`
}

// next finds the nearest event of a sort after a time, or before it: a
// "failure", a "gc", an "idle" gap that counts as long, or a thread that was
// never resolved ("unresolved"). There may be none.
func (t *Trace) next(r *Request) (*Next, error) {
	switch r.What {
	case "failure":
		return t.nextThread(r, func(th *thread.Thread) (float64, bool) { return th.End, th.Failed() }), nil
	case "unresolved":
		return t.nextThread(r, func(th *thread.Thread) (float64, bool) {
			return th.Start, !th.Failed() && !th.Resolved
		}), nil
	case "gc":
		return nextSpan(t.times().gc.spans, r, 0), nil
	case "idle":
		return nextSpan(t.times().idle.spans, r, longGap(t.model.Duration())), nil
	}
	return nil, refuse("bad-request", "next what? not %q", clip(r.What))
}

func (t *Trace) nextThread(r *Request, when func(*thread.Thread) (float64, bool)) *Next {
	best, at := thread.None, 0.0
	for i := 1; i < len(t.model.Threads); i++ {
		time, ok := when(&t.model.Threads[i])
		switch {
		case !ok:
		case r.Back && time < r.Time && (best == thread.None || time > at),
			!r.Back && time > r.Time && (best == thread.None || time < at):
			best, at = thread.ID(i), time
		}
	}
	if best == thread.None {
		return nil
	}
	l := t.linkAt(best, at, "")
	return &Next{at, at, &l}
}

func nextSpan(spans []thread.Span, r *Request, least float64) *Next {
	i, _ := slices.BinarySearchFunc(spans, r.Time, func(s thread.Span, time float64) int { return cmp.Compare(s.Start, time) })
	step := 1
	if r.Back {
		i, step = i-1, -1
	}
	for ; i >= 0 && i < len(spans); i += step {
		s := spans[i]
		if s.Start != r.Time && s.End-s.Start >= least {
			return &Next{From: s.Start, To: s.End}
		}
	}
	return nil
}
