package mirador

import (
	"sync"
	"sync/atomic"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// object is something with a name that goroutines wait for: a thread of the
// trace from when it is first needed there.
type object struct {
	name  string
	id    atomic.Int64
	known atomic.Uint32 // the recording that has its name
}

// thread returns the object's number as a thread, having recorded its name if
// this recording does not have it yet.
func (o *object) thread(sort event.ThreadType) int64 {
	id := o.id.Load()
	if id == 0 {
		o.id.CompareAndSwap(0, ring.NewID())
		id = o.id.Load()
	}
	if now := ring.Generation(); o.known.Load() != now && o.known.Swap(now) != now {
		ring.EmitCreates(goid.Get(), id, sort)
		if o.name != "" {
			ring.EmitText(event.Label, id, o.name)
		}
	}
	return id
}

// wait records that the goroutine waits for the object, in block, and who
// ended the wait, which that one has noted in by.
func (o *object) wait(sort event.ThreadType, reason string, by *atomic.Int64, block func()) {
	me := goid.Get()
	o.waits(me, sort, reason)
	block()
	woken(me, by.Load())
}

// waits records that a goroutine looks at the object, and stops running.
func (o *object) waits(me int64, sort event.ThreadType, reason string) {
	ring.EmitOther(event.TryRead, me, o.thread(sort))
	ring.EmitText(event.Wait, me, reason)
}

// woken records that by has ended the goroutine's wait; 0 if that is not
// known.
func woken(me, by int64) {
	if by == 0 || by == me {
		ring.Emit(event.Switch, me)
		return
	}
	ring.EmitAfter(event.Signal, me, by)
}

// note remembers who may end a wait.
func note(by *atomic.Int64) { by.Store(goid.Get()) }

// named gives the object the name that the user has given to what it is in.
// That never changes, hence it may be written again without a lock, but only
// until the object is known.
func (o *object) named(name string) *object {
	if o.id.Load() == 0 {
		naming.Lock()
		if o.id.Load() == 0 {
			o.name = name
			o.id.Store(ring.NewID())
		}
		naming.Unlock()
	}
	return o
}

// naming is held while an object gets its name.
var naming sync.Mutex
