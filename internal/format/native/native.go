// Package native reads the traces that mirador records: a directory with a
// ring of packets per processor of the Go scheduler, as a program left it or
// while it goes on writing, or the longer streams that "mirador stream" makes
// of one.
//
// There are few types: a [Reader] finds the [Ring]s of a directory and gives
// their events one by one, merged in the order in which they happened. The
// bytes are described in package packet.
//
// # Order
//
// Rings are merged by time. What one goroutine does because of what another
// did (a read, a signal) was stamped behind a fence, hence not earlier than
// its cause; where a coarse clock gives both the same time, the cause goes
// first. So an arrow from one thread to another never points backwards. Other
// events of different processors may stand in the wrong order when they were
// less than about 100 ns apart.
//
// # Time
//
// An event's time is in ns since the recording began, which [Reader.Start]
// says in the time of the world. The clock of most traces counts cycles of
// the processor; how long one is was measured at the start and is fitted
// again, by least squares, to all the moments that the trace tells on several
// clocks.
//
// # A live trace, and a damaged one
//
// [NewReader] copies what lies in rings, each packet by the protocol that
// package packet describes, so that nothing in the copy is torn; the writer
// does not notice. A packet that was overwritten again and again while it was
// copied counts as lost. A process that was killed leaves nothing torn either.
// What is damaged all the same is reported as [event.Damage], with the file's
// name in its text; the rest of the packet is skipped, and all else is read.
package native

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// ErrNoTrace says that a directory is no trace of this format.
var ErrNoTrace = errors.New("no mirador trace")

// maxMetadata bounds the size of the metadata in bytes; it has some 10,000.
const maxMetadata = 1 << 20

// Is reports whether dir looks like a native trace: whether it has metadata
// that says so. It need not be one that can be read.
func Is(dir fs.FS) bool {
	text, err := readMetadata(dir)
	if err != nil {
		return false
	}
	_, err = packet.ParseMetadata(text)
	return !errors.Is(err, packet.ErrForeign)
}

func readMetadata(dir fs.FS) ([]byte, error) {
	f, err := dir.Open("metadata")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() || info.Size() > maxMetadata {
		return nil, errors.Join(err, ErrNoTrace)
	}
	return readAll(f)
}

// Ring is what a trace has of one ring.
type Ring struct {
	ID          uint64 // the processor's number, or Shared
	Packets     int    // with events
	Events      int64  // that were read so far
	Overwritten int    // packets before the first
	Missing     int    // packets between the first and the last
	Discarded   uint64 // events that there was no room for
}

// Shared is the number of the ring that processors without a ring of their own
// write to, and the runtime's collections and counters.
const Shared = 1 << 16

// Reader gives the events of a trace in order.
type Reader struct {
	trace    packet.Trace
	cursors  []*cursor // one for each ring
	queue    queue     // of those with events left
	nsCycle  ratio
	complete uint64 // in cycles
	until    uint64 // in cycles; see [Reader.find]
	damage   []event.Damage
}

// NewReader finds the packets of a trace and copies those of its rings. The
// directory may be written to meanwhile. The error wraps [ErrNoTrace] if it is
// no trace of this format, or is what reading it failed with.
func NewReader(dir fs.FS) (*Reader, error) {
	text, err := readMetadata(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file named metadata", ErrNoTrace)
	} else if err != nil {
		return nil, err
	}
	r := &Reader{}
	if r.trace, err = packet.ParseMetadata(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	// A process may overwrite a whole ring while this one is kept waiting for
	// a processor. Then the copy is of little use, and another may be better.
	for range 5 {
		r.cursors, r.damage, r.until, r.complete = nil, nil, 0, 0
		if err := r.find(dir); err != nil {
			return nil, err
		}
		if r.complete < r.until || r.until == 0 {
			break
		}
	}
	r.nsCycle = fit(r.trace, r.clocks())
	for _, c := range r.cursors {
		if r.advance(c); c.data != nil {
			r.queue = append(r.queue, c)
		}
	}
	r.queue.sort()
	return r, nil
}

// find sorts the packets of all files by ring and number.
//
// While it copies one ring, the process goes on writing to another. So that
// there is no effect without its cause, the trace ends with the last event
// that was there before the first ring was copied.
func (r *Reader) find(dir fs.FS) error {
	files, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		name := file.Name()
		if name != "metadata" && !strings.HasPrefix(name, ".") && !file.IsDir() {
			names = append(names, name)
			r.until = max(r.until, r.lastEnd(dir, name))
		}
	}
	byRing := make(map[uint64]*cursor)
	for _, name := range names {
		packets, err := r.packets(dir, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.broken(name, 0, "%v", err)
		}
		for _, p := range packets {
			c := byRing[p.ring]
			if c == nil {
				c = &cursor{Ring: Ring{ID: p.ring}, dir: dir, kinds: r.trace.Kinds}
				byRing[p.ring] = c
				r.cursors = append(r.cursors, c)
			}
			c.packets = append(c.packets, p)
		}
	}
	for _, c := range r.cursors {
		c.arrange(r.until)
		r.complete = max(r.complete, c.complete)
	}
	return nil
}

func (r *Reader) broken(name string, offset int64, format string, args ...any) {
	r.damage = append(r.damage, event.Damage{Offset: offset, What: name + ": " + fmt.Sprintf(format, args...)})
}

// Next overwrites e with the next event and reports whether there was one. The
// event's Text is valid until the next call; its Offset is that in its file.
func (r *Reader) Next(e *event.Event) bool {
	for len(r.queue) > 0 {
		c := r.queue[0]
		if c.kind == clockKind {
			r.advance(c)
			r.queue.fix()
			continue
		}
		c.Events++
		e.Time = r.nsCycle.ns(c.time, r.trace.Start.Cycles)
		c.read(e)
		r.advance(c)
		r.queue.fix()
		return true
	}
	return false
}

// Damage returns what could not be read so far; all of it once Next has
// returned false.
func (r *Reader) Damage() []event.Damage { return r.damage }

// Rings returns the trace's rings.
func (r *Reader) Rings() []Ring {
	rings := make([]Ring, len(r.cursors))
	for i, c := range r.cursors {
		rings[i] = c.Ring
	}
	return rings
}

// Packets returns how many packets with events there are.
func (r *Reader) Packets() (n int) {
	for _, c := range r.cursors {
		n += c.Packets
	}
	return n
}

// Lost returns how many packets were written and cannot be read any more:
// most often those that a ring has overwritten.
func (r *Reader) Lost() (n int) {
	for _, c := range r.cursors {
		n += c.Overwritten + c.Missing
	}
	return n
}

// Discarded returns how many events were never written because there was no
// room for them.
func (r *Reader) Discarded() (n uint64) {
	for _, c := range r.cursors {
		n += c.Discarded
	}
	return n
}

// Complete returns the time in ns from which on the trace has everything:
// 0, unless packets were overwritten; then it is after the last of these.
func (r *Reader) Complete() int64 {
	if r.complete == 0 {
		return 0
	}
	return r.nsCycle.ns(r.complete, r.trace.Start.Cycles)
}

// Start returns when the recording began, which is time 0.
func (r *Reader) Start() time.Time { return time.Unix(0, r.trace.Start.Realtime) }

// Monotonic returns the same moment as CLOCK_MONOTONIC told it, in ns.
func (r *Reader) Monotonic() int64 { return r.trace.Start.Monotonic }

// Program and PID return whose trace it is; GoVersion what it was built with.
func (r *Reader) Program() string   { return r.trace.Program }
func (r *Reader) PID() int          { return r.trace.PID }
func (r *Reader) GoVersion() string { return r.trace.GoVersion }

// UUID tells this recording from any other.
func (r *Reader) UUID() [16]byte { return r.trace.UUID }

// isPacket reports whether b starts as the packets of this trace do.
func (r *Reader) isPacket(b []byte) bool {
	h := packet.Header(b)
	u := h.UUID()
	return h.Magic() == packet.Magic && bytes.Equal(u[:], r.trace.UUID[:]) && h.Stream() == 0
}
