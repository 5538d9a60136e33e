// Pipeline is three stages with channels between them, the second of which is
// too slow.
//
//	mirador run -- go run ./examples/pipeline
//	mirador view pipeline.trace
//
// What one sees: "read" is nearly always waiting to send to "lines", and an
// arrow from "parse" ends each wait; "store" is nearly always waiting to
// receive from "values". Both point to the stage between, which never waits.
// The counters "queue#1" and "queue#2", drawn to one scale, are full and
// empty. Halfway a second parser is started: the waits become shorter.
package main

import (
	"fmt"
	"time"

	"github.com/mirador-trace/mirador"
	_ "github.com/mirador-trace/mirador/auto"
)

const items = 200

func main() {
	lines := mirador.NewChan[int]("lines", 8)
	values := mirador.NewChan[int]("values", 8)
	full, empty := mirador.NewCounter("queue#1"), mirador.NewCounter("queue#2")
	parsers := mirador.WaitGroup{Name: "parsers"}

	parse := func() {
		for n := range lines.All() {
			full.Set(int64(lines.Len()))
			r := mirador.StartRegion("parse")
			time.Sleep(2 * time.Millisecond)
			r.End()
			values.Send(n * n)
			empty.Set(int64(values.Len()))
		}
	}
	parsers.Go("parse", parse)
	mirador.Go("read", func() {
		for n := range items {
			if n == items/2 {
				mirador.Log("another parser")
				parsers.Go("parse too", parse)
			}
			lines.Send(n)
			full.Set(int64(lines.Len()))
		}
		lines.Close()
		parsers.Wait()
		values.Close()
	})
	sum := mirador.GoErr("store", func() error {
		sum := 0
		for v := range values.All() {
			empty.Set(int64(values.Len()))
			sum += v
		}
		if want := (items - 1) * items * (2*items - 1) / 6; sum != want {
			return fmt.Errorf("the sum is %d, not %d", sum, want)
		}
		return nil
	})
	<-sum.Done()
	fmt.Println(items, "items")
}
