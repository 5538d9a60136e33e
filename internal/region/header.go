package region

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// HeaderSize returns how many bytes a region's header takes with a metadata of
// so many: where the packets begin.
func HeaderSize(metadata int) int64 {
	return Page + (int64(metadata)+Page-1)/Page*Page
}

// Is reports whether a file that starts with these bytes is a region. It wants
// 16 of them.
func Is(start []byte) bool {
	return strings.HasPrefix(string(start[:min(len(start), len(magic))]), magic)
}

// Clear makes sure that mem is no region any more.
func Clear(mem []byte) { clear(mem[:len(magic)]) }

// Put writes the header and the metadata of h to the start of mem, the whole
// of which becomes the region. The caller has put empty packets behind.
func Put(mem []byte, h *Header) error {
	text := h.Metadata()
	if h.Packets != HeaderSize(len(text)) || h.Size > int64(len(mem)) || len(h.Rings) > MaxRings {
		return fmt.Errorf("region of %d bytes with %d of metadata and %d rings: %w", len(mem), len(text), len(h.Rings), ErrSmall)
	}
	Clear(mem)
	page := make([]byte, offClocks)
	le := binary.LittleEndian
	le.PutUint32(page[16:], Version)
	copy(page[offUUID:], h.UUID[:])
	le.PutUint64(page[40:], uint64(h.Size))
	le.PutUint32(page[48:], uint32(h.Packets))
	le.PutUint32(page[52:], uint32(h.PacketSize))
	le.PutUint32(page[56:], uint32(len(h.Rings)))
	le.PutUint32(page[60:], uint32(len(text)))
	le.PutUint32(page[64:], checksum(text))
	le.PutUint32(page[68:], uint32(h.PID))
	le.PutUint64(page[72:], h.Start.Cycles)
	le.PutUint64(page[80:], uint64(h.Start.Monotonic))
	le.PutUint64(page[88:], uint64(h.Start.Realtime))
	le.PutUint64(page[96:], h.Frequency)
	copy(page[104:], h.BootID[:])
	if h.ClockName == "tsc" {
		le.PutUint32(page[120:], 1)
	}
	le.PutUint32(page[124:], uint32(h.GOMAXPROCS))
	for _, s := range h.strings() {
		copy(page[s.at:s.at+s.size-1], *s.text)
	}
	for i, r := range h.Rings {
		b := page[offRings+i*sizeOfRing:]
		le.PutUint64(b, r.ID)
		le.PutUint32(b[8:], uint32(r.First))
		le.PutUint32(b[12:], uint32(r.Slots))
	}
	le.PutUint32(page[offChecksum:], checksum(page[offUUID:]))
	clear(mem[offClocks:h.Packets])
	copy(mem[Page:], text)
	copy(mem[len(magic):], page[len(magic):])
	publish(mem)
	return nil
}

// PutClock writes the n-th clock, counted from 1, to the region mem.
func PutClock(mem []byte, n uint64, c Clock) {
	var b [clockSize]byte
	le := binary.LittleEndian
	le.PutUint64(b[:], n)
	le.PutUint64(b[8:], c.Cycles)
	le.PutUint64(b[16:], uint64(c.Before))
	le.PutUint64(b[24:], uint64(c.Realtime))
	le.PutUint64(b[32:], uint64(c.After))
	le.PutUint32(b[60:], checksum(b[:60]))
	put(mem[offClocks+n%NumClocks*clockSize:], &b)
}

// put stores what others may read meanwhile: its checksum tells them.
//
//go:norace
func put(mem []byte, clock *[clockSize]byte) { *(*[clockSize]byte)(mem) = *clock }

// text is where in the header page a string lies.
type text struct {
	at, size int
	text     *string
}

func (h *Header) strings() []text {
	return []text{{128, 128, &h.Program}, {256, 64, &h.GoVersion}, {320, 64, &h.Host}, {384, 8, &h.OS}, {392, 8, &h.Arch}}
}

// parse reads a copy of a header page, of a region of which at most available
// bytes can be there. What it returns can be relied on.
func parse(page []byte, available int64) (*Header, error) {
	le := binary.LittleEndian
	if !Is(page) || len(page) < Page {
		return nil, ErrNoRegion
	}
	if v := le.Uint32(page[16:]); v != Version {
		return nil, fmt.Errorf("%w: version %d; this program reads version %d", ErrDamaged, v, Version)
	}
	if le.Uint32(page[offChecksum:]) != checksum(page[offUUID:offClocks]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	h := &Header{
		Size: int64(le.Uint64(page[40:])), Packets: int64(le.Uint32(page[48:])),
		PacketSize: int(le.Uint32(page[52:])), GOMAXPROCS: int(le.Uint32(page[124:])),
	}
	copy(h.UUID[:], page[offUUID:])
	copy(h.BootID[:], page[104:])
	h.PID = int(le.Uint32(page[68:]))
	h.Start.Cycles = le.Uint64(page[72:])
	h.Start.Monotonic = int64(le.Uint64(page[80:]))
	h.Start.Realtime = int64(le.Uint64(page[88:]))
	h.Frequency = le.Uint64(page[96:])
	h.ClockName = "monotonic"
	if le.Uint32(page[120:]) == 1 {
		h.ClockName = "tsc"
	}
	for _, s := range h.strings() {
		b, _, _ := bytes.Cut(page[s.at:s.at+s.size], []byte{0})
		*s.text = strings.ToValidUTF8(string(b), "?")
	}
	if err := h.check(available); err != nil {
		return nil, err
	}
	return h, h.parseRings(page)
}

// check refuses sizes that cannot be. A header with a good checksum may have
// been made by anyone.
func (h *Header) check(available int64) error {
	what := ""
	switch {
	case h.PacketSize < Page || h.PacketSize%Page != 0 || h.PacketSize > maxPacket:
		what = fmt.Sprintf("packets of %d bytes", h.PacketSize)
	case h.Packets < Page || h.Packets%Page != 0 || h.Packets > maxHeader:
		what = fmt.Sprintf("%d bytes of header", h.Packets)
	case h.Size < h.Packets+int64(h.PacketSize) || h.Size > available:
		what = fmt.Sprintf("%d bytes, and %d are there", h.Size, available)
	case h.Frequency < 1e3 || h.Frequency > 1e12:
		what = fmt.Sprintf("a clock of %d Hz", h.Frequency)
	case h.Start.Realtime < 0 || h.Start.Monotonic < 0:
		what = "a start before all time"
	}
	if what != "" {
		return fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	return nil
}

func (h *Header) parseRings(page []byte) error {
	le := binary.LittleEndian
	n := le.Uint32(page[56:])
	if n == 0 || n > MaxRings {
		return fmt.Errorf("%w: %d rings", ErrDamaged, n)
	}
	slots := uint64(h.Slots())
	for i := range n {
		b := page[offRings+i*sizeOfRing:]
		first, count := uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
		if count == 0 || first+count > slots {
			return fmt.Errorf("%w: ring %d has slots %d to %d of %d", ErrDamaged, i, first, first+count, slots)
		}
		h.Rings = append(h.Rings, Ring{ID: le.Uint64(b), First: int(first), Slots: int(count)})
	}
	for i, r := range h.Rings {
		for _, s := range h.Rings[:i] {
			if r.ID == s.ID || r.First < s.First+s.Slots && s.First < r.First+r.Slots {
				return fmt.Errorf("%w: rings %d and %d in one place", ErrDamaged, s.ID, r.ID)
			}
		}
	}
	return nil
}

// parseClocks returns the clocks on a copy of a header page, the oldest first.
func parseClocks(page []byte) []Clock {
	le := binary.LittleEndian
	var newest uint64
	byNumber := make(map[uint64]Clock)
	for i := range uint64(NumClocks) {
		b := page[offClocks+i*clockSize:][:clockSize]
		n := le.Uint64(b)
		if n == 0 || n%NumClocks != i || le.Uint32(b[60:]) != checksum(b[:60]) {
			continue // never written, or being written
		}
		byNumber[n] = Clock{le.Uint64(b[8:]), int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:])), int64(le.Uint64(b[32:]))}
		newest = max(newest, n)
	}
	var clocks []Clock
	for i := uint64(NumClocks); i > 0; i-- {
		if c, ok := byNumber[newest-i+1]; ok {
			clocks = append(clocks, c)
		}
	}
	return clocks
}
