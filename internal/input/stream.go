//go:build !js

package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Stream is an input that is read from front to back and takes no memory in
// proportion to its size: standard input, a pipe, or what is packed with gzip
// or zstd, unpacked. Close it after reading. It is not for concurrent use.
type Stream struct {
	Path string // as the caller named it
	Size int64  // bytes read so far
	Cut  error  // why unpacking ended early, once Read has returned io.EOF

	r      *bufio.Reader
	packed bool
	close  []func()
}

// OpenStream opens path, or stdin as [Open] does, for reading from front to
// back. It returns nil for what Open does not hold in memory but maps, a file
// that is not packed. The error is an [*Error].
func OpenStream(path string, stdin io.Reader) (*Stream, error) {
	s := &Stream{Path: path}
	err := s.open(stdin)
	if err == nil && s.r != nil {
		return s, nil
	}
	s.Close()
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err // the path stands in our error already
		}
		return nil, &Error{path, -1, err}
	}
	return nil, nil
}

func (s *Stream) open(stdin io.Reader) error {
	from, mapped := stdin, false
	if s.Path != "-" && !strings.HasPrefix(s.Path, "http://") && !strings.HasPrefix(s.Path, "https://") {
		file, err := os.Open(s.Path)
		if err != nil {
			return err
		}
		s.close = append(s.close, func() { file.Close() })
		info, err := file.Stat()
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return ErrDirectory
		}
		from, mapped = file, info.Mode().IsRegular()
	}
	r := bufio.NewReaderSize(from, 64<<10)
	head, err := r.Peek(4)
	if len(head) == 0 {
		if err == nil || err == io.EOF {
			err = ErrEmpty
		}
		return err
	}
	return s.unpack(r, head, mapped)
}

// unpack sets s.r, unless the input is mapped and not packed.
func (s *Stream) unpack(r *bufio.Reader, head []byte, mapped bool) error {
	var from io.Reader
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		z, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		from = z
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		s.close = append(s.close, z.Close)
		from = z
	case mapped:
		return nil
	default:
		s.r = r
		return nil
	}
	s.packed = true
	s.r = bufio.NewReaderSize(from, 64<<10)
	if head, err := s.r.Peek(1); len(head) == 0 {
		if err == io.EOF {
			return ErrEmpty
		}
		return fmt.Errorf("unpack: %w", err)
	}
	return nil
}

// Peek returns the next bytes without reading them, fewer than n when the
// input ends before.
func (s *Stream) Peek(n int) []byte {
	head, _ := s.r.Peek(n)
	return head
}

// Read reads what comes next. What is damaged inside a packed input ends it:
// see Cut.
func (s *Stream) Read(p []byte) (n int, err error) {
	n, err = s.r.Read(p)
	s.Size += int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	if s.packed {
		s.Cut = err
		return n, io.EOF
	}
	return n, &Error{s.Path, s.Size, err}
}

// All reads the rest into memory, as far as [Open] would.
func (s *Stream) All() (*File, error) {
	data, err := readAll(s)
	if errors.Is(err, ErrTooLarge) {
		err = &Error{s.Path, -1, fmt.Errorf("unpack: %w", err)}
	}
	if err != nil {
		return nil, err
	}
	return &File{Path: s.Path, Data: data, Cut: s.Cut}, nil
}

// Close closes the file.
func (s *Stream) Close() {
	for _, f := range s.close {
		f()
	}
	s.close = nil
}
