//go:build unix

package bench

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns how long this process has run on all CPUs, the garbage
// collector included: unlike the clock on the wall it does not depend on what
// else the machine does.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
