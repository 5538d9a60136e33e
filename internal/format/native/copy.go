package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// found is a packet and where it lies.
type found struct {
	file   string
	offset int64
	ring   uint64
	seq    uint64
	begin  uint64
	end    uint64
	size   int64  // bytes, of which content are used
	used   int64  // the content's end
	lost   uint64 // events discarded before its end
	gone   bool   // whether it was overwritten before it could be copied
	data   []byte // nil if it is still to be read
}

// packets returns the packets of a file. If there is one it may be a ring's
// slot, so it is copied now; longer files are only ever appended to, and read
// as one gets there.
func (r *Reader) packets(dir fs.FS, name string) ([]found, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at, err := readerAt(f)
	if err != nil {
		return nil, err
	}
	var all []found
	for offset := int64(0); offset < info.Size(); {
		var head [packet.HeaderSize]byte
		if n, err := at.ReadAt(head[:], offset); n < len(head) {
			r.broken(name, offset, "cut in a packet's header: %v", err)
			break
		}
		h := packet.Header(head[:])
		size := int64(h.Size() / 8)
		if !r.isPacket(h) || size < packet.HeaderSize || h.Size() > maxPacket*8 {
			r.broken(name, offset, "not a packet of this trace")
			break
		}
		p := found{file: name, offset: offset, ring: h.Ring(), seq: h.Seq(), begin: h.Begin(),
			end: h.End(), size: size, used: int64(h.Content() / 8), lost: h.Discarded()}
		if rest := info.Size() - offset; p.used > rest || p.used > size || p.used < packet.HeaderSize {
			if p.used > size || p.used < packet.HeaderSize {
				r.broken(name, offset, "a packet of %d bytes with %d in use", size, p.used)
				offset += size
				continue
			}
			r.broken(name, offset, "a packet of %d bytes cut after %d", size, rest)
			p.used = rest
		}
		if offset == 0 && size >= info.Size() {
			data, err := Copy(at, 0, nil)
			if errors.Is(err, ErrOverwritten) {
				p.gone, p.used = true, packet.HeaderSize
				all = append(all, p)
				break
			} else if err != nil && len(data) < packet.HeaderSize {
				r.broken(name, 0, "%v", err)
				break
			}
			h := packet.Header(data)
			p.seq, p.begin, p.end, p.used, p.lost = h.Seq(), h.Begin(), h.End(), int64(len(data)), h.Discarded()
			p.data = data
		}
		all = append(all, p)
		offset += size
	}
	return all, nil
}

// lastEnd returns when the last event of a file happened, as far as its packet
// says, or those of its last.
func (r *Reader) lastEnd(dir fs.FS, name string) uint64 {
	f, err := dir.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	at, err := readerAt(f)
	if err != nil {
		return 0
	}
	end := uint64(0)
	for offset := int64(0); offset < info.Size(); {
		var head [packet.HeaderSize]byte
		h := packet.Header(head[:])
		if n, _ := at.ReadAt(head[:], offset); n < len(head) || !r.isPacket(h) || h.Size()/8 < packet.HeaderSize || h.Size() > 8*maxPacket {
			break
		}
		end = max(end, h.End())
		offset += int64(h.Size() / 8)
	}
	return end
}

// maxPacket is more than the recorder's packets ever have, in bytes.
const maxPacket = 1 << 31

// readerAt returns f as something to read anywhere in.
func readerAt(f fs.File) (io.ReaderAt, error) {
	if at, ok := f.(io.ReaderAt); ok {
		return at, nil
	}
	data, err := readAll(f)
	return bytes.NewReader(data), err
}

func readAll(f fs.File) ([]byte, error) { return io.ReadAll(f) }

// ErrOverwritten is the error for a packet that is overwritten faster than it
// can be copied.
var ErrOverwritten = errors.New("overwritten while it was copied")

// Copy returns a consistent copy of the used part of the packet at an offset,
// in buf if it is large enough, though a process may be writing to it. The
// copy's header has the content size that was copied and is otherwise as in
// the file. When the file ends early the copy is what there is, and the error
// is io.ErrUnexpectedEOF; it is [ErrOverwritten] after some tries.
func Copy(f io.ReaderAt, offset int64, buf []byte) ([]byte, error) {
	const tries = 8
	for range tries {
		data, err := try(f, offset, buf)
		if !errors.Is(err, ErrOverwritten) {
			return data, err
		}
	}
	return nil, ErrOverwritten
}

func try(f io.ReaderAt, offset int64, buf []byte) ([]byte, error) {
	var before, after [packet.HeaderSize]byte
	if n, err := f.ReadAt(before[:], offset); n < len(before) {
		return before[:n], cutShort(err)
	}
	h := packet.Header(before[:])
	content := h.Content() / 8
	if h.Magic() != packet.Magic || content < packet.HeaderSize || content > h.Size()/8 || content > maxPacket {
		return nil, fmt.Errorf("not a packet: %d bytes of %d in use", content, h.Size()/8)
	}
	data := slices.Grow(buf[:0], int(content))[:content]
	n, err := f.ReadAt(data, offset)
	if n < packet.HeaderSize {
		return nil, cutShort(err)
	}
	if _, err := f.ReadAt(after[:], offset); err != nil && err != io.EOF {
		return nil, err
	}
	now := packet.Header(after[:])
	if now.Seq() != h.Seq() || now.Begin() != h.Begin() || now.Content() < h.Content() {
		return nil, ErrOverwritten
	}
	// The last event that was copied is not later than what the end is now,
	// but it may be later than what the end was when the header was copied.
	copy(data, after[:])
	binary.LittleEndian.PutUint64(data[packet.OffContent:], h.Content())
	if n < len(data) {
		return data[:n], cutShort(err)
	}
	return data, nil
}

func cutShort(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Trim shortens a copy of a trace's packet to the events up to a time, in
// cycles, and returns it. Its header says so, and that the packet is no longer than that.
// What is damaged is left out.
func Trim(t packet.Trace, data []byte, until uint64) []byte {
	h := packet.Header(data)
	c := &cursor{kinds: t.Kinds, data: data, file: &found{end: h.End()}, end: packet.HeaderSize, told: h.Begin()}
	end, last := c.end, h.Begin()
	if h.End() <= until {
		end, last = len(data), h.End()
	} else {
		for c.pos = end; c.pos < len(data) && c.parse() == "" && c.time <= until; c.pos = c.end {
			end, last = c.end, c.time
		}
	}
	data = data[:end]
	binary.LittleEndian.PutUint64(data[packet.OffEnd:], last)
	binary.LittleEndian.PutUint64(data[packet.OffContent:], 8*uint64(end))
	binary.LittleEndian.PutUint64(data[packet.OffSize:], 8*uint64(end))
	return data
}
