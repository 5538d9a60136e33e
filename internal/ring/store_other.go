//go:build !amd64

package ring

import (
	"sync/atomic"
	"unsafe"
)

// store is a store that overtakes no earlier one.
//
//go:norace
func store(p unsafe.Pointer, off uintptr, word uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Add(p, off)), word)
}

// storeTimes stores a packet's times. A process that is killed between the two
// leaves an empty packet that ends before it begins, which our reader forgives.
//
//go:norace
func storeTimes(p unsafe.Pointer, begin, end uint64) {
	store(p, 0, begin)
	store(p, 8, end)
}
