package overlay

import (
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// profile writes a CPU profile, for a build with -pgo.
func profile(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		t.Fatal(err)
	}
	n := 0
	for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; {
		n += len(strings.Repeat("x", 1000))
	}
	pprof.StopCPUProfile()
	if n == 0 {
		t.Fatal("no work")
	}
}
