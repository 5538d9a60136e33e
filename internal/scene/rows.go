package scene

import (
	"math"

	"github.com/mirador-trace/mirador/internal/thread"
)

// fewAlive is how many threads are drawn one by one, wherever their rows are,
// when there are so many rows that looking into each would take longer.
const fewAlive = 6000

// rows collects the lines of all threads that are seen. It takes as fine a
// look as the budget allows.
func (f *frame) rows() {
	few := f.fewAlive()
	for fine, try := 1.0, 0; ; try++ {
		f.count, f.whole, f.latest = 0, 0, -1
		f.candidates = f.candidates[:0]
		for _, s := range [...]Style{ThreadLine, Merged, NeverResolved, FailedLine} {
			f.lines[s] = f.lines[s][:0]
		}
		for i := range f.running {
			f.running[i] = f.running[i][:0]
		}
		done := 1.0
		if few {
			done = f.tryAlive(fine / f.p.scale)
		} else {
			done = f.tryRows(fine/f.p.scale, try > 16)
		}
		if done == 1 {
			return
		}
		fine *= min(max(1.25, 0.9/(done+0.02)), 8)
	}
}

// tryRows goes over the rows from top to bottom and returns how far it came
// within the budget, 1 being all.
func (f *frame) tryRows(fine float64, anyhow bool) float64 {
	v := visitor{frame: f, fine: fine, anyhow: anyhow, left: 4000 + 2*int(f.h)}
	v.first, v.last = f.seenRows()
	v.at = v.first
	top := len(f.x.far)
	for i := v.first >> (groupBits * top); i<<(groupBits*top) <= v.last; i++ {
		if !v.visit(top, i) {
			return min(0.99, float64(v.at-v.first)/float64(v.last-v.first+1))
		}
	}
	return 1
}

// visitor goes over rows, and over groups of rows where these share a px.
type visitor struct {
	*frame
	fine        float64
	anyhow      bool // whatever the budget
	first, last int  // the rows that are seen
	at          int  // the row that it has come to
	left        int  // how many rows and groups it may still look into
}

func (v *visitor) visit(level, i int) bool {
	v.left--
	r0 := i << (groupBits * level)
	r1 := min((i+1)<<(groupBits*level), v.last+1)
	if r1 <= v.first || r0 > v.last {
		return true
	}
	v.at = r0
	y0, y1 := v.p.Y(rowY(r0)), v.p.Y(rowY(r1-1))
	switch {
	case level == 0:
		v.row(i, crisp(y0), v.fine)
	case y1-y0 < 1 && float64(v.x.far[level-1].filled[i]) <= v.fine:
		v.farRows(&v.x.far[level-1], i, crisp((y0+y1)/2), v.fine)
	default:
		for k := i << groupBits; k < (i+1)<<groupBits; k++ {
			if !v.visit(level-1, k) {
				return false
			}
		}
	}
	return v.anyhow || v.count <= v.budget && v.left >= 0
}

// seenRows returns the first and the last row that can be seen.
func (f *frame) seenRows() (first, last int) {
	last = f.m.Rows - 1
	if f.v.Rows == Linear {
		first = max(0, int(math.Floor((f.p.Row(-marginY)-thread.FirstRow)/thread.RowHeight)))
		last = min(last, int(math.Ceil((f.p.Row(f.h+marginY)-thread.FirstRow)/thread.RowHeight)))
	}
	return first, last
}

func rowY(row int) float64 { return thread.FirstRow + thread.RowHeight*float64(row) }

// row draws the threads of a row.
func (f *frame) row(row int, y, fine float64) {
	l := &f.x.rows
	f.latest = -1
	l.walk(int(l.from[row]), int(l.from[row+1]), f.v.From, f.v.To, fine, func(r run) bool {
		f.run(r, f.x.order[r.first], y)
		return f.count <= f.budget
	})
}

// farRows draws rows that share a px.
func (f *frame) farRows(l *layer, i int, y, fine float64) {
	l.walk(int(l.from[i]), int(l.from[i+1]), f.v.From, f.v.To, fine, func(r run) bool {
		x0, x1 := f.between(r.start, r.end)
		f.line(Merged, x0, y, max(x1, x0+1), y)
		f.count++
		return f.count <= f.budget
	})
}

// run draws a thread, or several that are too close to be told apart, of which
// t is the first.
func (f *frame) run(r run, t thread.ID, y float64) {
	if r.n == 1 {
		f.thread(t, y)
		return
	}
	x0, x1 := f.between(r.start, r.end)
	f.endRoom(x0)
	x1 = max(x1, x0+1)
	f.line(Merged, x0, y, x1, y)
	f.count++
	if share := r.ran / max(r.end-r.start, 1e-12); share > 0.1 {
		f.ran(share, x0, x1, y)
	}
}

// ran draws a part that ran for some share of its time.
func (f *frame) ran(share, x0, x1, y float64) {
	i := 0
	if share < 0.7 {
		i = 1
	}
	if share < 0.35 {
		i = 2
	}
	f.running[i] = append(f.running[i], x0, y, max(x1, x0+0.75), y)
	f.count++
}

// thread draws one thread.
func (f *frame) thread(id thread.ID, y float64) {
	t := &f.m.Threads[id]
	x0, x1 := f.between(t.Start, t.End)
	f.endRoom(x0)
	f.whole++
	f.count++
	style := ThreadLine
	if t.Failed() {
		style = FailedLine
	}
	f.line(style, x0, y, max(x1, x0+1), y)
	if !t.Resolved && t.Becomes == thread.None && x1 < f.w+10 {
		f.line(NeverResolved, x1-5, y-4, x1, y)
		f.line(NeverResolved, x1, y, x1-5, y+4)
		f.count += 2
	}
	f.parts(id, x0, x1, y)
	if x1-x0 > 16 {
		f.latest = len(f.candidates)
		f.candidates = append(f.candidates, candidate{id, y, x0, x1, f.w - 4})
	}
}

// endRoom ends the room for the labels of the thread before, on the same row.
func (f *frame) endRoom(x float64) {
	if f.latest >= 0 {
		f.candidates[f.latest].room = min(f.candidates[f.latest].room, x-3)
		f.latest = -1
	}
}

// parts draws when a thread ran.
func (f *frame) parts(id thread.ID, x0, x1, y float64) {
	parts := f.m.Activations(id)
	if len(parts) == 0 {
		return
	}
	if x1-x0 < 3 {
		ran := 0.0
		for _, a := range parts[:min(len(parts), manyParts)] {
			ran += a.End - a.Start
		}
		if share := ran * f.p.scale / max(x1-x0, 0.1); share > 0.1 {
			f.ran(share, x0, x1, y)
		}
		return
	}
	list, ok := f.x.busy[id]
	if !ok {
		list = spanList{spans: parts}
	}
	fine := 1 / f.p.scale
	list.walk(0, len(list.spans), f.v.From, f.v.To, fine, func(r run) bool {
		x0, x1 := f.between(r.start, r.end)
		share := 1.0
		if r.n > 1 {
			share = r.ran / max(r.end-r.start, 1e-12)
		}
		f.ran(share, x0, x1, y)
		return f.count <= f.budget
	})
}

// emitRows moves what was collected into the list.
func (f *frame) emitRows() {
	for _, s := range [...]Style{ThreadLine, Merged, FailedLine} {
		f.takeLines(f.lines[s])
	}
	f.emit(Creation, BecomesLine, Merged, ThreadLine)
	for i := len(f.running) - 1; i >= 0; i-- {
		f.emitLines(Running, [...]uint8{Opaque, 10, 5}[i], f.running[i])
		f.running[i] = f.running[i][:0]
	}
	f.emit(NeverResolved)
}

// fewAlive finds the threads that are seen, if they are few but their rows
// are many.
func (f *frame) fewAlive() bool {
	if len(f.x.far) == 0 {
		return false
	}
	if n := f.x.byStart.before(f.v.To) - f.x.endedBefore(f.v.From); n > fewAlive+blockSize {
		return false
	}
	var ok bool
	f.alive, ok = f.x.byStart.alive(f.alive[:0], f.v.From, f.v.To, fewAlive)
	if ok {
		f.sortAlive()
	}
	return ok
}

// outside is how many px above and below the picture rows are still drawn.
const outside = 10

// sortAlive sorts the few threads by the px on which their rows lie, those of
// one px by start, and leaves out those that are not seen.
func (f *frame) sortAlive() {
	n := int(f.h) + 2*outside
	if cap(f.pixels) < n+1 {
		f.pixels = make([]int32, n+1)
	}
	count := f.pixels[:n+1]
	clear(count)
	pixel := func(t thread.ID) int {
		y := f.y(t) + outside
		if !(y >= 0 && y < float64(n)) {
			return -1
		}
		return int(y)
	}
	for _, t := range f.alive {
		if i := pixel(t); i >= 0 {
			count[i+1]++
		}
	}
	for i := range n {
		count[i+1] += count[i]
	}
	if cap(f.byRow) < len(f.alive) {
		f.byRow = make([]thread.ID, fewAlive)
	}
	f.byRow = f.byRow[:len(f.alive)]
	for _, t := range f.alive {
		if i := pixel(t); i >= 0 {
			f.byRow[count[i]] = t
			count[i]++
		}
	}
	// Now count[i] is where px i ends, and px i+1 starts.
	f.pixels = count
}

// tryAlive draws the few threads and returns how far it came.
func (f *frame) tryAlive(fine float64) float64 {
	from := 0
	for i := range len(f.pixels) - 1 {
		ids := f.byRow[from:f.pixels[i]]
		from = int(f.pixels[i])
		if len(ids) == 0 {
			continue
		}
		f.latest = -1
		f.mergeThreads(ids, fine, float64(i-outside), f.sameRow(ids))
		if f.count > f.budget && fine < f.v.To-f.v.From {
			return min(0.99, float64(i)/f.h)
		}
	}
	return 1
}

func (f *frame) sameRow(ids []thread.ID) bool {
	for _, t := range ids[1:] {
		if f.m.Threads[t].Row != f.m.Threads[ids[0]].Row {
			return false
		}
	}
	return true
}

// mergeThreads draws threads, which are by start, merging what lies too close.
// Those of several rows are drawn without what belongs to each.
func (f *frame) mergeThreads(ids []thread.ID, fine, y float64, oneRow bool) {
	for i := 0; i < len(ids); {
		t := &f.m.Threads[ids[i]]
		r := run{first: i, n: 1, start: t.Start, end: t.End}
		long := t.End-t.Start >= fine
		for i++; i < len(ids); i++ {
			t := &f.m.Threads[ids[i]]
			if oneRow && (long || t.End-t.Start >= fine) || t.Start-r.end >= fine {
				break
			}
			r.n++
			r.end = max(r.end, t.End)
		}
		if oneRow {
			f.run(r, ids[r.first], y)
		} else {
			x0, x1 := f.between(r.start, r.end)
			f.line(Merged, x0, y, max(x1, x0+1), y)
			f.count++
		}
	}
}
