// Package ring records events into a trace directory as a program runs: one
// ring of packets per P of the Go scheduler, mapped from files that anyone may
// read at any time.
//
// There are few types: a [Session] is one recording, in one directory, and a
// [Writer] is one of its rings. Everything else is a function that records an
// event into whatever is being recorded: [Emit], [EmitText] and their kin.
//
// # How an event is written
//
// The goroutine is pinned to its P, which makes it the only writer of that
// P's ring: no lock, no atomic operation. It reads the clock, stores the
// event, then moves the packet's end: in this order, so that a process killed
// at any instruction leaves at most the event in flight behind, out of sight.
// When a packet is full the ring's oldest one is emptied and used again. The
// layout is told in package packet.
//
// When GOMAXPROCS grows, the first event on a new P makes its ring, which
// takes some milliseconds. A P that has no ring, because one is just being
// made or there is no room for more, writes to a ring that all such Ps share,
// under a spin lock. That one also has the collections and heap counters.
//
// # Clocks
//
// Time is the processor's time stamp counter where that runs at a constant
// rate on all processors, and else CLOCK_MONOTONIC. RDTSC is not ordered with
// the memory accesses around it, so an event that a goroutine records because
// of what another one did (a read, a signal) is stamped behind a fence:
// it never has an earlier time than its cause.
//
// # Cost
//
// Reading the time stamp counter takes most of the time of an event. Nothing
// is allocated. When nothing is recorded, [On] is a load of a variable; with
// the build tag mirador_off it is the constant false.
package ring

import (
	"sync/atomic"
	"unsafe"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Writer is one ring of packets. Its methods are for its one writer at a time:
// a goroutine that is pinned to the ring's P, or holds the ring's lock.
type Writer struct {
	packet unsafe.Pointer // the packet that is being written
	pos    uint64         // where in it the next event goes
	limit  uint64         // where it has no room any more, for an event of the shortest sort
	last   uint64         // the time of the last event

	size  uint64         // of each packet, in bytes
	slots uint64         // number of packets
	slot  uint64         // which slot is being written
	seq   uint64         // the packet's number
	mem   unsafe.Pointer // all slots, side by side
	lost  uint64         // events there was no room for

	shared bool          // whether many write to it, one after the other
	lock   atomic.Uint32 // held by the writer of the shared ring
	_      [64]byte      // keeps another ring's writer off these cache lines
}

// words is the size of the longest event without a text.
const words = 32

// maxGap is how far apart two events of a packet may be, in cycles, for the
// bits of their times that are kept to say how far.
const maxGap = 1 << (packet.TimeBits - 1)

// newWriter returns a writer to mem, whose slots [putSlot] has prepared.
func newWriter(mem unsafe.Pointer, size, slots int, begin uint64) *Writer {
	return &Writer{
		packet: mem, pos: packet.HeaderSize, limit: uint64(size) - words, last: begin,
		size: uint64(size), slots: uint64(slots), mem: mem, seq: packet.FirstSeq,
	}
}

// lapStep is what lies between the times of packets that were never written,
// in cycles: more than a nanosecond, in which other readers think.
const lapStep = 4096

// putSlot writes the packet with which slot i of a ring begins: the first
// packet, or an empty one as of the lap before.
func putSlot(slot []byte, i int, room slots, uuid [16]byte, ring, begin uint64) {
	seq := uint64(packet.FirstSeq)
	if i > 0 {
		before := uint64(room.count - i)
		seq, begin = seq-before, begin-lapStep*before
	}
	packet.Put(slot, uuid, ring, seq, room.size, begin)
}

// next empties the oldest packet and goes on there. At each store, whatever
// is in memory is a valid ring: the packet is empty before its times change,
// both of which change at once.
//
//go:norace
func (w *Writer) next(now uint64) {
	w.slot = (w.slot + 1) % w.slots
	w.seq++
	p := unsafe.Add(w.mem, w.slot*w.size)
	store(p, packet.OffContent, 8*packet.HeaderSize)
	store(p, packet.OffDiscarded, w.lost)
	storeTimes(unsafe.Add(p, packet.OffBegin), now, now)
	store(p, packet.OffSeq, w.seq)
	w.packet, w.pos, w.last = p, packet.HeaderSize, now
}

// room makes room for an event of size bytes and returns its time: not
// before that of the event before it.
//
//go:norace
func (w *Writer) room(now, size uint64) uint64 {
	now = max(now, w.last)
	if w.pos+size > w.size || now-w.last >= maxGap {
		w.next(now)
	}
	return now
}

// put writes an event with up to two words after the thread. size is 16 and 8
// for each word that counts.
//
//go:norace
func (w *Writer) put(now uint64, kind uint16, thread, a, b int64, size uint64) {
	if w.pos > w.limit || now-w.last >= maxGap {
		now = w.room(now, words)
	}
	p := unsafe.Add(w.packet, w.pos)
	*(*uint64)(p) = now&packet.TimeMask | uint64(kind)<<packet.TimeBits
	*(*int64)(unsafe.Add(p, 8)) = thread
	*(*int64)(unsafe.Add(p, 16)) = a
	*(*int64)(unsafe.Add(p, 24)) = b
	w.commit(now, size)
}

// putText writes an event with a text, after one word if there is one.
//
//go:norace
func (w *Writer) putText(now uint64, kind uint16, thread, a int64, word uint64, text string) {
	room := w.size / 4
	if room > packet.MaxText {
		room = packet.MaxText
	}
	if uint64(len(text)) > room {
		text = cut(text, int(room))
	}
	length := (uint64(len(text)) + 2 + 7) &^ 7
	size := 16 + word + length
	if w.pos+size > w.limit || now-w.last >= maxGap {
		now = w.room(now, size+words)
	}
	p := unsafe.Add(w.packet, w.pos)
	*(*uint64)(p) = now&packet.TimeMask | uint64(kind)<<packet.TimeBits
	*(*int64)(unsafe.Add(p, 8)) = thread
	*(*int64)(unsafe.Add(p, 16)) = a
	p = unsafe.Add(p, 16+word)
	*(*uint64)(unsafe.Add(p, length-8)) = 0
	*(*uint16)(p) = uint16(length - 2)
	copy(unsafe.Slice((*byte)(unsafe.Add(p, 2)), length-2), text)
	w.commit(now, size)
}

// commit makes the event of size bytes that has been stored visible.
//
//go:norace
func (w *Writer) commit(now, size uint64) {
	w.pos += size
	w.last = now
	store(w.packet, packet.OffEnd, now)
	store(w.packet, packet.OffContent, 8*w.pos)
}

// cut returns the first n bytes of s, or a few less so that no character of
// UTF-8 is cut in two.
func cut(s string, n int) string {
	for i := n; i > n-4; i-- {
		if s[i]&0xC0 != 0x80 {
			return s[:i]
		}
	}
	return s[:n]
}
