package bench

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/memtrace"
)

// memTrace returns a reference trace of memory, unpacked.
func memTrace(b *testing.B, name string) []byte {
	b.Helper()
	list, err := filepath.Glob(filepath.Join(reference.Dir(b), "memtrace", name, name+".ctf*"))
	if err != nil || len(list) != 1 {
		b.Fatalf("%s: %d files, %v", name, len(list), err)
	}
	return reference.Read(b, list[0])
}

// perCPU runs f, which handles n events, and reports events by processor
// time, in which other processes have no part, and the garbage collector has.
func perCPU(b *testing.B, f func() (events int64)) {
	b.Helper()
	b.ReportAllocs()
	start := cpuTime(b)
	var events int64
	for b.Loop() {
		events += f()
	}
	used := cpuTime(b) - start
	if used == 0 {
		return // not known here
	}
	b.ReportMetric(float64(events)/used.Seconds()/1e6, "Mevents/cpu-s")
	b.ReportMetric(used.Seconds()/float64(b.N)*1000, "cpu-ms/op")
}

func memReader(b *testing.B, data []byte) *memtrace.Reader {
	b.Helper()
	r, err := memtrace.NewReaderBytes(data)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkMemRead decodes every event, its backtrace included.
func BenchmarkMemRead(b *testing.B) {
	data := memTrace(b, "big")
	open := func() *memtrace.Reader { return memReader(b, data) }
	b.Run("bytes", func(b *testing.B) { perCPU(b, func() int64 { return readAll(b, open()) }) })
	b.Run("stream", func(b *testing.B) {
		perCPU(b, func() int64 {
			r, err := memtrace.NewReader(struct{ io.Reader }{bytes.NewReader(data)})
			if err != nil {
				b.Fatal(err)
			}
			return readAll(b, r)
		})
	})
}

func readAll(b *testing.B, r *memtrace.Reader) (events int64) {
	var ev memtrace.Event
	for {
		switch err := r.Next(&ev); err {
		case nil:
			events++
		case io.EOF:
			return events
		default:
			b.Fatal(err)
		}
	}
}

// BenchmarkMemReport makes the reports of the trace with the deep stacks.
func BenchmarkMemReport(b *testing.B) {
	data := memTrace(b, "big")
	const events = 5205343
	b.Run("hotspots", func(b *testing.B) {
		perCPU(b, func() int64 {
			p, err := heap.Allocated(memReader(b, data), heap.NewStacks(), nil)
			if err != nil {
				b.Fatal(err)
			}
			if f := p.Hotspots(20, 10); f[0].Name != "Stdlib__Set.Make.bal" {
				b.Fatal(f[0].Name)
			}
			return events
		})
	})
	b.Run("flame", func(b *testing.B) {
		perCPU(b, func() int64 {
			p, err := heap.Allocated(memReader(b, data), heap.NewStacks(), nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Stacks.WriteFolded(io.Discard, p.Samples); err != nil {
				b.Fatal(err)
			}
			return events
		})
	})
	b.Run("live", func(b *testing.B) {
		perCPU(b, func() int64 {
			c, err := heap.LiveCurve(memReader(b, data), nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := heap.LiveAt(memReader(b, data), heap.NewStacks(), c.Peak, nil); err != nil {
				b.Fatal(err)
			}
			return events
		})
	})
	b.Run("leaks", func(b *testing.B) {
		perCPU(b, func() int64 {
			if _, err := heap.FindLeaks(memReader(b, data), heap.NewStacks(), nil); err != nil {
				b.Fatal(err)
			}
			return events
		})
	})
}

// written are traces of programs with shallow stacks and, the last, deep ones.
var written = []string{"ext_v3_1e-2", "leak_v3_1e-5", "json_v2_1e-3", "big"}

// BenchmarkMemDump writes traces as text, to a file that takes everything.
func BenchmarkMemDump(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	for _, name := range append(written[:3:3], "ocamlopt_v1") {
		b.Run(strings.ReplaceAll(name, "_", "-"), func(b *testing.B) {
			data := memTrace(b, name)
			perCPU(b, func() (events int64) {
				r := memReader(b, data)
				d := memtrace.NewDumper(null, r)
				var ev memtrace.Event
				for r.Next(&ev) == nil {
					events++
					if err := d.Dump(&ev); err != nil {
						b.Fatal(err)
					}
				}
				if err := d.Flush(); err != nil {
					b.Fatal(err)
				}
				return events
			})
		})
	}
}

// BenchmarkMemCopy decodes traces and encodes them again.
func BenchmarkMemCopy(b *testing.B) {
	for _, name := range written {
		b.Run(strings.ReplaceAll(name, "_", "-"), func(b *testing.B) {
			data := memTrace(b, name)
			events := readAll(b, memReader(b, data))
			perCPU(b, func() int64 {
				r := memReader(b, data)
				w, err := memtrace.NewWriter(io.Discard, memtrace.Info{Version: max(2, r.Info().Version), Start: r.Info().Start}, r.Locate)
				if err != nil {
					b.Fatal(err)
				}
				if err := memtrace.Copy(w, r, nil); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				return events
			})
		})
	}
}
