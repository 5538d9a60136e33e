//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package memprof

import (
	"fmt"
	"syscall"
)

// mapMemory returns memory outside the Go heap, all zero.
func mapMemory(size int) ([]byte, error) {
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of memory: %w", size, err)
	}
	return mem, nil
}

func unmapMemory(mem []byte) error {
	if mem == nil {
		return nil
	}
	return syscall.Munmap(mem)
}
