package memprof

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/memtrace"
)

// External is a block of memory outside the Go heap: what C, mmap or a device
// gave. Its zero value is a block that was not sampled. It is a value of 8
// bytes, to be kept with the block.
type External struct{ key uint64 }

// externalLeft counts down the bytes to the next sample. While nothing is
// traced it is so large that it never ends; the first block finds that out.
var externalLeft atomic.Int64

const never = math.MaxInt64 / 2

// AllocExternal says that a block of size bytes has been allocated outside
// the Go heap. It may be called at any time by any goroutine, and takes 5 ns
// when the block is not sampled.
func AllocExternal(size int) External {
	if externalLeft.Add(-int64(size)) > 0 {
		return External{}
	}
	return sampleExternal(size)
}

// Free says that the block has been freed. The zero value and a block that
// has been freed before are nothing to it.
func (e External) Free() {
	if e.key == 0 {
		return
	}
	if q := externalTo.Load(); q != nil {
		q.add(externalEvent{key: e.key, death: true})
	}
}

// externalTo is the present trace's queue.
var externalTo atomic.Pointer[externalQueue]

// At most so many events wait for the drainer.
const mostExternals = 1 << 16

// externalQueue is what was sampled outside the heap and is not yet drained.
type externalQueue struct {
	clock func() int64
	rate  float64

	mu     sync.Mutex
	rand   *rand.Rand
	events []externalEvent
	next   uint64 // key
	lost   [2]uint64

	filled  atomic.Bool
	drained []externalEvent // of the drainer, from head on
	head    int
}

type externalEvent struct {
	key       uint64
	time      int64
	death     bool
	size      int
	samples   int64
	goroutine uint64
	stack     []uintptr
}

// Keys of external blocks do not meet those of the runtime, nor those of
// another trace of this process.
var externalSessions atomic.Uint64

func newExternalQueue(rate float64, clock func() int64) *externalQueue {
	return &externalQueue{
		clock: clock, rate: rate, rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		next: 1<<63 | externalSessions.Add(1)<<40,
	}
}

func (q *externalQueue) start() {
	externalTo.Store(q)
	externalLeft.Store(q.gap())
}

func (q *externalQueue) stop() {
	externalTo.Store(nil)
	externalLeft.Store(never)
}

// gap returns how many bytes there are to the next sample.
func (q *externalQueue) gap() int64 {
	if q.rate <= 1 {
		return 0
	}
	return int64(q.rand.ExpFloat64()*q.rate) + 1
}

//go:noinline
func sampleExternal(size int) External {
	q := externalTo.Load()
	if q == nil {
		externalLeft.Store(never)
		return External{}
	}
	if size <= 0 {
		return External{}
	}
	var pcs [128]uintptr
	n := runtime.Callers(3, pcs[:])
	q.mu.Lock()
	hits := int64(0)
	if q.rate <= 1 {
		hits = sized(uint64(size)).words
		externalLeft.Store(0)
	}
	for q.rate > 1 && externalLeft.Load() <= 0 {
		externalLeft.Add(q.gap())
		hits++
	}
	q.next++
	key := q.next
	q.mu.Unlock()
	if hits == 0 {
		return External{} // somebody else's block has just been charged with it
	}
	q.add(externalEvent{key: key, size: size, samples: hits, goroutine: uint64(goid.Get()), stack: append([]uintptr(nil), pcs[:n]...)})
	return External{key}
}

func (q *externalQueue) add(e externalEvent) {
	q.mu.Lock()
	e.time = q.clock()
	switch {
	case len(q.events) < mostExternals*3/4, e.death && len(q.events) < mostExternals:
		q.events = append(q.events, e)
	case e.death:
		q.lost[1]++
	default:
		q.lost[0]++
	}
	q.filled.Store(true)
	q.mu.Unlock()
}

// waiting reports whether drain has something to do.
func (q *externalQueue) waiting() bool { return q.head < len(q.drained) || q.filled.Load() }

// drain passes on what happened until a time. The drainer calls it.
func (q *externalQueue) drain(t *tracer, until int64) {
	for {
		for q.head < len(q.drained) {
			e := &q.drained[q.head]
			if e.time > until {
				return
			}
			q.head++
			q.pass(t, e)
		}
		if !q.filled.Load() {
			return
		}
		q.mu.Lock()
		clear(q.drained)
		q.drained, q.events = q.events, q.drained[:0]
		q.head = 0
		t.lose(q.lost[0], q.lost[1])
		q.lost = [2]uint64{}
		q.filled.Store(false)
		q.mu.Unlock()
	}
}

func (q *externalQueue) pass(t *tracer, e *externalEvent) {
	if e.death {
		t.free(e.key, e.time)
		return
	}
	number, err := t.stacks.number(e.stack)
	if err != nil {
		t.lose(1, 0)
		return
	}
	o := sized(uint64(e.size))
	o.time, o.goroutine, o.stack, o.samples, o.source = e.time, e.goroutine, number, e.samples, memtrace.External
	t.alloc(e.key, &o) // and no collection will be about it
}

// since is a clock for programs whose runtime does not show its own.
func since(start time.Time) func() int64 {
	base := start.UnixMicro()
	return func() int64 { return base + time.Since(start).Microseconds() }
}
