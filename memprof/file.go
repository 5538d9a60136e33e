package memprof

import (
	"fmt"
	"os"
)

// file is an outlet to a file. After an error it takes nothing more, and what
// it has of a packet that did not fit is cut off.
type file struct {
	f     *os.File
	begun bool
	size  int64 // of the packets that are whole
	err   error
}

func createFile(name string) (*file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the trace: %w", err)
	}
	return &file{f: f}, nil
}

func (o *file) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.f.Write(p)
	if err != nil {
		o.err = fmt.Errorf("write the trace: %w", err)
		o.f.Truncate(o.size) // no use for the error: a reader copes with the rest, too
		return n, o.err
	}
	o.size += int64(n)
	return n, nil
}

func (o *file) turn(int) (begin, end bool) {
	begin = !o.begun
	o.begun = true
	return begin, o.err != nil
}

func (o *file) room() bool     { return true }
func (o *file) complete()      {}
func (o *file) doubtful() bool { return false }

func (o *file) close() error {
	err := o.f.Close()
	if o.err != nil {
		return o.err
	}
	return err
}
