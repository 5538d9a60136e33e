package main

import (
	"time"

	"github.com/mirador-trace/mirador/internal/trace"
)

// goDescription is what info says of a Go execution trace besides.
type goDescription struct {
	Version    string     `json:"go_version"` // of the format
	Goroutines int        `json:"goroutines"`
	States     statesOfGo `json:"state_ns"` // over all goroutines
	Clock      *clockOfGo `json:"clock,omitempty"`
	Pauses     int        `json:"pauses"`
	PauseTime  float64    `json:"pauses_s"`
}

type statesOfGo struct {
	Running  int64 `json:"running"`
	Runnable int64 `json:"runnable"`
	Waiting  int64 `json:"waiting"`
	Syscall  int64 `json:"syscall"`
}

// clockOfGo is one instant on three clocks.
type clockOfGo struct {
	Trace int64     `json:"trace_ns"`
	Mono  int64     `json:"monotonic_ns"`
	Wall  time.Time `json:"wall"`
}

// ofGo adds what only a Go execution trace has. Its events are counted as the
// trace has them; those of the kinds are ours.
func (d *description) ofGo(t *trace.Trace) {
	g := t.Go
	d.Events = g.Events
	d.goDescription = &goDescription{
		Version: g.Version, Goroutines: g.Goroutines,
		States: statesOfGo{g.Running, g.Runnable, g.Waiting, g.Syscall},
		Pauses: len(t.Model.Pauses),
	}
	for _, p := range t.Model.Pauses {
		d.PauseTime += p.End - p.Start
	}
	if g.Clock != nil {
		d.Clock = &clockOfGo{g.Clock.Trace, g.Clock.Mono, g.Clock.Wall}
	}
}

func (d *goDescription) print(p *printer) {
	if c := d.Clock; c != nil {
		p.linef("  clock     %d ns was %s, and %d ns on the monotonic clock",
			c.Trace, c.Wall.UTC().Format("2006-01-02 15:04:05.000000000 UTC"), c.Mono)
	}
	p.linef("  format    Go %s", d.Version)
	p.linef("  states    of %s goroutines, all together", grouped(int64(d.Goroutines)))
	for _, s := range []struct {
		name string
		ns   int64
	}{{"running", d.States.Running}, {"runnable", d.States.Runnable}, {"waiting", d.States.Waiting}, {"syscall", d.States.Syscall}} {
		p.linef("    %-12s %12s", s.name, seconds(float64(s.ns)/1e9))
	}
	p.linef("  pauses    %s, %s", grouped(int64(d.Pauses)), seconds(d.PauseTime))
}
