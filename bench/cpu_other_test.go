//go:build !unix

package bench

import (
	"testing"
	"time"
)

// cpuTime is not known here.
func cpuTime(b *testing.B) time.Duration { return 0 }
