// Package bench measures the road from bytes to rows on large traces; see
// README.md for the figures and the commands that give them.
package bench

import (
	"bytes"
	"io"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/bench/synthetic"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/thread"
)

// shapes are the traces that are measured, made once each.
var shapes = []struct {
	name  string
	trace func() []byte
}{
	{"flat", made(synthetic.Shape{})},
	{"chain", made(synthetic.Shape{Chain: 100_000})},
	{"wide", made(synthetic.Shape{Concurrent: 10_000})},
}

func made(shape synthetic.Shape) func() []byte {
	return sync.OnceValue(func() []byte {
		var b bytes.Buffer
		if err := synthetic.Write(&b, shape); err != nil {
			panic(err)
		}
		return b.Bytes()
	})
}

func eachShape(b *testing.B, f func(b *testing.B, data []byte)) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			data := s.trace()
			b.SetBytes(int64(len(data)))
			b.ResetTimer()
			f(b, data)
		})
	}
}

func reader(b *testing.B, data []byte) *mirage.Reader {
	r, err := mirage.NewReader(data)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func rate(b *testing.B, what string, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M"+what+"/s")
}

func BenchmarkDecode(b *testing.B) {
	eachShape(b, func(b *testing.B, data []byte) {
		n := 0
		for b.Loop() {
			r := reader(b, data)
			var e event.Event
			for n = 0; r.Next(&e); n++ {
			}
		}
		rate(b, "events", n)
	})
}

func BenchmarkDump(b *testing.B) {
	eachShape(b, func(b *testing.B, data []byte) {
		n := 0
		for b.Loop() {
			r := reader(b, data)
			var e event.Event
			var line []byte
			for n = 0; r.Next(&e); n++ {
				if line = e.AppendText(line); len(line) > 1<<16 {
					io.Discard.Write(line)
					line = line[:0]
				}
			}
		}
		rate(b, "events", n)
	})
}

func BenchmarkModel(b *testing.B) {
	eachShape(b, func(b *testing.B, data []byte) {
		var m *thread.Model
		build := func() {
			r := reader(b, data)
			m = thread.Build(r, thread.Options{Threads: r.Creates() + 16})
		}
		for b.Loop() {
			build()
		}
		rate(b, "events", m.Events)
		m = &thread.Model{}
		above := peak(build)
		b.ReportMetric(above/float64(m.Events), "peakB/event")
		b.ReportMetric(float64(len(m.Threads)), "threads")
	})
}

// peak returns by how many bytes the heap's high-water mark lies above what
// was there before f.
func peak(f func()) float64 {
	runtime.GC()
	before := inUse()
	done, stopped := make(chan bool), make(chan uint64)
	go func() {
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for most := uint64(0); ; {
			select {
			case <-done:
				stopped <- most
				return
			case <-tick.C:
				most = max(most, inUse())
			}
		}
	}()
	f()
	close(done)
	most := <-stopped
	return float64(max(most, inUse())) - float64(before)
}

// inUse returns how many bytes of memory the heap has in use, without stopping
// the world as runtime.ReadMemStats does.
func inUse() uint64 {
	in := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(in)
	return in[0].Value.Uint64() + in[1].Value.Uint64()
}

func BenchmarkLayout(b *testing.B) {
	eachShape(b, func(b *testing.B, data []byte) {
		m := thread.Build(reader(b, data), thread.Options{})
		b.ResetTimer()
		for b.Loop() {
			layout.Arrange(m)
		}
		rate(b, "threads", len(m.Threads))
		b.ReportMetric(float64(m.Rows), "rows")
	})
}

// Issue 2 wants a model to take at most 64 bytes an event beyond the file, at
// its peak. That is no matter of the machine, so it is a test.
func TestModelMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds models of millions of events")
	}
	for _, s := range shapes {
		data := s.trace()
		events := 0
		above := peak(func() {
			r, err := mirage.NewReader(data)
			if err != nil {
				t.Fatal(err)
			}
			events = thread.Build(r, thread.Options{Threads: r.Creates() + 16}).Events
		})
		if perEvent := above / float64(events); perEvent > 64 || events != 2_600_000 {
			t.Errorf("%s: %.1f bytes for each of %d events", s.name, perEvent, events)
		}
	}
}
