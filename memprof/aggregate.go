package memprof

import (
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"time"
)

// aggregate asks the heap profile after each collection how many objects of
// each stack and size were sampled and freed since the last. Which of them
// died is not known: the oldest are said to.
type aggregate struct {
	t       *tracer
	queue   *externalQueue
	rate    float64
	rand    *rand.Rand
	clock   func() int64
	woken   chan struct{}
	cycle   []metrics.Sample
	last    uint64
	seed    maphash.Seed
	records []runtime.MemProfileRecord
	sites   map[uint64]*site
	next    uint64 // key of an object
}

// site is the objects of one stack and size.
type site struct {
	stack         uint32
	size          uint64
	allocs, frees int64    // of the profile
	live          []uint64 // keys, the oldest first
}

func (a *aggregate) start(time.Duration) error {
	a.t.now = a.clock()
	a.woken = make(chan struct{}, 1)
	a.cycle = []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	a.seed = maphash.MakeSeed()
	a.sites = map[uint64]*site{}
	a.poll(false)
	runtime.MemProfileRate = int(a.rate)
	return nil
}

// The profile changes with each collection, but it is looked at no more often
// than this.
const pollInterval = 100 * time.Millisecond

func (a *aggregate) wait(d time.Duration) {
	timer := time.NewTimer(min(d, pollInterval))
	defer timer.Stop()
	select {
	case <-a.woken:
	case <-timer.C:
	}
}

func (a *aggregate) kick() {
	select {
	case a.woken <- struct{}{}:
	default:
	}
}

func (a *aggregate) stop(rate int) { runtime.MemProfileRate = rate }
func (a *aggregate) release()      {}

func (a *aggregate) drain() {
	now := a.clock()
	a.queue.drain(a.t, now)
	a.t.now = max(a.t.now, now)
	metrics.Read(a.cycle)
	n := a.cycle[0].Value.Uint64()
	if n == a.last {
		return
	}
	a.last = n
	a.t.cycle(uint32(n), now)
	a.poll(true)
}

// poll reads the profile, and tells what has changed.
func (a *aggregate) poll(tell bool) {
	n, ok := runtime.MemProfile(a.records, true)
	for !ok {
		a.records = make([]runtime.MemProfileRecord, n+n/4+64)
		n, ok = runtime.MemProfile(a.records, true)
	}
	now := a.clock()
	for i := range a.records[:n] {
		r := &a.records[i]
		if r.AllocObjects == 0 {
			continue
		}
		s := a.site(r)
		if s == nil {
			continue
		}
		born, died := r.AllocObjects-s.allocs, r.FreeObjects-s.frees
		s.allocs, s.frees = r.AllocObjects, r.FreeObjects
		if tell {
			a.tell(s, born, died, now)
		}
	}
}

func (a *aggregate) tell(s *site, born, died, now int64) {
	for i := range born {
		if i%64 == 63 {
			a.t.turn()
		}
		o := sized(s.size)
		o.time, o.stack = now, s.stack
		o.samples = o.words
		if a.rate > 1 {
			o.samples = samples(a.rand, float64(s.size)/a.rate)
		}
		a.next++
		a.t.alloc(a.next, &o)
		s.live = append(s.live, a.next)
	}
	// Objects from before the trace die too.
	for range min(died, int64(len(s.live))) {
		a.t.free(s.live[0], now)
		s.live = s.live[1:]
	}
	if len(s.live) == 0 {
		s.live = nil
	}
}

func (a *aggregate) site(r *runtime.MemProfileRecord) *site {
	size := uint64(r.AllocBytes / r.AllocObjects)
	stack := r.Stack()
	var h maphash.Hash
	h.SetSeed(a.seed)
	maphash.WriteComparable(&h, size)
	for _, pc := range stack {
		maphash.WriteComparable(&h, pc)
	}
	key := h.Sum64()
	if s := a.sites[key]; s != nil {
		return s
	}
	number, err := a.t.stacks.number(stack)
	if err != nil {
		return nil
	}
	s := &site{stack: number, size: size}
	a.sites[key] = s
	return s
}
