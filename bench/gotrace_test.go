package bench

import (
	"bytes"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	xtrace "golang.org/x/exp/trace"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/thread"
)

// goTraces are execution traces of some 20 MB each: of a program that does a
// bit of everything, and of one in which 400,000 goroutines wait at once.
// Another process records them: ours would keep what the goroutines leave
// behind.
var goTraces = []struct {
	name  string
	trace func() ([]byte, error)
}{
	{"busy", sync.OnceValues(func() ([]byte, error) { return recordGo("-size=20000000") })},
	{"crowd", sync.OnceValues(func() ([]byte, error) { return recordGo("-crowd=400000") })},
}

func recordGo(flag string) ([]byte, error) {
	return exec.Command("go", "run", "./gengotrace", flag).Output()
}

// eachGoTrace runs a benchmark that reads the whole of a trace and returns how
// many events that were.
func eachGoTrace(b *testing.B, read func(b *testing.B, data []byte) (events int)) {
	for _, of := range goTraces {
		b.Run(of.name, func(b *testing.B) {
			data, err := of.trace()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			events := 0
			runtime.GC()
			before := cpuTime(b)
			for b.Loop() {
				events = read(b, data)
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/float64(events), "cpu-ns/event")
			rate(b, "events", events)
		})
	}
}

// BenchmarkGoPeer is the decoder alone, with nothing asked of its events.
func BenchmarkGoPeer(b *testing.B) {
	eachGoTrace(b, func(b *testing.B, data []byte) (n int) {
		r, err := xtrace.NewReader(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		for ; err == nil; n++ {
			_, err = r.ReadEvent()
		}
		return n - 1
	})
}

func goReader(b *testing.B, data []byte) *gotrace.Reader {
	r, err := gotrace.NewReader(data)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func BenchmarkGoDecode(b *testing.B) {
	eachGoTrace(b, func(b *testing.B, data []byte) int {
		r := goReader(b, data)
		for e := (event.Event{}); r.Next(&e); {
		}
		return r.Totals().Events
	})
}

// goModel builds a model and returns the number of the trace's events with it.
func goModel(b *testing.B, data []byte) (*thread.Model, int) {
	r := goReader(b, data)
	m := thread.Build(r, thread.Options{QuietCounters: true})
	m.Stacks = r.Stacks()
	if damage := r.Damage(); len(damage) > 0 {
		b.Fatal(damage)
	}
	return m, r.Totals().Events
}

func BenchmarkGoModel(b *testing.B) {
	eachGoTrace(b, func(b *testing.B, data []byte) int {
		_, events := goModel(b, data)
		return events
	})
}

// BenchmarkGoMemory is what a model takes once built, and at most before.
func BenchmarkGoMemory(b *testing.B) {
	eachGoTrace(b, func(b *testing.B, data []byte) (events int) {
		var m *thread.Model
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		most := peak(func() { m, events = goModel(b, data) })
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(events), "liveB/event")
		b.ReportMetric(most/float64(events), "peakB/event")
		b.ReportMetric(float64(events)/1e6, "Mevents")
		b.ReportMetric(float64(len(m.Threads)), "threads")
		return events
	})
}

func BenchmarkGoLayout(b *testing.B) {
	for _, of := range goTraces {
		b.Run(of.name, func(b *testing.B) {
			data, err := of.trace()
			if err != nil {
				b.Fatal(err)
			}
			m, _ := goModel(b, data)
			for b.Loop() {
				layout.Arrange(m)
			}
			rate(b, "threads", len(m.Threads))
			b.ReportMetric(float64(m.Rows), "rows")
		})
	}
}
