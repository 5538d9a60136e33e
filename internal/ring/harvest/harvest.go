// Package harvest copies traces out of the rings that processes write to,
// without their help: whether they run, hang or are dead.
//
// There are few types: [Save] copies what a ring has now; a [Stream] copies
// packet after packet as they are completed, and so more than a ring can hold.
// Both make directories that are traces in the same format, but for the rings'
// empty parts, and say in a [Report] what they got.
package harvest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Report is what was copied.
type Report struct {
	Packets     int
	Bytes       int64
	Overwritten int // packets that were gone before they could be copied
}

// ErrNotEmpty is the error for an output directory with something in it.
var ErrNotEmpty = errors.New("is not empty")

// ErrNoProcess is the error for a process that does not run or does not record.
var ErrNoProcess = errors.New("no such process")

// Find returns the trace directory that name means: a directory or the number
// of a process that records.
func Find(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return name, nil
	}
	pid, notNumber := strconv.Atoi(name)
	switch {
	case err == nil:
		return "", fmt.Errorf("%s: is not a directory", name)
	case notNumber != nil:
		return "", err
	}
	// A process that records keeps the lock of its directory open.
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%w: %d, or its files cannot be seen", ErrNoProcess, pid)
	}
	for _, file := range files {
		target, err := os.Readlink(file)
		if dir, ok := strings.CutSuffix(target, "/.run/lock"); err == nil && ok {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: %d records nothing, or its trace was removed", ErrNoProcess, pid)
}

// source is a trace directory that is copied from.
type source struct {
	dir   string
	trace packet.Trace
	slots map[string]*slot
}

// slot is a file of the source.
type slot struct {
	*os.File
	name string
}

func openSource(dir string) (*source, error) {
	text, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, native.ErrNoTrace)
	} else if err != nil {
		return nil, err
	}
	trace, err := packet.ParseMetadata(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return &source{dir, trace, make(map[string]*slot)}, nil
}

// find opens the files that are there and were not before.
func (s *source) find() error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, entry := range names {
		name := entry.Name()
		if s.slots[name] != nil || name == "metadata" || strings.HasPrefix(name, ".") || !entry.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		s.slots[name] = &slot{f, name}
	}
	return nil
}

func (s *source) close() {
	for _, f := range s.slots {
		f.Close()
	}
}

// header reads the header of a slot's packet; ok is whether it belongs to the
// trace and is one.
func (s *source) header(f *slot) (h packet.Header, ok bool) {
	h = make(packet.Header, packet.HeaderSize)
	if n, _ := f.ReadAt(h, 0); n < len(h) {
		return nil, false
	}
	return h, h.Magic() == packet.Magic && h.UUID() == s.trace.UUID && h.Seq() >= packet.FirstSeq
}

// begin makes the output directory, which must not have anything in it.
func begin(out string) error {
	if err := os.Mkdir(out, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	names, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%s %w", out, ErrNotEmpty)
	}
	return os.Mkdir(filepath.Join(out, ".run"), 0o700)
}

// describe copies what the trace says of itself as a whole, which is in its
// final state once the process has stopped recording.
func (s *source) describe(out string) error {
	// The execution trace first: it may lose its oldest part meanwhile.
	if err := s.copyRuntimeTrace(out); err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(".run", "process.json"), "metadata"} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) && name != "metadata" {
			continue
		} else if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// copyRuntimeTrace copies the generations of the runtime's execution trace that
// are new or have grown.
func (s *source) copyRuntimeTrace(out string) error {
	paths, err := filepath.Glob(filepath.Join(s.dir, ".run", "go-*.trace"))
	for _, path := range paths {
		err = errors.Join(err, copyGrown(filepath.Join(out, ".run", filepath.Base(path)), path))
	}
	return err
}

// copyGrown copies a file, unless it has been removed or the copy is as long.
func copyGrown(to, from string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer in.Close()
	now, err := in.Stat()
	if err != nil {
		return err
	}
	if was, err := os.Stat(to); err == nil && was.Size() == now.Size() {
		return nil
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Save copies a trace as it is at one moment into a new directory: all events
// up to then that its rings still have.
func Save(out, dir string) (Report, error) {
	var report Report
	s, err := openSource(dir)
	if err != nil {
		return report, err
	}
	defer s.close()
	if err := begin(out); err != nil {
		return report, err
	}
	if err := s.find(); err != nil {
		return report, err
	}
	until := uint64(0)
	for _, f := range s.slots {
		if h, ok := s.header(f); ok {
			until = max(until, h.End())
		}
	}
	if err := s.copySlots(out, until, &report); err != nil {
		return report, err
	}
	return report, s.describe(out)
}

// savers is how many files are copied at a time: most of the time goes into
// the system's copying, which two processors do in half of it.
const savers = 4

// copySlots copies all slots, up to a time.
func (s *source) copySlots(out string, until uint64, total *Report) error {
	work := make(chan *slot)
	results := make(chan result)
	for range savers {
		go func() {
			var r result
			for f := range work {
				if r.err == nil {
					r.err = s.copySlot(out, f, until, &r)
				}
			}
			results <- r
		}()
	}
	for _, f := range s.slots {
		work <- f
	}
	close(work)
	var errs []error
	for range savers {
		r := <-results
		total.Packets += r.Packets
		total.Bytes += r.Bytes
		total.Overwritten += r.Overwritten
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}

// result is what one of them did, and the memory that it does it in.
type result struct {
	Report
	err error
	buf []byte
}

func (s *source) copySlot(out string, f *slot, until uint64, r *result) error {
	h, ok := s.header(f)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err == nil && int64(h.Size()/8) < info.Size() {
		return s.copyFile(out, f, &r.Report)
	}
	data, err := native.Copy(f, 0, r.buf)
	switch {
	case errors.Is(err, native.ErrOverwritten):
		r.Overwritten++
		return nil
	case len(data) < packet.HeaderSize:
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	r.buf = data
	if packet.Header(data).Begin() > until {
		r.Overwritten++ // it was, and what is there now is too new
		return nil
	}
	if data = native.Trim(s.trace, data, until); len(data) == packet.HeaderSize {
		return nil
	}
	if err := os.WriteFile(filepath.Join(out, f.name), data, 0o600); err != nil {
		return err
	}
	r.Packets++
	r.Bytes += int64(len(data))
	return nil
}

// copyFile copies a file of many packets, which only ever grows.
func (s *source) copyFile(out string, f *slot, report *Report) error {
	w, err := os.OpenFile(filepath.Join(out, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		w.Close()
		return err
	}
	for offset := int64(0); offset < info.Size() && err == nil; {
		var data []byte
		if data, err = native.Copy(f, offset, nil); err != nil {
			break
		}
		offset += int64(packet.Header(data).Size() / 8)
		data = native.Trim(s.trace, data, math.MaxUint64)
		_, err = w.Write(data)
		report.Packets++
		report.Bytes += int64(len(data))
	}
	return errors.Join(err, w.Close())
}
