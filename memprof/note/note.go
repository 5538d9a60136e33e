// Package note is what a memory trace of a Go program tells besides its
// events: which goroutine allocated, when the garbage collections were, and
// what was lost.
//
// There are few types: a [Builder] collects [Note]s and makes packets of them,
// and [Parse] reads one packet's again.
//
// The memtrace format has no place for these, but its readers skip packets of
// another process whole and without a word. So notes travel between a trace's
// packets in packets of their own, whose process id is [PID]: each begins with
// the 66 bytes of a memtrace header of version 2, little-endian,
//
//	magic u32 | size in bits u32 | begin u64 | end u64 | 0 u32 | 2 u16 |
//	PID u64 | 0xffff u16 | 0 u16 | 0 u64 | 0 u64 | 0 u64
//
// and goes on with notes up to its end. A note is a byte, its kind, and
// unsigned varints as encoding/binary writes them; times are µs since the
// packet's begin, which is µs since the Unix epoch:
//
//	1 goroutines  first id, n, then n times: allocations, goroutine
//	2 cycle       time, number
//	3 lost        time, allocations, deaths
//	4 alive       time
//	5 beginning   time, objects
//	6 complete    time
//
// Goroutines tells of the allocations from an id on, in the order of their
// ids: the first so many were made by this goroutine, the next so many by
// that. Goroutine 0 is not known. Cycle tells when the marking of a garbage
// collection ended; the objects that it found dead are collected between that
// and the next one's. Lost tells how many sampled allocations and deaths the
// trace does not have, since the last such note. Alive tells that the program
// runs, when there is nothing else to tell. Beginning is in a trace that began
// while its program was being sampled already: it begins with the objects that
// lived then, at the times when they were born, and Complete says that these
// have all been told.
package note

import (
	"encoding/binary"
	"errors"

	"github.com/mirador-trace/mirador/memtrace"
)

// PID is the process id in the header of a packet of notes: "mirador", in
// big-endian ASCII.
const PID = memtrace.NotesPID

// HeaderSize is how many bytes of a packet come before its notes.
const HeaderSize = 66

const (
	magic   = 0xC1FC1FC1
	maxSize = 32768
)

// Kind says what a [Note] is about.
type Kind uint8

// The kinds, as the format numbers them.
const (
	Goroutines Kind = 1 + iota
	Cycle
	Lost
	Alive
	Beginning
	Complete
)

// Run is a number of allocations that follow one another.
type Run struct {
	Allocs    uint64
	Goroutine uint64 // 0 is not known
}

// Note is one of them. The fields that its kind does not name are zero.
type Note struct {
	Kind   Kind
	Time   int64  // µs since the Unix epoch; of Goroutines that of the packet's begin
	First  uint64 // Goroutines: id of the first allocation
	Runs   []Run  // Goroutines
	Number uint64 // Cycle: as runtime.MemStats.NumGC counts
	Allocs uint64 // Lost; Beginning: the objects
	Deaths uint64 // Lost
}

// Builder collects notes. Its zero value is ready. It is not for concurrent
// use.
type Builder struct {
	begin int64
	other []byte // notes of all kinds but Goroutines
	first uint64
	next  uint64 // the id behind the last run
	runs  []Run
}

// Len returns about how many bytes the notes take.
func (b *Builder) Len() int { return len(b.other) + 4*len(b.runs) }

// Alloc notes which goroutine an allocation was made by. Ids must rise.
func (b *Builder) Alloc(id, goroutine uint64) {
	switch n := len(b.runs); {
	case n == 0:
		b.first = id
	case id > b.next:
		b.runs = append(b.runs, Run{id - b.next, 0})
		fallthrough
	default:
		if last := &b.runs[len(b.runs)-1]; last.Goroutine == goroutine {
			last.Allocs++
			b.next = id + 1
			return
		}
	}
	b.runs = append(b.runs, Run{1, goroutine})
	b.next = id + 1
}

// Cycle notes the end of a collection's marking.
func (b *Builder) Cycle(time int64, number uint64) { b.add(Cycle, time, number) }

// Lost notes that so many allocations and deaths are not in the trace.
func (b *Builder) Lost(time int64, allocs, deaths uint64) { b.add(Lost, time, allocs, deaths) }

// Alive notes that the program runs.
func (b *Builder) Alive(time int64) { b.add(Alive, time) }

// Beginning notes that the trace begins with so many objects that live.
func (b *Builder) Beginning(time int64, objects uint64) { b.add(Beginning, time, objects) }

// Complete notes that what lived when the trace began has been told.
func (b *Builder) Complete(time int64) { b.add(Complete, time) }

func (b *Builder) add(k Kind, time int64, more ...uint64) {
	if len(b.other) == 0 {
		b.begin = time
	}
	b.other = append(b.other, byte(k))
	b.other = binary.AppendUvarint(b.other, uint64(max(0, time-b.begin)))
	for _, v := range more {
		b.other = binary.AppendUvarint(b.other, v)
	}
}

// AppendPackets appends what was noted as packets of at most 32,768 bytes to
// buf, calls write for each, and begins anew. now is their end. Without notes
// there is no packet.
func (b *Builder) AppendPackets(buf []byte, now int64, write func([]byte)) []byte {
	if len(b.other) == 0 {
		b.begin = now
	}
	for len(b.other) > 0 || len(b.runs) > 0 {
		p := header(buf[:0], b.begin, max(b.begin, now))
		room := maxSize - HeaderSize
		if n := cutNotes(b.other, room); n > 0 {
			p = append(p, b.other[:n]...)
			b.other = b.other[:copy(b.other, b.other[n:])]
		} else if len(b.runs) > 0 {
			n := min(len(b.runs), (room-30)/20)
			p = append(p, byte(Goroutines))
			p = binary.AppendUvarint(p, b.first)
			p = binary.AppendUvarint(p, uint64(n))
			for _, r := range b.runs[:n] {
				p = binary.AppendUvarint(p, r.Allocs)
				p = binary.AppendUvarint(p, r.Goroutine)
				b.first += r.Allocs
			}
			b.runs = b.runs[:copy(b.runs, b.runs[n:])]
		}
		binary.LittleEndian.PutUint32(p[4:], uint32(len(p)*8))
		write(p)
		buf = p
	}
	return buf
}

// cutNotes returns how many bytes of whole notes fit.
func cutNotes(notes []byte, room int) int {
	if len(notes) <= room {
		return len(notes)
	}
	end := 0
	for {
		_, rest, err := one(notes[end:], 0)
		if n := len(notes) - len(rest); err != nil || n > room {
			return end
		} else {
			end = n
		}
	}
}

func header(p []byte, begin, end int64) []byte {
	le := binary.LittleEndian
	p = le.AppendUint32(p, magic)
	p = le.AppendUint32(p, 0)
	p = le.AppendUint64(p, uint64(begin))
	p = le.AppendUint64(p, uint64(end))
	p = le.AppendUint32(p, 0)
	p = le.AppendUint16(p, 2)
	p = le.AppendUint64(p, PID)
	p = le.AppendUint16(p, 0xffff)
	return append(p, make([]byte, HeaderSize-len(p))...)
}

// Is reports whether a packet, of which the first 38 bytes suffice, is one of
// notes.
func Is(packet []byte) bool {
	return len(packet) >= 38 && binary.LittleEndian.Uint32(packet) == magic &&
		binary.LittleEndian.Uint64(packet[30:]) == PID
}

// ErrFormat is what Parse returns for a packet that is not one of notes, or
// is damaged.
var ErrFormat = errors.New("packet of notes: malformed")

// Parse calls each with the notes of a packet. A note of a kind that is not
// known ends the packet: what follows is from a later version.
func Parse(packet []byte, each func(Note)) error {
	if !Is(packet) || len(packet) < HeaderSize {
		return ErrFormat
	}
	le := binary.LittleEndian
	size := int(le.Uint32(packet[4:]) / 8)
	if size < HeaderSize || size > len(packet) {
		return ErrFormat
	}
	begin := int64(le.Uint64(packet[8:]))
	for rest := packet[HeaderSize:size]; len(rest) > 0; {
		if k := Kind(rest[0]); k < Goroutines || k > Complete {
			return nil
		}
		n, next, err := one(rest, begin)
		if err != nil {
			return err
		}
		each(n)
		rest = next
	}
	return nil
}

// one reads the note at the start of b.
func one(b []byte, begin int64) (n Note, rest []byte, err error) {
	n = Note{Kind: Kind(b[0]), Time: begin}
	b = b[1:]
	next := func() uint64 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			err = ErrFormat
			return 0
		}
		b = b[k:]
		return v
	}
	if n.Kind == Goroutines {
		n.First = next()
		count := next()
		if count > uint64(len(b)) {
			return n, b, ErrFormat
		}
		n.Runs = make([]Run, 0, count)
		for range count {
			n.Runs = append(n.Runs, Run{next(), next()})
		}
		return n, b, err
	}
	n.Time += int64(next())
	switch n.Kind {
	case Cycle:
		n.Number = next()
	case Lost:
		n.Allocs, n.Deaths = next(), next()
	case Beginning:
		n.Allocs = next()
	}
	return n, b, err
}

// What a trace's context says of where its events are from.
const (
	ExactContext     = "mirador: exact, one object each"
	AggregateContext = "mirador: aggregate, from the heap profile"
)
