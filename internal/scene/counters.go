package scene

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mirador-trace/mirador/internal/thread"
)

// counterIndex has the extremes of each 16 samples of a counter, of 256, and
// so on.
type counterIndex struct {
	low, high [][]float64
}

// manyCounters is how many counters are drawn at once; the others wait until
// some are hidden.
const manyCounters = 24

func (x *Index) indexCounters() {
	x.counters = make([]counterIndex, len(x.m.Counters))
	for i := range x.m.Counters {
		samples := x.m.Counters[i].Samples
		value := func(i int) float64 { return samples[i].Value }
		x.counters[i].low = extremes(len(samples), value, func(a, b float64) float64 { return min(a, b) })
		x.counters[i].high = extremes(len(samples), value, func(a, b float64) float64 { return max(a, b) })
	}
}

func extremes(n int, value func(int) float64, extreme func(a, b float64) float64) [][]float64 {
	var levels [][]float64
	for n >= blockSize {
		n >>= blockBits
		level := make([]float64, n)
		for i := range level {
			v := value(i << blockBits)
			for k := i<<blockBits + 1; k < (i+1)<<blockBits; k++ {
				v = extreme(v, value(k))
			}
			level[i] = v
		}
		levels = append(levels, level)
		value = func(i int) float64 { return level[i] }
	}
	return levels
}

// between returns the extremes of the samples [i, end), of which there is one.
func (c *counterIndex) between(samples []thread.Sample, i, end int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i < end {
		level := -1
		for k := range c.low {
			shift := blockBits * (k + 1)
			if i&(1<<shift-1) != 0 || i+1<<shift > end {
				break
			}
			level = k
		}
		if level >= 0 {
			shift := blockBits * (level + 1)
			low, high = min(low, c.low[level][i>>shift]), max(high, c.high[level][i>>shift])
			i += 1 << shift
			continue
		}
		low, high = min(low, samples[i].Value), max(high, samples[i].Value)
		i++
	}
	return low, high
}

// counterName is a counter that is drawn, and where its name stands.
type counterName struct {
	counter int
	style   Style
	value   float64 // at the right edge
	x, y, w float64
	text    uint32

	from, to int // its line, in points
}

// findCounters collects the counters' lines, as fine as the budget allows.
func (f *frame) findCounters() {
	for column := 1.0; !f.tryCounters(column); column *= 1.5 {
	}
}

// counterAlpha is how much of what is below counters they hide: they are to be
// seen beside the threads, not instead of them.
const counterAlpha = 13

// drawCounters draws the counters as stepped lines over the full height.
func (f *frame) drawCounters() {
	for i := range f.names {
		n := &f.names[i]
		n.style = Counter0 + Style(n.counter%Counters)
		f.l.polyline(CounterShadow, counterAlpha, f.steps[n.from:n.to])
		f.l.polyline(n.style, counterAlpha, f.steps[n.from:n.to])
		f.name(n)
	}
	f.spreadNames()
	for i := range f.names {
		n := &f.names[i]
		f.taken.put(n.x-3, n.y-11, n.x+n.w+3, n.y+3)
	}
}

// counterNames writes the counters' names and values at the right edge.
func (f *frame) counterNames() {
	for i := range f.names {
		n := &f.names[i]
		f.l.rect(LabelPlate, Opaque, n.x-3, n.y-11, n.w+6, 14.5)
	}
	for i := range f.names {
		n := &f.names[i]
		f.l.text(n.style, Opaque, n.x, n.y, n.text)
	}
}

// tryCounters collects the lines if they have no more points than there may
// be when samples share columns that are so many px wide.
func (f *frame) tryCounters(column float64) bool {
	f.steps, f.names = f.steps[:0], f.names[:0]
	for i := range f.m.Counters {
		c := &f.m.Counters[i]
		if f.v.hides(c.Name) || len(f.names) == manyCounters {
			continue
		}
		from := len(f.steps)
		if v, ok := f.addSteps(i, column); ok {
			f.names = append(f.names, counterName{counter: i, value: v, from: from, to: len(f.steps)})
		}
		if len(f.steps) > counterBudget && column < f.w {
			return false
		}
	}
	return true
}

// counterY returns where a counter's value lies.
func (f *frame) counterY(c *thread.Counter, v float64) float64 {
	share := (v - c.Min) / (c.Max - c.Min)
	if !(share >= 0) {
		share = 0
	}
	margin := min(axisHeight+2, f.h/4)
	return crisp(f.h - margin - min(share, 1)*(f.h-2*margin))
}

// addSteps adds a counter's line to f.steps and returns its last value that
// is seen. Samples that share a column become its lowest and highest value.
func (f *frame) addSteps(i int, column float64) (last float64, ok bool) {
	c := &f.m.Counters[i]
	samples := c.Samples
	lo := f.sampleAt(samples, f.v.From)
	hi := f.sampleAt(samples, f.v.To)
	if hi < 0 {
		return 0, false
	}
	k := max(lo, 0)
	y := f.counterY(c, samples[k].Value)
	f.steps = append(f.steps, crisp(max(-10, f.p.X(samples[k].Time))), y)
	for k++; k <= hi; {
		px := f.p.X(samples[k].Time)
		x := crisp(px)
		end := k + 1
		if edge := f.p.Time((math.Floor(px/column) + 1) * column); end <= hi && samples[end].Time < edge {
			end = max(end, min(f.sampleAt(samples, edge), hi)+1)
		}
		if end-k <= 2 {
			next := f.counterY(c, samples[k].Value)
			f.steps = append(f.steps, x, y, x, next)
			y = next
			k++
			continue
		}
		low, high := f.x.counters[i].between(samples, k, end)
		y1, y2 := f.counterY(c, low), f.counterY(c, high)
		y3 := f.counterY(c, samples[end-1].Value)
		f.steps = append(f.steps, x, y, x, y1, x, y2, x, y3)
		y, k = y3, end
	}
	f.steps = append(f.steps, min(f.w+10, max(f.p.X(f.m.Duration()), f.steps[len(f.steps)-2])), y)
	return samples[hi].Value, true
}

// sampleAt returns the last sample that is no later than t, or -1.
func (f *frame) sampleAt(samples []thread.Sample, t float64) int {
	i, ok := slices.BinarySearchFunc(samples, t, func(s thread.Sample, t float64) int { return cmp.Compare(s.Time, t) })
	for ok && i+1 < len(samples) && samples[i+1].Time == t {
		i++
	}
	if ok {
		return i
	}
	return i - 1
}

// name writes a counter's name and the value that it has at the right edge.
func (f *frame) name(n *counterName) {
	c := &f.m.Counters[n.counter]
	from := len(f.l.chars)
	for _, r := range c.Name {
		if len(f.l.chars)-from > 60 {
			f.l.chars = append(f.l.chars, "…"...)
			break
		}
		f.l.chars = utf8.AppendRune(f.l.chars, printable(r))
	}
	f.l.chars = append(f.l.chars, ' ')
	if c.InBytes() {
		f.l.chars = append(f.l.chars, formatBytes(n.value)...)
	} else {
		f.l.chars = appendValue(f.l.chars, n.value)
	}
	n.w = f.widthFrom(from, n.style)
	n.x, n.y = f.w-6-n.w, f.counterY(c, n.value)+4
	n.text = f.l.endString()
}

// spreadNames moves names apart that are less than 16 px from each other.
func (f *frame) spreadNames() {
	slices.SortStableFunc(f.names, func(a, b counterName) int { return cmp.Compare(a.y, b.y) })
	y := min(axisHeight+12, f.h/2)
	for i := range f.names {
		f.names[i].y = max(f.names[i].y, y)
		y = f.names[i].y + 16
	}
	y = f.h - 8
	for i := len(f.names) - 1; i >= 0; i-- {
		f.names[i].y = min(f.names[i].y, y)
		y = f.names[i].y - 16
	}
}

// appendValue appends a counter's value: a whole number in full, and anything
// else with six digits.
func appendValue(b []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e12 {
		return strconv.AppendFloat(b, v, 'f', 0, 64)
	}
	return strconv.AppendFloat(b, v, 'g', 6, 64)
}
