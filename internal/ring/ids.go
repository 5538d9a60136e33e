package ring

import "sync/atomic"

// firstID is where the numbers of threads that are no goroutines begin. They
// stay below 2^53, so that they are exact in a float64, too.
const firstID = 1 << 48

// ids counts the numbers given by each P, which is the only one to write its
// own count; the last is for all further Ps.
var ids [1 << 10]struct {
	next uint64
	_    [56]byte
}

var furtherIDs atomic.Uint64

// NewID returns a number for a thread, unlike any that this process has given
// or gives to a goroutine.
//
//go:norace
func NewID() int64 {
	p := procPin()
	if p >= len(ids)-1 {
		procUnpin()
		return int64(firstID | uint64(len(ids)-1)<<36 | furtherIDs.Add(1))
	}
	ids[p].next++
	id := firstID | uint64(p)<<36 | ids[p].next
	procUnpin()
	return int64(id)
}

// generation counts the recordings of this process.
var generation atomic.Uint32

// Generation returns the number of the recording that is under way, or of the
// last one; the first is 1.
func Generation() uint32 { return generation.Load() }
