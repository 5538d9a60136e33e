package mirador

import (
	"sync/atomic"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Counter is a number that is drawn as a graph. It may be used from any
// goroutine. It only counts while a recording is under way, so that it costs
// nothing otherwise. It is Counter of mirage-profile; the events have the
// counter's value as that of its newer versions do, and not the difference.
type Counter struct {
	name  string
	value atomic.Int64
}

// NewCounter returns a counter that is 0. Counters whose names differ only
// from their last '#' on, such as "queue#1" and "queue#2", are drawn to the
// same scale. Values of one whose name ends in "bytes" are shown as such: 2.3
// MiB. It is Counter.make of mirage-profile.
func NewCounter(name string) *Counter { return &Counter{name: name} }

// Set makes the counter n.
func (c *Counter) Set(n int64) {
	if recorded && ring.On() {
		c.set(n)
	}
}

//go:noinline
func (c *Counter) set(n int64) {
	c.value.Store(n)
	ring.EmitWordText(event.Counter, goid.Get(), n, c.name)
}

// Add adds n, which may be negative. It is Counter.increase of mirage-profile.
// Goroutines that add to the same counter at the same moment may record its
// values the wrong way round.
func (c *Counter) Add(n int64) {
	if recorded && ring.On() {
		c.add(n)
	}
}

//go:noinline
func (c *Counter) add(n int64) {
	ring.EmitWordText(event.Counter, goid.Get(), c.value.Add(n), c.name)
}

// Value returns the counter as it was last recorded.
func (c *Counter) Value() int64 { return c.value.Load() }
