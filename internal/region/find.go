package region

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Find returns the regions anywhere in an input of size bytes, the newest
// first: it may be a device's image, a dump of a machine's memory or the core
// file of a process. The error is [ErrNoRegion], wrapped in an [*Error], or
// what reading failed with. It reads about 2 GB in a second.
func Find(in io.ReaderAt, size int64) ([]*Region, error) {
	var all []*Region
	var refused error
	err := scan(in, size, []byte(magic), func(offset int64) {
		r, err := open(in, offset, size)
		switch {
		case err == nil:
			all = append(all, r)
		case errors.Is(err, ErrDamaged):
			refused = &Error{offset, err}
		}
	})
	if err != nil {
		return nil, err
	}
	all = choose(all, size)
	for _, r := range all {
		if r.inPlace(size) {
			continue
		}
		if err := r.gather(size); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		if refused != nil {
			return nil, refused
		}
		return nil, &Error{0, ErrNoRegion}
	}
	slices.SortStableFunc(all, func(a, b *Region) int { return cmp.Compare(b.Start.Realtime, a.Start.Realtime) })
	return all, nil
}

// choose leaves one of several copies of the same header: the one whose
// packets follow it, if there is one, and else the one that kept most clocks.
func choose(all []*Region, size int64) []*Region {
	best := make(map[[16]byte]*Region)
	better := func(a, b *Region) bool {
		if x, y := a.inPlace(size), b.inPlace(size); x != y {
			return x
		}
		return len(a.Clocks) > len(b.Clocks)
	}
	var order [][16]byte
	for _, r := range all {
		old := best[r.UUID]
		if old == nil {
			order = append(order, r.UUID)
		}
		if old == nil || better(r, old) {
			best[r.UUID] = r
		}
	}
	chosen := make([]*Region, len(order))
	for i, u := range order {
		chosen[i] = best[u]
	}
	return chosen
}

// inPlace reports whether all packets lie where the header says.
func (r *Region) inPlace(size int64) bool {
	if r.Size > size-r.Offset {
		return false
	}
	for _, ring := range r.Rings {
		for slot := ring.First; slot < ring.First+ring.Slots; slot++ {
			offset, _ := r.offset(slot)
			if _, ok := r.headerAt(offset); !ok {
				return false
			}
		}
	}
	return true
}

// headerAt returns the header of a packet of this trace.
func (r *Region) headerAt(offset int64) (packet.Header, bool) {
	h := make(packet.Header, packet.HeaderSize)
	n, _ := r.in.ReadAt(h, offset)
	return h, n == len(h) && h.Magic() == packet.Magic && h.UUID() == r.UUID && h.Size() == 8*uint64(r.PacketSize)
}

// gather looks for the packets of a scattered region.
func (r *Region) gather(size int64) error {
	type copied struct {
		offset    int64
		seq, used uint64
	}
	found := make([]copied, r.Slots())
	r.elsewhere = make([]int64, r.Slots())
	if r.PacketSize != Page {
		return nil // no packet is known to lie in one piece
	}
	signature := binary.LittleEndian.AppendUint32(nil, packet.Magic)
	signature = append(signature, r.UUID[:]...)
	buf := make([]byte, Page)
	return scan(r.in, size, signature, func(offset int64) {
		h, ok := r.headerAt(offset)
		if !ok || (offset-r.Offset)%Page != 0 || h.Seq() < packet.FirstSeq {
			return
		}
		for _, ring := range r.Rings {
			if ring.ID != h.Ring() {
				continue
			}
			slot := ring.First + int((h.Seq()-packet.FirstSeq)%uint64(ring.Slots))
			old := found[slot]
			if h.Seq() < old.seq || h.Seq() == old.seq && h.Content() <= old.used {
				return
			}
			data, err := r.copyAt(slot, offset, buf)
			if err != nil {
				return
			}
			if _, whole := r.upTo(data, math.MaxUint64); !whole {
				return
			}
			found[slot] = copied{offset, h.Seq(), h.Content()}
			r.elsewhere[slot] = offset
		}
	})
}

// scan calls hit with each place where a pattern stands.
func scan(in io.ReaderAt, size int64, pattern []byte, hit func(offset int64)) error {
	buf := make([]byte, 1<<20)
	for at := int64(0); at < size; {
		b := buf[:min(int64(len(buf)), size-at)]
		n, err := in.ReadAt(b, at)
		if n < len(b) && err != nil && err != io.EOF {
			return &Error{at + int64(n), err}
		}
		b = b[:n]
		for i := 0; ; {
			j := bytes.Index(b[i:], pattern)
			if j < 0 {
				break
			}
			hit(at + int64(i+j))
			i += j + 1
		}
		if n < len(pattern) || at+int64(n) >= size {
			return nil
		}
		at += int64(n - len(pattern) + 1)
	}
	return nil
}
