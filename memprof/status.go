package memprof

import "sync/atomic"

// Status counts what the present trace has seen, or the last one.
type Status struct {
	Active  bool   // a trace is being made
	Exact   bool   // see Exact
	Allocs  uint64 // objects that were sampled
	Deaths  uint64 // of these
	Live    uint64 // objects that are being kept track of
	Dropped uint64 // allocations and deaths that are not in the trace
}

// counts are a tracer's, for others to read.
type counts struct {
	allocs, deaths, live, dropped atomic.Uint64
}

func (t *tracer) count() {
	status.allocs.Store(t.allocs)
	status.deaths.Store(t.deaths)
	status.live.Store(uint64(t.objects.n))
	status.dropped.Store(t.dropped)
}

var status counts

// Read returns the counts. They are as of the last time that the trace was
// written, a second ago at most.
func Read() Status {
	active.mu.Lock()
	defer active.mu.Unlock()
	return Status{
		Active: active.p != nil, Exact: Exact(),
		Allocs: status.allocs.Load(), Deaths: status.deaths.Load(),
		Live: status.live.Load(), Dropped: status.dropped.Load(),
	}
}
