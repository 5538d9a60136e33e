package scene

import (
	"slices"

	"github.com/mirador-trace/mirador/internal/thread"
)

const (
	groupBits = 3   // 8 rows, or groups, make a group
	manyRows  = 128 // from where on there are groups at all
	fewGroups = 32  // how many need not be grouped again
	shrink    = 4   // how many times fewer spans a group has than its members together
)

// groupRows unites rows by eights, and these again, for where the fisheye
// shows many of them on one px. So that all groups together stay smaller than
// the rows, a group that would have too many spans has its shortest gaps
// filled; it is used only where these cannot be seen.
func (x *Index) groupRows() {
	if x.m.Rows <= manyRows {
		return
	}
	lower := &x.rows
	for n := x.m.Rows; n > fewGroups; {
		n = (n + 1<<groupBits - 1) >> groupBits
		x.far = append(x.far, group(lower, n))
		lower = &x.far[len(x.far)-1]
	}
}

func group(lower *layer, n int) layer {
	g := layer{from: make([]uint32, n+1), filled: make([]float32, n)}
	spans := make([]thread.Span, 0, len(lower.spans)/shrink+n)
	var members, other []thread.Span
	var gaps []float64
	for i := range n {
		first, last := i<<groupBits, min((i+1)<<groupBits, len(lower.from)-1)
		for r := first; lower.filled != nil && r < last; r++ {
			g.filled[i] = max(g.filled[i], lower.filled[r])
		}
		members = append(members[:0], lower.spans[lower.from[first]:lower.from[last]]...)
		other = append(other[:0], members...)
		members, other = mergeRows(members, other, lower.from[first:last+1])
		most := max(len(members)/shrink, 4)
		members = unite(members, 0)
		if len(members) > most {
			gaps = gaps[:0]
			for k := 1; k < len(members); k++ {
				gaps = append(gaps, members[k].Start-members[k-1].End)
			}
			slices.Sort(gaps)
			gap := gaps[len(gaps)-most]
			g.filled[i] = max(g.filled[i], ceil32(gap))
			members = unite(members, gap)
		}
		spans = append(spans, members...)
		g.from[i+1] = uint32(len(spans))
	}
	g.spanList = newSpanList(slices.Clip(spans), nil)
	return g
}

// mergeRows sorts rows, each of which is sorted, by merging two, then four and
// so on. They are in spans and start at from; other is as long. It returns the
// two slices, that with the result first.
func mergeRows(spans, other []thread.Span, from []uint32) (sorted, rest []thread.Span) {
	rows := len(from) - 1
	at := func(r int) int { return int(from[min(r, rows)] - from[0]) }
	for step := 1; step < rows; step *= 2 {
		for r := 0; r < rows; r += 2 * step {
			i, middle, end := at(r), at(r+step), at(r+2*step)
			j := middle
			for k := i; k < end; k++ {
				if j == end || i < middle && spans[i].Start <= spans[j].Start {
					other[k] = spans[i]
					i++
				} else {
					other[k] = spans[j]
					j++
				}
			}
		}
		spans, other = other, spans
	}
	return spans, other
}

// unite merges spans, which are in order, where no more than gap lies between.
func unite(spans []thread.Span, gap float64) []thread.Span {
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start-out[n-1].End <= gap {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
