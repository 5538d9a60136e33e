package engine

import (
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/memtrace"
)

// ReadMemory reads a trace of memory to its end, and makes it ready to be
// looked at. notes and watch may be nil; the error is that of
// [heap.ReadBlocks].
func ReadMemory(name string, r *memtrace.Reader, notes *heap.Notes, watch heap.Watch) (*Trace, error) {
	b, err := heap.ReadBlocks(r, notes, watch)
	if err != nil {
		return nil, err
	}
	about := About{Name: name, Format: "memtrace", Packets: int(r.Stats().Packets), Start: float64(b.Begin) / 1e6}
	for _, d := range r.Damage() {
		what := d.Kind.String()
		if d.Detail != "" {
			what += ": " + d.Detail
		}
		about.Damage = append(about.Damage, event.Damage{Offset: d.Offset, What: what})
	}
	return NewMemory(about, b), nil
}
