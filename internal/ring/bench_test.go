package ring

import (
	"testing"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
)

func record(b testing.TB, size int64) *Session {
	s, err := Start(Options{Dir: b.TempDir() + "/t", Size: size, Program: "test"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Stop(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func BenchmarkEvent(b *testing.B) {
	record(b, 16<<20)
	b.ReportAllocs()
	for b.Loop() {
		EmitOther(event.Fulfills, goid.Get(), 7)
	}
}

func BenchmarkFenced(b *testing.B) {
	record(b, 16<<20)
	for b.Loop() {
		EmitAfter(event.Read, goid.Get(), 7)
	}
}

func BenchmarkLabel16(b *testing.B) {
	record(b, 16<<20)
	b.ReportAllocs()
	for b.Loop() {
		EmitText(event.Label, goid.Get(), "0123456789abcdef")
	}
}

func BenchmarkEventParallel(b *testing.B) {
	record(b, 16<<20)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			EmitOther(event.Fulfills, goid.Get(), 7)
		}
	})
}

func BenchmarkStamp(b *testing.B) {
	chooseClock()
	for b.Loop() {
		cycles()
	}
}

func BenchmarkStart(b *testing.B) {
	dir := b.TempDir() + "/t"
	for b.Loop() {
		s, err := Start(Options{Dir: dir, Size: 16 << 20, Program: "test"})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Stop()
		b.StartTimer()
	}
}
