package main

import (
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

// narrowed gives the events of a trace of another format in the words that
// mirage-profile has: what is said in a log or a region is said in a label,
// goroutines are tasks, and there is one processor. It runs what began to run
// last on any, and idles when that ends, even while others run. Ends of regions
// and pauses are left out.
type narrowed struct {
	format.Events
	on   map[int32]int64 // what runs on each processor
	last int64           // what began to run last
}

// narrow leaves the traces of mirage-profile as they are.
func narrow(events format.Events) format.Events {
	if _, ok := events.(*mirage.Reader); ok {
		return events
	}
	return &narrowed{Events: events, on: make(map[int32]int64), last: event.NoThread}
}

func (n *narrowed) Next(e *event.Event) bool {
	for n.Events.Next(e) {
		if n.fits(e) {
			e.Proc = 0
			return true
		}
	}
	return false
}

// fits puts an event into mirage-profile's words, and reports whether it can.
func (n *narrowed) fits(e *event.Event) bool {
	switch e.Kind {
	case event.Log, event.RegionBegin, event.Send, event.Receive:
		e.Kind = event.Label
	case event.RegionEnd, event.Pause:
		return false
	case event.Wait:
		if n.on[e.Proc] != e.Thread {
			return false // it does not run
		}
		e.Kind, e.Thread = event.Switch, event.NoThread
		return n.switches(e)
	case event.Switch:
		return n.switches(e)
	case event.Creates:
		if !e.Type.Known() {
			e.Type = event.Task
		}
	case event.Read, event.Signal:
		n.on[e.Proc], n.last = e.Thread, e.Thread
	}
	return true
}

func (n *narrowed) switches(e *event.Event) bool {
	was, ran := n.on[e.Proc]
	if e.Thread != event.NoThread {
		n.on[e.Proc], n.last = e.Thread, e.Thread
		return true
	}
	delete(n.on, e.Proc)
	if ran && was != n.last {
		return false
	}
	n.last = event.NoThread
	return true
}
