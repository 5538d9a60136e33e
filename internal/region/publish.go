package region

import (
	"sync/atomic"
	"unsafe"
)

// publish writes the magic, behind everything else that was written: its
// second half first, and then what makes it one.
func publish(mem []byte) {
	var words [2]uint64
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&words)), len(magic)), magic)
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&mem[8])), words[1])
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&mem[0])), words[0])
}
