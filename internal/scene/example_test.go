package scene_test

import (
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// events is a source of events that were written down.
type events []event.Event

func (s *events) Next(e *event.Event) bool {
	if len(*s) == 0 {
		return false
	}
	*e = (*s)[0]
	*s = (*s)[1:]
	return true
}

// small is a trace that has something of all that is drawn: a server that
// takes two requests, one of which fails, sleeps and collects memory.
func small() *thread.Model {
	const us = 1000
	s := events{
		{Time: 0, Kind: event.Switch, Thread: 1},
		{Time: 0, Kind: event.Label, Thread: 1, Text: []byte("main")},
		{Time: 10 * us, Kind: event.Creates, Thread: 1, Other: 2, Type: event.Task},
		{Time: 12 * us, Kind: event.Label, Thread: 2, Text: []byte("request")},
		{Time: 20 * us, Kind: event.Creates, Thread: 1, Other: 3, Type: event.Join},
		{Time: 22 * us, Kind: event.Label, Thread: 3, Text: []byte("a very long label that cannot fit")},
		{Time: 25 * us, Kind: event.TryRead, Thread: 1, Other: 2},
		{Time: 28 * us, Kind: event.TryRead, Thread: 3, Other: 2},
		{Time: 30 * us, Kind: event.Counter, Thread: 1, Value: 3, Text: []byte("queue")},
		{Time: 30 * us, Kind: event.Switch, Thread: -1},
		{Time: 60 * us, Kind: event.Switch, Thread: 2},
		{Time: 62 * us, Kind: event.Counter, Thread: 2, Value: 7, Text: []byte("queue")},
		{Time: 66 * us, Kind: event.Label, Thread: 2, Text: []byte("read\xff")},
		{Time: 70 * us, Kind: event.Fulfills, Thread: 2, Other: 2},
		{Time: 71 * us, Kind: event.Read, Thread: 1, Other: 2},
		{Time: 72 * us, Kind: event.Creates, Thread: 1, Other: 4, Type: event.Try},
		{Time: 73 * us, Kind: event.Creates, Thread: 1, Other: 5, Type: event.Condition},
		{Time: 74 * us, Kind: event.Creates, Thread: 1, Other: 6, Type: event.Promise},
		{Time: 76 * us, Kind: event.GC, Value: 2 * us},
		{Time: 78 * us, Kind: event.Signal, Thread: 3, Other: 5},
		{Time: 80 * us, Kind: event.Counter, Thread: 1, Value: 1, Text: []byte("queue")},
		{Time: 82 * us, Kind: event.Becomes, Thread: 3, Other: 6},
		{Time: 85 * us, Kind: event.Fails, Thread: 3, Other: 4, Text: []byte("Timeout")},
		{Time: 86 * us, Kind: event.Read, Thread: 1, Other: 4},
		{Time: 95 * us, Kind: event.Label, Thread: 1, Text: []byte("done")},
		{Time: 100 * us, Kind: event.Switch, Thread: -1},
	}
	m := thread.Build(&s, thread.Options{})
	layout.Arrange(m)
	return m
}

// smallView shows all of it, with something picked out, found and selected.
var smallView = scene.Viewport{
	Width: 480, Height: 260, Highlighted: []thread.ID{1}, SearchHits: []thread.ID{2, 3}, Selected: 4,
	Marks: []float64{50e-6},
}
