package layout

import "math"

// tree finds the first row that may have room for a span without looking at
// each: it knows of every stretch of rows that none of them has.
//
// It is a binary tree over the rows in an array: node i's children are 2i and
// 2i+1, and row r is the leaf size+r.
type tree struct {
	nodes []stretch
	size  int
}

// stretch is what is known of some rows that lie beside each other. None of
// them has room for a span that meets the time from..to, which a thread takes
// in each of them, or that starts no later than the first thread of each row
// and ends after the first threads of all.
type stretch struct {
	from, to                   float64
	earliestFirst, latestFirst float64
}

// full is what stands where there is no row yet.
var full = stretch{math.Inf(-1), math.Inf(1), math.Inf(1), math.Inf(-1)}

func (n *stretch) blocks(s *span) bool {
	if n.from < n.to && s.start < n.to && (n.from < s.end || n.from == s.start) {
		return true
	}
	return s.start <= n.earliestFirst && n.latestFirst < s.end
}

// next returns the first row from r on that may have room for s, or a number
// past the last row.
func (t *tree) next(r int, s *span) int {
	for i := t.size + r; i > 0; {
		if !t.nodes[i].blocks(s) {
			if i >= t.size {
				return i - t.size
			}
			i *= 2
			continue
		}
		for i&1 == 1 { // a right child: on to what comes after its parent
			i /= 2
		}
		if i > 0 {
			i++
		}
	}
	return math.MaxInt
}

// update tells the tree what is in row r.
func (t *tree) update(r int, in *row) {
	for r >= t.size {
		t.grow()
	}
	i := t.size + r
	t.nodes[i] = stretch{in.longest.start, in.longest.end, in.earliest, in.earliest}
	for i /= 2; i > 0; i /= 2 {
		a, b := &t.nodes[2*i], &t.nodes[2*i+1]
		n := stretch{
			max(a.from, b.from), min(a.to, b.to),
			min(a.earliestFirst, b.earliestFirst), max(a.latestFirst, b.latestFirst),
		}
		if n == t.nodes[i] {
			return
		}
		t.nodes[i] = n
	}
}

// grow doubles the number of rows that the tree has room for.
func (t *tree) grow() {
	size := max(2*t.size, 16)
	nodes := make([]stretch, 2*size)
	for i := range nodes {
		nodes[i] = full
	}
	// Each level of the old tree becomes the left half of one of the new.
	for level := 1; level <= t.size; level *= 2 {
		copy(nodes[2*level:3*level], t.nodes[level:2*level])
	}
	if t.size > 0 {
		nodes[1] = nodes[2]
	}
	t.nodes, t.size = nodes, size
}
