package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Stream copies a trace packet by packet: each ring into one file that grows.
type Stream struct {
	// Lost is called with the number of packets of a ring that were
	// overwritten before they could be copied. Nil means that the report at
	// the end is enough.
	Lost func(ring uint64, packets int)

	source *source
	out    string
	rings  map[uint64]*os.File
	next   map[uint64]uint64 // the number of the packet that comes next
	report Report
	buf    []byte
}

// interval is how often the rings are looked at. At a million events a second
// a ring of 8 MiB lasts 300 ms.
const interval = 10 * time.Millisecond

// runtimeInterval is how often the runtime's execution trace is looked at,
// which begins a new file each second or so.
const runtimeInterval = 300 * time.Millisecond

// NewStream begins to copy the trace in dir into a new directory.
func NewStream(out, dir string) (*Stream, error) {
	source, err := openSource(dir)
	if err != nil {
		return nil, err
	}
	if err := begin(out); err != nil {
		return nil, err
	}
	s := &Stream{source: source, out: out, rings: make(map[uint64]*os.File), next: make(map[uint64]uint64)}
	return s, source.describe(out)
}

// Follow copies packets as they are completed, until the process has stopped
// recording or ctx is done, and then what there is of the last ones.
func (s *Stream) Follow(ctx context.Context) (Report, error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	runtime := time.NewTicker(runtimeInterval)
	defer runtime.Stop()
	for ctx.Err() == nil && recording(s.source.dir) && s.same() {
		if err := s.copyCompleted(); err != nil {
			return s.report, errors.Join(err, s.close())
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-runtime.C:
			if err := s.source.copyRuntimeTrace(s.out); err != nil {
				return s.report, errors.Join(err, s.close())
			}
		}
	}
	return s.Finish()
}

// Finish copies all that is there now, and ends the stream.
func (s *Stream) Finish() (Report, error) {
	err := s.copyCompleted()
	if err == nil {
		err = s.copyAll()
	}
	if err == nil && s.same() {
		err = s.source.describe(s.out)
	}
	return s.report, errors.Join(err, s.close())
}

// same reports whether the directory still has the trace that we follow.
func (s *Stream) same() bool {
	text, err := os.ReadFile(filepath.Join(s.source.dir, "metadata"))
	if err != nil {
		return false
	}
	trace, err := packet.ParseMetadata(text)
	return err == nil && trace.UUID == s.source.trace.UUID
}

func (s *Stream) close() error {
	s.source.close()
	var errs []error
	for _, f := range s.rings {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// seen is a packet in its slot.
type seen struct {
	slot *slot
	ring uint64
	seq  uint64
	end  uint64
}

// look returns the packets that are in the slots, by ring and in order.
func (s *Stream) look() ([]seen, error) {
	if err := s.source.find(); err != nil {
		return nil, err
	}
	var all []seen
	for _, f := range s.source.slots {
		h, ok := s.source.header(f)
		if !ok || h.Content()/8 == packet.HeaderSize {
			continue
		}
		all = append(all, seen{f, h.Ring(), h.Seq(), h.End()})
	}
	slices.SortFunc(all, func(a, b seen) int {
		return cmp.Or(cmp.Compare(a.ring, b.ring), cmp.Compare(a.seq, b.seq))
	})
	return all, nil
}

// copyCompleted copies the packets that nothing is written to any more: all
// but the newest of each ring.
func (s *Stream) copyCompleted() error {
	all, err := s.look()
	if err != nil {
		return err
	}
	for i, p := range all {
		if i+1 < len(all) && all[i+1].ring == p.ring {
			if err := s.copy(p, math.MaxUint64); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyAll copies what there is up to one moment.
func (s *Stream) copyAll() error {
	all, err := s.look()
	if err != nil {
		return err
	}
	until := uint64(0)
	for _, p := range all {
		until = max(until, p.end)
	}
	for _, p := range all {
		if err := s.copy(p, until); err != nil {
			return err
		}
	}
	return nil
}

// copy appends a packet to its ring's file, unless it is there already.
func (s *Stream) copy(p seen, until uint64) error {
	next, known := s.next[p.ring]
	if !known {
		next = packet.FirstSeq
	}
	if p.seq < next {
		return nil
	}
	data, err := native.Copy(p.slot, 0, s.buf)
	if errors.Is(err, native.ErrOverwritten) {
		return nil // the next packet tells what is missing
	} else if err != nil {
		return fmt.Errorf("%s: %w", p.slot.Name(), err)
	}
	s.buf = data
	if packet.Header(data).Seq() != p.seq {
		return nil
	}
	if gap := int(p.seq - next); gap > 0 {
		s.report.Overwritten += gap
		if s.Lost != nil {
			s.Lost(p.ring, gap)
		}
	}
	s.next[p.ring] = p.seq + 1
	if data = native.Trim(s.source.trace, data, until); len(data) == packet.HeaderSize {
		return nil
	}
	f := s.rings[p.ring]
	if f == nil {
		name := fmt.Sprint("ring-", p.ring)
		if p.ring == native.Shared {
			name = "ring-shared"
		}
		if f, err = os.OpenFile(filepath.Join(s.out, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		s.rings[p.ring] = f
	}
	n, err := f.Write(data)
	s.report.Packets++
	s.report.Bytes += int64(n)
	return err
}
