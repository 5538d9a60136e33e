// Package packet describes the bytes of a native trace: what the recorder
// writes into its ring and what any reader finds there, at any time.
//
// There are few types: a [Header] is the start of a packet, as bytes, with an
// accessor per field; a [Trace] is what the metadata file says of the trace as
// a whole; a [Clock] is one moment told on three clocks.
//
// A trace is a directory of files in the Common Trace Format, version 1.8
// (https://diamon.org/ctf/): the text file "metadata", and streams of packets.
// All numbers are little-endian and nothing is padded.
//
//	offset  size  packet header
//	     0     4  magic 0xC1FC1FC1
//	     4    16  uuid, that of the metadata
//	    20     4  stream_id, always 0
//	    24     8  stream_instance_id: the ring
//	              packet context
//	    32     8  timestamp_begin, in cycles of the trace's clock
//	    40     8  timestamp_end
//	    48     8  content_size in bits, from the packet's start
//	    56     8  packet_size in bits
//	    64     8  packet_seq_num: 16, 17, 18 … in each ring
//	    72     8  events_discarded: in this ring, up to now
//	    80     …  events, up to content_size; then whatever was there before
//
// An event is made of 64-bit words: the low 48 bits of its time with its kind
// in the 16 bits above, the thread, and the fields of its kind as the table
// event.Specs has them: Other, Value, Type, each a word, then Text: a 16-bit
// length and as many bytes, the length being such that the event ends on a
// word; the text ends before the NULs that fill it up.
//
// A ring is a number of slots, a power of two and at most 16, each of one
// packet, each a file of its own: packet n is in slot n modulo their number.
// A slot that was not used yet has an empty packet, with the number that the
// lap before the first would have given it and a time before the trace's
// start, so that times and numbers always agree.
//
// A packet that is being written is as good as any: its content_size is moved
// after an event has been stored. Before a slot is used again its packet
// becomes empty, then gets the new times and then the new packet_seq_num; so
// who copies the bytes of a packet and finds the same packet_seq_num, and a
// content_size that has not shrunk, before and after, has copied a packet.
package packet

import (
	"encoding/binary"

	"github.com/mirador-trace/mirador/internal/event"
)

const (
	Magic      = 0xC1FC1FC1
	HeaderSize = 80       // bytes before the first event
	MaxText    = 32 << 10 // bytes of the longest text
	FirstSeq   = 16       // the number of a ring's first packet
)

// Offsets of the fields that change while a packet is written, in bytes.
const (
	OffBegin     = 32
	OffEnd       = 40
	OffContent   = 48
	OffSize      = 56
	OffSeq       = 64
	OffDiscarded = 72
)

// TimeBits is how much of a time an event keeps; the rest is known from the
// event before it, since no two are 2^48 cycles (30 hours at 2.6 GHz) apart.
const (
	TimeBits = 48
	TimeMask = 1<<TimeBits - 1
)

// ClockKind is the kind of the event that tells the time on three clocks: its
// thread is CLOCK_MONOTONIC, its other word CLOCK_REALTIME, both in ns. It is
// no event of the vocabulary: readers use it to fit the clock.
const ClockKind = 0xFFF0

// Header is the beginning of a packet: at least [HeaderSize] bytes.
type Header []byte

func (h Header) word(off int) uint64 { return binary.LittleEndian.Uint64(h[off:]) }

// Magic reports the first four bytes, [Magic] in every packet.
func (h Header) Magic() uint32 { return binary.LittleEndian.Uint32(h) }

// UUID tells the trace that the packet belongs to.
func (h Header) UUID() (u [16]byte) { copy(u[:], h[4:]); return u }

// Stream returns the stream's class, 0 in every packet.
func (h Header) Stream() uint32 { return binary.LittleEndian.Uint32(h[20:]) }

// Ring returns the ring that the packet belongs to.
func (h Header) Ring() uint64 { return h.word(24) }

// Begin and End return the first and last time, in cycles.
func (h Header) Begin() uint64 { return h.word(OffBegin) }
func (h Header) End() uint64   { return h.word(OffEnd) }

// Content and Size return how much of the packet is used and how large it is,
// in bits.
func (h Header) Content() uint64 { return h.word(OffContent) }
func (h Header) Size() uint64    { return h.word(OffSize) }

// Seq returns the packet's number in its ring.
func (h Header) Seq() uint64 { return h.word(OffSeq) }

// Discarded returns how many events its ring had no room for so far.
func (h Header) Discarded() uint64 { return h.word(OffDiscarded) }

// Put writes the header of an empty packet of size bytes.
func Put(b []byte, uuid [16]byte, ring, seq uint64, size int, now uint64) {
	le := binary.LittleEndian
	le.PutUint32(b, Magic)
	copy(b[4:], uuid[:])
	le.PutUint32(b[20:], 0)
	for off, word := range map[int]uint64{
		24: ring, OffBegin: now, OffEnd: now, OffContent: 8 * HeaderSize,
		OffSize: 8 * uint64(size), OffSeq: seq, OffDiscarded: 0,
	} {
		le.PutUint64(b[off:], word)
	}
}

// Clock is one moment, as three clocks tell it.
type Clock struct {
	Cycles    uint64 // of the trace's clock
	Monotonic int64  // ns, CLOCK_MONOTONIC
	Realtime  int64  // ns since 1970, CLOCK_REALTIME
}

// Shape is how the events of a kind are laid out.
type Shape struct {
	Words int  // after the event's word and the thread
	Text  bool // whether a text follows the words
}

// Shapes returns the shape of each kind, from the fields it has.
func Shapes() (shapes [event.NumKinds]Shape) {
	for k, spec := range event.Specs {
		s := &shapes[k]
		for _, has := range []bool{spec.Other != "", spec.Value != "", spec.Typed} {
			if has {
				s.Words++
			}
		}
		s.Text = spec.Text != ""
	}
	return shapes
}
