//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Writer writes the files. It is not for concurrent use.
type Writer struct {
	folder string
	size   int
	number int // of the present file
	oldest int // that is still there
	name   string
	mem    []byte
	used   int
	stored atomic.Uint32
	err    error
}

// errFull is what Write returns when Full should have been asked before.
var errFull = errors.New("the file is full")

// Create prepares dir, which is made when it is not there, for files of size
// bytes; 0 is 16 MiB. The first file is made by Next.
func Create(dir string, size int) (*Writer, error) {
	folder := filepath.Join(dir, Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create a memory trace: %w", err)
	}
	if size <= 0 {
		size = defaultSize
	}
	w := &Writer{folder: folder, size: max(size, leastSize), oldest: 1}
	// Files of a process that had our number are none of ours.
	files, err := Find(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.PID == os.Getpid() {
			w.number = max(w.number, f.Number)
			w.oldest = w.number + 1
		}
	}
	return w, nil
}

// Next begins the next file, which is going to tell of so many objects first.
func (w *Writer) Next(objects int) error {
	if err := w.finish(); err != nil {
		return err
	}
	page := os.Getpagesize()
	size := (max(w.size, leastSize+4*bytesOfObject*objects) + page - 1) / page * page
	name := filepath.Join(w.folder, Name(os.Getpid(), w.number+1))
	mem, err := create(name, size)
	if err != nil {
		w.err = fmt.Errorf("create a memory trace: %w", err)
		return w.err
	}
	w.number++
	w.name, w.mem, w.used = name, mem, 0
	return nil
}

// create makes a file whose every byte has its place on the disk: to store
// into a hole when the disk is full would kill the program.
func create(name string, size int) (mem []byte, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(name)
		}
	}()
	if err := allocate(f, size); err != nil {
		return nil, err
	}
	mem, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", name, err)
	}
	return mem, nil
}

// zeros writes a file full of them.
func zeros(f *os.File, size int) error {
	block := make([]byte, 64<<10)
	for at := 0; at < size; at += len(block) {
		if _, err := f.WriteAt(block[:min(len(block), size-at)], int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// Full reports whether no more than so many bytes fit into the file.
func (w *Writer) Full(bytes int) bool { return w.mem == nil || len(w.mem)-w.used <= bytes }

// Write stores a packet whole.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if len(p) < 8 || len(p) > len(w.mem)-w.used {
		return 0, errFull
	}
	b := w.mem[w.used:]
	copy(b[4:], p[4:])
	// A kill is between two instructions, so that a store of four bytes is
	// made or not. The atomic one keeps the compiler from making this before
	// the others.
	w.stored.Store(uint32(len(p)))
	*(*uint32)(unsafe.Pointer(&b[0])) = binary.NativeEndian.Uint32(p)
	w.used += len(p)
	return len(p), nil
}

// Complete says that the file has the objects that it began with. Those
// before the one before it are removed.
func (w *Writer) Complete() {
	for ; w.oldest < w.number-1; w.oldest++ {
		os.Remove(filepath.Join(w.folder, Name(os.Getpid(), w.oldest)))
	}
}

// finish gives the present file its length.
func (w *Writer) finish() error {
	if w.mem == nil {
		return nil
	}
	err := syscall.Munmap(w.mem)
	w.mem = nil
	if err := os.Truncate(w.name, int64(w.used)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finish a memory trace: %w", err)
	}
	return err
}

// Close ends the last file. The files stay.
func (w *Writer) Close() error {
	err := w.finish()
	if w.err != nil {
		return w.err
	}
	return err
}
