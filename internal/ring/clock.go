package ring

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// readClock tells one moment on the trace's clock, CLOCK_MONOTONIC and
// CLOCK_REALTIME. It takes the quickest of a few tries, so that the three are
// within some 20 ns of each other.
func readClock() packet.Clock {
	best := packet.Clock{}
	shortest := uint64(1 << 63)
	for range 4 {
		before := fencedCycles()
		mono := nanotime()
		between := fencedCycles()
		real := time.Now().UnixNano()
		after := fencedCycles()
		if after-before < shortest {
			shortest = after - before
			first, second := before+(between-before)/2, between+(after-between)/2
			best = packet.Clock{Cycles: first, Monotonic: mono,
				Realtime: real - int64(float64(second-first)*cycleLength())}
		}
	}
	return best
}

// cycleBits is the length of a cycle in ns, as measured last: a float64's bits.
var cycleBits atomic.Uint64

func cycleLength() float64 { return math.Float64frombits(cycleBits.Load()) }

// frequency measures the trace's clock against CLOCK_MONOTONIC since an
// earlier moment, waiting until that is long enough ago for parts per million.
func frequency(since packet.Clock) uint64 {
	if clockName() != "tsc" {
		cycleBits.Store(math.Float64bits(1))
		return 1e9
	}
	for nanotime()-since.Monotonic < int64(5*time.Millisecond) {
		time.Sleep(time.Millisecond)
	}
	now := readClock()
	cycles, ns := float64(now.Cycles-since.Cycles), float64(now.Monotonic-since.Monotonic)
	cycleBits.Store(math.Float64bits(ns / cycles))
	return uint64(cycles / ns * 1e9)
}
