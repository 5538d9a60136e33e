//go:build darwin && (amd64 || arm64)

package ring

import (
	"os"
	"unsafe"
)

// allocate gives a new file size bytes, all of which it can be written to.
func allocate(f *os.File, size int64) error {
	if err := fits(size); err != nil {
		return err
	}
	return fillWithZeros(f, size)
}

// populate makes sure that no first write to the size bytes at p faults.
func populate(p unsafe.Pointer, size int) { touch(p, size) }
