package cut

import (
	"maps"
	"slices"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// pin is an event that says nothing, at a time.
func (c *cutter) pin(at int64) {
	c.emit(event.Event{Kind: event.Label, Time: at, Thread: event.NoThread})
}

// begin says once what there is at the window's start.
func (c *cutter) begin() {
	if c.begun {
		return
	}
	c.begun, c.last = true, c.from
	c.pin(c.from)
	for _, e := range c.counters {
		c.emit(e)
	}
	for _, t := range c.order {
		c.emit(event.Event{Kind: event.Creates, Time: c.from, Thread: event.NoThread, Other: t.tid, Type: t.typ})
		if th := &c.model.Threads[c.live[t.tid]]; simplified(t.typ) && th.Start < c.seconds(c.from) {
			// It has been woken already, and stays where it is.
			c.emit(event.Event{Kind: event.TryRead, Time: c.from, Thread: t.tid, Other: t.tid})
		}
	}
	c.mistakes()
	at := c.seconds(c.from)
	for _, tid := range slices.Sorted(maps.Keys(c.live)) {
		if name := c.model.Name(c.live[tid]); name.Text != thread.NoText && name.Time < at {
			c.emit(event.Event{Kind: event.Label, Time: c.from, Thread: tid, Text: []byte(c.model.Text(name.Text))})
		}
		for _, w := range c.model.Waits(c.live[tid]) {
			if w.Start < at && w.End > at {
				c.emit(event.Event{Kind: event.Wait, Time: c.from, Thread: tid, Text: []byte(c.model.Text(w.Reason))})
			}
		}
	}
	for _, proc := range slices.Sorted(maps.Keys(c.on)) {
		c.emit(event.Event{Kind: event.Switch, Time: c.from, Thread: c.known(c.on[proc]), Proc: proc})
	}
}

// simplified reports whether the model may let a thread of a type begin where
// it is first woken.
func simplified(t event.ThreadType) bool {
	switch t {
	case event.Bind, event.Try, event.Map, event.IgnoreResult, event.OnFailure, event.OnTermination:
		return true
	}
	return false
}

// mistakes says of which threads it is a mistake that they never resolve.
func (c *cutter) mistakes() {
	for _, t := range c.order {
		th := &c.model.Threads[c.live[t.tid]]
		if th.Failed() && !th.Resolved {
			c.emit(event.Event{Kind: event.Label, Time: c.from, Thread: t.tid, Text: []byte(shouldResolve)})
		}
	}
}

// known returns a thread of the window, or the one that stands for the others.
func (c *cutter) known(tid int64) int64 {
	if _, ok := c.live[tid]; ok || tid == event.NoThread {
		return tid
	}
	if !c.stands {
		c.stands = true
		for _, e := range []event.Event{
			{Kind: event.Creates, Thread: event.NoThread, Other: c.outside, Type: event.Task},
			{Kind: event.Label, Thread: c.outside, Text: []byte("outside")},
			{Kind: event.Fulfills, Thread: c.outside, Other: c.outside},
		} {
			e.Time = c.last
			c.emit(e)
		}
	}
	return c.outside
}

// within writes an event of the window, as far as it is about what lives in it.
func (c *cutter) within(e *event.Event) {
	c.last = e.Time
	_, live := c.live[e.Thread]
	_, other := c.live[e.Other]
	switch e.Kind {
	case event.GC, event.Pause:
	case event.Creates:
		if !other {
			return
		}
		if !live {
			e.Thread = event.NoThread
		}
	case event.Label:
		if string(e.Text) == shouldResolve && live {
			if th := &c.model.Threads[c.live[e.Thread]]; th.Resolved || !th.Failed() {
				return // it is resolved later
			}
		}
		if !live {
			return
		}
	case event.Log, event.RegionBegin, event.RegionEnd, event.Wait, event.Send, event.Receive:
		if !live {
			return
		}
	case event.Counter, event.Increase:
		if !live || c.quiet {
			e.Thread = event.NoThread
		}
	case event.Switch:
		e.Thread = c.known(e.Thread)
	case event.Read, event.Signal:
		e.Thread = c.known(e.Thread)
		if !other || !live {
			e.Kind, e.Other = event.Switch, 0
		}
	case event.SignalOnly:
		if !live {
			return
		}
		e.Other = c.known(e.Other)
	case event.ReadLater, event.TryRead:
		if !live || !other {
			return
		}
	case event.Fulfills, event.Fails:
		if !other {
			return
		}
		e.Thread = c.known(e.Thread)
	case event.Becomes:
		if !live {
			return
		}
		if !other { // it is resolved, and goes on outside
			e.Kind, e.Other = event.Fulfills, e.Thread
		}
	}
	c.emit(*e)
}

// end says what is still there at the window's end.
func (c *cutter) end() {
	c.last = max(c.last, c.from)
	at := c.seconds(c.to)
	for _, tid := range slices.Sorted(maps.Keys(c.live)) {
		th := &c.model.Threads[c.live[tid]]
		e := event.Event{Time: c.to, Thread: tid, Other: tid}
		switch {
		case th.End <= at:
			continue
		case th.Resolved:
			e.Kind = event.Fulfills
		case th.Type == thread.Type(event.Goroutine):
			continue // it is there until the end by itself
		default:
			e.Kind = event.TryRead // it is heard of
		}
		c.emit(e)
	}
	c.pin(c.to)
}
