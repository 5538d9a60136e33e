package heap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/mirador-trace/mirador/memprof/note"
)

// Notes is what a trace of a Go program tells besides its events: see package
// note. The zero Notes tells nothing.
type Notes struct {
	Cycles []int64 // when the marking of a garbage collection ended, in µs since the Unix epoch, in order
	Lost   uint64  // sampled allocations and deaths that the trace does not have

	runs []run // by first
}

// run is allocations that one goroutine made, by their ids.
type run struct{ first, end, goroutine uint64 }

// ReadNotes finds the packets of notes in a trace. What is damaged is passed
// over.
func ReadNotes(data []byte) *Notes {
	n := new(Notes)
	pid := binary.LittleEndian.AppendUint64(nil, note.PID)
	const before = 30 // bytes of a packet before its process id
	for at := 0; ; {
		i := bytes.Index(data[at:], pid)
		if i < 0 {
			break
		}
		start := at + i - before
		at += i + len(pid)
		if start >= 0 && note.Is(data[start:]) {
			_ = note.Parse(data[start:], n.add) // what came before the damage is good
		}
	}
	slices.Sort(n.Cycles)
	slices.SortStableFunc(n.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	return n
}

func (n *Notes) add(x note.Note) {
	switch x.Kind {
	case note.Cycle:
		n.Cycles = append(n.Cycles, x.Time)
	case note.Lost:
		n.Lost += x.Allocs + x.Deaths
	case note.Goroutines:
		id := x.First
		for _, r := range x.Runs {
			if r.Goroutine != 0 {
				n.runs = append(n.runs, run{id, id + r.Allocs, r.Goroutine})
			}
			id += r.Allocs
		}
	}
}

// goroutine returns which goroutine made an allocation, 0 when that is not
// told.
func (n *Notes) goroutine(id uint64) uint64 {
	i, ok := slices.BinarySearchFunc(n.runs, id, func(r run, id uint64) int { return cmp.Compare(r.first, id) })
	if !ok {
		i--
	}
	if i >= 0 && id < n.runs[i].end {
		return n.runs[i].goroutine
	}
	return 0
}
