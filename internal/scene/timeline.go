package scene

import (
	"math"
	"slices"

	"github.com/mirador-trace/mirador/internal/thread"
)

// timeline is things that happened at a time each, in order: what a thread did
// with another one, or just a thread.
type timeline struct {
	at   []float64
	from []thread.ID
	to   []thread.ID // nil if there are no other ones
}

func newTimeline(n int) timeline {
	return timeline{at: make([]float64, 0, n), from: make([]thread.ID, 0, n)}
}

func (l *timeline) add(at float64, t thread.ID) {
	l.at = append(l.at, at)
	l.from = append(l.from, t)
}

// sort puts the timeline into order, keeping that of equal times.
func (l *timeline) sort() {
	order := byTime(len(l.at), func(i int) float64 { return l.at[i] })
	if order == nil {
		return
	}
	l.at = pick(l.at, order)
	l.from = pick(l.from, order)
	if l.to != nil {
		l.to = pick(l.to, order)
	}
}

func pick[T any](items []T, order []uint32) []T {
	out := make([]T, len(order))
	for i, k := range order {
		out[i] = items[k]
	}
	return out
}

// byTime returns the order in which n things happened, or nil if that is the
// order in which they are. It sorts the bits of the times, 11 at a time from
// the lowest on, so that a million take some 50 ms.
func byTime(n int, time func(int) float64) []uint32 {
	sorted := true
	last := math.Inf(-1)
	for i := range n {
		t := time(i)
		if t < last {
			sorted = false
			break
		}
		last = t
	}
	if sorted {
		return nil
	}
	type item struct {
		key uint64
		i   uint32
	}
	const digit = 11
	items, other := make([]item, n), make([]item, n)
	var differ uint64
	for i := range items {
		items[i] = item{sortable(time(i)), uint32(i)}
		differ |= items[i].key ^ items[0].key
	}
	var count [1<<digit + 1]uint32
	for shift := 0; shift < 64; shift += digit {
		if differ>>shift&(1<<digit-1) == 0 {
			continue
		}
		clear(count[:])
		for i := range items {
			count[items[i].key>>shift&(1<<digit-1)+1]++
		}
		for d := range 1 << digit {
			count[d+1] += count[d]
		}
		for i := range items {
			d := items[i].key >> shift & (1<<digit - 1)
			other[count[d]] = items[i]
			count[d]++
		}
		items, other = other, items
	}
	order := make([]uint32, n)
	for i := range items {
		order[i] = items[i].i
	}
	return order
}

// sortable returns bits that sort like the number.
func sortable(t float64) uint64 {
	b := math.Float64bits(t)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// between returns which things happened from one time to another.
func (l *timeline) between(from, to float64) (lo, hi int) {
	lo, _ = slices.BinarySearch(l.at, from)
	hi, _ = slices.BinarySearch(l.at[lo:], to)
	return lo, lo + hi
}

// sample calls yield for at most budget of the things [lo, hi): all if there
// are no more, or else as many as there can be in each column, which is some
// time wide at least, evenly spread over those of the column. A column is
// aligned to time 0, so that the same things are seen while the view is dragged.
func (l *timeline) sample(lo, hi int, column float64, budget int, yield func(i int)) {
	if hi-lo <= budget {
		for i := lo; i < hi; i++ {
			yield(i)
		}
		return
	}
	most := 0
	for ; most == 0; column *= 1.4 {
		if most = l.columnLimit(lo, hi, column, budget); most > 0 {
			break
		}
	}
	for i := lo; i < hi; {
		next := l.column(i, hi, column)
		n := next - i
		k := min(n, most)
		for j := range k {
			yield(i + n*j/k)
		}
		i = next
	}
}

// columnLimit returns how many things of a column can be shown such that
// there are no more than budget in all, up to 8; 0 if it cannot be done.
func (l *timeline) columnLimit(lo, hi int, column float64, budget int) int {
	var sizes [9]int // columns with 1, 2 … 8 things or more
	columns := 0
	for i := lo; i < hi; {
		next := l.column(i, hi, column)
		sizes[min(next-i, 8)]++
		i = next
		if columns++; columns > budget && columns > 1 {
			return 0
		}
	}
	for most := 8; most > 1; most-- {
		total := 0
		for n, columns := range sizes {
			total += min(n, most) * columns
		}
		if total <= budget {
			return most
		}
	}
	return 1
}

// column returns the end of the column that starts with i.
func (l *timeline) column(i, hi int, width float64) int {
	end := (math.Floor(l.at[i]/width) + 1) * width
	step := 1
	for i+step < hi && l.at[i+step] < end {
		i += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		for i+step < hi && l.at[i+step] < end {
			i += step
		}
	}
	return i + 1
}

// sortTicks sorts numbers, 11 bits at a time.
func sortTicks(ticks []uint32) {
	if slices.IsSorted(ticks) {
		return
	}
	const digit = 11
	var count [1<<digit + 1]uint32
	from, to := ticks, make([]uint32, len(ticks))
	for shift := 0; shift < 32; shift += digit {
		clear(count[:])
		for _, v := range from {
			count[v>>shift&(1<<digit-1)+1]++
		}
		for d := range 1 << digit {
			count[d+1] += count[d]
		}
		for _, v := range from {
			d := v >> shift & (1<<digit - 1)
			to[count[d]] = v
			count[d]++
		}
		from, to = to, from
	}
	copy(ticks, from) // after three rounds it is the other one
}
