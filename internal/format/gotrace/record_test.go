package gotrace_test

import (
	"bytes"
	"context"
	"iter"
	"os"
	"runtime"
	"runtime/trace"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// recorded is the trace of a small program with everything in it: channels,
// mutexes, timers, system calls, regions, tasks, logs, a GC, coroutines,
// goroutines that end and goroutines that never do.
var recorded = sync.OnceValues(func() ([]byte, error) {
	var b bytes.Buffer
	before := make(chan int)
	go func() { <-before }()
	runtime.Gosched()
	if err := trace.Start(&b); err != nil {
		return nil, err
	}
	everything()
	trace.Stop()
	close(before)
	return b.Bytes(), nil
})

func record(tb testing.TB) []byte {
	data, err := recorded()
	if err != nil {
		tb.Skipf("this test runs under a tracer itself: %v", err)
	}
	return data
}

// What everything does, for tests to find again.
const (
	handed   = 500 // numbers through a channel
	spawned  = 100 // goroutines that do nothing
	requests = 20  // tasks, each with a part, a region and a log line
)

func everything() {
	stuck := make(chan int)
	go waitsForever(stuck)
	var all sync.WaitGroup
	numbers := make(chan int)
	all.Go(func() {
		for n := range handed {
			numbers <- n
		}
		close(numbers)
	})
	all.Go(func() {
		for range numbers {
		}
	})
	var mu sync.Mutex
	for range 3 {
		all.Go(func() {
			for range 200 {
				mu.Lock()
				runtime.Gosched()
				mu.Unlock()
			}
		})
	}
	for range spawned {
		all.Go(nothing)
	}
	all.Go(func() {
		dir, err := os.MkdirTemp("", "gotrace")
		if err == nil {
			defer os.RemoveAll(dir)
			for range 50 {
				os.Stat(dir)
			}
		}
	})
	all.Go(func() {
		for n := range requests {
			ctx, task := trace.NewTask(context.Background(), "request")
			part, sub := trace.NewTask(ctx, "part")
			trace.WithRegion(part, "sleeping", func() { time.Sleep(100 * time.Microsecond) })
			trace.Log(ctx, "number", strconv.Itoa(n))
			sub.End()
			task.End()
		}
	})
	all.Wait()
	next, stop := iter.Pull(slices.Values([]int{1, 2, 3, 4, 5, 6}))
	for range 5 {
		next()
	}
	stop()
	runtime.GC()
}

func nothing() {}

func waitsForever(stuck chan int) { <-stuck }
