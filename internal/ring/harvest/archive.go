package harvest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Archive is a trace directory that is made from a region, packet by packet.
// At any moment it is a trace with all that was put into it.
type Archive struct {
	out    string
	size   int // of each packet in the files, in bytes
	rings  map[uint64]*archived
	report Report
}

// archived is the file of one ring.
type archived struct {
	*os.File
	seq     uint64 // of its last packet
	end     uint64 // of that packet's content, in bits
	packets int64
}

// NewArchive makes a directory, which must not have anything in it, for the
// packets of a region.
func NewArchive(out string, r *region.Region) (*Archive, error) {
	if err := begin(out); err != nil {
		return nil, err
	}
	a := &Archive{out: out, size: r.PacketSize, rings: make(map[uint64]*archived)}
	if err := a.describe(r); err != nil {
		return nil, err
	}
	return a, os.WriteFile(filepath.Join(out, "metadata"), r.Metadata(), 0o600)
}

// describe writes what the region says of the process and its clocks.
func (a *Archive) describe(r *region.Region) error {
	run := filepath.Join(a.out, ".run")
	err := os.WriteFile(filepath.Join(run, "process.json"), r.Process(), 0o600)
	return errors.Join(err, os.WriteFile(filepath.Join(run, "clocks.json"), r.Moments(), 0o600))
}

// Put adds a copy of a packet, unless it is there already. It takes the place
// of a copy of the same packet from when that had fewer events.
func (a *Archive) Put(data []byte) error {
	h := packet.Header(data)
	if len(data) == packet.HeaderSize {
		return nil
	}
	f := a.rings[h.Ring()]
	if f == nil {
		file, err := os.OpenFile(filepath.Join(a.out, region.FileName(h.Ring())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		f = &archived{File: file}
		a.rings[h.Ring()] = f
	}
	switch {
	case h.Seq() < f.seq || h.Seq() == f.seq && h.Content() <= f.end:
		return nil
	case h.Seq() > f.seq:
		if f.seq > 0 {
			a.report.Overwritten += int(h.Seq() - f.seq - 1)
		}
		f.packets++
		a.report.Packets++
		a.report.Bytes += int64(a.size)
	}
	f.seq, f.end = h.Seq(), h.Content()
	slot := append(data[:len(data):len(data)], make([]byte, a.size-len(data))...)
	_, err := f.WriteAt(slot, (f.packets-1)*int64(a.size))
	return err
}

// Copy adds what a region has now. It returns what could not be read.
func (a *Archive) Copy(r *region.Region) ([]event.Damage, error) {
	damage, err := r.Each(func(_ region.Ring, data []byte) error { return a.Put(data) })
	if err == nil {
		err = a.describe(r)
	}
	return damage, err
}

// Close ends the archive.
func (a *Archive) Close() error {
	var errs []error
	for _, f := range a.rings {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// SaveRegion copies a region as it is at one moment into a new directory.
func SaveRegion(out string, r *region.Region) (Report, []event.Damage, error) {
	a, err := NewArchive(out, r)
	if err != nil {
		return Report{}, nil, err
	}
	damage, err := a.Copy(r)
	return a.report, damage, errors.Join(err, a.Close())
}

// Follow adds what a region has got since the last call with the same seen.
func (a *Archive) Follow(r *region.Region, seen *region.Seen) error {
	return r.Changed(seen, func(_ region.Ring, data []byte) error { return a.Put(data) })
}

// FollowRegion copies a region into a new directory as it changes, until ctx
// is done or open returns an error, which is called twice a second and returns
// the region with its header as it is then. In the end the region is copied
// once more: what it has stays readable for as long as it is mapped, whatever
// has happened to the guest.
func FollowRegion(ctx context.Context, out string, open func() (*region.Region, error)) (Report, error) {
	r, err := open()
	if err != nil {
		return Report{}, err
	}
	a, err := NewArchive(out, r)
	if err != nil {
		return Report{}, err
	}
	var seen region.Seen
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for opened := time.Now(); ctx.Err() == nil; {
		if err := a.Follow(r, &seen); err != nil {
			return a.report, errors.Join(err, a.Close())
		}
		if time.Since(opened) > time.Second/2 {
			opened = time.Now()
			again, err := open()
			if err != nil || again.UUID != r.UUID {
				break
			}
			r = again
			if err := a.describe(r); err != nil {
				return a.report, errors.Join(err, a.Close())
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return a.report, errors.Join(a.Follow(r, &seen), a.describe(r), a.Close())
}

// SaveStream saves a stream to its end, into a new directory. The error tells
// why that is not where the sender ended it; what came before is saved.
func SaveStream(out string, s *region.Receiver) (Report, error) {
	a, err := NewArchive(out, s.Region())
	if err != nil {
		return Report{}, err
	}
	for err == nil {
		var data []byte
		if data, err = s.Next(); err == nil {
			err = a.Put(data)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return a.report, errors.Join(err, a.describe(s.Region()), a.Close())
}
