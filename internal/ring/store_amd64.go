package ring

import "unsafe"

// store is a store that no later one overtakes: any, on this processor.
//
//go:norace
func store(p unsafe.Pointer, off uintptr, word uint64) { *(*uint64)(unsafe.Add(p, off)) = word }

// storeTimes stores two words by one instruction.
//
//go:noescape
func storeTimes(p unsafe.Pointer, begin, end uint64)
