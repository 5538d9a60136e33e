// Package busy records Go execution traces of any size, to measure with: a
// program whose goroutines hand work to each other through channels and
// mutexes, sleep, make system calls and allocate.
package busy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"
)

// Record runs the program under runtime/trace until its trace has a size in
// bytes, or somewhat more, and returns the trace.
func Record(size int) ([]byte, error) {
	return record(func(b *buffer) { run(b, size) })
}

// Crowd returns the trace of a program in which n goroutines wait at once.
func Crowd(n int) ([]byte, error) {
	return record(func(*buffer) {
		gate := make(chan bool)
		var all sync.WaitGroup
		for range n {
			all.Go(func() { <-gate })
		}
		close(gate)
		all.Wait()
	})
}

func record(run func(*buffer)) ([]byte, error) {
	var b buffer
	if err := trace.Start(&b); err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	run(&b)
	trace.Stop()
	return b.Bytes(), nil
}

func run(b *buffer, size int) {
	var stop atomic.Bool
	var all sync.WaitGroup
	for _, work := range []func(*atomic.Bool){pipeline, locks, spawns, calls, tasks} {
		all.Go(func() { work(&stop) })
	}
	// What lies in the tracer's buffers comes on top when tracing stops.
	for start := time.Now(); b.size.Load() < int64(size) && time.Since(start) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	all.Wait()
}

// buffer is what the trace is written to, by one goroutine.
type buffer struct {
	bytes.Buffer
	size atomic.Int64
}

func (b *buffer) Write(p []byte) (int, error) {
	b.size.Add(int64(len(p)))
	return b.Buffer.Write(p)
}

// pipeline hands numbers through three goroutines.
func pipeline(stop *atomic.Bool) {
	a, b := make(chan int), make(chan int, 16)
	go func() {
		for n := 0; !stop.Load(); n++ {
			a <- n
		}
		close(a)
	}()
	go func() {
		for n := range a {
			b <- n + 1
		}
		close(b)
	}()
	for range b {
	}
}

// locks lets four goroutines want one mutex.
func locks(stop *atomic.Bool) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				mu.Lock()
				runtime.Gosched()
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// spawns starts a goroutine for each piece of work.
func spawns(stop *atomic.Bool) {
	var all sync.WaitGroup
	for !stop.Load() {
		for range 16 {
			all.Go(func() { _ = make([]byte, 512) })
		}
		all.Wait()
	}
}

// calls makes system calls.
func calls(stop *atomic.Bool) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err) // no file descriptors left
	}
	defer r.Close()
	defer w.Close()
	one := make([]byte, 1)
	for !stop.Load() {
		w.Write(one)
		r.Read(one)
	}
}

// tasks says what it does, and sleeps.
func tasks(stop *atomic.Bool) {
	for !stop.Load() {
		ctx, task := trace.NewTask(context.Background(), "request")
		trace.WithRegion(ctx, "work", func() { time.Sleep(50 * time.Microsecond) })
		trace.Log(ctx, "state", "done")
		task.End()
	}
}
