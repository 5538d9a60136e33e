package ring

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// startRegion begins a recording in memory that others see, laid out as
// package region says: each packet is a page. Ps beyond those of now share a
// ring, since there is no room for more.
func startRegion(o Options) (*Session, error) {
	s := &Session{options: o, done: make(chan struct{}), ended: make(chan struct{})}
	s.trace = packet.Trace{Program: o.Program, PID: os.Getpid(), GoVersion: runtime.Version(),
		ClockName: clockName(), Start: readClock()}
	if _, err := rand.Read(s.trace.UUID[:]); err != nil {
		return nil, err
	}
	s.trace.Frequency = frequency(s.trace.Start)
	if len(s.trace.Program) > region.MaxProgram {
		s.trace.Program = s.trace.Program[:region.MaxProgram]
	}
	h := region.Header{Trace: s.trace, PacketSize: region.Page, BootID: bootID(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, GOMAXPROCS: runtime.GOMAXPROCS(0)}
	h.Host, _ = os.Hostname()
	h.Packets = region.HeaderSize(len(s.trace.Metadata()))
	var err error
	if h.Rings, err = ringsFor(int64(len(o.Memory))-h.Packets, h.GOMAXPROCS); err != nil {
		return nil, err
	}
	last := h.Rings[len(h.Rings)-1]
	h.Size = h.Packets + int64(last.First+last.Slots)*region.Page
	region.Clear(o.Memory)
	r := &rings{session: s}
	for _, ring := range h.Rings {
		w := s.writerIn(o.Memory[h.Packets:], ring)
		if ring.ID == sharedRing {
			w.shared, r.shared = true, w
		} else {
			r.writers = append(r.writers, w)
		}
	}
	if err := region.Put(o.Memory, &h); err != nil {
		return nil, err
	}
	s.tellClock()
	current.Store(r)
	return s, nil
}

// ringsFor shares room for packets out: a sixteenth is for the shared ring.
func ringsFor(room int64, ps int) ([]region.Ring, error) {
	slots := int(room / region.Page)
	writers := min(ps, region.MaxRings-1, slots/leastSlots-1)
	if writers < 1 {
		return nil, fmt.Errorf("%d bytes for packets: %w", max(room, 0), region.ErrSmall)
	}
	shared := max(slots/16, leastSlots)
	own := (slots - shared) / writers
	rings := []region.Ring{{ID: sharedRing, First: 0, Slots: shared}}
	for p := range writers {
		rings = append(rings, region.Ring{ID: uint64(p), First: shared + p*own, Slots: own})
	}
	return rings, nil
}

// writerIn makes the empty packets of a ring.
func (s *Session) writerIn(packets []byte, ring region.Ring) *Writer {
	b := packets[ring.First*region.Page:][:ring.Slots*region.Page]
	begin := s.trace.Start.Cycles
	for i := range ring.Slots {
		seq, then := uint64(packet.FirstSeq), begin
		if i > 0 {
			before := uint64(ring.Slots - i)
			seq, then = seq-min(before, seq), begin-min(lapStep*before, begin)
		}
		packet.Put(b[i*region.Page:], s.trace.UUID, ring.ID, seq, region.Page, then)
	}
	return newWriter(unsafe.Pointer(&b[0]), region.Page, ring.Slots, begin)
}

// tellClock writes the time to the region's header, if there is one. The time
// of the world is read between two readings of the kernel's clock; of a few
// tries the quickest counts.
func (s *Session) tellClock() {
	if s.options.Memory == nil {
		return
	}
	var best region.Clock
	for i := range 4 {
		before := nanotime()
		now := fencedCycles()
		real := time.Now().UnixNano()
		after := nanotime()
		if c := (region.Clock{Cycles: now, Before: before, Realtime: real, After: after}); i == 0 || after-before < best.After-best.Before {
			best = c
		}
	}
	s.clocks++
	region.PutClock(s.options.Memory, s.clocks, best)
}

// bootID returns what the kernel calls itself since it was started, or zeros.
func bootID() (id [16]byte) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil {
		hex.Decode(id[:], []byte(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))[:min(32, len(text))])
	}
	return id
}
