package engine

import (
	"math"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Overview is the whole trace in columns of equal time, each a number. What a
// trace has none of is left out.
type Overview struct {
	From     float64        `json:"from"`
	To       float64        `json:"to"`
	Alive    []float32      `json:"alive"` // the most threads at once are 1
	Busy     []float32      `json:"busy"`  // the share of the time in which something ran
	GC       []float32      `json:"gc"`    // the share of the time
	Failures []int          `json:"failures,omitempty"`
	Hits     []int          `json:"hits,omitempty"`
	Counters []CounterTrace `json:"counters,omitempty"`
}

// CounterTrace is how a counter went, as shares of its scale, or -1 while it
// had no value.
type CounterTrace struct {
	Name   string    `json:"name"`
	Style  int       `json:"style"`
	Values []float32 `json:"values"`
}

// overviewCounters is how many counters have room in the overview.
const overviewCounters = 4

func (t *Trace) overview(r *Request) (*Overview, error) {
	if r.Width < 1 || r.Width > 4096 {
		return nil, refuse("bad-request", "an overview of %d columns: 1 to 4096", r.Width)
	}
	f, err := t.find(r.Query)
	if err != nil {
		return nil, err
	}
	o, n := t.columns(r.Width), r.Width
	if len(f.hits) > 0 {
		o.Hits = make([]int, n)
		for _, h := range f.hits {
			o.Hits[o.column(h.time, n)]++
		}
	}
	return &o, nil
}

// columns returns the overview without hits, which is made once for a width.
func (t *Trace) columns(n int) Overview {
	t.mu.Lock()
	if o := t.strip; o != nil && len(o.Alive) == n {
		defer t.mu.Unlock()
		return *o
	}
	t.mu.Unlock()
	o := &Overview{To: max(t.model.Duration(), 1e-9)}
	t.countAlive(o, n)
	times := t.times()
	o.Busy, o.GC = make([]float32, n), make([]float32, n)
	width := (o.To - o.From) / float64(n)
	for i := range n {
		from := o.From + float64(i)*width
		o.GC[i] = float32(times.gc.in(from, from+width) / width)
		o.Busy[i] = float32(max(0, 1-times.both.in(from, from+width)/width))
	}
	for i := range t.model.Counters[:min(len(t.model.Counters), overviewCounters)] {
		o.Counters = append(o.Counters, o.counter(&t.model.Counters[i], i, n))
	}
	t.mu.Lock()
	t.strip = o
	t.mu.Unlock()
	return *o
}

func (o *Overview) column(time float64, n int) int {
	return min(max(int((time-o.From)/(o.To-o.From)*float64(n)), 0), n-1)
}

// countAlive counts threads and failures.
func (t *Trace) countAlive(o *Overview, n int) {
	change := make([]int, n+1)
	for i := 1; i < len(t.model.Threads); i++ {
		th := &t.model.Threads[i]
		change[o.column(th.Start, n)]++
		change[o.column(th.End, n)+1]--
		if th.Failed() {
			if o.Failures == nil {
				o.Failures = make([]int, n)
			}
			o.Failures[o.column(th.End, n)]++
		}
	}
	most, alive := 1, 0
	for _, c := range change {
		alive += c
		most = max(most, alive)
	}
	o.Alive, alive = make([]float32, n), 0
	for i := range n {
		alive += change[i]
		o.Alive[i] = float32(alive) / float32(most)
	}
}

// counter samples a counter: the largest value in each column.
func (o *Overview) counter(c *thread.Counter, number, n int) CounterTrace {
	x := CounterTrace{clip(c.Name), number % scene.Counters, make([]float32, n)}
	scale := c.Max - c.Min
	if !(scale > 0) {
		scale = 1
	}
	k, last := 0, math.NaN()
	for i := range n {
		end := o.From + (o.To-o.From)*float64(i+1)/float64(n)
		most := last
		for ; k < len(c.Samples) && c.Samples[k].Time < end; k++ {
			last = c.Samples[k].Value
			if !(most >= last) {
				most = last
			}
		}
		x.Values[i] = -1
		if !math.IsNaN(most) {
			x.Values[i] = float32((most - c.Min) / scale)
		}
	}
	return x
}
