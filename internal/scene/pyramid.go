package scene

import (
	"math"

	"github.com/mirador-trace/mirador/internal/thread"
)

// A pyramid of blocks stands on a list of spans: a block of the first level is
// 16 spans, one of the next level 16 blocks, and so on. A walk over what is
// seen of the list takes a whole block in one step when nothing in it could be
// told apart on the screen.
const (
	blockBits = 4
	blockSize = 1 << blockBits
)

// block says what there is to know of its spans. (Sizes: 32 bytes)
type block struct {
	start, end float64 // from the first start to the last end
	gap        float32 // the longest time without any span in between
	longest    float32 // the longest span
	ran        float32 // the spans' weights, added
	_          float32
}

// spanList is spans by start, in runs of one row each, with its pyramid. A
// block may straddle two runs; it is not used then.
type spanList struct {
	spans  []thread.Span
	ran    []float32 // the weight of each span; nil: its length
	levels [][]block
}

func newSpanList(spans []thread.Span, ran []float32) spanList {
	l := spanList{spans: spans, ran: ran}
	n := len(spans) >> blockBits
	if n == 0 {
		return l
	}
	level := make([]block, n)
	for i := range level {
		level[i] = l.block(i << blockBits)
	}
	l.levels = append(l.levels, level)
	for n >>= blockBits; n > 0; n >>= blockBits {
		lower := level
		level = make([]block, n)
		for i := range level {
			b := lower[i<<blockBits]
			for _, c := range lower[i<<blockBits+1 : (i+1)<<blockBits] {
				b.join(c)
			}
			level[i] = b
		}
		l.levels = append(l.levels, level)
	}
	return l
}

// block returns what there is to know of the 16 spans from i on.
func (l *spanList) block(i int) block {
	spans := l.spans[i : i+blockSize]
	b := block{start: spans[0].Start, end: spans[0].End}
	var gap, longest, ran float64
	for k, s := range spans {
		gap = max(gap, s.Start-b.end)
		b.end = max(b.end, s.End)
		longest = max(longest, s.End-s.Start)
		if l.ran != nil {
			ran += float64(l.ran[i+k])
		} else {
			ran += s.End - s.Start
		}
	}
	b.gap, b.longest, b.ran = ceil32(gap), ceil32(longest), float32(ran)
	return b
}

func (b *block) join(c block) {
	b.gap = max(b.gap, c.gap, ceil32(c.start-b.end))
	b.end = max(b.end, c.end)
	b.longest = max(b.longest, c.longest)
	b.ran += c.ran
}

// ceil32 rounds up, so that a block never looks finer than it is.
func ceil32(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, math.MaxFloat32)
	}
	return f
}

// first returns the first of the spans [i, end) that ends after t, or end. The
// spans are of one run.
func (l *spanList) first(i, end int, t float64) int {
	for i < end {
		// The largest block that starts here and ends before t is skipped.
		level := -1
		for k := range l.levels {
			shift := blockBits * (k + 1)
			if i&(1<<shift-1) != 0 || i+1<<shift > end || l.levels[k][i>>shift].end > t {
				break
			}
			level = k
		}
		if level >= 0 {
			i += 1 << (blockBits * (level + 1))
			continue
		}
		if l.spans[i].End > t {
			return i
		}
		i++
	}
	return end
}

// run is one or more spans that are drawn as one.
type run struct {
	first, n   int // which spans of the list
	start, end float64
	ran        float64 // their weights, added
}

// walk calls yield for what is seen between two times of the spans [i, end),
// which are of one run: spans that are at least as long as fine one by one,
// the others merged where less than that lies between them.
func (l *spanList) walk(i, end int, from, to, fine float64, yield func(run) bool) bool {
	var r run
	flush := func() bool {
		if r.n == 0 {
			return true
		}
		ok := yield(r)
		r.n = 0
		return ok
	}
	add := func(i, n int, start, end, ran float64) bool {
		if r.n > 0 && start-r.end < fine {
			r.n = i + n - r.first
			r.end = max(r.end, end)
			r.ran += ran
			return true
		}
		if !flush() {
			return false
		}
		r = run{i, n, start, end, ran}
		return true
	}
	for i = l.first(i, end, from); i < end && l.spans[i].Start < to; {
		if i&(blockSize-1) == 0 {
			if k := l.coarse(i, end, fine); k >= 0 {
				shift := blockBits * (k + 1)
				b := &l.levels[k][i>>shift]
				if b.end > from && !add(i, 1<<shift, b.start, b.end, float64(b.ran)) {
					return false
				}
				i += 1 << shift
				continue
			}
		}
		s := l.spans[i]
		switch {
		case s.End <= from && s.End > s.Start:
		case s.End-s.Start >= fine:
			if !flush() {
				return false
			}
			r = run{i, 1, s.Start, s.End, l.weight(i)}
			if !flush() {
				return false
			}
		default:
			if !add(i, 1, s.Start, s.End, l.weight(i)) {
				return false
			}
		}
		i++
	}
	return flush()
}

func (l *spanList) weight(i int) float64 {
	if l.ran != nil {
		return float64(l.ran[i])
	}
	return l.spans[i].End - l.spans[i].Start
}

// coarse returns the highest level on which the block that starts at i has
// nothing in it that could be told apart, or -1.
func (l *spanList) coarse(i, end int, fine float64) int {
	level := -1
	for k := range l.levels {
		shift := blockBits * (k + 1)
		if i&(1<<shift-1) != 0 || i+1<<shift > end {
			break
		}
		if b := &l.levels[k][i>>shift]; float64(b.gap) >= fine || float64(b.longest) >= fine {
			break
		}
		level = k
	}
	return level
}
