package scene

import "math/bits"

// grid remembers which places of a picture are taken, as cells of 4 x 2 px.
type grid struct {
	cells      []uint64
	perRow     int // words
	rows, cols int
}

const (
	cellWidth  = 4
	cellHeight = 2
)

func (g *grid) reset(w, h float64) {
	g.cols, g.rows = int(w)/cellWidth+1, int(h)/cellHeight+1
	g.perRow = (g.cols + 63) / 64
	n := g.perRow * g.rows
	if cap(g.cells) < n {
		g.cells = make([]uint64, n)
	}
	g.cells = g.cells[:n]
	clear(g.cells)
}

// cover returns the cells that a rectangle touches, the last ones excluded.
func (g *grid) cover(x0, y0, x1, y1 float64) (c0, r0, c1, r1 int) {
	c0, r0 = int(max(x0, 0))/cellWidth, int(max(y0, 0))/cellHeight
	c1 = min(int(max(x1, 0)+cellWidth-0.01)/cellWidth, g.cols)
	r1 = min(int(max(y1, 0)+cellHeight-0.01)/cellHeight, g.rows)
	return c0, r0, max(c0, c1), max(r0, r1)
}

// free reports whether nothing is where a rectangle would be.
func (g *grid) free(x0, y0, x1, y1 float64) bool {
	c0, r0, c1, r1 := g.cover(x0, y0, x1, y1)
	for r := r0; r < r1; r++ {
		row := g.cells[r*g.perRow : (r+1)*g.perRow]
		for c := c0; c < c1; {
			mask, next := cellMask(c, c1)
			if row[c>>6]&mask != 0 {
				return false
			}
			c = next
		}
	}
	return true
}

// put marks where a rectangle is, and reports whether it took a new place.
func (g *grid) put(x0, y0, x1, y1 float64) bool {
	c0, r0, c1, r1 := g.cover(x0, y0, x1, y1)
	took := 0
	for r := r0; r < r1; r++ {
		row := g.cells[r*g.perRow : (r+1)*g.perRow]
		for c := c0; c < c1; {
			mask, next := cellMask(c, c1)
			took += bits.OnesCount64(mask &^ row[c>>6])
			row[c>>6] |= mask
			c = next
		}
	}
	return took > 0
}

// cellMask returns the bits from cell c on, up to end, that are in its word,
// and the first cell of the next word.
func cellMask(c, end int) (mask uint64, next int) {
	next = min((c|63)+1, end)
	n := next - c
	return (^uint64(0) >> (64 - n)) << (c & 63), next
}
