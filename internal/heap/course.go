package heap

import "sort"

// Course is how much of some blocks was alive over time, in samples. It keeps
// a summary of each 128 events, so that any stretch of time is answered
// without looking at all of them.
type Course struct {
	blocks *Blocks
	of     set

	Peak Moment // Events counts allocations and deaths of all blocks
	End  int64  // samples alive at the end

	time []int64 // of the first event of each run
	low  []int64 // the least during a run, from what was before it on
	high []int64
	last []int64 // at the end of a run
}

const runLength = 128

func (b *Blocks) course(of set) *Course {
	n := (len(b.order) + runLength - 1) / runLength
	all := make([]int64, 4*n)
	c := &Course{blocks: b, of: of, time: all[:n], low: all[n : 2*n], high: all[2*n : 3*n], last: all[3*n:]}
	live := int64(0)
	peak := -1
	for run := range n {
		from := run * runLength
		low, high := live, live
		for i, e := range b.order[from:min(from+runLength, len(b.order))] {
			if !of.has(e >> 1) {
				continue
			}
			if e&1 == 0 {
				live += int64(b.samples[e>>1])
				if live > high {
					high = live
					if live > c.Peak.Live {
						c.Peak.Live, peak = live, from+i
					}
				}
			} else {
				live -= int64(b.samples[e>>1])
				low = min(low, live)
			}
		}
		c.time[run], c.low[run], c.high[run], c.last[run] = b.at(from), low, high, live
	}
	c.End = live
	if c.Peak.Time = b.Begin; peak >= 0 {
		c.Peak.Events, c.Peak.Time = int64(peak+1), b.at(peak)
	}
	return c
}

// Step is what was alive during a stretch of time, in samples.
type Step struct{ Low, High, Last int64 }

// Steps divides the time from a first up to, but without, a last into n equal
// stretches.
func (c *Course) Steps(from, to int64, n int) []Step {
	steps := make([]Step, n)
	at := c.blocks.before(from)
	live := c.after(at)
	for i := range steps {
		end := c.next(at, from+int64(float64(to-from)*float64(i+1)/float64(n)))
		s := Step{live, live, live}
		c.over(at, end, &s)
		steps[i], live, at = s, s.Last, end
	}
	return steps
}

// At returns what was alive after all that happened up to a time.
func (c *Course) At(time int64) int64 { return c.after(c.blocks.before(time + 1)) }

// next returns the first event at or after a time, which is not before the
// given one.
func (c *Course) next(event int, time int64) int {
	run := event / runLength
	run += sort.Search(len(c.time)-run, func(i int) bool { return c.time[run+i] >= time })
	i := max(event, (run-1)*runLength)
	for i < len(c.blocks.order) && c.blocks.at(i) < time {
		i++
	}
	return i
}

// after returns what was alive after so many events.
func (c *Course) after(events int) int64 {
	run := events / runLength
	live := int64(0)
	if run > 0 {
		live = c.last[run-1]
	}
	s := Step{live, live, live}
	c.scan(run*runLength, events, &s)
	return s.Last
}

// over takes the events of a stretch into a step.
func (c *Course) over(from, to int, s *Step) {
	for from < to {
		run := from / runLength
		if from%runLength == 0 && from+runLength <= to {
			s.Low, s.High, s.Last = min(s.Low, c.low[run]), max(s.High, c.high[run]), c.last[run]
			from += runLength
			continue
		}
		end := min(to, (run+1)*runLength)
		c.scan(from, end, s)
		from = end
	}
}

// scan is over for events that are looked at one by one.
func (c *Course) scan(from, to int, s *Step) {
	for _, e := range c.blocks.order[from:to] {
		if !c.of.has(e >> 1) {
			continue
		}
		if e&1 == 0 {
			s.Last += int64(c.blocks.samples[e>>1])
			s.High = max(s.High, s.Last)
		} else {
			s.Last -= int64(c.blocks.samples[e>>1])
			s.Low = min(s.Low, s.Last)
		}
	}
}
