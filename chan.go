package mirador

import (
	"context"
	"sync/atomic"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Chan is a channel with a name. Waits to send and to receive are recorded;
// whose value ended a wait to receive is exact, and whose receipt ended one to
// send is that of the last to receive. Make one by [NewChan]. It is
// Trace.named_mvar of mirage-profile.
type Chan[T any] struct {
	values chan parcel[T]
	object object
	by     atomic.Int64 // who received last
}

// parcel is a value and, if it was sent while something was recorded, by whom.
type parcel[T any] struct {
	from  sender
	value T
}

// NewChan returns a channel with a name and room for size values.
func NewChan[T any](name string, size int) *Chan[T] {
	c := &Chan[T]{values: make(chan parcel[T], size)}
	c.object.name = name
	return c
}

// Send sends a value, waiting for room. It panics if the channel is closed.
func (c *Chan[T]) Send(value T) {
	if recorded && ring.On() {
		c.send(context.Background(), value)
		return
	}
	c.values <- parcel[T]{value: value}
}

// SendContext sends a value unless ctx is done before there is room: then it
// returns its error.
func (c *Chan[T]) SendContext(ctx context.Context, value T) error {
	if recorded && ring.On() {
		return c.send(ctx, value)
	}
	select {
	case c.values <- parcel[T]{value: value}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Chan[T]) send(ctx context.Context, value T) error {
	me := goid.Get()
	p := parcel[T]{from: senderOf(me), value: value}
	select {
	case c.values <- p:
		return nil
	default:
	}
	c.object.waits(me, event.WaitType, "chan send")
	select {
	case c.values <- p:
		woken(me, c.by.Load())
		return nil
	case <-ctx.Done():
		ring.Emit(event.Switch, me)
		return context.Cause(ctx)
	}
}

// TrySend sends a value if there is room, and reports whether it did.
func (c *Chan[T]) TrySend(value T) bool {
	p := parcel[T]{value: value}
	if recorded && ring.On() {
		p.from = senderOf(goid.Get())
	}
	select {
	case c.values <- p:
		return true
	default:
		return false
	}
}

// Recv receives a value, waiting for one; ok is false when the channel is
// closed and empty.
func (c *Chan[T]) Recv() (value T, ok bool) {
	if recorded && ring.On() {
		value, ok, _ = c.recv(context.Background())
		return value, ok
	}
	p, ok := <-c.values
	return p.value, ok
}

// RecvContext receives a value unless ctx is done before there is one: then it
// returns its error.
func (c *Chan[T]) RecvContext(ctx context.Context) (value T, ok bool, err error) {
	if recorded && ring.On() {
		return c.recv(ctx)
	}
	select {
	case p, ok := <-c.values:
		return p.value, ok, nil
	case <-ctx.Done():
		return value, false, context.Cause(ctx)
	}
}

func (c *Chan[T]) recv(ctx context.Context) (value T, ok bool, err error) {
	me := goid.Get()
	c.by.Store(me)
	select {
	case p, ok := <-c.values:
		return p.value, ok, nil
	default:
	}
	c.object.waits(me, event.WaitType, "chan receive")
	select {
	case p, ok := <-c.values:
		woken(me, p.from.id())
		return p.value, ok, nil
	case <-ctx.Done():
		ring.Emit(event.Switch, me)
		return value, false, context.Cause(ctx)
	}
}

// TryRecv receives a value if there is one; ok is whether there was.
func (c *Chan[T]) TryRecv() (value T, ok bool) {
	if recorded && ring.On() {
		note(&c.by)
	}
	select {
	case p, ok := <-c.values:
		return p.value, ok
	default:
		return value, false
	}
}

// All receives values until the channel is closed.
func (c *Chan[T]) All() func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for {
			value, ok := c.Recv()
			if !ok || !yield(value) {
				return
			}
		}
	}
}

// Close closes the channel: what is in it can yet be received.
func (c *Chan[T]) Close() { close(c.values) }

// Len and Cap return how many values are in the channel, and how many can be.
func (c *Chan[T]) Len() int { return len(c.values) }
func (c *Chan[T]) Cap() int { return cap(c.values) }
