package ring

import _ "unsafe" // for go:linkname

// procPin keeps the goroutine on its P, and the P from being stopped, until
// procUnpin. It returns the number of the P.
//
//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// nanotime is CLOCK_MONOTONIC in ns.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
