//go:build !linux

package scene_test

import "time"

var started = time.Now()

// cpuTime returns the time on the clock, for want of the thread's own.
func cpuTime() time.Duration { return time.Since(started) }
