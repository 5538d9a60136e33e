// Package format opens traces whatever their format: it looks at a file's
// first bytes and hands it to the reader that knows them.
//
// There are few types: a [Trace] is an opened file; its [Events] are read one
// by one, from the start as often as one likes; an [Unknown] is the error for
// a file that is no trace.
package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/region"
)

// The names of the formats.
const (
	Mirage = "mirage"  // mirage-profile's
	Native = "mirador" // our own
	Go     = "go"      // Go execution traces
)

// Events gives a trace's events in the order in which they happened.
type Events interface {
	// Next overwrites e with the next event and reports whether there was one.
	Next(e *event.Event) bool
	// Damage returns what could not be read so far; all of it once Next has
	// returned false.
	Damage() []event.Damage
}

// Trace is an opened trace. Close it when its events are no longer needed.
type Trace struct {
	Path   string // as the caller named it
	Format string // one of the names above
	Size   int64  // bytes, unpacked; 0 for a directory

	// Regions are those that were found in the file, if it is no trace by
	// itself, the newest first. The newest is read.
	Regions []*region.Region

	file *input.File
	dir  fs.FS          // instead of file, or in it if that is a tar file
	torn []event.Damage // what of a region could not be copied
}

// Unknown is the error for a file that is no trace that this program reads.
type Unknown struct {
	Path string
	Like string // what it looks like, or ""
}

func (e *Unknown) Error() string {
	if e.Like != "" {
		return fmt.Sprintf("%s: %s", e.Path, e.Like)
	}
	return e.Path + ": not a trace"
}

// Open opens a trace, a file or a directory, which may be in a tar file; stdin is read when path is "-".
// Nothing is decoded yet. The error is an [*input.Error] or an [*Unknown].
func Open(path string, stdin io.Reader) (*Trace, error) {
	file, err := input.Open(path, stdin)
	if errors.Is(err, input.ErrDirectory) {
		if dir := os.DirFS(path); native.Is(dir) {
			return &Trace{Path: path, Format: Native, dir: dir}, nil
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	t := &Trace{Path: path, Size: int64(len(file.Data)), file: file}
	if err := file.Read(t.sniff); err != nil {
		file.Close()
		return nil, err
	}
	return t, nil
}

// OpenBytes is [Open] for a file that lies in memory, unpacked.
func OpenBytes(path string, data []byte) (*Trace, error) {
	t := &Trace{Path: path, Size: int64(len(data)), file: &input.File{Path: path, Data: data}}
	return t, t.sniff()
}

func (t *Trace) sniff() error {
	switch data := t.file.Data; {
	case bytes.HasPrefix(data, []byte("\xc1\x1f\xfc\xc1")) && !mirage.Is(data) && isMemtrace(data):
		return &Unknown{t.Path, "a memtrace trace, of allocations and not of threads"}
	case gotrace.Is(data):
		t.Format = Go
		return nil
	case isTar(data):
		if t.dir = tarTrace(data); t.dir != nil {
			t.Format = Native
			return nil
		}
	case mirage.Is(data):
		t.Format = Mirage
		return nil
	default:
		if ok, err := t.findRegion(data); ok || err != nil {
			return err
		}
		if mirage.Within(data) {
			t.Format = Mirage
			return nil
		}
	}
	return &Unknown{Path: t.Path}
}

// isMemtrace reports whether a CTF packet's start has memtrace's header: a
// size that is whole bytes, and one of its versions.
func isMemtrace(data []byte) bool {
	return len(data) >= 30 && data[4]%8 == 0 && data[29] == 0 && data[28] >= 1 && data[28] <= 3
}

// Close gives the memory of the file back. Events must not be used afterwards.
func (t *Trace) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// Read calls fn with the events from the first on. When the file becomes
// shorter meanwhile, fn ends early and the error is an [*input.Error].
func (t *Trace) Read(fn func(Events) error) error {
	read := func() error {
		events, err := t.events()
		if err != nil {
			return &input.Error{Path: t.Path, Offset: -1, Err: err}
		}
		return fn(events)
	}
	if t.file == nil {
		return read()
	}
	return t.file.Read(read)
}

func (t *Trace) events() (Events, error) {
	if len(t.Regions) > 0 {
		return t.regionEvents()
	}
	switch t.Format {
	case Native:
		own, err := native.NewReader(t.dir)
		if err != nil {
			return nil, err
		}
		return join(t.dir, own), nil
	case Go:
		return gotrace.NewReader(t.file.Data)
	}
	return mirage.NewReader(t.file.Data)
}

// Damage returns what of the trace could not be read: what its events tell,
// once they were all read, and where the file could not be unpacked further.
func (t *Trace) Damage(events Events) []event.Damage {
	damage := slices.Concat(t.torn, events.Damage())
	if t.file != nil && t.file.Cut != nil {
		damage = append(slices.Clip(damage), event.Damage{Offset: t.Size, What: "unpack: " + t.file.Cut.Error()})
	}
	return damage
}

// Pack writes the trace, unpacked, as one file that [OpenBytes] takes.
func (t *Trace) Pack(w io.Writer) error {
	if t.file == nil {
		return packTar(w, t.dir)
	}
	return t.file.Read(func() error {
		if len(t.Regions) > 0 {
			dir, _ := t.Regions[0].Directory() // what is torn in it is told by who reads it
			return packTar(w, dir)
		}
		_, err := w.Write(t.file.Data)
		return err
	})
}
