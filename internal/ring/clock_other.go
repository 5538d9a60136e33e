//go:build !amd64

package ring

func chooseClock() {}

func clockName() string { return "monotonic" }

//go:norace
func cycles() uint64 { return uint64(nanotime()) }

//go:norace
func fencedCycles() uint64 { return uint64(nanotime()) }
