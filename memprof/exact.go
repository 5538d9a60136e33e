package memprof

import (
	"math"
	"math/rand/v2"
	"runtime"
	"time"
	"unsafe"

	"github.com/mirador-trace/mirador/memtrace"
)

// The runtime's log has so many bytes at most. It begins to drop allocations
// when a quarter is left, and deaths when nothing is.
const logSize = 16 << 20

// A record of the log, as internal/overlay's runtime/memory.go.txt has it.
const (
	kindAlloc = 1
	kindFree  = 2
	kindCycle = 3

	flagForced = 1 << 9

	chunkHeader = 16
)

// exact drains the runtime's log of sampled objects. All of its methods are
// called by the goroutine that calls start.
type exact struct {
	t       *tracer
	queue   *externalQueue
	rate    float64
	rand    *rand.Rand
	log     []byte
	offset  int64 // from the runtime's clock to the time of day, ns
	buckets table[bucket]
}

// bucket is what an object's bucket in the runtime means.
type bucket struct {
	stack uint32 // + 1
	size  uint64
}

func (e *exact) start(interval time.Duration) error {
	log, err := mapMemory(logSize)
	if err != nil {
		return err
	}
	e.log = log
	e.offset = time.Now().UnixNano() - hooks.now()
	e.t.now = e.clock()
	hooks.start(uintptr(unsafe.Pointer(&log[0])), logSize, int64(interval))
	runtime.MemProfileRate = int(e.rate)
	return nil
}

func (e *exact) wait(d time.Duration) { hooks.wait(int64(d)) }
func (e *exact) kick()                { hooks.kick() }

// stop ends the sampling; what is in the log can still be drained.
func (e *exact) stop(rate int) {
	runtime.MemProfileRate = rate
	hooks.stop()
}

func (e *exact) release() {
	unmapMemory(e.log)
	e.buckets.release()
}

// clock returns µs since the Unix epoch.
func (e *exact) clock() int64 { return e.time(hooks.now()) }

func (e *exact) time(runtime int64) int64 { return (runtime + e.offset) / 1000 }

// drain passes on what is in the log.
func (e *exact) drain() {
	// What happens from now on may be logged behind what is taken: nothing
	// may be told with a later time than this that is not in the log.
	now := e.clock()
	first, cycle, swept, lostAllocs, lostFrees := hooks.take()
	for chunk := first; chunk != 0; {
		base := *(*unsafe.Pointer)(unsafe.Pointer(&chunk))
		next := *(*uint64)(base)
		used := *(*uint64)(unsafe.Add(base, 8))
		e.records(unsafe.Slice((*uint64)(unsafe.Add(base, chunkHeader)), (used-chunkHeader)/8))
		hooks.give(chunk)
		chunk = uintptr(next)
	}
	e.queue.drain(e.t, now)
	e.t.lose(lostAllocs, lostFrees)
	e.t.now = max(e.t.now, now)
	if swept {
		e.t.survive(cycle, e.t.now)
	}
}

// records passes on a chunk's.
func (e *exact) records(w []uint64) {
	for n := 0; len(w) > 0; n++ {
		if n%64 == 63 {
			if e.t.turn(); e.t.behind {
				e.t.catchUp()
			}
		}
		at, cycle := e.time(int64(w[1])), uint32(w[0]>>32)
		if e.queue.waiting() {
			e.queue.drain(e.t, at)
		}
		switch w[0] & 0xff {
		case kindAlloc:
			e.alloc(w, at, cycle)
			w = w[5:]
		case kindFree:
			e.t.free(w[2], at)
			w = w[3:]
		case kindCycle:
			e.t.survive(cycle-1, at)
			e.t.cycle(cycle, at)
			w = w[2:]
		default:
			return
		}
	}
}

func (e *exact) alloc(w []uint64, at int64, cycle uint32) {
	b := e.bucket(w[3])
	if b == nil {
		e.t.lose(1, 0)
		return
	}
	mean := float64(b.size) / e.rate
	// A change of the rate makes each P sample its next object, be it hit
	// or not.
	if w[0]&flagForced != 0 && e.rate > 1 && e.rand.Float64() >= -math.Expm1(-mean) {
		return
	}
	o := sized(b.size)
	o.time, o.goroutine, o.stack = at, w[4], b.stack-1
	o.samples = o.words
	if e.rate > 1 {
		o.samples = samples(e.rand, mean)
	}
	e.t.alloc(w[2], &o)
	e.t.born(w[2], cycle)
}

// Objects above this size come from the heap directly, the smaller ones from
// a cache of each P.
const largeObject = 32 << 10

// wordSize is in bytes.
const wordSize = int(unsafe.Sizeof(uintptr(0)))

// sized returns an object of so many bytes.
func sized(size uint64) object {
	o := object{words: int64(size+uint64(wordSize)-1) / int64(wordSize), source: memtrace.Minor}
	if size > largeObject {
		o.source = memtrace.Major
	}
	return o
}

func (e *exact) bucket(address uint64) *bucket {
	b, err := e.buckets.put(address)
	if err != nil {
		return nil
	}
	if b.stack == 0 {
		pcs, size := hooks.stack(uintptr(address))
		number, err := e.t.stacks.number(pcs)
		if err != nil {
			return nil
		}
		*b = bucket{number + 1, uint64(size)}
	}
	return b
}
