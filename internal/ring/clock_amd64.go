package ring

import (
	"bytes"
	"os"
	"runtime"
	"sync"
)

// rdtsc reads the time stamp counter; fencedRdtsc once everything before it
// has been done.
//
//go:noescape
func rdtsc() uint64

//go:noescape
func fencedRdtsc() uint64

func cpuid(leaf uint32) (eax, edx uint32)

// useTSC says whether the time stamp counter is the clock; nothing is recorded
// before chooseClock has found out.
var useTSC bool

var chooseClock = sync.OnceFunc(func() { useTSC = invariantTSC() })

// invariantTSC reports whether the time stamp counter runs at one rate at all
// times, and the kernel has not found it to differ between processors.
func invariantTSC() bool {
	const leaf, invariant = 0x80000007, 1 << 8
	if highest, _ := cpuid(0x80000000); highest < leaf || runtime.GOOS != "linux" {
		return false
	}
	if _, edx := cpuid(leaf); edx&invariant == 0 {
		return false
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return true
	}
	switch string(bytes.TrimSpace(source)) {
	case "hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit":
		return false
	}
	return true
}

func clockName() string {
	if useTSC {
		return "tsc"
	}
	return "monotonic"
}

//go:norace
func cycles() uint64 {
	if useTSC {
		return rdtsc()
	}
	return uint64(nanotime())
}

//go:norace
func fencedCycles() uint64 {
	if useTSC {
		return fencedRdtsc()
	}
	return uint64(nanotime())
}
