package memtrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Reader decodes a trace, event after event. Make one with [NewReader] or
// [NewReaderBytes]. It is not for concurrent use.
//
// A Reader of a stream holds one packet and one table of 128 KiB per domain,
// and what the trace tells about the program's places; it gives the events in
// the order of the stream. A Reader of bytes looks at all packet headers
// first and gives the events of all domains in the order of their times.
type Reader struct {
	src  io.Reader // nil when buf is the whole input
	buf  []byte
	base int64 // offset of buf[0] in the input
	pos  int   // in buf: the next packet
	eof  bool
	err  error // the source's

	info     Info
	known    bool // info.PID and info.Version are those of a packet
	informed bool // info is from the trace's description
	refused  int  // version of the first packet, when that was refused

	atlas    *atlas
	lanes    map[uint16]*lane
	cur      *lane
	order    []*lane   // a heap of the lanes that have events left, by time
	segments [][]*lane // of bytes: the lanes of each trace that is still to come
	second   bool      // the next segment is not the first
	gapped   bool      // bytes were lost: what a new lane missed is unknown
	depth    int       // sum of the capacities of the lanes' stacks
	padded   int       // frames made up so far
	scratch  []Frame   // for backtraces that cannot be placed

	damaged []*Damage
	stats   Stats
}

// Stats counts what a [Reader] has come across so far.
type Stats struct {
	Packets      int64 // of events or locations
	Foreign      int64 // packets of other processes, skipped
	Damaged      int64 // places that were not as they should be, foreign packets not counted
	SkippedBytes int64 // bytes that gave no events, foreign packets included
	Uncertain    int64 // allocations whose backtrace may be wrong
}

// maxLanes is how many domains a Reader follows.
const maxLanes = 1024

// NewReader returns a Reader of a stream, which may begin and end anywhere.
// It reads as far as the description of the trace, which is the first packet
// as a rule. The error is the source's, or [ErrNoTrace], or [ErrVersion].
func NewReader(src io.Reader) (*Reader, error) {
	r := newReader()
	r.src = src
	if err := r.nextPacket(); err != nil && err != io.EOF {
		return nil, err
	}
	return r.opened()
}

// NewReaderBytes returns a Reader of a whole trace in memory, which it does
// not change. The error is [ErrNoTrace] or [ErrVersion].
func NewReaderBytes(data []byte) (*Reader, error) {
	r := newReader()
	r.buf, r.eof = data, true
	r.index()
	return r.opened()
}

func newReader() *Reader {
	return &Reader{atlas: newAtlas(), lanes: map[uint16]*lane{}, refused: -1}
}

func (r *Reader) opened() (*Reader, error) {
	switch {
	case r.known:
		return r, nil
	case r.err != nil:
		return nil, r.err
	case r.refused >= 0:
		return nil, &versionError{r.refused}
	}
	if len(r.damaged) > 0 && r.damaged[0].Kind != Garbage {
		return nil, fmt.Errorf("%w: %w", ErrNoTrace, r.damaged[0])
	}
	return nil, ErrNoTrace
}

type versionError struct{ version int }

func (e *versionError) Error() string {
	return fmt.Sprintf("memtrace format version %d is not supported: 1, 2 and 3 are", e.version)
}

func (e *versionError) Is(target error) bool { return target == ErrVersion }

// Info returns what the trace says about itself. Without a description of
// the trace in it, only the version, the process id and the start are known,
// the latter two from the first packet, and SampleRate is 0.
func (r *Reader) Info() Info { return r.info }

// Damage returns what was wrong with the trace so far, at most the first
// 10,000 places. The values belong to the Reader.
func (r *Reader) Damage() []*Damage { return r.damaged }

// Stats returns what was come across so far.
func (r *Reader) Stats() Stats { return r.stats }

// Next decodes the next event into ev. It returns io.EOF when there is none
// left, and the source's error when that failed; damage is no error, see
// [Reader.Damage]. It does no work in proportion to the depth of a backtrace.
func (r *Reader) Next(ev *Event) error {
	for {
		if len(r.order) > 1 {
			r.pick()
		}
		if l := r.cur; l != nil && r.event(l, ev) {
			return nil
		}
		if err := r.turn(); err != nil {
			return err
		}
	}
}

// turn goes on to where the next event may be.
func (r *Reader) turn() error {
	if r.src != nil {
		return r.nextPacket()
	}
	if r.pick(); r.cur != nil {
		return nil
	}
	if len(r.segments) == 0 {
		return io.EOF
	}
	if r.second {
		r.atlas.forget()
	}
	r.second = true
	r.order = append(r.order[:0], r.segments[0]...)
	r.segments = r.segments[1:]
	for i := len(r.order) - 1; i >= 0; i-- {
		r.order[i].prime(r)
	}
	for i := len(r.order)/2 - 1; i >= 0; i-- {
		r.sift(i)
	}
	r.pick()
	return nil
}

// pick makes the lane with the earliest event the current one.
func (r *Reader) pick() {
	r.cur = nil
	if len(r.order) == 0 {
		return
	}
	r.order[0].prime(r)
	r.sift(0)
	for len(r.order) > 0 && r.order[0].due == never {
		last := len(r.order) - 1
		r.depth -= cap(r.order[0].stack)
		r.order[0] = r.order[last]
		r.order = r.order[:last]
		r.sift(0)
	}
	if len(r.order) > 0 {
		r.cur = r.order[0]
	}
}

func (r *Reader) sift(i int) {
	o := r.order
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(o); c++ {
			if o[c].before(o[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		o[i], o[least] = o[least], o[i]
		i = least
	}
}

// index goes through the packets of r.buf and gives each to its lane.
func (r *Reader) index() {
	var lanes []*lane
	for r.pos < len(r.buf) {
		at := r.pos
		f := frame(r.buf[at:], true, r)
		r.pos = at + f.size
		r.report(f, int64(at))
		if !f.packet {
			if f.size >= headerSize {
				r.gapped = true
				for _, l := range lanes {
					l.queue = append(l.queue, span{int64(at), 0})
				}
			}
			continue
		}
		p := r.buf[at:r.pos]
		switch r.accept(&f.h, p, int64(at)) {
		case skip:
			continue
		case restart:
			if len(lanes) > 0 {
				r.segments = append(r.segments, lanes)
				lanes = nil
			}
			r.lanes = map[uint16]*lane{}
			continue
		}
		l, isNew := r.lane(f.h.domain)
		if l == nil {
			r.damage(TooManyDomain, int64(at), int64(f.size), "domain %d", f.h.domain)
			continue
		}
		if isNew {
			lanes = append(lanes, l)
		}
		l.queue = append(l.queue, span{int64(at), f.size})
	}
	if len(lanes) > 0 {
		r.segments = append(r.segments, lanes)
	}
}

// nextPacket reads the next packet of a stream and gives it to its lane.
func (r *Reader) nextPacket() error {
	if l := r.cur; l != nil && l.found > 0 {
		r.pos = int(l.base-r.base) + l.found // a packet inside the last one
		l.found = 0
	}
	r.cur = nil
	for {
		f := frame(r.buf[r.pos:], r.eof, r)
		if f.more > 0 {
			if err := r.fill(f.more); err != nil {
				return err
			}
			continue
		}
		if f.size == 0 {
			if r.err != nil {
				return r.err
			}
			return io.EOF
		}
		at := r.pos
		offset := r.base + int64(at)
		r.pos += f.size
		r.report(f, offset)
		if !f.packet {
			if f.size >= headerSize {
				r.gapped = true
				for _, l := range r.lanes {
					l.files.blank()
				}
			}
			continue
		}
		p := r.buf[at:r.pos]
		switch r.accept(&f.h, p, offset) {
		case skip:
			continue
		case restart:
			r.lanes = map[uint16]*lane{}
			r.atlas.forget()
			r.depth = 0
			return nil
		}
		l, _ := r.lane(f.h.domain)
		if l == nil {
			r.damage(TooManyDomain, offset, int64(f.size), "domain %d", f.h.domain)
			continue
		}
		l.open(r, &f.h, p, offset)
		r.cur = l
		return nil
	}
}

// fill reads on until n bytes are there behind r.pos, or the source ends.
func (r *Reader) fill(n int) error {
	if r.pos > 0 {
		r.base += int64(r.pos)
		r.buf = r.buf[:copy(r.buf, r.buf[r.pos:])]
		r.pos = 0
	}
	if cap(r.buf) < n {
		r.buf = append(make([]byte, 0, max(2*maxPacket, n+n/2)), r.buf...)
	}
	for len(r.buf) < n && !r.eof {
		m, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+m]
		if err != nil {
			r.eof = true
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
		}
	}
	return nil
}

// report tells about a frame that is not as it should be.
func (r *Reader) report(f framing, offset int64) {
	if f.kind == 0 {
		return
	}
	skipped := int64(0)
	if !f.packet {
		skipped = int64(f.size)
		if f.kind == Garbage && r.refused < 0 && !r.known && f.version >= 0 {
			r.refused = f.version
		}
	}
	r.damage(f.kind, offset, skipped, "%s", f.detail)
}

// NotesPID is the process id, "mirador" in ASCII, of packets that tell what the
// format has no place for, and that all readers skip: see package
// [github.com/mirador-trace/mirador/memprof/note].
const NotesPID = 0x006d697261646f72

type verdict uint8

const (
	skip    verdict = iota // nothing for a lane
	restart                // a trace begins
	take                   // for its lane
)

// accept looks at whose packet p is, and reads it when it describes the trace.
func (r *Reader) accept(h *header, p []byte, offset int64) verdict {
	if r.known && h.pid != r.info.PID {
		if h.pid == NotesPID {
			return skip // nothing is lost: they are no events
		}
		r.stats.Foreign++
		r.damage(Foreign, offset, int64(len(p)), "process %d, not %d", h.pid, r.info.PID)
		return skip
	}
	i := h.headerLength
	if i+4 <= len(p) && binary.LittleEndian.Uint32(p[i:])>>timeBits == codeInfo {
		info, ok := parseInfo(h, p)
		switch {
		case !ok:
			r.damage(NoInfo, offset, int64(len(p)), "its packet cannot be read")
			return skip
		case !r.informed:
			if r.known { // events came first, of which only the rest is missing
				info.Start = min(info.Start, r.info.Start)
			}
			fresh := !r.known
			r.info, r.known, r.informed = info, true, true
			if fresh {
				return restart
			}
			return skip
		}
		r.damage(SecondTrace, offset, 0, "")
		return restart
	}
	if !r.known {
		r.info = Info{Version: int(h.version), PID: h.pid, Start: h.begin}
		r.known = true
		r.gapped = true
		r.damage(NoInfo, offset, 0, "the first packet is one of events")
	}
	r.stats.Packets++
	return take
}

func parseInfo(h *header, p []byte) (info Info, ok bool) {
	i := h.headerLength + 4
	if i+9 > len(p) {
		return info, false
	}
	info.Version = int(h.version)
	info.Start = h.begin
	info.SampleRate = math.Float64frombits(binary.LittleEndian.Uint64(p[i:]))
	info.WordSize = int(p[i+8])
	i += 9
	for _, text := range []*string{&info.Executable, &info.Host, &info.RuntimeParams} {
		s, next := cstring(p, i)
		if next < 0 {
			return info, false
		}
		*text, i = string(s), next
	}
	if i+8 > len(p) {
		return info, false
	}
	info.PID = binary.LittleEndian.Uint64(p[i:])
	i += 8
	if h.version >= 2 {
		s, next := cstring(p, i)
		if next < 0 {
			return info, false
		}
		info.Context = string(s)
	}
	// The packets' own process id is the one that tells whose they are.
	info.PID = h.pid
	return info, true
}

// lane returns the lane of a domain, a new one if it must, nil when there are
// too many.
func (r *Reader) lane(domain uint16) (l *lane, isNew bool) {
	if l := r.lanes[domain]; l != nil {
		return l, false
	}
	if len(r.lanes) >= maxLanes {
		return nil, false
	}
	l = &lane{domain: domain}
	if r.gapped {
		l.files.blank()
	}
	r.lanes[domain] = l
	return l, true
}
