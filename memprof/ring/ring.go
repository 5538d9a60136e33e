// Package ring keeps a memory trace in files of bounded size that are there
// when the program has been killed.
//
// There are two types: [Writer] is used by package memprof, and [File] is one
// of the files that [Find] finds in a trace directory.
//
// The files are in the directory's folder .run, and are called
// mem-PID-NUMBER.memtrace: each is a memory trace of its own. It is mapped
// into the program's memory, so that what is stored is the system's, and
// survives the program. A packet is stored but for its first four bytes, and
// then these at once: a packet that does not begin with the magic number is
// not there yet, and zeros follow it to the end of the file. When a file is
// full the next one is begun, with the objects that live, each at the time of
// its birth. Once these have all been told, the file before the last is
// removed; so there are two files most of the time, and the last two have all
// that happened since the older of them was begun.
package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/memprof/note"
)

// Folder is where the files are in a trace directory.
const Folder = ".run"

const (
	magic         = 0xC1FC1FC1
	maxPacket     = 32768
	defaultSize   = 16 << 20
	leastSize     = 1 << 20
	bytesOfObject = 24 // that an object takes to be told, about
)

// ErrUnsupported is returned where files cannot be mapped.
var ErrUnsupported = errors.New("files cannot be mapped on this system")

// Name returns the name of a file in Folder.
func Name(pid, number int) string { return fmt.Sprintf("mem-%d-%d.memtrace", pid, number) }

// File is a trace, or what there is of it, in a trace directory.
type File struct {
	Path     string
	PID      int
	Number   int   // of the file: the higher, the later
	Size     int64 // bytes from the start of the file that are packets
	Complete bool  // it has all the objects that lived when it was begun
}

// Find returns the files in a trace directory, those of one process in the
// order in which they were written. The last that is complete has all that
// lives; the one before it has more of what came before. A directory without
// any is no error.
func Find(dir string) ([]File, error) {
	folder := filepath.Join(dir, Folder)
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find memory traces: %w", err)
	}
	var files []File
	for _, e := range list {
		f := File{Path: filepath.Join(folder, e.Name())}
		rest, ok := strings.CutPrefix(e.Name(), "mem-")
		rest, ok2 := strings.CutSuffix(rest, ".memtrace")
		pid, number, ok3 := strings.Cut(rest, "-")
		if !ok || !ok2 || !ok3 || !e.Type().IsRegular() {
			continue
		}
		if f.PID, err = strconv.Atoi(pid); err != nil {
			continue
		}
		if f.Number, err = strconv.Atoi(number); err != nil {
			continue
		}
		if err := f.measure(); err != nil {
			return nil, fmt.Errorf("find memory traces: %w", err)
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int {
		if a.PID != b.PID {
			return a.PID - b.PID
		}
		return a.Number - b.Number
	})
	return files, nil
}

// measure finds out how much of the file is packets.
func (f *File) measure() error {
	b, err := os.ReadFile(f.Path)
	if err != nil {
		return err
	}
	begun := false // with objects that lived already: then a note says when they are all told
	for at := 0; ; {
		rest := b[at:]
		if len(rest) < note.HeaderSize || binary.LittleEndian.Uint32(rest) != magic {
			f.Size = int64(at)
			f.Complete = f.Complete || at > 0 && !begun
			return nil
		}
		size := int(binary.LittleEndian.Uint32(rest[4:]) / 8)
		if size < note.HeaderSize || size > maxPacket || size > len(rest) {
			f.Size = int64(at)
			return nil
		}
		if note.Is(rest) {
			note.Parse(rest[:size], func(n note.Note) {
				switch n.Kind {
				case note.Beginning:
					begun = true
				case note.Complete:
					f.Complete = true
				}
			})
		}
		at += size
	}
}

// ReadFile returns the packets of a file.
func (f *File) ReadFile() ([]byte, error) {
	b, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	return b[:min(int64(len(b)), f.Size)], nil
}
