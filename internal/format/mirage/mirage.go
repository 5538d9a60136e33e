// Package mirage reads and writes the traces of mirage-profile: one file of
// CTF packets without metadata, most often a ring buffer as a program left it.
//
// There are few types: a [Reader] finds a file's [Packet]s, puts them in the
// order in which they were written and gives their events one by one; a
// [Writer] makes such a file from events.
//
// # Bytes
//
// All integers are little-endian and nothing is aligned. A file is a run of
// packets:
//
//	+-----------+----------+-----------------+------------+------------------+--------+-------+
//	| magic u32 | uuid 16B | packet size u32 | count u16  | content size u32 | events | stale |
//	+-----------+----------+-----------------+------------+------------------+--------+-------+
//	0           4          20                24           26                 30       content  packet
//
// Both sizes are in bits and count from the packet's start. Packets are
// numbered as they are written, modulo 65536; the recorder goes round and
// round through four of them, so that what follows the content is what an
// earlier lap left there.
//
//	event = time u64 (ns) | operation u8 | body
//
// The bodies are in the table [operations]: thread ids are u64 (-1: none),
// amounts and values i64, strings bytes that end in NUL. A counter's number
// stands before its name.
//
// # Damage
//
// The recorder enlarges the content size before it stores an event. When it is
// killed in between, the last event of the packet being written is torn: old
// bytes or zeros that may well parse. So the last event of the newest packet
// does not count when its time goes backwards, when its operation or size or
// type cannot be, or when it creates thread 0 from thread 0 at time 0; nor
// does what is too short to be an event there, nor the event before that,
// which must be torn too. All that is dropped, as is the rest of a packet
// after something that is not an event, is reported as [event.Damage]; what
// is whole is always read. Packets behind bytes that are none are found by
// their magic and UUID. When the file was cut, the events before the cut
// count.
//
// The source of these facts are the traces of the original recorder, its CTF
// metadata, and the behaviour of mirage-trace-viewer on them.
package mirage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/mirador-trace/mirador/internal/event"
)

const (
	headerSize = 30         // bytes of a packet's header
	minEvent   = 8 + 1 + 8  // bytes of the shortest event: a switch
	magic      = 0xC1FC1FC1 // CTF's magic number
)

// signature starts every packet: the magic number and the format's UUID,
// 05883b8d-521a-487b-b397-456ab150680c.
var signature = []byte("\xc1\x1f\xfc\xc1\x05\x88\x3b\x8d\x52\x1a\x48\x7b\xb3\x97\x45\x6a\xb1\x50\x68\x0c")

// numOperations is how many operations there are. Operation and [event.Kind]
// are the same number.
const numOperations = event.SignalOnly + 1

// operations tells how many bytes an operation's body has before its string,
// if it has one.
var operations = [numOperations]struct {
	fixed int
	text  bool
}{
	event.Creates:    {fixed: 8 + 8 + 1}, // thread, child, type
	event.Read:       {fixed: 8 + 8},     // thread, source
	event.Fulfills:   {fixed: 8 + 8},     // thread, resolvee
	event.Fails:      {fixed: 8 + 8, text: true},
	event.Becomes:    {fixed: 8 + 8},             // thread, sleeper
	event.Label:      {fixed: 8, text: true},     // thread
	event.Increase:   {fixed: 8 + 8, text: true}, // thread, amount, counter
	event.Switch:     {fixed: 8},                 // thread
	event.GC:         {fixed: 8},                 // duration
	event.Signal:     {fixed: 8 + 8},             // receiver, sender
	event.TryRead:    {fixed: 8 + 8},             // thread, source
	event.Counter:    {fixed: 8 + 8, text: true}, // thread, value, counter
	event.ReadLater:  {fixed: 8 + 8},             // thread, source
	event.SignalOnly: {fixed: 8 + 8},             // receiver, sender
}

// ErrNoPacket says that a file holds nothing that could be read.
var ErrNoPacket = errors.New("no whole packet of a mirage-profile trace")

// Is reports whether a file that starts with these bytes is such a trace. It
// wants 20 of them.
func Is(start []byte) bool { return bytes.HasPrefix(start, signature) }

// Within reports whether a packet starts anywhere in data: then a file whose
// first packet is damaged is such a trace all the same.
func Within(data []byte) bool { return bytes.Contains(data, signature) }

// Packet is where a packet lies. Offsets are bytes from the file's start.
type Packet struct {
	Offset int64 // of its header
	End    int64 // of its content's end
	Count  uint16
	Seq    int // its place in the order of writing; the first's is 0
}

// Reader gives the events of a trace in the order in which they were written.
type Reader struct {
	data    []byte
	packets []Packet
	damage  []event.Damage
	current int // index in packets
	pos     int
	end     int
	newest  int // index in packets of the last with events, -1 if none has
	torn    event.Damage
}

// NewReader finds the packets of a trace that lies in memory. The data may be
// a mapped file that a process is still writing to; it must not change its
// size. The error is [ErrNoPacket], wrapped with the damage that was found
// first.
func NewReader(data []byte) (*Reader, error) {
	r := &Reader{data: data, current: -1, newest: -1}
	r.findPackets()
	if len(r.packets) == 0 {
		if len(r.damage) == 0 {
			return nil, fmt.Errorf("the file is empty: %w", ErrNoPacket)
		}
		return nil, fmt.Errorf("%v: %w", r.damage[0], ErrNoPacket)
	}
	order(r.packets)
	for i, p := range r.packets {
		if p.End > p.Offset+headerSize {
			r.newest = i
		}
	}
	if r.newest >= 0 {
		p := &r.packets[r.newest]
		end, what := settle(data[p.Offset+headerSize : p.End])
		if what != "" {
			r.torn = event.Damage{Offset: p.Offset + headerSize + int64(end), What: what}
		}
	}
	return r, nil
}

func (r *Reader) lost(offset int, format string, args ...any) {
	r.damage = append(r.damage, event.Damage{Offset: int64(offset), What: fmt.Sprintf(format, args...)})
}

// findPackets walks from header to header. Where there is none it goes on at
// the next signature.
func (r *Reader) findPackets() {
	pos := 0
	for pos < len(r.data) {
		b := r.data[pos:]
		if !bytes.HasPrefix(b, signature) {
			what := "bytes that are no packet"
			switch {
			case len(b) >= len(signature) && binary.LittleEndian.Uint32(b) == magic:
				what = "bytes of a packet with a foreign UUID"
			case len(b) < headerSize && len(r.packets) > 0:
				what = "bytes after the last packet"
			}
			next := r.nextSignature(pos + 1)
			r.lost(pos, "%d %s", next-pos, what)
			pos = next
			continue
		}
		if len(b) < headerSize {
			r.lost(pos, "packet cut in its header")
			return
		}
		pos += r.addPacket(pos)
	}
}

func (r *Reader) nextSignature(pos int) int {
	if i := bytes.Index(r.data[pos:], signature); i >= 0 {
		return pos + i
	}
	return len(r.data)
}

// addPacket reads the header at pos and returns how far it is to the next.
func (r *Reader) addPacket(pos int) int {
	h := r.data[pos : pos+headerSize]
	size := int(binary.LittleEndian.Uint32(h[20:]) / 8)
	content := int(binary.LittleEndian.Uint32(h[26:]) / 8)
	count := binary.LittleEndian.Uint16(h[24:])
	if size < headerSize {
		r.lost(pos, "packet of an impossible size, %d bytes", size)
		return r.nextSignature(pos+headerSize) - pos
	}
	step := size
	if pos+size > len(r.data) {
		// The file was cut, or the size is wrong and another packet follows.
		step = r.nextSignature(pos+headerSize) - pos
		r.lost(pos, "packet of %d bytes cut after %d", size, step)
	}
	switch {
	case content < headerSize || content > size:
		r.lost(pos, "packet with an impossible content size, %d of %d bytes", content, size)
		return step
	case content > step:
		content = step
	}
	r.packets = append(r.packets, Packet{Offset: int64(pos), End: int64(pos + content), Count: count})
	return step
}

// order puts packets from file order into the order of writing, as
// mirage-trace-viewer does: the oldest is the first whose count falls behind
// its predecessor's, where half of the numbers behind is not behind yet.
func order(packets []Packet) {
	base, prev := packets[0].Count, packets[0].Count
	for _, p := range packets {
		if p.Count-prev > 0x8000 {
			base = p.Count
			break
		}
		prev = p.Count
	}
	for i := range packets {
		packets[i].Seq = int(packets[i].Count - base)
	}
	slices.SortStableFunc(packets, func(a, b Packet) int { return a.Seq - b.Seq })
}

// Packets returns the packets in the order of writing.
func (r *Reader) Packets() []Packet { return r.packets }

// Lost returns how many packets are missing between the oldest and the newest.
func (r *Reader) Lost() int {
	lost := 0
	for i := 1; i < len(r.packets); i++ {
		if gap := r.packets[i].Seq - r.packets[i-1].Seq; gap > 1 {
			lost += gap - 1
		}
	}
	return lost
}

// Damage returns what could not be read so far; all of it once Next has
// returned false.
func (r *Reader) Damage() []event.Damage { return r.damage }

// Creates returns how many threads are created, by reading ahead: it takes
// about 5 ns an event.
func (r *Reader) Creates() int {
	ahead := *r
	ahead.damage = nil
	var e event.Event
	n := 0
	for ahead.Next(&e) {
		if e.Kind == event.Creates {
			n++
		}
	}
	return n
}

// Current returns the index in [Reader.Packets] of the packet that the last
// event came from, -1 before the first.
func (r *Reader) Current() int { return r.current }

// Next overwrites e with the next event and reports whether there was one.
// The event's Text lies in the data that the reader was made from. It costs
// about 10 ns.
func (r *Reader) Next(e *event.Event) bool {
	for {
		if r.pos < r.end {
			n, what := decode(r.data[r.pos:r.end], e)
			if n > 0 {
				e.Offset = int64(r.pos)
				r.pos += n
				return true
			}
			r.lost(r.pos, "%s", what)
			r.pos = r.end
		}
		if r.current == len(r.packets)-1 {
			r.data = nil // whoever made the reader may give it back
			return false
		}
		r.enter(r.current + 1)
	}
}

func (r *Reader) enter(i int) {
	p := r.packets[i]
	r.current, r.pos, r.end = i, int(p.Offset)+headerSize, int(p.End)
	if i == r.newest && r.torn.What != "" {
		r.end = int(r.torn.Offset)
		r.damage = append(r.damage, r.torn)
	}
}

// decode reads the event at the start of b into e and returns its size, or 0
// and what is wrong with it.
func decode(b []byte, e *event.Event) (n int, what string) {
	if len(b) < minEvent {
		return 0, "event cut short by the packet's end"
	}
	op := event.Kind(b[8])
	if op >= numOperations {
		return 0, fmt.Sprintf("unknown operation %d", op)
	}
	spec := operations[op]
	n = 9 + spec.fixed
	if len(b) < n {
		return 0, "event cut short by the packet's end"
	}
	e.Time = int64(binary.LittleEndian.Uint64(b))
	e.Kind, e.Proc = op, 0
	e.Thread = int64(binary.LittleEndian.Uint64(b[9:]))
	switch op {
	case event.Switch, event.Label:
	case event.GC:
		e.Value = e.Thread
	case event.Counter, event.Increase:
		e.Value = int64(binary.LittleEndian.Uint64(b[17:]))
	case event.Creates:
		e.Other = int64(binary.LittleEndian.Uint64(b[17:]))
		e.Type = event.ThreadType(b[25])
	default:
		e.Other = int64(binary.LittleEndian.Uint64(b[17:]))
	}
	if spec.text {
		end := bytes.IndexByte(b[n:], 0)
		if end < 0 {
			return 0, "string without an end"
		}
		e.Text = b[n : n+end]
		n += end + 1
	}
	return n, ""
}

// settle looks for a torn event at the end of the newest packet's content. It
// returns the length of what is whole and, if that is not all, why.
func settle(content []byte) (end int, what string) {
	var e event.Event
	pos, prev := 0, 0
	var time, prevTime int64
	var kind event.Kind
	for pos < len(content) {
		n, _ := decode(content[pos:], &e)
		if n == 0 {
			if rest := len(content) - pos; rest < minEvent && pos > 0 && !operations[kind].text {
				// No event is as short as that, so the one before it is no event either.
				return prev, fmt.Sprintf("torn event of %d bytes at the end", len(content)-prev)
			}
			return len(content), "" // Next meets it and says what it is
		}
		prev, pos = pos, pos+n
		prevTime, time, kind = time, e.Time, e.Kind
	}
	switch {
	case prev > 0 && time < prevTime,
		kind == event.Creates && !e.Type.Known(),
		kind == event.Creates && e.Thread == 0 && e.Other == 0 && e.Type == event.WaitType && time == 0:
		return prev, fmt.Sprintf("torn event of %d bytes at the end", len(content)-prev)
	}
	return len(content), ""
}
