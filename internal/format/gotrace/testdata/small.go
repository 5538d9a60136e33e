//go:build ignore

// Small records small.trace: go run -trimpath small.go > small.trace
//
// A producer hands three numbers to a consumer and ends; a task with a region
// and a log line goes on meanwhile, the GC runs once, and one goroutine waits
// for what never comes.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/trace"
	"sync"
	"time"
)

func main() {
	runtime.GOMAXPROCS(2)
	if err := trace.Start(os.Stdout); err != nil {
		panic(err)
	}
	numbers := make(chan int)
	var all sync.WaitGroup
	all.Go(func() { produce(numbers) })
	all.Go(func() { consume(numbers) })
	go forever()
	ctx, task := trace.NewTask(context.Background(), "request")
	trace.WithRegion(ctx, "sleeping", func() { time.Sleep(time.Millisecond) })
	trace.Log(ctx, "state", "half done")
	runtime.GC()
	_, sub := trace.NewTask(ctx, "part")
	sub.End()
	all.Wait()
	task.End()
	trace.Stop()
}

func produce(numbers chan<- int) {
	for n := range 3 {
		numbers <- n
	}
	close(numbers)
}

func consume(numbers <-chan int) {
	for range numbers {
		runtime.Gosched()
	}
	os.Stat("/")
}

func forever() { select {} }
