package memprof

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/memtrace"
)

//go:noinline
func batchBytes(n int) []byte { return make([]byte, n) }

//go:noinline
func batchCleanup() *[80]byte { return new([80]byte) }

//go:noinline
func batchExternal() External { return AllocExternal(4096) }

// What a stress makes, each kind at a site of its own.
const (
	made64 = iota
	made1K
	made40
	madeFinal
	madeClean
	madeHuge
	madeGoroutine
	madeExternal
	madeTiny
	madeBytes
	madeKinds
)

// stressSites has the sizes in bytes of what is made. Other objects of a site
// are the runtime's: a collection that begins where an object is made may need
// some, too.
var stressSites = [madeKinds]struct {
	name        string
	least, most int64
}{
	{"batch64", 64, 64}, {"batch1K", 1024, 1024}, {"batch40", 48, 48}, {"batchFinal", 96, 96},
	{"batchCleanup", 80, 80}, {"batchHuge", 8 << 20, 8 << 20}, {"batchGoroutine", 48, 48},
	{"batchExternal", 4096, 4096}, {"batchTiny", 1, 16}, {"batchBytes", 256, 64 << 10},
}

// TestStress has all Ps allocate and collect as fast as they can, at 4 KiB and,
// with pauses, at rate 1, in one trace after another. All that is made is
// counted, and is dead at the end: so must it be in the trace. MIRADOR_STRESS is
// for how long, 10 s when it is not set, 3 s with -short.
func TestStress(t *testing.T) {
	needExact(t)
	length := 10 * time.Second
	if testing.Short() {
		length = 3 * time.Second
	}
	if s := os.Getenv("MIRADOR_STRESS"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	var all stressed
	rounds := 0
	for end := time.Now().Add(length); !t.Failed() && time.Until(end) > 0; rounds++ {
		left := min(6*time.Second, time.Until(end))
		all.round(t, 4096, left*2/3)
		all.round(t, 1, left/3)
	}
	t.Logf("%d traces: %d objects, %d deaths, %d collections, %d bytes", 2*rounds, all.objects, all.deaths, all.cycles, all.bytes)
}

// stressed is what the traces of a stress had.
type stressed struct{ objects, deaths, cycles, bytes int }

// round makes one trace, and compares it with what was done.
func (all *stressed) round(t *testing.T, rate int, length time.Duration) {
	t.Helper()
	runtime.GC()
	end := traceFile(t, Config{Rate: rate})
	workers := make([]*stressWorker, 4)
	var done sync.WaitGroup
	var final atomic.Int64
	stop := make(chan struct{})
	for i := range workers {
		w := &stressWorker{rate: rate, held: make([]any, 1000*(i+1)), final: &final}
		workers[i] = w
		done.Go(func() { w.run(stop) })
	}
	done.Go(func() {
		for time.Sleep(rand.N(20 * time.Millisecond)); !ended(stop); time.Sleep(rand.N(20 * time.Millisecond)) {
			runtime.GC()
		}
	})
	time.Sleep(length)
	close(stop)
	done.Wait()
	var made [madeKinds]int64
	ids := map[uint64]bool{}
	for _, w := range workers {
		for i, n := range w.made {
			made[i] += n
		}
		ids[w.goroutine] = true
	}
	for begin := time.Now(); final.Load() < made[madeFinal]; runtime.GC() {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%d finalizers have run, of %d", final.Load(), made[madeFinal])
		}
	}
	// What was tiny, or had a finalizer, goes with the next.
	runtime.GC()
	runtime.GC()
	tr := end()
	tr.sound(t)
	if tr.lost != [2]uint64{} {
		t.Errorf("rate %d: lost %v", rate, tr.lost)
	}
	for kind, n := range made {
		tr.checkStress(t, kind, n, rate, ids)
	}
	all.objects += len(tr.objects)
	all.cycles += len(tr.cycles)
	all.bytes += tr.size
	for i := range tr.objects {
		if tr.objects[i].died != 0 {
			all.deaths++
		}
	}
}

// checkStress compares what was made of a kind with what the trace says: how
// much it is, that a worker made it or a goroutine that is gone, that there
// was a collection between birth and death, and one more for a finalizer's
// object, and that each has died.
func (tr *traced) checkStress(t *testing.T, kind int, made int64, rate int, workers map[uint64]bool) {
	t.Helper()
	site := stressSites[kind]
	objects := slices.DeleteFunc(tr.site(site.name), func(o *tracedObject) bool {
		return o.words*8 < site.least || o.words*8 > site.most
	})
	estimate, wrong, live := 0.0, 0, 0
	for _, o := range objects {
		estimate += tr.bytes(o)
		bad := (o.source == memtrace.External) != (kind == madeExternal) ||
			workers[o.goroutine] != (kind != madeGoroutine)
		switch {
		case o.died == 0:
			live++
		case kind == madeExternal: // dies when the program says so
		case tr.cycle(o.died) == tr.cycle(o.born), kind == madeFinal && tr.cycle(o.died) == tr.cycle(o.born)+1:
			bad = true
		}
		if bad {
			if wrong++; wrong < 4 {
				t.Errorf("rate %d, %s: %+v, died in %d", rate, site.name, *o, tr.cycle(o.died))
			}
		}
	}
	if wrong > 0 {
		t.Errorf("rate %d, %s: %d of %d objects are wrong", rate, site.name, wrong, len(objects))
	}
	// Each P may still fill a block with tiny objects.
	if live > 0 && (kind != madeTiny || live > runtime.GOMAXPROCS(0)) {
		t.Errorf("rate %d, %s: %d of %d objects live on", rate, site.name, live, len(objects))
	}
	total := float64(made * site.most)
	switch {
	case made == 0:
		t.Errorf("rate %d: nothing was made by %s", rate, site.name)
	case site.least != site.most:
		if len(objects) == 0 {
			t.Errorf("rate %d, %s: no objects", rate, site.name)
		}
	case rate == 1:
		if int64(len(objects)) != made || estimate != total {
			t.Errorf("rate 1, %s: %d objects of %.0f bytes, want %d of %.0f", site.name, len(objects), estimate, made, total)
		}
	default: // the number of samples has the Poisson distribution
		if sigma := math.Sqrt(total * float64(rate)); math.Abs(estimate-total) > 5.5*sigma {
			t.Errorf("rate %d, %s: %.0f bytes, want %.0f ± %.0f", rate, site.name, estimate, total, sigma)
		}
	}
}

func ended(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// stressWorker makes objects of all kinds, and holds some for a while.
type stressWorker struct {
	rate      int
	held      []any
	final     *atomic.Int64 // finalizers that have run
	goroutine uint64
	made      [madeKinds]int64
}

func (w *stressWorker) run(stop <-chan struct{}) {
	w.goroutine = uint64(goid.Get())
	for i := 0; !ended(stop); i++ {
		for j := range 1000 {
			w.make(j, &w.held[rand.IntN(len(w.held))])
		}
		if i%512 == 0 {
			w.put(&w.held[0], madeHuge, batchHuge())
		}
		if w.rate == 1 {
			w.pause(stop)
		}
	}
	for i := range w.held {
		w.put(&w.held[i], madeTiny, batchTiny())
	}
	w.held = nil
}

// pause waits until the tracer has told some of what was made: the runtime's
// log holds some 300,000 records, and loses what no tracer could keep up with.
func (w *stressWorker) pause(stop <-chan struct{}) {
	before := status.allocs.Load()
	for begin := time.Now(); !ended(stop); time.Sleep(time.Millisecond) {
		if status.allocs.Load() != before && time.Since(begin) > 3*time.Millisecond {
			return
		}
	}
}

// make makes one of a thousand objects.
func (w *stressWorker) make(j int, to *any) {
	switch {
	case j < 300:
		w.put(to, made64, batch64())
	case j < 500:
		w.put(to, made1K, batch1K())
	case j < 700:
		w.put(to, made40, batch40())
	case j < 800:
		w.put(to, madeTiny, batchTiny())
	case j < 898:
		w.put(to, madeBytes, batchBytes(256+rand.IntN(40<<10)>>rand.IntN(12)))
	case j < 900:
		var done sync.WaitGroup
		done.Go(func() { w.deeper(rand.IntN(200), to) })
		done.Wait()
	case j < 940:
		p, final := batchFinal(), w.final
		runtime.SetFinalizer(p, func(*[96]byte) { final.Add(1) })
		w.put(to, madeFinal, p)
	case j < 980:
		p := batchCleanup()
		runtime.AddCleanup(p, func(int) {}, 0)
		w.put(to, madeClean, p)
	default:
		w.put(to, madeExternal, batchExternal())
	}
}

// deeper makes an object at the end of a stack that has to grow.
func (w *stressWorker) deeper(n int, to *any) {
	var room [64]byte
	if n > 0 {
		w.deeper(n-1, to)
	} else {
		w.put(to, madeGoroutine, batchGoroutine())
	}
	runtime.KeepAlive(&room)
}

// put replaces what is held.
func (w *stressWorker) put(to *any, kind int, object any) {
	if e, ok := (*to).(External); ok {
		e.Free()
	}
	*to = object
	w.made[kind]++
}
