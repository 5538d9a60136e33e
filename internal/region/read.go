package region

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Region is a region that was found in some input. The input may change while
// it is read.
type Region struct {
	Header
	Offset int64 // of the header page in the input
	Clocks []Clock

	in        io.ReaderAt
	metadata  []byte
	elsewhere []int64 // where each slot lies, 0 if nowhere; nil if all lie in their places
}

// Open reads the header of the region at an offset of an input of size bytes.
// The error is an [*Error].
func Open(in io.ReaderAt, offset, size int64) (*Region, error) {
	r, err := open(in, offset, size-offset)
	if err != nil {
		return nil, &Error{offset, err}
	}
	return r, nil
}

// open lets the region have up to available bytes.
func open(in io.ReaderAt, offset, available int64) (*Region, error) {
	page := make([]byte, Page)
	if n, err := in.ReadAt(page, offset); n < Page {
		if n < len(magic) || !Is(page) {
			return nil, ErrNoRegion
		}
		return nil, fmt.Errorf("%w: cut after %d bytes: %w", ErrDamaged, n, cutShort(err))
	}
	h, err := parse(page, available)
	if err != nil {
		return nil, err
	}
	r := &Region{Header: *h, Offset: offset, Clocks: parseClocks(page), in: in}
	return r, r.readMetadata(page)
}

// readMetadata reads the metadata's text. If that is not what it was when its
// checksum was made, it is made anew from the header: that fails when the
// program that recorded had another version of this one.
func (r *Region) readMetadata(page []byte) error {
	sum := binary.LittleEndian.Uint32(page[64:])
	n := int64(binary.LittleEndian.Uint32(page[60:]))
	if n > r.Packets-Page {
		return fmt.Errorf("%w: %d bytes of metadata", ErrDamaged, n)
	}
	r.metadata = make([]byte, n)
	if got, _ := r.in.ReadAt(r.metadata, r.Offset+Page); int64(got) < n || checksum(r.metadata) != sum {
		r.metadata = r.Trace.Metadata()
	}
	if checksum(r.metadata) != sum {
		return fmt.Errorf("%w: its metadata was overwritten", ErrDamaged)
	}
	trace, err := packet.ParseMetadata(r.metadata)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	r.Kinds = trace.Kinds
	return nil
}

// Metadata returns the text that describes the packets.
func (r *Region) Metadata() []byte { return r.metadata }

// Scattered reports whether the packets were found one by one.
func (r *Region) Scattered() bool { return r.elsewhere != nil }

// ring returns the ring that a slot belongs to.
func (h *Header) ring(slot int) (Ring, bool) {
	for _, r := range h.Rings {
		if slot >= r.First && slot < r.First+r.Slots {
			return r, true
		}
	}
	return Ring{}, false
}

// offset returns where in the input a slot lies, if anywhere.
func (r *Region) offset(slot int) (int64, bool) {
	if r.elsewhere != nil {
		return r.elsewhere[slot], r.elsewhere[slot] != 0
	}
	return r.Offset + r.Packets + int64(slot)*int64(r.PacketSize), true
}

// Errors of a slot.
var (
	ErrUnused      = errors.New("never used")
	ErrOverwritten = errors.New("overwritten again and again while it was copied")
	ErrNoPacket    = errors.New("not a packet of this trace")
)

// Copy returns a consistent copy of the packet in a slot up to its content's
// end, in buf if that is large enough. The error is an [*Error] that wraps
// [ErrUnused], [ErrOverwritten], [ErrNoPacket], or what reading failed with.
func (r *Region) Copy(slot int, buf []byte) ([]byte, error) {
	offset, ok := r.offset(slot)
	if !ok {
		return nil, &Error{r.Offset, fmt.Errorf("slot %d: %w", slot, ErrNoPacket)}
	}
	return r.copyAt(slot, offset, buf)
}

func (r *Region) copyAt(slot int, offset int64, buf []byte) (data []byte, err error) {
	const tries = 8
	for range tries {
		if data, err = r.try(slot, offset, buf); err == nil {
			return data, nil
		}
		if !errors.Is(err, ErrOverwritten) {
			break
		}
	}
	return nil, &Error{offset, err}
}

func (r *Region) try(slot int, offset int64, buf []byte) ([]byte, error) {
	var before, after [packet.HeaderSize]byte
	if n, err := r.in.ReadAt(before[:], offset); n < len(before) {
		return nil, cutShort(err)
	}
	h := packet.Header(before[:])
	if err := r.checkPacket(slot, h); err != nil {
		return nil, err
	}
	used := int(h.Content() / 8)
	if cap(buf) < used {
		buf = make([]byte, r.PacketSize)
	}
	data := buf[:used]
	if n, err := r.in.ReadAt(data, offset); n < used {
		return nil, cutShort(err)
	}
	if n, err := r.in.ReadAt(after[:], offset); n < len(after) {
		return nil, cutShort(err)
	}
	now := packet.Header(after[:])
	if now.Seq() != h.Seq() || now.Begin() != h.Begin() || now.Content() < h.Content() {
		return nil, ErrOverwritten
	}
	if err := r.checkPacket(slot, now); err != nil {
		return nil, err
	}
	// The last event that was copied is not later than what the end is now,
	// but it may be later than what the end was when the header was copied.
	copy(data, after[:])
	binary.LittleEndian.PutUint64(data[packet.OffContent:], h.Content())
	return data, nil
}

// checkPacket looks at a copy of a header.
func (r *Region) checkPacket(slot int, h packet.Header) error {
	ring, ok := r.ring(slot)
	used, seq := h.Content()/8, h.Seq()
	switch {
	case !ok, h.Magic() != packet.Magic, h.UUID() != r.UUID, h.Stream() != 0, h.Ring() != ring.ID,
		h.Size() != 8*uint64(r.PacketSize), h.Content()%8 != 0, used < packet.HeaderSize, used > uint64(r.PacketSize):
		return ErrNoPacket
	case seq < packet.FirstSeq:
		return ErrUnused
	case seq > 1<<62, (seq-packet.FirstSeq)%uint64(ring.Slots) != uint64(slot-ring.First):
		return ErrNoPacket
	}
	return nil
}

func cutShort(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

var shapes = packet.Shapes()

// upTo returns how many bytes of a packet are its events up to a time, and
// whether those that follow are events, too.
func (r *Region) upTo(data []byte, until uint64) (used int, whole bool) {
	h := packet.Header(data)
	now, end := h.Begin(), h.End()
	used = packet.HeaderSize
	for pos := packet.HeaderSize; pos < len(data); {
		b := data[pos:]
		if len(b) < 16 {
			return used, false
		}
		word := binary.LittleEndian.Uint64(b)
		now += (word - now) & packet.TimeMask
		size, id := 24, word>>packet.TimeBits
		if now > end {
			return used, false
		}
		if id != packet.ClockKind {
			if id >= uint64(len(r.Kinds)) || r.Kinds[id] >= event.NumKinds {
				return used, false
			}
			shape := shapes[r.Kinds[id]]
			if size = 16 + 8*shape.Words; shape.Text {
				if len(b) < size+2 {
					return used, false
				}
				size += 2 + int(binary.LittleEndian.Uint16(b[size:]))
			}
		}
		if size > len(b) {
			return used, false
		}
		if pos += size; now <= until {
			used = pos
		}
	}
	return used, true
}
