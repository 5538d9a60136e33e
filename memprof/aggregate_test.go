package memprof

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/memprof/note"
)

// TestAggregate: on an unmodified runtime the totals are right, and so is what
// lives, if not who.
func TestAggregate(t *testing.T) {
	if Exact() {
		t.Skip("traces are exact here")
	}
	quiet(t)
	const rate, n = 2048, 50_000
	end := traceFile(t, Config{Rate: rate, Flush: 20 * time.Millisecond})
	list := make([]*[1024]byte, n)
	for i := range list {
		list[i] = batch1K()
	}
	// The profile shows what was allocated before the collection before last.
	settle := func() {
		for range 3 {
			runtime.GC()
			time.Sleep(2*pollInterval + 50*time.Millisecond)
		}
	}
	settle()
	clear(list[:n/2])
	settle()
	tr := end()
	runtime.KeepAlive(list)
	tr.sound(t)
	if how := tr.info.Context; how != note.AggregateContext {
		t.Errorf("context %q", how)
	}
	all, live := 0.0, 0.0
	for _, o := range tr.site("batch1K") {
		all += tr.bytes(o)
		if o.died == 0 {
			live += tr.bytes(o)
		}
		if o.words != 128 || o.promoted {
			t.Fatalf("%+v", *o)
		}
	}
	for _, c := range []struct{ got, want float64 }{{all, n * 1024}, {live, n / 2 * 1024}} {
		if sigma := math.Sqrt(c.want * rate); math.Abs(c.got-c.want) > 6*sigma {
			t.Errorf("%.0f bytes, want %.0f ± %.0f", c.got, c.want, sigma)
		}
	}
	if len(tr.cycles) < 2 {
		t.Errorf("%d collections", len(tr.cycles))
	}
}
