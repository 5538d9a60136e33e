package scene_test

import (
	"syscall"
	"time"
	"unsafe"
)

// cpuTime returns how long the thread has run, whatever else the machine does.
func cpuTime() time.Duration {
	const threadTime = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadTime, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
