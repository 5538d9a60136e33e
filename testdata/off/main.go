// Off calls everything that there is to record with, beside the same functions
// without: the test of the build tag mirador_off compares them.
package main

import (
	"os"
	"sync"

	"github.com/mirador-trace/mirador"
	_ "github.com/mirador-trace/mirador/auto"
)

var counter = mirador.NewCounter("c")

//go:noinline
func with(n int) int {
	mirador.Label("label")
	mirador.Log("text")
	counter.Set(5)
	counter.Add(-1)
	r := mirador.StartRegion("region")
	t := mirador.NewTask("task")
	mirador.ShouldResolve(t)
	t.Label("again")
	t.Send("message")
	t.Receive("message")
	t.Becomes(mirador.NewTask("other"))
	mirador.Hiatus("idle")
	mirador.Resume()
	t.Resolve()
	t.Fail(nil)
	r.End()
	return n + 1
}

//go:noinline
func without(n int) int {
	return n + 1
}

//go:noinline
func withLock(m *mirador.Mutex) {
	m.Lock()
	m.Unlock()
}

//go:noinline
func withoutLock(m *sync.Mutex) {
	m.Lock()
	m.Unlock()
}

func main() {
	withLock(&mirador.Mutex{Name: "m"})
	withoutLock(&sync.Mutex{})
	os.Exit(with(0) - without(0))
}
