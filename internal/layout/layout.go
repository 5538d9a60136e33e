// Package layout gives each thread of a model a row, so that threads on one
// row do not overlap in time and a thread lies near the one that created it.
//
// It has one function, [Arrange], and few types behind it: a row holds the
// threads laid into it so far, and a tree over the rows finds the first that
// has room.
//
// The rows are those of mirage-trace-viewer. Threads are placed parents before
// children and children in the order of thread.Model.Children. A thread takes
// the first row from its parent's on that has room. It does not take the
// parent's own row while it overlaps the parent, unless the parent is the top
// thread or becomes this very thread. When it may take the parent's row, only
// the threads there with a higher number than the parent's stand in its way;
// recorders number threads upwards, so that this hides nobody in practice.
//
// Two threads overlap when one of these holds, with i the one in place:
//
//	i.Start <= t.Start < i.End   t.Start <= i.Start < t.End   t.Start < i.End <= t.End
//
// which is what overlapping is, half-open, but for threads that end when they
// start.
package layout

import "github.com/mirador-trace/mirador/internal/thread"

// Arrange sets the Row of every thread of m but Top, and m.Rows. It takes
// about 300 ns a thread where rows are found at once, and the logarithm of
// the number of rows where many threads live side by side.
func Arrange(m *thread.Model) {
	a := arranger{m: m}
	for t := range m.Descend(thread.Top) {
		if t != thread.Top {
			a.place(t)
		}
	}
	m.Rows = len(a.rows)
}

type arranger struct {
	m    *thread.Model
	rows []row
	tree tree
}

func (a *arranger) place(id thread.ID) {
	t := &a.m.Threads[id]
	s := span{t.Start, t.End, t.TID}
	r := a.rowFor(id, &s)
	if r == len(a.rows) {
		a.rows = append(a.rows, row{})
	}
	a.rows[r].insert(s)
	a.tree.update(r, &a.rows[r])
	t.Row = int32(r)
}

// rowFor returns the row into which a thread goes, that may be one too far.
func (a *arranger) rowFor(id thread.ID, s *span) int {
	t := &a.m.Threads[id]
	if t.Parent == thread.Top {
		return a.firstFree(0, s)
	}
	p := &a.m.Threads[t.Parent]
	r := int(p.Row)
	if p.Becomes == id || !overlaps(s, &span{p.Start, p.End, p.TID}) {
		if !a.rows[r].blocksAbove(s, p.TID) {
			return r
		}
	}
	return a.firstFree(r+1, s)
}

// firstFree returns the first row from r on that has room for s.
func (a *arranger) firstFree(r int, s *span) int {
	for r < len(a.rows) {
		if r = a.tree.next(r, s); r >= len(a.rows) || !a.rows[r].blocks(s) {
			break
		}
		r++
	}
	return min(r, len(a.rows))
}
