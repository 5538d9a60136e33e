// Package guest gives a program in a virtual machine memory to record into
// that is seen from outside of the machine, also when the machine hangs, has
// crashed or is gone.
//
// There are few types: [Memory] is such memory; [Held] is memory that outlives
// the program. What it is made of is said by a
// destination, as people write it into the variable MIRADOR:
//
//	file:PATH          a file, on a DAX file system of a virtio-pmem device, say
//	ivshmem:           the ivshmem device of the machine
//	ivshmem:ADDRESS    that one of several, by its PCI address: 0000:00:04.0
//	xen:               pages that domain 0 may map
//	xen:DOMAIN         pages that another domain may map, by its number
//	vsock:CID:PORT     nothing that is seen: packets are sent there as they come
//	memory:            memory of the process without a name, for core files,
//	                   images of the machine's memory, and "mirador hold"
//
// Package region says how a trace lies in it. doc/guests.md says which one to
// use where.
//
// # Held memory
//
// The pages of xen: and memory: vanish with the last process that has them
// open. "mirador hold" is a process that makes them and passes them on; then
// the variable MIRADOR_HELD has DESCRIPTOR:OFFSET:SIZE and [Open] takes those.
package guest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Memory is memory that others see. It is not safe for concurrent use, but its
// Bytes are what they are.
type Memory struct {
	Bytes []byte

	// Note is for who wants to know where the trace is.
	Note string

	release func() error
}

// Release takes the memory away from this process, which must not touch Bytes
// any more.
func (m *Memory) Release() error { return m.release() }

// HeldVariable is the environment variable with which "mirador hold" passes
// memory on.
const HeldVariable = "MIRADOR_HELD"

var kinds = []string{"file", "ivshmem", "xen", "vsock", "memory"}

// Is reports whether a destination is one for this package. A path is none,
// unless it begins with one of its words and a colon.
func Is(destination string) bool {
	kind, _, ok := strings.Cut(destination, ":")
	if !ok {
		return false
	}
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// Held is memory that is passed on to programs.
type Held struct {
	file   *os.File
	offset int64
	size   int64
	close  func() error
}

// Hold makes the memory for a destination, xen: or memory:, that a program
// then gets by being started with what [Held.Pass] returns.
func Hold(destination string, size int64) (*Held, error) {
	kind, rest, _ := strings.Cut(destination, ":")
	switch {
	case kind == "xen":
		s, err := ShareXen(rest, size)
		if err != nil {
			return nil, describe(destination, err)
		}
		f, offset := s.Descriptor()
		return &Held{f, offset, s.Size(), s.Close}, nil
	case destination == "memory:":
		f, err := MakeMemory(size)
		if err != nil {
			return nil, describe(destination, err)
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, describe(destination, err)
		}
		return &Held{f, 0, info.Size(), f.Close}, nil
	}
	return nil, describe(destination, errors.New("needs no holding, only xen: and memory: do"))
}

// Pass returns the file that a program is given as its descriptor 3, and the
// variable that says so.
func (h *Held) Pass() (f *os.File, variable string) {
	return h.file, fmt.Sprintf("%s=3:%d:%d", HeldVariable, h.offset, h.size)
}

// Close gives the memory up.
func (h *Held) Close() error { return h.close() }

// Sizes that are used if none is asked for, in bytes.
const (
	defaultSize    = 16 << 20 // of files and memory
	defaultXenSize = 2 << 20  // half of what a guest may grant
)

var errUnsupported = errors.New("this operating system cannot do that")

// pages rounds a size down to whole pages.
func pages(size int64) int64 { return size &^ 4095 }

func describe(destination string, err error) error {
	return fmt.Errorf("%s: %w", strings.TrimSuffix(destination, ":"), err)
}
