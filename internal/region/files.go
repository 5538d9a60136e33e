package region

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Each calls fn with a copy of each packet with events, ring by ring and in
// the order of their numbers: the region as it was at one moment, all events
// up to then. The copy is valid until fn returns. What could not be copied is
// returned.
func (r *Region) Each(fn func(ring Ring, data []byte) error) (damage []event.Damage, err error) {
	const tries = 8
	var copies [][][]byte
	for try, done := 1, false; !done; try++ {
		copies, damage, done = r.snapshot()
		done = done || try == tries
	}
	for i, ring := range r.Rings {
		for _, data := range slices.Backward(copies[i]) {
			if err := fn(ring, data); err != nil {
				return damage, err
			}
		}
	}
	return damage, nil
}

// snapshot copies all rings as of one moment. It is not ok if one was
// overwritten as a whole meanwhile.
func (r *Region) snapshot() (copies [][][]byte, damage []event.Damage, ok bool) {
	newest, until := make([]uint64, len(r.Rings)), uint64(0)
	for i, ring := range r.Rings {
		var end uint64
		var wrong []event.Damage
		newest[i], end, wrong = r.newest(ring)
		until, damage = max(until, end), append(damage, wrong...)
	}
	ok = true
	for i, ring := range r.Rings {
		c, wrong := r.copies(ring, newest[i], until)
		copies, damage = append(copies, c), append(damage, wrong...)
		ok = ok && (len(c) > 0 || newest[i] < packet.FirstSeq)
	}
	return copies, damage, ok
}

// newest returns the number of a ring's newest packet, 0 if there is none,
// when its newest event happened, and where there is no packet. By the time of
// its return there may be newer ones.
func (r *Region) newest(ring Ring) (seq, end uint64, damage []event.Damage) {
	for slot := ring.First; slot < ring.First+ring.Slots; slot++ {
		switch h, err := r.header(slot); {
		case err == nil && h.Seq() >= seq:
			seq, end = h.Seq(), max(end, h.End())
		case errors.Is(err, ErrNoPacket):
			offset, _ := r.offset(slot)
			damage = append(damage, event.Damage{Offset: offset, What: err.Error()})
		}
	}
	return seq, end, damage
}

// header returns the header of the packet in a slot. The error is [ErrNoPacket]
// if there is none, and [ErrUnused] if it was not used or is nowhere.
func (r *Region) header(slot int) (packet.Header, error) {
	offset, ok := r.offset(slot)
	if !ok {
		return nil, ErrUnused
	}
	h, ok := r.headerAt(offset)
	if !ok {
		return nil, ErrNoPacket
	}
	return h, r.checkPacket(slot, h)
}

// slot returns where in a ring the packet of a number is, or was.
func (ring Ring) slot(seq uint64) int {
	return ring.First + int((seq-packet.FirstSeq)%uint64(ring.Slots))
}

// copies copies a ring's packets from the newest to the oldest, which may be
// overwritten meanwhile, and after it all that are newer than that.
func (r *Region) copies(ring Ring, newest, until uint64) (copies [][]byte, damage []event.Damage) {
	buf := make([]byte, r.PacketSize)
	for i := range uint64(ring.Slots) {
		seq := newest - i
		if newest < i || seq < packet.FirstSeq {
			break
		}
		data, err := r.Copy(ring.slot(seq), buf)
		var wrong *Error
		switch {
		case errors.Is(err, ErrOverwritten):
			return copies, damage
		case errors.Is(err, ErrUnused), errors.Is(err, ErrNoPacket): // which newest has told
		case errors.As(err, &wrong):
			damage = append(damage, event.Damage{Offset: wrong.Offset, What: wrong.Err.Error()})
		case packet.Header(data).Seq() > seq:
			return copies, damage
		case packet.Header(data).Seq() == seq && packet.Header(data).Begin() <= until:
			copies = append(copies, r.cut(bytes.Clone(data), until))
		}
	}
	return copies, damage
}

// Seen is what a follower has seen of a region's packets. The zero Seen has
// seen nothing.
type Seen struct {
	rings []numbered
}

// numbered is the newest packet that was seen of a ring.
type numbered struct {
	seq, used uint64
}

// Changed calls fn with a copy of each packet that has got events since the
// last call with the same Seen, ring by ring and in the order of their
// numbers. The copy is valid until fn returns. It reads little more than what
// has changed, unless all of a ring has.
func (r *Region) Changed(seen *Seen, fn func(ring Ring, data []byte) error) error {
	if len(seen.rings) != len(r.Rings) {
		seen.rings = make([]numbered, len(r.Rings))
	}
	buf := make([]byte, r.PacketSize)
	for i, ring := range r.Rings {
		last := &seen.rings[i]
		newest := r.newestAfter(ring, last.seq)
		first := max(last.seq, packet.FirstSeq, newest-min(newest, uint64(ring.Slots-1)))
		for seq := first; seq <= newest; seq++ {
			if seq == last.seq {
				if h, err := r.header(ring.slot(seq)); err == nil && h.Seq() == seq && h.Content() == last.used {
					continue
				}
			}
			data, err := r.Copy(ring.slot(seq), buf)
			if err != nil || packet.Header(data).Seq() != seq {
				continue // overwritten: what follows tells
			}
			*last = numbered{seq, packet.Header(data).Content()}
			if len(data) == packet.HeaderSize {
				continue
			}
			if err := fn(ring, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// newestAfter is newest for who knows a packet that was the newest before.
func (r *Region) newestAfter(ring Ring, seq uint64) uint64 {
	if seq >= packet.FirstSeq {
		for range ring.Slots {
			h, err := r.header(ring.slot(seq + 1))
			if err == nil && h.Seq() > seq+1 {
				break // overtaken
			}
			if err != nil || h.Seq() != seq+1 {
				return seq
			}
			seq++
		}
	}
	newest, _, _ := r.newest(ring)
	return max(newest, seq)
}

// cut takes the events after a time away from a copy of a packet. One that is
// damaged stays as it is: what reads it says so.
func (r *Region) cut(data []byte, until uint64) []byte {
	if packet.Header(data).End() <= until {
		return data
	}
	used, whole := r.upTo(data, until)
	if !whole {
		return data
	}
	binary.LittleEndian.PutUint64(data[packet.OffContent:], 8*uint64(used))
	binary.LittleEndian.PutUint64(data[packet.OffEnd:], until)
	return data[:used]
}

// FileName returns the name of the file that a ring's packets go to in a
// directory.
func FileName(ring uint64) string {
	const shared = 1 << 16
	if ring == shared {
		return "ring-shared"
	}
	return fmt.Sprint("ring-", ring)
}

// Process returns what a trace directory says of the process, in
// .run/process.json.
func (r *Region) Process() []byte {
	return indent(struct {
		Program    string    `json:"program"`
		PID        int       `json:"pid"`
		Host       string    `json:"host,omitempty"`
		Go         string    `json:"go"`
		OS         string    `json:"os"`
		Arch       string    `json:"arch"`
		GOMAXPROCS int       `json:"gomaxprocs"`
		Start      time.Time `json:"start"`
	}{r.Program, r.PID, r.Host, r.GoVersion, r.OS, r.Arch, r.GOMAXPROCS, time.Unix(0, r.Start.Realtime).UTC()})
}

// Moments returns what a trace directory says of its clocks, in
// .run/clocks.json.
func (r *Region) Moments() []byte {
	b := r.BootID
	return indent(struct {
		BootID string  `json:"boot_id"`
		Clock  string  `json:"clock"`
		Clocks []Clock `json:"clocks"`
	}{fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), r.ClockName, r.Clocks})
}

func indent(v any) []byte {
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		panic(err) // these types can always be encoded
	}
	return append(text, '\n')
}

// Directory returns a copy of the region as a trace directory in memory, and
// what could not be copied.
func (r *Region) Directory() (fs.FS, []event.Damage) {
	d := directory{"metadata": r.metadata}
	damage, _ := r.Each(func(ring Ring, data []byte) error {
		name := FileName(ring.ID)
		d[name] = append(d[name], data...)
		d[name] = append(d[name], make([]byte, r.PacketSize-len(data))...)
		return nil
	})
	return d, damage
}

// directory is a flat file system, by name.
type directory map[string][]byte

func (d directory) Open(name string) (fs.File, error) {
	if name == "." {
		names := make([]string, 0, len(d))
		for name := range d {
			names = append(names, name)
		}
		slices.SortFunc(names, strings.Compare)
		return &opened{dir: d, names: names}, nil
	}
	data, ok := d[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{Reader: bytes.NewReader(data), info: info{name, int64(len(data))}}, nil
}

type file struct {
	*bytes.Reader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// opened is the directory being listed.
type opened struct {
	dir   directory
	names []string
}

func (o *opened) Stat() (fs.FileInfo, error) { return info{".", -1}, nil }
func (o *opened) Close() error               { return nil }
func (o *opened) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: errors.New("is a directory")}
}

func (o *opened) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(o.names) {
		if n > 0 && len(o.names) == 0 {
			return nil, io.EOF
		}
		n = len(o.names)
	}
	entries := make([]fs.DirEntry, n)
	for i, name := range o.names[:n] {
		entries[i] = fs.FileInfoToDirEntry(info{name, int64(len(o.dir[name]))})
	}
	o.names = o.names[n:]
	return entries, nil
}

// info describes a file, or the directory if the size is -1.
type info struct {
	name string
	size int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return max(i.size, 0) }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.size < 0 }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
