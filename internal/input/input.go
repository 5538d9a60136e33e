// Package input opens what a command was told to read: a file, mapped into
// memory; standard input, named "-"; either compressed with gzip or zstd,
// which is seen from its first bytes.
//
// There are few types: a [File] is an opened input, all of its bytes in
// memory; a [Stream] is one that is read from front to back and kept nowhere;
// an [Error] says what went wrong with which file, and where in it.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"unsafe"
)

// MaxUnpacked is how many bytes a compressed input, or standard input, may
// have once unpacked: it has to fit into memory.
const MaxUnpacked int64 = 16 << 30

// Error is a failure to open or read an input.
type Error struct {
	Path   string // as the caller named it
	Offset int64  // where in the file, in bytes; -1 when that means nothing
	Err    error
}

func (e *Error) Error() string {
	if e.Offset >= 0 {
		return fmt.Sprintf("%s: offset %d: %v", e.Path, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Errors that a caller may want to tell apart.
var (
	ErrDirectory = errors.New("is a directory")
	ErrEmpty     = errors.New("is empty")
	ErrShrank    = errors.New("the file became shorter while it was read")
	ErrTooLarge  = fmt.Errorf("more than %d GiB", MaxUnpacked>>30)
)

// File is an opened input. Close it when its bytes are no longer needed.
type File struct {
	Path string // as the caller named it
	Data []byte // may be mapped: read it inside [File.Read]
	Cut  error  // why unpacking ended early, when Data is not all there was

	unmap func() error
}

// Open opens path; stdin is read to its end when path is "-", or a URL that
// the caller has fetched. The error is an [*Error].
func Open(path string, stdin io.Reader) (*File, error) {
	f, err := open(path, stdin)
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err // the path stands in our error already
		}
		return nil, &Error{path, -1, err}
	}
	return f, nil
}

func open(path string, stdin io.Reader) (*File, error) {
	if path == "-" || strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		data, err := readAll(stdin)
		if err != nil {
			return nil, err
		}
		return unpack(&File{Path: path, Data: data})
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, ErrDirectory
	case !info.Mode().IsRegular():
		data, err := readAll(file)
		if err != nil {
			return nil, err
		}
		return unpack(&File{Path: path, Data: data})
	case info.Size() == 0:
		return nil, ErrEmpty
	}
	data, unmap, err := mapFile(file, info.Size())
	if err != nil {
		return nil, err
	}
	return unpack(&File{Path: path, Data: data, unmap: unmap})
}

// Close gives the memory back. Data must not be used afterwards.
func (f *File) Close() error {
	f.Data = nil
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap = nil
	return unmap()
}

// Read calls fn, which may touch f.Data. When the file has become shorter
// under fn's hands, so that memory is gone that was there, fn ends and Read
// returns an [*Error] that wraps [ErrShrank].
func (f *File) Read(fn func() error) (err error) {
	if f.unmap == nil {
		return fn()
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface{ Addr() uintptr })
		if !ok {
			panic(r)
		}
		offset := int64(fault.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(f.Data))))
		if offset < 0 || offset >= int64(len(f.Data)) {
			panic(r)
		}
		err = &Error{f.Path, offset, ErrShrank}
	}()
	return fn()
}

// unpack replaces a compressed file by what is in it.
func unpack(f *File) (*File, error) {
	var data []byte
	var packed bool
	err := f.Read(func() (err error) {
		switch {
		case bytes.HasPrefix(f.Data, []byte("\x1f\x8b\x08")):
			packed = true
			data, err = gunzip(f.Data)
		case bytes.HasPrefix(f.Data, []byte("\x28\xb5\x2f\xfd")):
			packed = true
			data, err = unzstd(f.Data)
		}
		return err
	})
	if errors.Is(err, ErrShrank) || errors.Is(err, ErrTooLarge) || err != nil && len(data) == 0 {
		f.Close()
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if !packed {
		if len(f.Data) == 0 {
			return nil, ErrEmpty
		}
		return f, nil
	}
	f.Close()
	if len(data) == 0 {
		return nil, ErrEmpty
	}
	return &File{Path: f.Path, Data: data, Cut: err}, nil
}

// readAll reads to the end, but not past [MaxUnpacked]. What was read before
// an error is returned with it.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxUnpacked+1))
	if int64(len(data)) > MaxUnpacked {
		return nil, ErrTooLarge
	}
	return data, err
}
