package mirador

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Cond is a [sync.Cond] with a name. Waits are recorded, and who signalled
// last before each ended. Make one by [NewCond]. It is Trace.named_condition
// of mirage-profile.
type Cond struct {
	L sync.Locker // held when its condition is looked at or changed

	cond   sync.Cond
	object object
	by     atomic.Int64
}

// NewCond returns a condition variable with a name, for what l protects.
func NewCond(name string, l sync.Locker) *Cond {
	c := &Cond{L: l}
	c.cond.L = l
	c.object.name = name
	return c
}

// Wait unlocks c.L, waits for a signal and locks c.L again.
func (c *Cond) Wait() {
	if recorded && ring.On() {
		c.wait()
		return
	}
	c.cond.Wait()
}

func (c *Cond) wait() { c.object.wait(event.Condition, "condition", &c.by, c.cond.Wait) }

// Signal wakes one goroutine that waits, if there is any.
func (c *Cond) Signal() {
	if recorded && ring.On() {
		note(&c.by)
	}
	c.cond.Signal()
}

// Broadcast wakes all goroutines that wait.
func (c *Cond) Broadcast() {
	if recorded && ring.On() {
		note(&c.by)
	}
	c.cond.Broadcast()
}

// WaitGroup is a [sync.WaitGroup] with a name. Waits are recorded, and who was
// the last to be done. The zero WaitGroup has no name and nothing to wait for.
// It is Lwt.join, which mirage-profile records as a thread of type Join.
type WaitGroup struct {
	Name string // must not be changed after the first use

	group  sync.WaitGroup
	object object
	by     atomic.Int64
}

// Add adds n, which may be negative, to what there is to wait for.
func (w *WaitGroup) Add(n int) {
	if recorded && ring.On() && n < 0 {
		note(&w.by)
	}
	w.group.Add(n)
}

// Done is Add(-1).
func (w *WaitGroup) Done() { w.Add(-1) }

// Go runs f in a goroutine, as [Go] does with a label, and waits for it, too.
func (w *WaitGroup) Go(label string, f func()) {
	w.group.Add(1)
	Go(label, func() {
		defer w.Done()
		f()
	})
}

// Wait waits until there is nothing to wait for any more.
func (w *WaitGroup) Wait() {
	if recorded && ring.On() {
		w.wait()
		return
	}
	w.group.Wait()
}

func (w *WaitGroup) wait() {
	w.object.named(w.Name).wait(event.Join, "wait group", &w.by, w.group.Wait)
}

// Semaphore lets a number of goroutines in at a time. Waits are recorded, and
// who left last before each ended. Make one by [NewSemaphore]. It is a thread
// of mirage-profile's type Semaphore.
type Semaphore struct {
	room   chan struct{} // as long as there are goroutines inside
	object object
	by     atomic.Int64
}

// NewSemaphore returns a semaphore with a name that lets n goroutines in.
func NewSemaphore(name string, n int) *Semaphore {
	s := &Semaphore{room: make(chan struct{}, n)}
	s.object.name = name
	return s
}

// Acquire waits until there is room, and takes it; or until ctx is done, and
// returns its error.
func (s *Semaphore) Acquire(ctx context.Context) error {
	if s.TryAcquire() {
		return nil
	}
	if recorded && ring.On() {
		return s.acquire(ctx)
	}
	return s.block(ctx)
}

func (s *Semaphore) acquire(ctx context.Context) (err error) {
	s.object.wait(event.Semaphore, "semaphore", &s.by, func() { err = s.block(ctx) })
	return err
}

func (s *Semaphore) block(ctx context.Context) error {
	select {
	case s.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TryAcquire takes room if there is any, and reports whether it did.
func (s *Semaphore) TryAcquire() bool {
	select {
	case s.room <- struct{}{}:
		return true
	default:
		return false
	}
}

// Release gives back what Acquire took. It panics if nothing was taken.
func (s *Semaphore) Release() {
	if recorded && ring.On() {
		note(&s.by)
	}
	select {
	case <-s.room:
	default:
		panic("mirador: Release of a semaphore that nobody acquired")
	}
}
