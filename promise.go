package mirador

import (
	"context"
	"sync"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Promise is a value that will be there one day, or an error in its place. It
// is a thread of its own in the trace: who awaits it is seen to wait for it,
// and who resolves it to wake them. It works whether or not anything is
// recorded. All methods may be called from any goroutine. The zero Promise is
// not usable. It is Trace.named_wait of mirage-profile, and Lwt.wait.
type Promise[T any] struct {
	object object
	done   chan struct{} // closed when it is settled

	mu        sync.Mutex
	state     state
	value     T
	err       error
	followers []*Promise[T] // that have become this one
}

type state uint8

const (
	pending state = iota
	became        // another one, which settles it
	settled
)

// NewPromise returns a promise, created by the goroutine.
func NewPromise[T any](label string) *Promise[T] {
	p := &Promise[T]{done: make(chan struct{})}
	p.object.name = label
	if recorded && ring.On() {
		p.object.thread(event.Promise)
	}
	return p
}

// Task returns the promise as a task, to label it for instance.
func (p *Promise[T]) Task() Task {
	if recorded && ring.On() {
		return Task{p.object.thread(event.Promise)}
	}
	return Task{}
}

// Resolve gives the promise its value. It returns false, and does nothing, if
// that is no more to be given. It is Lwt.wakeup.
func (p *Promise[T]) Resolve(value T) bool { return p.give(value, nil) }

// Fail gives the promise an error, which must not be nil, in place of a value.
// It is Lwt.wakeup_exn.
func (p *Promise[T]) Fail(err error) bool {
	var none T
	return p.give(none, err)
}

func (p *Promise[T]) give(value T, err error) bool {
	p.mu.Lock()
	if p.state != pending {
		p.mu.Unlock()
		return false
	}
	if recorded && ring.On() {
		if t := p.Task(); err != nil {
			t.fail(err)
		} else {
			t.resolve()
		}
	}
	p.finish(value, err)
	return true
}

// settle gives the promise its end where that is recorded otherwise.
func (p *Promise[T]) settle(value T, err error) {
	p.mu.Lock()
	if p.state == settled {
		p.mu.Unlock()
		return
	}
	p.finish(value, err)
}

// finish wakes all who wait. It unlocks p.
func (p *Promise[T]) finish(value T, err error) {
	p.state, p.value, p.err = settled, value, err
	followers := p.followers
	p.followers = nil
	close(p.done)
	p.mu.Unlock()
	for _, f := range followers {
		f.settle(value, err)
	}
}

// Await waits until the promise is settled and returns what it was given, or
// until ctx is done, and returns its error. In the trace a wait is a try_read
// and, when it is over, a read: in mirage-profile those of Lwt.bind.
func (p *Promise[T]) Await(ctx context.Context) (T, error) {
	if recorded && ring.On() {
		return p.await(ctx)
	}
	select {
	case <-p.done:
		return p.value, p.err
	case <-ctx.Done():
		return p.givenUp(ctx)
	}
}

func (p *Promise[T]) await(ctx context.Context) (T, error) {
	me, id := goid.Get(), p.object.thread(event.Promise)
	select {
	case <-p.done:
	default:
		p.object.waits(me, event.Promise, "promise")
		select {
		case <-p.done:
		case <-ctx.Done():
			ring.Emit(event.Switch, me)
			return p.givenUp(ctx)
		}
	}
	ring.EmitAfter(event.Read, me, id)
	return p.value, p.err
}

func (p *Promise[T]) givenUp(ctx context.Context) (T, error) {
	var none T
	return none, context.Cause(ctx)
}

// Done returns a channel that is closed when the promise is settled.
func (p *Promise[T]) Done() <-chan struct{} { return p.done }

// Becomes makes the promise another one: it gets what the other one gets. It
// returns false, and does nothing, if it has its value or is another one
// already. A promise that becomes itself, or one that becomes it, is never
// settled. It is note_becomes of mirage-profile.
func (p *Promise[T]) Becomes(other *Promise[T]) bool {
	p.mu.Lock()
	if p.state != pending {
		p.mu.Unlock()
		return false
	}
	p.state = became
	p.mu.Unlock()
	if recorded && ring.On() {
		p.Task().becomes(other.Task())
	}
	other.mu.Lock()
	if other.state != settled {
		other.followers = append(other.followers, p)
		other.mu.Unlock()
		return true
	}
	other.mu.Unlock()
	p.settle(other.value, other.err)
	return true
}
