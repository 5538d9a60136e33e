package scene

import (
	"slices"

	"github.com/mirador-trace/mirador/internal/thread"
)

// enumeration finds the threads that are alive between two times, wherever
// their rows are. It has the threads by start, and what is latest among the
// ends of each 16 of them, of 256, and so on.
type enumeration struct {
	m      *thread.Model
	order  []thread.ID
	starts []float64 // of every 16th
	ends   [][]float64
}

func newEnumeration(m *thread.Model) enumeration {
	order := make([]thread.ID, 0, len(m.Threads))
	for t := range m.Threads {
		if m.Threads[t].Row >= 0 {
			order = append(order, thread.ID(t))
		}
	}
	return enumerate(m, order)
}

// enumerate makes an enumeration of some threads, by number; it keeps order.
func enumerate(m *thread.Model, order []thread.ID) enumeration {
	e := enumeration{m: m, order: order}
	start := func(i int) float64 { return m.Threads[e.order[i]].Start }
	if order := byTime(len(e.order), start); order != nil {
		e.order = pick(e.order, order)
	}
	for i := 0; i < len(e.order); i += blockSize {
		e.starts = append(e.starts, start(i))
	}
	end := func(i int) float64 { return m.Threads[e.order[i]].End }
	for n := len(e.order); n > 1; {
		level := make([]float64, (n+blockSize-1)/blockSize)
		for i := range level {
			level[i] = end(i * blockSize)
			for k := i*blockSize + 1; k < min((i+1)*blockSize, n); k++ {
				level[i] = max(level[i], end(k))
			}
		}
		e.ends = append(e.ends, level)
		n = len(level)
		end = func(i int) float64 { return level[i] }
	}
	return e
}

// before returns how many threads started before t.
func (e *enumeration) before(t float64) int {
	i, _ := slices.BinarySearch(e.starts, t)
	n := max(0, i-1) * blockSize
	for n < len(e.order) && e.m.Threads[e.order[n]].Start < t {
		n++
	}
	return n
}

// alive appends the threads that are alive between two times, by start, unless
// there are more than limit.
func (e *enumeration) alive(ids []thread.ID, from, to float64, limit int) ([]thread.ID, bool) {
	end := e.before(to)
	for i := 0; i < end; {
		// Skip the largest block that starts here and was over before.
		level := -1
		for k := range e.ends {
			shift := blockBits * (k + 1)
			if i&(1<<shift-1) != 0 || i>>shift >= len(e.ends[k]) || e.ends[k][i>>shift] > from {
				break
			}
			level = k
		}
		if level >= 0 {
			i += 1 << (blockBits * (level + 1))
			continue
		}
		if e.m.Threads[e.order[i]].End > from {
			if len(ids) >= limit {
				return ids, false
			}
			ids = append(ids, e.order[i])
		}
		i++
	}
	return ids, true
}
