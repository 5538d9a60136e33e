package ring

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
)

// background does, until the recording stops, what is not to be done where
// events are recorded: it tells the clocks, once a
// second and more often at first, and reads the heap counters.
func (s *Session) background() {
	defer close(s.ended)
	untilClock := 10 * time.Millisecond
	clocks := time.NewTimer(untilClock)
	defer clocks.Stop()
	var samples <-chan time.Time
	heap := newHeap()
	if s.options.Sample > 0 {
		ticker := time.NewTicker(s.options.Sample)
		defer ticker.Stop()
		samples = ticker.C
		heap.record()
	}
	stop := watchCollections()
	defer stop()
	for {
		select {
		case <-s.done:
			return
		case <-clocks.C:
			emitClock()
			s.tellClock()
			untilClock = min(2*untilClock, time.Second)
			clocks.Reset(untilClock)
		case <-samples:
			heap.record()
		}
	}
}

// heap reads counters of the Go runtime and records those that have changed.
type heap struct {
	samples []metrics.Sample
	last    []int64
}

// heapCounters are the runtime's metrics that become counters, by their names
// there and in an execution trace, if it has them.
var heapCounters = [...][2]string{
	{"/memory/classes/heap/objects:bytes", "HeapAlloc"},
	{"/gc/heap/goal:bytes", "HeapGoal"},
	{"/sched/goroutines:goroutines", "goroutines"},
	{"/sched/gomaxprocs:threads", "GOMAXPROCS"},
}

func newHeap() *heap {
	h := &heap{make([]metrics.Sample, len(heapCounters)), make([]int64, len(heapCounters))}
	for i, c := range heapCounters {
		h.samples[i].Name = c[0]
		h.last[i] = -1
	}
	return h
}

func (h *heap) record() {
	metrics.Read(h.samples)
	for i, sample := range h.samples {
		if sample.Value.Kind() != metrics.KindUint64 {
			continue
		}
		if v := int64(sample.Value.Uint64()); v != h.last[i] {
			h.last[i] = v
			emitSharedText(uint16(event.Counter), event.NoThread, v, 8, heapCounters[i][1])
		}
	}
}

// watchCollections records collections, until stop is called. The runtime has
// no hook for their end, but it runs the finalizer of an object that only
// lived until then.
func watchCollections() (stop func()) {
	w := &collections{done: make(chan struct{})}
	debug.ReadGCStats(&w.stats)
	w.seen = w.stats.NumGC
	w.arm()
	return func() { close(w.done) }
}

type collections struct {
	done  chan struct{}
	stats debug.GCStats
	seen  int64
}

// sentinel is the object that lives until the next collection. It has a
// pointer, lest it be put beside others that live longer.
type sentinel struct{ _ *sentinel }

func (w *collections) arm() {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		select {
		case <-w.done:
			return
		default:
		}
		w.record()
		w.arm()
	})
}

// record writes the collections since the last time. The runtime knows how
// long each stopped the world and when it went on; we say when on the trace's
// clock.
func (w *collections) record() {
	debug.ReadGCStats(&w.stats)
	now := readClock()
	n := int(min(w.stats.NumGC-w.seen, int64(len(w.stats.Pause)), int64(len(w.stats.PauseEnd))))
	w.seen = w.stats.NumGC
	for i := n - 1; i >= 0; i-- {
		ago := now.Realtime - w.stats.PauseEnd[i].UnixNano()
		emitPast(now.Cycles-uint64(float64(max(ago, 0))/cycleLength()), event.GC, event.NoThread, int64(w.stats.Pause[i]))
	}
}
