package bench

import (
	"fmt"
	"runtime/trace"
	"testing"
	"time"
)

// BenchmarkWaiting is what the runtime's execution trace costs of a program
// whose goroutines all wait: the runtime tells of each of them in each
// generation. How long a generation is, in ns, is a setting of the runtime:
//
//	go test -run '^$' -bench Waiting -benchtime 4x ./bench
//	GODEBUG=traceadvanceperiod=100000000 go test -run '^$' -bench Waiting -benchtime 4x ./bench
func BenchmarkWaiting(b *testing.B) {
	for _, goroutines := range []int{10, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(goroutines), func(b *testing.B) {
			over := make(chan struct{})
			defer close(over)
			for range goroutines {
				go func() { <-over }()
			}
			var written bytesWritten
			if err := trace.Start(&written); err != nil {
				b.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond) // what only the start costs
			before := cpuTime(b)
			for b.Loop() {
				time.Sleep(time.Second)
			}
			spent := cpuTime(b) - before
			trace.Stop()
			b.ReportMetric(100*spent.Seconds()/float64(b.N), "%-of-a-processor")
			b.ReportMetric(float64(written)/1e3/float64(b.N), "kB/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

type bytesWritten int

func (n *bytesWritten) Write(p []byte) (int, error) {
	*n += bytesWritten(len(p))
	return len(p), nil
}
