package heap

import "math/bits"

// Histogram counts numbers by their power of two: bucket 0 has the 0s, bucket
// i those from 1<<(i-1) up to 1<<i - 1.
type Histogram struct {
	Blocks  [64]int64
	Samples [64]int64
}

// Add counts a block, whose number is v. A negative number counts as 0.
func (h *Histogram) Add(v, samples int64) {
	i := bits.Len64(uint64(max(0, v)))
	h.Blocks[i]++
	h.Samples[i] += samples
}

// Range returns the numbers of a bucket: from the first up to, but without,
// the last.
func (h *Histogram) Range(i int) (from, to int64) {
	switch i {
	case 0:
		return 0, 1
	case 63:
		return 1 << 62, 1<<63 - 1
	}
	return 1 << (i - 1), 1 << i
}

// Bounds returns the first and the last bucket that is not empty, and false
// when all are.
func (h *Histogram) Bounds() (first, last int, ok bool) {
	first = -1
	for i, n := range h.Blocks {
		if n > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last, first >= 0
}

// Total returns the sums over all buckets.
func (h *Histogram) Total() (blocks, samples int64) {
	for i := range h.Blocks {
		blocks += h.Blocks[i]
		samples += h.Samples[i]
	}
	return blocks, samples
}
