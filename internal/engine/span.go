package engine

import (
	"cmp"
	"slices"
	"sort"

	"github.com/mirador-trace/mirador/internal/thread"
)

// cover is a set of moments, as spans that are in order and apart, with how
// long they are together up to each: any stretch of time is answered by two
// binary searches.
type cover struct {
	spans []thread.Span
	upTo  []float64 // upTo[i] is how long the spans before i are
}

// newCover unites spans, which may overlap and be in any order.
func newCover(spans []thread.Span) cover {
	byStart := func(a, b thread.Span) int { return cmp.Compare(a.Start, b.Start) }
	if !slices.IsSortedFunc(spans, byStart) {
		spans = slices.Clone(spans)
		slices.SortFunc(spans, byStart)
	}
	var c cover
	sum := 0.0
	for _, s := range spans {
		if n := len(c.spans); n > 0 && s.Start <= c.spans[n-1].End {
			if last := &c.spans[n-1]; s.End > last.End {
				sum += s.End - last.End
				last.End = s.End
			}
			continue
		}
		if s.End > s.Start {
			c.spans = append(c.spans, s)
			c.upTo = append(c.upTo, sum)
			sum += s.End - s.Start
		}
	}
	c.upTo = append(c.upTo, sum)
	return c
}

// before returns how long the spans are up to a time.
func (c *cover) before(time float64) float64 {
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].End > time })
	sum := c.upTo[i]
	if i < len(c.spans) && c.spans[i].Start < time {
		sum += time - c.spans[i].Start
	}
	return sum
}

// in returns how long the spans are between two times.
func (c *cover) in(from, to float64) float64 { return max(0, c.before(to)-c.before(from)) }

// spanTimes is when the process was idle, and when it collected.
type spanTimes struct {
	idle, gc cover
	both     cover
}

func (t *Trace) times() *spanTimes {
	t.once.Do(func() {
		idle := t.model.Activations(thread.Top)
		t.spans = spanTimes{newCover(idle), newCover(t.model.GC), newCover(slices.Concat(idle, t.model.GC))}
	})
	return &t.spans
}

// Summary says what happened in a stretch of time.
type Summary struct {
	From     float64         `json:"from"`
	To       float64         `json:"to"`
	Busy     float64         `json:"busy"` // in s: neither idle nor collecting
	Idle     float64         `json:"idle"`
	GC       float64         `json:"gc"`
	Counters []CounterValues `json:"counters"`
}

// CounterValues is how a counter went in a stretch of time. Mean is weighted
// by time.
type CounterValues struct {
	Name  string  `json:"name"`
	Bytes bool    `json:"bytes"`
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	Max   float64 `json:"max"`
}

func (t *Trace) summary(r *Request) (*Summary, error) {
	from, to := max(r.From, 0), min(r.To, t.model.Duration())
	if !(from <= to) {
		from, to = 0, 0
	}
	times := t.times()
	s := &Summary{From: from, To: to, Idle: times.idle.in(from, to), GC: times.gc.in(from, to)}
	s.Busy = max(0, to-from-times.both.in(from, to))
	s.Counters = make([]CounterValues, 0, len(t.model.Counters))
	for i := range t.model.Counters {
		if c, ok := counterValues(&t.model.Counters[i], from, to); ok {
			s.Counters = append(s.Counters, c)
		}
	}
	return s, nil
}

// counterValues says nothing of a counter that had no value yet.
func counterValues(c *thread.Counter, from, to float64) (CounterValues, bool) {
	i := sort.Search(len(c.Samples), func(i int) bool { return c.Samples[i].Time > from })
	if i > 0 {
		i-- // the value that it had when the stretch began
	}
	if i == len(c.Samples) || c.Samples[i].Time > to {
		return CounterValues{}, false
	}
	first := c.Samples[i].Value
	v := CounterValues{Name: clip(c.Name), Bytes: c.InBytes(), First: first, Min: first, Max: first}
	area, long := 0.0, 0.0
	for ; i < len(c.Samples) && c.Samples[i].Time <= to; i++ {
		s, end := c.Samples[i], to
		if i+1 < len(c.Samples) {
			end = min(end, c.Samples[i+1].Time)
		}
		lasts := end - max(s.Time, from)
		area, long = area+s.Value*lasts, long+lasts
		v.Min, v.Max, v.Last = min(v.Min, s.Value), max(v.Max, s.Value), s.Value
	}
	if v.Mean = v.Last; long > 0 {
		v.Mean = area / long
	}
	return v, true
}
