package memtrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"
)

// Allocation is what a [Domain] writes of a sampled block.
type Allocation struct {
	Time    int64 // µs since the Unix epoch
	Length  int64 // words, without the block's header
	Samples int64 // how many of its words were drawn, at the trace's rate
	Source  Source

	// The backtrace, the outermost caller first, as codes: the addresses in
	// the program, or any other numbers but 0. The first Prefix frames are
	// those of the same domain's previous allocation; Codes are the others.
	// With Prefix 0 Codes is the whole backtrace; the result is the same.
	Prefix int
	Codes  []uint64
}

// Writer encodes a trace, to the same bytes as the original's writer. Make
// one with [NewWriter], and close it. It is not for concurrent use, and
// neither are two Domains of it.
type Writer struct {
	w       io.Writer
	info    Info
	locate  func(code uint64) []Location
	domains map[uint16]*Domain
	nextID  uint64 // from which the next chunk is taken
	err     error
	block   []byte // for packets of locations
}

// NewWriter writes the description of the trace to w and returns a Writer for
// its events. info.Version is 2 or 3, and 0 is 3. locate is asked for the
// locations of a code each time that one is written in full, which is when it
// is not in the cache; it must give the same each time.
// Each packet is one Write of at most 32,768 bytes.
func NewWriter(w io.Writer, info Info, locate func(code uint64) []Location) (*Writer, error) {
	if info.Version == 0 {
		info.Version = 3
	}
	if info.Version != 2 && info.Version != 3 {
		return nil, fmt.Errorf("write a trace of version %d: %w", info.Version, ErrVersion)
	}
	wr := &Writer{w: w, info: info, locate: locate, domains: map[uint16]*Domain{}}
	b := wr.appendHeader(make([]byte, 0, maxPacket), 0, nil)
	b = binary.LittleEndian.AppendUint32(b, uint32(info.Start&timeMask)|codeInfo<<timeBits)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(info.SampleRate))
	b = append(b, byte(info.WordSize))
	b = appendText(b, info.Executable)
	b = appendText(b, info.Host)
	b = appendText(b, info.RuntimeParams)
	b = binary.LittleEndian.AppendUint64(b, info.PID)
	b = appendText(b, info.Context)
	if len(b) > maxPacket {
		return nil, errors.New("write a trace: its description is longer than 32,768 bytes")
	}
	wr.closeHeader(b, info.Start, info.Start, 0, 0)
	return wr, wr.write(b)
}

// appendText appends s up to its first zero byte, and a zero byte.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] == 0 {
			s = s[:i]
			break
		}
	}
	return append(append(b, s...), 0)
}

// appendHeader appends a packet's header; with d the state of its cache goes
// into it. closeHeader fills in what is known at the end.
func (w *Writer) appendHeader(b []byte, domain uint16, d *Domain) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, magic)
	b = append(b, make([]byte, 4+8+8+4)...)
	b = le.AppendUint16(b, uint16(w.info.Version))
	b = le.AppendUint64(b, w.info.PID)
	if w.info.Version >= 3 {
		b = le.AppendUint16(b, domain)
	}
	ix, next, code := uint16(verifyNone), uint16(0), uint64(0)
	if d != nil && d.packets > 0 {
		ix = d.verifyIx
		d.verifyIx = (d.verifyIx + verifyStep) & cacheMask
		next, code = d.next[ix], d.code[ix]
	}
	b = le.AppendUint16(b, ix)
	b = le.AppendUint16(b, next)
	b = le.AppendUint64(b, code)
	return append(b, make([]byte, 16)...)
}

func (w *Writer) closeHeader(b []byte, begin, end int64, idBegin, idEnd uint64) {
	le := binary.LittleEndian
	le.PutUint32(b[4:], uint32(len(b)*8))
	le.PutUint64(b[8:], uint64(begin))
	le.PutUint64(b[16:], uint64(end))
	n := w.headerLength()
	le.PutUint64(b[n-16:], idBegin)
	le.PutUint64(b[n-8:], idEnd)
}

func (w *Writer) headerLength() int {
	if w.info.Version >= 3 {
		return headerSizeV3
	}
	return headerSize
}

func (w *Writer) write(b []byte) error {
	if w.err == nil {
		if _, err := w.w.Write(b); err != nil {
			w.err = fmt.Errorf("write a packet: %w", err)
		}
	}
	return w.err
}

// DomainMemory is how many bytes [Writer.DomainIn] wants.
const DomainMemory = int(unsafe.Sizeof(told{})) + maxPacket

// Domain returns the writer of a domain's events. Version 2 has one domain, 0.
func (w *Writer) Domain(id uint16) (*Domain, error) { return w.DomainIn(id, nil) }

// DomainIn is Domain for a program that traces itself, and whose small heap
// would be collected more often for what a Domain needs: that lies in mem,
// DomainMemory zero bytes at an address that is a multiple of 8, for as long
// as the Writer is in use. When there are fewer, it lies in the heap.
func (w *Writer) DomainIn(id uint16, mem []byte) (*Domain, error) {
	if d := w.domains[id]; d != nil {
		return d, nil
	}
	if id != 0 && w.info.Version < 3 {
		return nil, fmt.Errorf("domain %d: a trace of version 2 has one domain", id)
	}
	d := &Domain{w: w, id: id, begin: w.info.Start, last: w.info.Start, verifyIx: verifyStart}
	if len(mem) < DomainMemory {
		d.told, d.packet = new(told), make([]byte, 0, maxPacket)
	} else {
		d.told = (*told)(unsafe.Pointer(&mem[0]))
		d.packet = mem[unsafe.Sizeof(told{}):][:0:maxPacket]
	}
	w.domains[id] = d
	d.chunk()
	d.packet = w.appendHeader(d.packet, id, d)
	return d, nil
}

// Flush writes what the domains have in their packets, so that a reader of
// the stream sees every event so far.
func (w *Writer) Flush() error {
	for _, d := range w.inOrder() {
		if len(d.packet) > w.headerLength() {
			d.flush(d.last)
		}
	}
	return w.err
}

// Close writes what is left. It does not close what the Writer writes to.
func (w *Writer) Close() error { return w.Flush() }

// inOrder returns the domains by the time of their last event.
func (w *Writer) inOrder() []*Domain {
	list := make([]*Domain, 0, len(w.domains))
	for _, d := range w.domains {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *Domain) int {
		if a.last != b.last {
			if a.last < b.last {
				return -1
			}
			return 1
		}
		return int(a.id) - int(b.id)
	})
	return list
}

// Domain writes the events of one domain. A [Writer] makes it.
type Domain struct {
	w  *Writer
	id uint16

	packet  []byte // the packet of events, its header included
	packets int    // written so far
	begin   int64  // of the packet
	last    int64  // time of the last event
	idBegin uint64 // of the packet
	nextID  uint64
	idLimit uint64   // of the chunk
	fresh   []uint64 // codes whose locations are to be written
	files   fileTable

	stack    []uint64
	verifyIx uint16
	*told
}

// told is what the reader's cache has. It has no pointers.
type told struct {
	code [cacheSize]uint64
	date [cacheSize]uint64
	next [cacheSize]uint16
}

// chunk takes ids to give to allocations.
func (d *Domain) chunk() {
	if d.w.info.Version < 3 {
		d.idLimit = math.MaxUint64
		return
	}
	d.nextID = d.w.nextID
	d.w.nextID += chunkIDs
	d.idBegin, d.idLimit = d.nextID, d.w.nextID
}

// flush writes the new locations and the packet, and begins another at now.
func (d *Domain) flush(now int64) {
	w := d.w
	d.flushLocations()
	w.closeHeader(d.packet, d.begin, d.last, d.idBegin, d.nextID)
	w.write(d.packet)
	d.packets++
	d.begin, d.idBegin = now, d.nextID
	if d.nextID == d.idLimit {
		d.chunk()
	}
	d.packet = w.appendHeader(d.packet[:0], d.id, d)
}

// An event has at most so many bytes.
const maxEvent = 100 + maxBacktrace

// start begins an event, in a new packet when it must.
func (d *Domain) start(code uint32, time int64) {
	time = max(time, d.last) // a reader refuses times that go backwards
	if maxPacket-len(d.packet) < maxEvent || len(d.fresh) > 128 || time-d.begin > 30_000_000 || d.nextID == d.idLimit {
		d.flush(time)
	}
	d.last = time
	d.packet = binary.LittleEndian.AppendUint32(d.packet, uint32(time&timeMask)|code<<timeBits)
}

// Alloc writes an allocation and returns the id that it gave to the block.
func (d *Domain) Alloc(a *Allocation) (id uint64, err error) {
	if a.Prefix < 0 || a.Prefix > len(d.stack) {
		return 0, fmt.Errorf("allocation: its prefix is %d, and the previous backtrace has %d frames", a.Prefix, len(d.stack))
	}
	n := 0
	for n < len(a.Codes) && a.Prefix+n < len(d.stack) && d.stack[a.Prefix+n] == a.Codes[n] {
		n++
	}
	prefix, codes := a.Prefix+n, a.Codes[n:]
	d.stack = append(d.stack[:prefix], codes...)

	short := a.Length >= 1 && a.Length <= 16 && a.Source == Minor && a.Samples == 1 && len(codes) < 256
	var at int // where the number of code words goes
	if short {
		d.start(codeShort+uint32(a.Length), a.Time)
		d.packet = appendVint(d.packet, int64(prefix))
		at = len(d.packet)
		d.packet = append(d.packet, 0)
	} else {
		d.start(codeAlloc, a.Time)
		d.packet = appendVint(d.packet, a.Length)
		d.packet = appendVint(d.packet, a.Samples)
		d.packet = append(d.packet, byte(a.Source))
		d.packet = appendVint(d.packet, int64(prefix))
		at = len(d.packet)
		d.packet = append(d.packet, 0, 0)
	}
	id = d.nextID
	d.nextID++
	words := d.backtrace(codes, id)
	d.packet[at] = byte(words)
	if !short {
		d.packet[at+1] = byte(words >> 8)
	}
	return id, d.w.err
}

// Promote writes that a block survived its first collection.
func (d *Domain) Promote(time int64, id uint64) error { return d.fate(codePromote, time, id) }

// Collect writes that a block is gone.
func (d *Domain) Collect(time int64, id uint64) error { return d.fate(codeCollect, time, id) }

func (d *Domain) fate(code uint32, time int64, id uint64) error {
	d.start(code, time)
	d.packet = appendVint(d.packet, int64(d.nextID-1-id))
	return d.w.err
}

// Skip makes id the one that the next allocation gets: for a copy of a trace
// in which allocations are missing. It begins another packet.
func (d *Domain) Skip(id uint64) error {
	if id == d.NextID() {
		return d.w.err
	}
	if len(d.packet) > d.w.headerLength() {
		d.flush(d.last)
	}
	d.idBegin, d.nextID = id, id
	if d.w.info.Version >= 3 {
		d.idLimit = id - id%chunkIDs + chunkIDs
		d.w.nextID = max(d.w.nextID, d.idLimit)
	}
	return d.w.err
}

// NextID returns the id that the next allocation gets.
func (d *Domain) NextID() uint64 {
	if d.nextID == d.idLimit {
		return d.w.nextID // it begins another chunk
	}
	return d.nextID
}
