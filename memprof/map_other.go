//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package memprof

// mapMemory returns memory, all zero. Here it is part of the Go heap.
func mapMemory(size int) ([]byte, error) { return make([]byte, size), nil }

func unmapMemory([]byte) error { return nil }
