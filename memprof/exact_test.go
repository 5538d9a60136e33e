package memprof

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/memtrace"
)

// Each batch of objects is of one site: the function that makes them.

//go:noinline
func batch64() *[64]byte { return new([64]byte) }

//go:noinline
func batch1K() *[1024]byte { return new([1024]byte) }

//go:noinline
func batch40() *[5]*byte { return new([5]*byte) }

//go:noinline
func batchFinal() *[96]byte { return new([96]byte) }

//go:noinline
func batchClean() *[112]byte { return new([112]byte) }

//go:noinline
func batchTiny() *byte { return new(byte) }

//go:noinline
func batchHuge() []byte { return make([]byte, 8<<20) }

//go:noinline
func batchGoroutine() *[48]byte { return new([48]byte) }

// collections returns how many there have been.
func collections() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return uint64(m.NumGC)
}

// quiet lets collections happen only when the test says so.
func quiet(t testing.TB) {
	old := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(old) })
	runtime.GC()
}

// keep holds n objects that f makes, and returns a function that lets them go.
func keep[T any](n int, f func() T) (drop func()) {
	list := make([]T, n)
	for i := range list {
		list[i] = f()
	}
	return func() {
		clear(list)
		runtime.KeepAlive(list)
	}
}

// batch is objects of one site that die together.
type batch struct {
	site  string
	words int64
	count int
	drop  func()
	cycle uint64 // that is to find them dead; 0 for those that live
}

// TestDeaths is the promise of an exact trace: batches of objects with known
// lifetimes, each dead in the collection after it was let go, at every rate.
func TestDeaths(t *testing.T) {
	needExact(t)
	for _, rate := range []int{1, 4096} {
		t.Run(fmt.Sprint("rate ", rate), func(t *testing.T) {
			quiet(t)
			end := traceFile(t, Config{Rate: rate})
			const n = 20_000
			batches := []*batch{
				{site: "batch64", words: 8, count: n, drop: keep(n, batch64)},
				{site: "batch1K", words: 128, count: n, drop: keep(n, batch1K)},
				{site: "batch40", words: 6, count: n, drop: keep(n, batch40)},
				{site: "batchHuge", words: 1 << 20, count: 4, drop: keep(4, batchHuge)},
			}
			for _, b := range batches {
				runtime.GC() // all that live survive this one
				b.drop()
				runtime.GC()
				b.cycle = collections()
			}
			live := &batch{site: "batchGoroutine", words: 6, count: n, drop: keep(n, batchGoroutine)}
			runtime.GC()
			tr := end()
			live.drop()
			tr.sound(t)
			for _, b := range append(batches, live) {
				tr.check(t, b, rate)
			}
			if tr.lost != [2]uint64{} {
				t.Errorf("lost %v", tr.lost)
			}
		})
	}
}

// check compares a batch with what a trace says of it.
func (tr *traced) check(t *testing.T, b *batch, rate int) {
	t.Helper()
	objects := tr.site(b.site)
	wrong, estimate := 0, 0.0
	for _, o := range objects {
		estimate += tr.bytes(o)
		cycle := uint64(0)
		if o.died != 0 {
			cycle = tr.cycle(o.died)
		}
		if o.words != b.words || cycle != b.cycle || !o.promoted || o.goroutine != uint64(goid.Get()) {
			if wrong++; wrong < 4 {
				t.Errorf("%s: %+v died in %d, want %d", b.site, *o, cycle, b.cycle)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d objects are wrong", b.site, wrong, len(objects))
	}
	total := float64(b.count) * float64(b.words*8)
	if rate == 1 {
		if len(objects) != b.count || estimate != total {
			t.Errorf("%s: %d objects of %.0f bytes, want %d of %.0f", b.site, len(objects), estimate, b.count, total)
		}
		return
	}
	// The number of samples has the Poisson distribution.
	if sigma := math.Sqrt(total * float64(rate)); math.Abs(estimate-total) > 5*sigma {
		t.Errorf("%s: %.0f bytes, want %.0f ± %.0f", b.site, estimate, total, sigma)
	}
}

// TestTotal is about all bytes together, of all sizes.
func TestTotal(t *testing.T) {
	needExact(t)
	const rate = 4096
	end := traceFile(t, Config{Rate: rate})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var keep [256][]byte
	for i := range 900_000 {
		keep[i&255] = make([]byte, 16+i%1500)
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(&keep)
	tr := end()
	tr.sound(t)
	sum := 0.0
	for i := range tr.objects {
		sum += tr.bytes(&tr.objects[i])
	}
	if ratio := sum / float64(after.TotalAlloc-before.TotalAlloc); math.Abs(ratio-1) > 0.01 {
		t.Errorf("the trace has %.4f of the bytes", ratio)
	} else {
		t.Logf("the trace has %.4f of the bytes, %d objects in %.1f bytes each", ratio, len(tr.objects), float64(tr.size)/float64(len(tr.objects)))
	}
}

// TestForced: the first object of each P after a change of the rate is
// sampled for no reason, and must not count for one sample in so many bytes.
func TestForced(t *testing.T) {
	needExact(t)
	const rounds, rate = 300, 1 << 20
	hits := 0
	for range rounds {
		end := traceFile(t, Config{Rate: rate})
		batch64()
		hits += len(end().site("batch64"))
	}
	if hits > 3 { // expected are 300 * 64 / 1 Mi
		t.Errorf("an object of 64 bytes was sampled %d times in %d", hits, rounds)
	}
}

// TestSpecials: an object with a finalizer lives on until that has run, one
// with a cleanup does not, and tiny objects are blocks of 16 bytes.
func TestSpecials(t *testing.T) {
	needExact(t)
	quiet(t)
	end := traceFile(t, Config{Rate: 1})
	const n = 2000
	var ran sync.WaitGroup
	ran.Add(2 * n)
	dropFinal := keep(n, func() *[96]byte {
		p := batchFinal()
		runtime.SetFinalizer(p, func(*[96]byte) { ran.Done() })
		return p
	})
	dropClean := keep(n, func() *[112]byte {
		p := batchClean()
		runtime.AddCleanup(p, func(int) { ran.Done() }, 0)
		return p
	})
	dropTiny := keep(n, batchTiny)
	runtime.GC()
	dropFinal()
	dropClean()
	dropTiny()
	runtime.GC()
	first := collections()
	ran.Wait()
	runtime.GC()
	tr := end()
	tr.sound(t)
	for _, c := range []struct {
		site  string
		count int
		cycle uint64
	}{{"batchFinal", n, first + 1}, {"batchClean", n, first}, {"batchTiny", n / 16, first}} {
		objects := tr.site(c.site)
		if c.site == "batchTiny" && len(objects) == n {
			c.count = n // the race detector wants each object by itself
		}
		if slack := len(objects) - c.count; slack < 0 || slack > n/100 {
			t.Errorf("%s: %d objects, want %d", c.site, len(objects), c.count)
		}
		wrong := 0
		for _, o := range objects {
			if o.died == 0 || tr.cycle(o.died) != c.cycle {
				wrong++
			}
		}
		// The last tiny block may be in use still.
		if wrong > 1 || wrong == 1 && c.site != "batchTiny" {
			t.Errorf("%s: %d of %d did not die in %d", c.site, wrong, len(objects), c.cycle)
		}
	}
}

// TestGoroutines: objects know who allocated them when that goroutine is long
// gone.
func TestGoroutines(t *testing.T) {
	needExact(t)
	quiet(t)
	end := traceFile(t, Config{Rate: 1})
	const goroutines, each = 200, 50
	want := map[uint64]int{}
	var mu sync.Mutex
	var done sync.WaitGroup
	done.Add(goroutines)
	for range goroutines {
		go func() {
			defer done.Done()
			for range each {
				batchGoroutine()
			}
			mu.Lock()
			want[uint64(goid.Get())] = each
			mu.Unlock()
		}()
	}
	done.Wait()
	runtime.GC()
	cycle := collections()
	tr := end()
	tr.sound(t)
	got := map[uint64]int{}
	for _, o := range tr.site("batchGoroutine") {
		got[o.goroutine]++
		if tr.cycle(o.died) != cycle || o.promoted {
			t.Fatalf("%+v, want a death in %d", *o, cycle)
		}
	}
	if len(got) != goroutines {
		t.Errorf("%d goroutines, want %d", len(got), goroutines)
	}
	for id, n := range want {
		if got[id] != n {
			t.Errorf("goroutine %d: %d objects, want %d", id, got[id], n)
		}
	}
}

// TestAgain: what was born in one trace is nothing to the next.
func TestAgain(t *testing.T) {
	needExact(t)
	quiet(t)
	end := traceFile(t, Config{Rate: 1})
	drop := keep(1000, batch64)
	if tr := end(); len(tr.site("batch64")) != 1000 {
		t.Errorf("%d objects", len(tr.site("batch64")))
	}
	end = traceFile(t, Config{Rate: 1})
	keep(500, batch1K)()
	drop()
	runtime.GC()
	tr := end()
	tr.sound(t)
	if len(tr.site("batch64")) != 0 || len(tr.site("batch1K")) != 500 {
		t.Errorf("%d and %d objects", len(tr.site("batch64")), len(tr.site("batch1K")))
	}
}

// TestStopUnderLoad: a sweeper had seen that the log was on, waited for its
// lock while the log was stopped and its memory unmapped, and then looked for
// room in that memory before it looked at the switch again: a program that
// stopped its trace crashed, once in some hundred times on a busy machine. It
// takes luck to see that; what is seen each time is that Stop comes back.
func TestStopUnderLoad(t *testing.T) {
	needExact(t)
	stop := make(chan struct{})
	var done sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		done.Add(1)
		go func() {
			defer done.Done()
			for {
				select {
				case <-stop:
					return
				default:
					keep(1000, batch40)()
				}
			}
		}()
	}
	defer done.Wait()
	defer close(stop)
	name := filepath.Join(t.TempDir(), "trace")
	for range 40 {
		if err := Start(Config{File: name, Rate: 64}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if err := Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLargeIsMajor(t *testing.T) {
	needExact(t)
	quiet(t)
	end := traceFile(t, Config{Rate: 1})
	drop := keep(2, batchHuge)
	tr := end()
	drop()
	for _, o := range tr.site("batchHuge") {
		if o.source != memtrace.Major {
			t.Errorf("%+v", *o)
		}
	}
}
