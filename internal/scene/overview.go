package scene

import (
	"math"

	"github.com/mirador-trace/mirador/internal/thread"
)

// Overview is a whole trace in so many buckets of equal time.
type Overview struct {
	Duration float64   `json:"duration"` // of the trace, in s
	Run      []float32 `json:"run"`      // what share of the time threads ran; more than 1 if several did at once
	GC       []float32 `json:"gc"`       // what share of the time memory was collected
	Threads  []int32   `json:"threads"`  // how many threads started
	Failures []int32   `json:"failures"` // how many threads failed

	Counters []OverviewCounter `json:"counters"`
}

// OverviewCounter is a counter's lowest and highest value in each bucket.
type OverviewCounter struct {
	Name string    `json:"name"`
	Min  float64   `json:"min"` // its scale
	Max  float64   `json:"max"`
	Low  []float64 `json:"low"`
	High []float64 `json:"high"`
}

// Overview returns the trace in so many buckets, at least 1. It looks at every
// running part, which takes some 10 ms for a million: keep what it returns.
func (x *Index) Overview(buckets int) Overview {
	n := min(max(buckets, 1), 1<<16)
	o := Overview{
		Duration: x.m.Duration(),
		Run:      make([]float32, n), GC: make([]float32, n),
		Threads: make([]int32, n), Failures: make([]int32, n),
		Counters: make([]OverviewCounter, len(x.m.Counters)),
	}
	if !(o.Duration > 0) {
		o.Duration = 1e-6
	}
	b := timeBuckets{float64(n) / o.Duration, n}
	for t := 1; t < len(x.m.Threads); t++ {
		th := &x.m.Threads[t]
		o.Threads[b.of(th.Start)]++
		if th.Failed() {
			o.Failures[b.of(th.End)]++
		}
		for _, s := range x.m.Activations(thread.ID(t)) {
			b.spread(o.Run, s)
		}
	}
	for _, s := range x.m.GC {
		b.spread(o.GC, s)
	}
	for i := range x.m.Counters {
		o.Counters[i] = x.overviewCounter(i, b)
	}
	return o
}

// timeBuckets puts times into buckets.
type timeBuckets struct {
	scale float64 // buckets per second
	n     int
}

func (b *timeBuckets) of(t float64) int {
	return int(max(0, min(math.Floor(t*b.scale), float64(b.n-1))))
}

// spread adds a stretch of time to the buckets that it touches.
func (b *timeBuckets) spread(to []float32, s thread.Span) {
	x0, x1 := max(0, s.Start*b.scale), min(s.End*b.scale, float64(b.n))
	for x0 < x1 {
		i := min(int(x0), b.n-1)
		end := min(x1, float64(i+1))
		to[i] += float32(end - x0)
		x0 = end
	}
}

func (x *Index) overviewCounter(i int, b timeBuckets) OverviewCounter {
	c := &x.m.Counters[i]
	o := OverviewCounter{c.Name, c.Min, c.Max, make([]float64, b.n), make([]float64, b.n)}
	value, at := 0.0, 0
	for k := range b.n {
		// The value that it came with counts, too.
		low, high := value, value
		end := at
		for end < len(c.Samples) && b.of(c.Samples[end].Time) <= k {
			end++
		}
		if end > at {
			l, h := x.counters[i].between(c.Samples, at, end)
			if at == 0 {
				low, high = l, h
			}
			low, high = min(low, l), max(high, h)
			value, at = c.Samples[end-1].Value, end
		}
		o.Low[k], o.High[k] = low, high
	}
	return o
}
