// Package generations keeps a Go execution trace of any length in bounded
// space: whole generations of it, the newest, a file each.
//
// There are few types: a [Keeper] is the writer that runtime/trace.Start
// wants; [Open] gives what it kept as one trace again.
//
// # Bytes
//
// A trace, as the runtime writes it since Go 1.22, is a header of 16 bytes and
// a run of batches:
//
//	"go 1.26 trace\0\0\0" | batch | batch | …
//
//	batch = 1  u8 | generation | M | time | size | size bytes
//	      | 49 u8 | experiment u8 | generation | M | time | size | size bytes
//	      | 52 u8                      the end of a generation, since Go 1.26
//
// where what has no width is a varint. The runtime begins a new generation
// each second or so, and ends the old one before; a generation needs nothing
// of those before it. So each goes to a file of its own, behind a copy of the
// header, and is a trace by itself. The files are go-000001.trace and so on
// and are the index: a name with a lower number is an earlier time.
//
// The source of the format is Go's internal/trace.
package generations

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	headerSize = 16

	eventBatch        = 1
	experimentalBatch = 49
	endOfGeneration   = 52

	maxBatchHeader = 2 + 4*binary.MaxVarintLen64
	maxBatch       = 1 << 20 // the runtime's are 64 KiB
)

// Keeper is a writer that keeps the newest whole generations of the execution
// trace written to it. It never fails its caller: when it cannot write, it
// keeps what it has, and Close says why. It may be used by one goroutine.
type Keeper struct {
	dir   string
	limit int64

	header     []byte
	pending    []byte // of a batch that has not come whole
	generation uint64 // the one being written, if file is not nil
	ended      bool   // whether the file's generation has ended
	skipped    bool   // whether the generation is larger than limit
	file       *os.File
	number     int
	size       int64
	kept       []kept // the oldest first, without the one being written
	keptSize   int64
	err        error
}

type kept struct {
	path string
	size int64
}

// NewKeeper keeps generations in a directory, which must be there: as many
// whole ones as fit into limit bytes, and the one being written beside them. A
// generation that is larger than limit by itself is not kept; nothing of it
// could be read without its end. It removes what an earlier Keeper left there.
func NewKeeper(dir string, limit int64) (*Keeper, error) {
	old, err := names(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return &Keeper{dir: dir, limit: limit}, nil
}

// Write takes the next bytes of the trace, in any portions.
func (k *Keeper) Write(p []byte) (int, error) {
	if k.err != nil {
		return len(p), nil
	}
	data := p
	if len(k.pending) > 0 {
		k.pending = append(k.pending, p...)
		data = k.pending
	}
	rest, err := k.take(data)
	if err != nil {
		k.err = err
		return len(p), nil
	}
	k.pending = append(k.pending[:0], rest...)
	return len(p), nil
}

// take writes all whole batches in data and returns what follows them.
func (k *Keeper) take(data []byte) (rest []byte, err error) {
	if k.header == nil {
		if len(data) < headerSize {
			return data, nil
		}
		if !bytes.HasPrefix(data, []byte("go 1.")) {
			return nil, fmt.Errorf("not an execution trace: it starts with %q", data[:headerSize])
		}
		k.header = bytes.Clone(data[:headerSize])
		data = data[headerSize:]
	}
	for len(data) > 0 {
		n, generation, err := batch(data)
		if err != nil {
			return nil, err
		}
		if n == 0 || n > len(data) {
			break
		}
		if data[0] == endOfGeneration {
			generation = k.generation
		}
		if k.number == 0 || k.ended || generation != k.generation {
			if err := k.next(generation); err != nil {
				return nil, err
			}
		}
		if err := k.keep(data[:n]); err != nil {
			return nil, err
		}
		k.ended = data[0] == endOfGeneration
		data = data[n:]
	}
	return data, nil
}

// keep writes a batch of the current generation, unless that is too large.
func (k *Keeper) keep(batch []byte) error {
	if k.skipped {
		return nil
	}
	if k.size+int64(len(batch)) > k.limit {
		k.skipped = true
		path := k.file.Name()
		err := k.file.Close()
		k.file = nil
		if removeErr := os.Remove(path); err == nil {
			err = removeErr
		}
		return err
	}
	n, err := k.file.Write(batch)
	k.size += int64(n)
	return err
}

// batch returns how long the batch at the start of data is, and which
// generation it is of; n is 0 when there is not enough of it to know.
func batch(data []byte) (n int, generation uint64, err error) {
	switch data[0] {
	case endOfGeneration:
		return 1, 0, nil
	case eventBatch:
		n = 1
	case experimentalBatch:
		n = 2
	default:
		return 0, 0, fmt.Errorf("batch of unknown type %d", data[0])
	}
	var fields [4]uint64 // generation, M, time, size
	for i := range fields {
		if n > len(data) {
			return 0, 0, nil
		}
		v, width := binary.Uvarint(data[n:])
		if width < 0 || width == 0 && len(data) >= maxBatchHeader {
			return 0, 0, fmt.Errorf("batch with a malformed header")
		}
		if width == 0 {
			return 0, 0, nil
		}
		fields[i] = v
		n += width
	}
	if fields[3] > maxBatch {
		return 0, 0, fmt.Errorf("batch of %d bytes", fields[3])
	}
	return n + int(fields[3]), fields[0], nil
}

// next ends the file of one generation and begins that of another.
func (k *Keeper) next(generation uint64) error {
	if err := k.finish(); err != nil {
		return err
	}
	k.number++
	path := filepath.Join(k.dir, fmt.Sprintf("go-%06d.trace", k.number))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	k.file, k.generation, k.size = f, generation, headerSize
	k.ended, k.skipped = false, false
	_, err = f.Write(k.header)
	return err
}

// finish closes the file being written, and removes the oldest ones until the
// others fit.
func (k *Keeper) finish() error {
	if k.file == nil {
		return nil
	}
	path := k.file.Name()
	err := k.file.Close()
	k.file = nil
	k.kept = append(k.kept, kept{path, k.size})
	k.keptSize += k.size
	for k.keptSize > k.limit {
		if removeErr := os.Remove(k.kept[0].path); err == nil {
			err = removeErr
		}
		k.keptSize -= k.kept[0].size
		k.kept = k.kept[1:]
	}
	return err
}

// Close ends the last file and returns the first error, if there was one.
func (k *Keeper) Close() error {
	err := k.finish()
	if k.err != nil {
		return k.err
	}
	return err
}

// names returns the files that a Keeper made, the oldest first.
func names(dir fs.FS) ([]string, error) {
	all, err := fs.Glob(dir, "go-*.trace")
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return all, err
}

// Open returns what a Keeper kept in a directory, which a process may still be
// writing to, as the bytes of one trace; nil if there is nothing.
func Open(dir fs.FS) ([]byte, error) {
	all, err := names(dir)
	if err != nil {
		return nil, err
	}
	var trace []byte
	for _, name := range all {
		data, err := read(dir, name)
		if err != nil {
			return nil, err
		}
		if len(data) <= headerSize {
			continue // removed meanwhile, or just begun
		}
		if trace == nil {
			trace = data
			continue
		}
		trace = append(trace, data[headerSize:]...)
	}
	return trace, nil
}

// read reads a file; one that has been removed meanwhile is empty.
func read(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, nil
		}
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
