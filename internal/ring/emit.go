package ring

import (
	"runtime"
	"sync/atomic"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// active says whether anything is recorded; current is the recording.
var (
	active  atomic.Bool
	current atomic.Pointer[rings]
)

// rings is what is written to. It is never changed: a recording that gets more
// writers gets another of these.
type rings struct {
	writers []*Writer // by P
	shared  *Writer   // of the Ps beyond
	session *Session
}

// On reports whether events are recorded. It is a load, and inlined.
func On() bool { return Built && active.Load() }

// begin pins the goroutine and returns the writer of its P, and the time. The
// writer is nil, and the goroutine is not pinned, if there is none.
//
//go:norace
func begin() *Writer {
	p := procPin()
	s := current.Load()
	if s != nil && p < len(s.writers) {
		return s.writers[p]
	}
	procUnpin()
	return nil
}

// Emit records that thread did something that needs no more words.
//
//go:norace
func Emit(kind event.Kind, thread int64) {
	if w := begin(); w != nil {
		w.put(cycles(), uint16(kind), thread, 0, 0, 16)
		procUnpin()
		return
	}
	emitShared(uint16(kind), thread, 0, 0, 16)
}

// EmitOther records what thread did to other.
//
//go:norace
func EmitOther(kind event.Kind, thread, other int64) {
	if w := begin(); w != nil {
		w.put(cycles(), uint16(kind), thread, other, 0, 24)
		procUnpin()
		return
	}
	emitShared(uint16(kind), thread, other, 0, 24)
}

// EmitAfter is EmitOther for what thread can only do after another thread has
// done something: its time is not earlier than that of its cause.
//
//go:norace
func EmitAfter(kind event.Kind, thread, other int64) {
	if w := begin(); w != nil {
		w.put(fencedCycles(), uint16(kind), thread, other, 0, 24)
		procUnpin()
		return
	}
	emitShared(uint16(kind), thread, other, 0, 24)
}

// EmitCreates records that thread creates child. It is fenced, as EmitAfter.
//
//go:norace
func EmitCreates(thread, child int64, sort event.ThreadType) {
	if w := begin(); w != nil {
		w.put(fencedCycles(), uint16(event.Creates), thread, child, int64(sort), 32)
		procUnpin()
		return
	}
	emitShared(uint16(event.Creates), thread, child, int64(sort), 32)
}

// EmitText records what is said of, or by, a thread. The text is cut at 32 KiB
// or a quarter of a packet.
//
//go:norace
func EmitText(kind event.Kind, thread int64, text string) {
	if w := begin(); w != nil {
		w.putText(cycles(), uint16(kind), thread, 0, 0, text)
		procUnpin()
		return
	}
	emitSharedText(uint16(kind), thread, 0, 0, text)
}

// EmitWordText records what thread did to other, or the value of a counter.
//
//go:norace
func EmitWordText(kind event.Kind, thread, word int64, text string) {
	if w := begin(); w != nil {
		w.putText(cycles(), uint16(kind), thread, word, 8, text)
		procUnpin()
		return
	}
	emitSharedText(uint16(kind), thread, word, 8, text)
}

// emitShared records an event on a P that has no ring of its own: not yet, or
// there is no room for one. Then the ring that all such Ps share is used.
//
//go:norace
func emitShared(kind uint16, thread, a, b int64, size uint64) {
	if w := acquire(); w != nil {
		w.put(fencedCycles(), kind, thread, a, b, size)
		w.release()
	}
}

//go:norace
func emitSharedText(kind uint16, thread, a int64, word uint64, text string) {
	if w := acquire(); w != nil {
		w.putText(fencedCycles(), kind, thread, a, word, text)
		w.release()
	}
}

// emitPast writes an event that happened a little ago. It is written with the
// time of the last event of the shared ring if that is later.
func emitPast(then uint64, kind event.Kind, thread, a int64) {
	if w := acquireShared(); w != nil {
		w.put(max(then, w.last), uint16(kind), thread, a, 0, 24)
		w.release()
	}
}

// emitClock writes the time on three clocks.
func emitClock() {
	if w := acquireShared(); w != nil {
		c := readClock()
		if c.Cycles >= w.last {
			w.put(c.Cycles, packet.ClockKind, c.Monotonic, c.Realtime, 0, 24)
		}
		w.release()
	}
}

const (
	spins  = 1000   // at the shared ring's lock, before the goroutine makes way
	yields = 20_000 // before it gives up: tens of ms
)

// acquire pins the goroutine and returns a writer of its own: that of its P,
// which it makes if that is possible, or the shared one. It returns nil, with
// the goroutine unpinned, if nothing is recorded.
//
// The lock's holder is pinned and leaves it after some ns; only when the
// system takes its thread off the processor may it take longer than a
// goroutine should wait. Then, in the end, the event is dropped, and counted.
func acquire() *Writer {
	for range yields {
		if w := begin(); w != nil {
			return w
		}
		p := procPin()
		s := current.Load()
		if s == nil {
			procUnpin()
			return nil
		}
		if p >= len(s.writers) && s.session.growing.CompareAndSwap(false, true) {
			procUnpin()
			s.session.grow(p + 1)
			continue
		}
		if s.tryLock() {
			return s.shared
		}
		procUnpin()
		runtime.Gosched()
	}
	if s := current.Load(); s != nil {
		s.session.discarded.Add(1)
	}
	return nil
}

// acquireShared is acquire for what belongs into the shared ring.
func acquireShared() *Writer {
	for range yields {
		procPin()
		s := current.Load()
		if s == nil {
			procUnpin()
			return nil
		}
		if s.tryLock() {
			return s.shared
		}
		procUnpin()
		runtime.Gosched()
	}
	return nil
}

// tryLock locks the shared ring.
func (s *rings) tryLock() bool {
	w := s.shared
	for range spins {
		if w.lock.Load() == 0 && w.lock.CompareAndSwap(0, 1) {
			if n := s.session.discarded.Load(); n != w.lost {
				w.lost = n
				store(w.packet, packet.OffDiscarded, n)
			}
			return true
		}
	}
	return false
}

// release ends acquire.
func (w *Writer) release() {
	if w.shared {
		w.lock.Store(0)
	}
	procUnpin()
}
