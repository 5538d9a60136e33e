//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package ring

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allocate gives a new file size bytes, all of which it can be written to.
func allocate(f *os.File, size int64) error {
	if err := fits(size); err != nil {
		return err
	}
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return fillWithZeros(f, size)
		}
		return err
	}
}

// populate makes sure that no write to the size bytes at p faults, first
// writes least of all.
func populate(p unsafe.Pointer, size int) {
	if unix.Madvise(unsafe.Slice((*byte)(p), size), unix.MADV_POPULATE_WRITE) != nil {
		touch(p, size) // before Linux 5.14
	}
}
