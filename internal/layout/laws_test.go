package layout_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

// definition gives each thread its row as the package's documentation says it,
// looking at everything.
func definition(m *thread.Model) map[thread.ID]int32 {
	rows := make(map[thread.ID]int32)
	overlap := func(t, i *thread.Thread) bool {
		return i.Start <= t.Start && t.Start < i.End ||
			t.Start <= i.Start && i.Start < t.End ||
			t.Start < i.End && i.End <= t.End
	}
	hasRoom := func(row int32, t *thread.Thread, above int64) bool {
		for id, r := range rows {
			if i := &m.Threads[id]; r == row && i.TID > above && overlap(t, i) {
				return false
			}
		}
		return true
	}
	const anyNumber = -1 << 63
	for id := range m.Descend(thread.Top) {
		if id == thread.Top {
			continue
		}
		t := &m.Threads[id]
		row := int32(0)
		if t.Parent != thread.Top {
			parent := &m.Threads[t.Parent]
			row = rows[t.Parent]
			mayShare := parent.Becomes == id || !overlap(t, parent)
			if mayShare && hasRoom(row, t, parent.TID) {
				rows[id] = row
				continue
			}
			row++
		}
		for !hasRoom(row, t, anyNumber) {
			row++
		}
		rows[id] = row
	}
	return rows
}

// events is a source of events that lie in memory.
type events []event.Event

func (s *events) Next(e *event.Event) bool {
	if len(*s) == 0 {
		return false
	}
	*e, *s = (*s)[0], (*s)[1:]
	return true
}

// anyForest is a model of n threads with any parents, numbers and times, equal
// ones too, of which some become others and some take no time.
func anyForest(r *rand.Rand, n int, span int64) *thread.Model {
	numbers := r.Perm(n)
	var first, last events
	for i, number := range numbers {
		parent := int64(event.NoThread)
		if i > 0 && r.IntN(4) > 0 {
			parent = int64(numbers[r.IntN(i)])
		}
		start := r.Int64N(span)
		end := start + r.Int64N(span)*int64(r.IntN(3))/2
		first = append(first, event.Event{Kind: event.Creates, Time: start, Thread: parent, Other: int64(number), Type: event.Task})
		if parent != event.NoThread && r.IntN(3) == 0 {
			last = append(last, event.Event{Kind: event.Becomes, Time: end, Thread: parent, Other: int64(number)})
		}
		last = append(last, event.Event{Kind: event.Fulfills, Time: end, Thread: int64(number), Other: int64(number)})
	}
	all := append(first, last...)
	return thread.Build(&all, thread.Options{KeepBinds: true})
}

// Rows are what the definition says, for any forest.
func TestRowsAreTheDefinitions(t *testing.T) {
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 0))
		n, span := 1+r.IntN(60), 1+r.Int64N(100)
		if seed%100 == 0 {
			n, span = 1500, 5000 // more than a row keeps in one piece
		}
		m := anyForest(r, n, span)
		layout.Arrange(m)
		highest := int32(-1)
		for id, want := range definition(m) {
			if got := m.Threads[id].Row; got != want {
				t.Fatalf("seed %d: thread %d is in row %d, want %d", seed, m.Threads[id].TID, got, want)
			}
			highest = max(highest, want)
		}
		if m.Rows != int(highest+1) || m.Threads[thread.Top].Row != -1 {
			t.Fatalf("seed %d: %d rows, want %d; the top thread is in row %d", seed, m.Rows, highest+1, m.Threads[thread.Top].Row)
		}
		again := make([]int32, len(m.Threads))
		for id := range m.Threads {
			again[id] = m.Threads[id].Row
		}
		layout.Arrange(m)
		for id := range m.Threads {
			if m.Threads[id].Row != again[id] {
				t.Fatalf("seed %d: laid out again, thread %d moves", seed, m.Threads[id].TID)
			}
		}
	}
}

// noOverlap fails the test if two threads of a row are there at the same time,
// unless one becomes the other: those share a row for that.
func noOverlap(t *testing.T, what string, m *thread.Model) {
	t.Helper()
	rows := make([][]thread.ID, m.Rows)
	for id := range m.Threads[1:] {
		th := &m.Threads[id+1]
		rows[th.Row] = append(rows[th.Row], thread.ID(id+1))
	}
	becomes := func(a, b thread.ID) bool {
		for a != thread.None && a != b {
			a = m.Threads[a].Becomes
		}
		return a == b
	}
	for r, row := range rows {
		slices.SortFunc(row, func(a, b thread.ID) int { return cmp.Compare(m.Threads[a].Start, m.Threads[b].Start) })
		var alive []thread.ID
		for _, id := range row {
			b := &m.Threads[id]
			alive = slices.DeleteFunc(alive, func(id thread.ID) bool { return m.Threads[id].End <= b.Start })
			for _, other := range alive {
				if a := &m.Threads[other]; a.Start < b.End && !becomes(other, id) {
					t.Fatalf("%s: row %d has thread %d from %g to %g and thread %d from %g to %g", what, r,
						a.TID, a.Start, a.End, b.TID, b.Start, b.End)
				}
			}
			alive = append(alive, id)
		}
	}
}

// recordedForest is a model of n threads as a recorder writes it: time goes
// on, numbers grow, and threads are created by those that live.
func recordedForest(r *rand.Rand, n int) *thread.Model {
	var all events
	time, next := int64(0), int64(1)
	alive := []int64{}
	for range n {
		time += r.Int64N(3)
		switch {
		case len(alive) > 0 && r.IntN(3) == 0:
			i := r.IntN(len(alive))
			all = append(all, event.Event{Kind: event.Fulfills, Time: time, Thread: alive[i], Other: alive[i]})
			alive = slices.Delete(alive, i, i+1)
		case len(alive) > 1 && r.IntN(4) == 0:
			// A thread becomes a younger one.
			i := r.IntN(len(alive) - 1)
			j := i + 1 + r.IntN(len(alive)-i-1)
			all = append(all, event.Event{Kind: event.Becomes, Time: time, Thread: alive[i], Other: alive[j]})
			alive = slices.Delete(alive, i, i+1)
		default:
			parent := int64(event.NoThread)
			if len(alive) > 0 && r.IntN(8) > 0 {
				parent = alive[r.IntN(len(alive))]
			}
			all = append(all, event.Event{Kind: event.Creates, Time: time, Thread: parent, Other: next, Type: event.Task})
			alive = append(alive, next)
			next++
		}
	}
	return thread.Build(&all, thread.Options{KeepBinds: true})
}

// No two threads of a row overlap where numbers grow with time.
func TestNoOverlap(t *testing.T) {
	for seed := range uint64(300) {
		m := recordedForest(rand.New(rand.NewPCG(seed, 1)), 1+int(seed)*7)
		layout.Arrange(m)
		noOverlap(t, fmt.Sprintf("seed %d", seed), m)
	}
	paths, err := filepath.Glob("../../testdata/*.ctf*")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d recorded traces, %v", len(paths), err)
	}
	for _, path := range paths {
		loaded, err := trace.Load(path, nil, trace.Options{KeepBinds: true})
		if err != nil {
			t.Fatal(err)
		}
		noOverlap(t, path, loaded.Model)
	}
}

// oneRow is a model of n threads that all fit into one row.
func oneRow(n int, number func(i int) int64) *thread.Model {
	return thread.Build(&sequence{n: 2 * n, number: number}, thread.Options{KeepBinds: true, Threads: n + 1})
}

// sequence creates and resolves one thread after the other.
type sequence struct {
	i, n   int
	number func(i int) int64
}

func (s *sequence) Next(e *event.Event) bool {
	if s.i == s.n {
		return false
	}
	id := s.number(s.i / 2)
	*e = event.Event{Kind: event.Creates, Time: int64(s.i), Thread: event.NoThread, Other: id, Type: event.Task}
	if s.i%2 == 1 {
		e.Kind, e.Thread = event.Fulfills, id
	}
	s.i++
	return true
}

// orders are the ways in which threads may come to their row.
var orders = []struct {
	name   string
	number func(n int) func(i int) int64
}{
	{"forwards", func(n int) func(int) int64 { return func(i int) int64 { return int64(i) } }},
	{"backwards", func(n int) func(int) int64 { return func(i int) int64 { return int64(n - i) } }},
	{"anyhow", func(n int) func(int) int64 {
		return func(i int) int64 { return int64(uint32(i) * 2654435761 % (1 << 27)) }
	}},
}

// Issue 2: ten million threads on one row are no more than that. A million
// here, with time to spare for slow machines; see BenchmarkOneRow.
func TestOneRow(t *testing.T) {
	const n = 1_000_000
	for _, order := range orders {
		m := oneRow(n, order.number(n))
		began := time.Now()
		layout.Arrange(m)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: it took %v", order.name, took)
		}
		if m.Rows != 1 {
			t.Errorf("%s: %d rows", order.name, m.Rows)
		}
	}
}

func BenchmarkOneRow(b *testing.B) {
	const n = 10_000_000
	for _, order := range orders {
		b.Run(order.name, func(b *testing.B) {
			m := oneRow(n, order.number(n))
			for b.Loop() {
				layout.Arrange(m)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mthreads/s")
		})
	}
}
