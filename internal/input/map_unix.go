//go:build unix

package input

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file that another process may be writing to.
func mapFile(file *os.File, size int64) ([]byte, func() error, error) {
	if size > math.MaxInt {
		return nil, nil, ErrTooLarge
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		data, err := readAll(file) // some file systems cannot map
		return data, nil, err
	}
	return data, func() error { return unix.Munmap(data) }, nil
}
