// Package synthetic makes mirage-profile traces of any size, to measure with:
// a server whose requests are served by small chains of promises.
package synthetic

import (
	"fmt"
	"io"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

// Shape says which trace to make. The zero value is 2.6 million events, 64 MiB.
type Shape struct {
	Events     int // how many; 0 means 2.6 million
	Chain      int // how many promises become one another in one chain; 0: none
	Concurrent int // how many requests are served at a time; 0 means 8
}

// Write writes the trace of a shape to w, the same each time.
func Write(w io.Writer, shape Shape) error {
	if shape.Events == 0 {
		shape.Events = 2_600_000
	}
	if shape.Concurrent == 0 {
		shape.Concurrent = 8
	}
	g := &generator{w: mirage.NewWriter(w), left: shape.Events, time: 1_000_000_000_000, next: 1}
	g.event(event.Event{Kind: event.Switch})
	g.chain(shape.Chain)
	for g.left > 0 && g.err == nil {
		g.requests(shape.Concurrent)
	}
	if g.err != nil {
		return g.err
	}
	return g.w.Close()
}

type generator struct {
	w    *mirage.Writer
	left int
	time int64
	next int64 // the next thread's number
	err  error
}

func (g *generator) event(e event.Event) {
	if g.left == 0 || g.err != nil {
		return
	}
	g.left--
	g.time += 100 + g.next%97
	e.Time = g.time
	g.err = g.w.Write(&e)
}

func (g *generator) create(parent int64, typ event.ThreadType) int64 {
	id := g.next
	g.next++
	g.event(event.Event{Kind: event.Creates, Thread: parent, Other: id, Type: typ})
	return id
}

// chain is what a loop of binds leaves: each is found to be the next, and all
// the while the first is asked for.
func (g *generator) chain(n int) {
	if n == 0 {
		return
	}
	first := g.create(0, event.Bind)
	for range n {
		next := g.create(0, event.Bind)
		g.event(event.Event{Kind: event.Becomes, Thread: first, Other: next})
	}
}

// requests serves n requests at once: a task waits, is woken, a bind reads it
// and ends.
func (g *generator) requests(n int) {
	tasks := make([]int64, n)
	binds := make([]int64, n)
	for i := range n {
		tasks[i] = g.create(0, event.Task)
		if tasks[i]%16 == 0 {
			g.event(event.Event{Kind: event.Label, Thread: tasks[i], Text: fmt.Appendf(nil, "request %d", tasks[i]%1000)})
		}
		binds[i] = g.create(0, event.Bind)
		g.event(event.Event{Kind: event.TryRead, Thread: binds[i], Other: tasks[i]})
	}
	g.event(event.Event{Kind: event.Switch, Thread: event.NoThread})
	for i := range n {
		g.event(event.Event{Kind: event.Switch, Thread: 0})
		g.event(event.Event{Kind: event.Fulfills, Thread: 0, Other: tasks[i]})
		g.event(event.Event{Kind: event.Read, Thread: binds[i], Other: tasks[i]})
		g.event(event.Event{Kind: event.Fulfills, Thread: binds[i], Other: binds[i]})
		if i%64 == 0 {
			g.event(event.Event{Kind: event.Counter, Thread: binds[i], Value: tasks[i] % 100, Text: []byte("queue")})
		}
	}
}
