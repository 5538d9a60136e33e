package layout

import "slices"

// span is the time that a thread takes on its row.
type span struct {
	start, end float64
	tid        int64
}

// overlaps reports whether i stands in the way of s.
func overlaps(s, i *span) bool {
	return i.start <= s.start && s.start < i.end ||
		s.start <= i.start && i.start < s.end ||
		s.start < i.end && i.end <= s.end
}

// row is the threads laid into one row: chunks of spans, the latest start
// first, which is the order in which children come.
//
// Spans of a row hardly ever overlap. While none do, a search may stop at the
// first span that starts before the wanted one; once some do, crossed is set,
// and it goes on as far back as the longest span reaches.
type row struct {
	chunks   [][]span
	longest  span    // the span that lasts longest
	earliest float64 // the first start
	lastEnd  float64 // the last end
	crossed  bool
}

const chunkSpans = 256

// position returns where the first span lies that does not start after time;
// c is len(r.chunks) if there is none.
func (r *row) position(time float64) (c, i int) {
	last := func(c int) float64 { return r.chunks[c][len(r.chunks[c])-1].start }
	lo, hi := 0, len(r.chunks)
	if hi > 0 && last(hi-1) > time {
		return hi, 0 // the usual case: earlier than all
	}
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); last(mid) > time {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(r.chunks) {
		return lo, 0
	}
	chunk := r.chunks[lo]
	a, b := 0, len(chunk)
	for a < b {
		if mid := int(uint(a+b) / 2); chunk[mid].start > time {
			a = mid + 1
		} else {
			b = mid
		}
	}
	return lo, a
}

// insert adds s to the row.
func (r *row) insert(s span) {
	if len(r.chunks) == 0 {
		*r = row{chunks: [][]span{{s}}, longest: s, earliest: s.start, lastEnd: s.end}
		return
	}
	r.crossed = r.crossed || r.blocks(&s)
	r.earliest, r.lastEnd = min(r.earliest, s.start), max(r.lastEnd, s.end)
	if s.end-s.start > r.longest.end-r.longest.start {
		r.longest = s
	}
	c, i := r.position(s.start)
	if c == len(r.chunks) {
		c--
		i = len(r.chunks[c])
	} else if at := &r.chunks[c][i]; at.start == s.start && at.end == s.end && s.start == s.end {
		at.tid = max(at.tid, s.tid) // any number of threads that take no time are as good as one
		return
	}
	chunk := r.chunks[c]
	switch {
	case len(chunk) < chunkSpans:
		r.chunks[c] = slices.Insert(chunk, i, s)
	case i == len(chunk):
		r.chunks = slices.Insert(r.chunks, c+1, append(make([]span, 0, chunkSpans), s))
	default:
		half := append(make([]span, 0, chunkSpans), chunk[chunkSpans/2:]...)
		chunk = chunk[:chunkSpans/2]
		if i <= len(chunk) {
			chunk = slices.Insert(chunk, i, s)
		} else {
			half = slices.Insert(half, i-len(chunk), s)
		}
		r.chunks[c] = chunk
		r.chunks = slices.Insert(r.chunks, c+1, half)
	}
}

// blocks reports whether a thread of the row stands in the way of s.
func (r *row) blocks(s *span) bool { return r.any(s, func(*span) bool { return true }) }

// blocksAbove is blocks for the threads with a number above tid.
func (r *row) blocksAbove(s *span, tid int64) bool {
	return r.any(s, func(i *span) bool { return i.tid > tid })
}

// any reports whether one of the spans that s overlaps is wanted.
func (r *row) any(s *span, wanted func(*span) bool) bool {
	if r.lastEnd < s.start {
		return false
	}
	stop := s.start
	if r.crossed {
		stop -= r.longest.end - r.longest.start
	}
	for c, i := r.position(s.end); c < len(r.chunks); c, i = c+1, 0 {
		for ; i < len(r.chunks[c]); i++ {
			at := &r.chunks[c][i]
			if overlaps(s, at) && wanted(at) {
				return true
			}
			if at.start < stop {
				return false
			}
		}
	}
	return false
}
