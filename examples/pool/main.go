// Pool is a pool of workers in which one job is stuck.
//
//	mirador run -- go run ./examples/pool
//	mirador view pool.trace
//
// What one sees: four workers take jobs from the channel "jobs" and each job
// is a thread that a worker resolves. The counter "waiting" goes down while
// there are four, and slower from job 7 on. That job asks for a reply which
// never comes: its worker's last event is a try_read of "reply to job 7", a
// thread without an end, and job 7 is red, since ShouldResolve was said of it.
// The others finish the rest, and wait in "all jobs done" for ever; so the
// program gives up.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mirador-trace/mirador"
	_ "github.com/mirador-trace/mirador/auto"
)

// job is one piece of work.
type job struct {
	number int
	task   mirador.Task
}

const (
	workers = 4
	jobs    = 40
	stuck   = 7
)

func main() {
	queue := mirador.NewChan[job]("jobs", jobs)
	waiting := mirador.NewCounter("waiting")
	done := mirador.WaitGroup{Name: "all jobs done"}
	for w := range workers {
		mirador.Go(fmt.Sprint("worker ", w), func() {
			for j := range queue.All() {
				waiting.Add(-1)
				mirador.Label(fmt.Sprint("job ", j.number))
				work(j)
				done.Done()
			}
		})
	}
	for n := range jobs {
		j := job{n, mirador.NewTask(fmt.Sprint("job ", n))}
		mirador.ShouldResolve(j.task)
		done.Add(1)
		waiting.Add(1)
		queue.Send(j)
	}
	queue.Close()
	finished := make(chan struct{})
	mirador.Go("waiter", func() {
		done.Wait()
		close(finished)
	})
	select {
	case <-finished:
		fmt.Println("all jobs are done")
	case <-time.After(500 * time.Millisecond):
		fmt.Printf("job %d is stuck\n", stuck)
	}
}

func work(j job) {
	reply := mirador.NewPromise[string](fmt.Sprint("reply to job ", j.number))
	if j.number != stuck {
		time.AfterFunc(time.Duration(1+rand.IntN(10))*time.Millisecond, func() { reply.Resolve("fine") })
	}
	if _, err := reply.Await(context.Background()); err != nil {
		j.task.Fail(err)
		return
	}
	j.task.Resolve()
}
