package memprof

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapMemory returns memory outside the Go heap, all zero.
func mapMemory(size int) ([]byte, error) {
	addr, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of memory: %w", size, err)
	}
	// The address is not one that the collector knows.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), size), nil
}

func unmapMemory(mem []byte) error {
	if mem == nil {
		return nil
	}
	return windows.VirtualFree(uintptr(unsafe.Pointer(&mem[0])), 0, windows.MEM_RELEASE)
}
