package memprof

import _ "unsafe" // for go:linkname

// hooks is the way to the runtime's log of sampled objects. In a program
// built by "mirador go" the runtime has a variable of this name with a value,
// and the linker takes that; in any other build it stays as it is here,
// empty. Its type is that of miradorTable in internal/overlay.
//
//go:linkname hooks
var hooks struct {
	version uint64
	start   func(base, size uintptr, interval int64) (id uint64, cycle uint32)
	stop    func()
	take    func() (first uintptr, cycle uint32, swept bool, lostAllocs, lostFrees uint64)
	give    func(chunk uintptr)
	wait    func(ns int64)
	kick    func()
	stack   func(bucket uintptr) (stack []uintptr, size uintptr)
	now     func() int64
}

// hooksVersion is the one that this package understands. It changes with the
// layout of the log.
const hooksVersion = 1

// Exact reports whether this program was built by "mirador go", so that its
// traces are exact.
func Exact() bool { return hooks.version == hooksVersion }
