// Worker is a program that records itself: it says what it was told to, fails
// if that was "fail", works until it is killed if it was "forever", and does
// nothing but run if it was "spin".
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/mirador-trace/mirador"
	_ "github.com/mirador-trace/mirador/auto"
)

func main() {
	done, started := make(chan struct{}), make(chan struct{})
	mirador.Go("worker", func() {
		defer close(done)
		mirador.Label("working")
		close(started)
		c := mirador.NewCounter("steps")
		for n := int64(0); n < 3 || os.Args[1] == "forever"; n++ {
			c.Set(n)
			time.Sleep(100 * time.Microsecond)
		}
	})
	<-started
	if os.Args[1] == "spin" {
		debug.SetGCPercent(-1) // a collection would wait for it, too
		mirador.Label("about to spin")
	}
	fmt.Println(os.Args[1])
	for os.Args[1] == "spin" {
	}
	<-done
	if os.Args[1] == "fail" {
		os.Exit(3)
	}
}
