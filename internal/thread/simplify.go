package thread

import (
	"math"

	"github.com/mirador-trace/mirador/internal/event"
)

// simplify lets a thread that does nothing but wait for its input start when
// it is woken, under the thread whose result it reads: most of a program's
// promises are such, and drawn from their creation they hide the others.
//
// The rule is mirage-trace-viewer's: a bind, try, map, ignore_result,
// on_failure or on_termination whose first interaction is a read, with no
// label before it and nobody who looked at it before, and which is not what
// its parent becomes. Children are simplified before their parents decide
// where they go; a thread that moves becomes the newest child where it goes.
// The original forgets threads that move to where it is still at work; we
// keep them.
func (m *Model) simplify() {
	checked := m.firstChecked()
	type frame struct{ parent, child ID }
	type move struct{ thread, to ID }
	var stack []frame
	var moves []move
	var base []int // where each frame's moves begin
	push := func(t ID) {
		stack = append(stack, frame{t, m.Threads[t].firstChild})
		base = append(base, len(moves))
	}
	push(Top)
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.child == None {
			from := base[len(base)-1]
			mine := moves[from:]
			if len(mine) > 0 {
				m.drop(f.parent, func(t ID) bool { return m.Threads[t].Parent == None })
			}
			for i := len(mine) - 1; i >= 0; i-- {
				m.adopt(mine[i].to, mine[i].thread)
			}
			moves, base, stack = moves[:from], base[:len(base)-1], stack[:len(stack)-1]
			if len(stack) == 0 {
				break
			}
			// The child is simplified; now its parent decides where it goes.
			f = &stack[len(stack)-1]
			t := &m.Threads[f.child]
			if to := m.wokenBy(f.parent, f.child, checked); to != None {
				t.ShowCreation = false
				t.Start = m.Interactions(f.child)[0].Time
				if to != f.parent {
					moves = append(moves, move{f.child, to})
					t.Parent = None
				}
			}
			f.child = t.nextChild
			continue
		}
		push(f.child)
	}
	m.reconnect()
}

// firstChecked returns for each thread when another one first looked at it
// while it was unresolved; +Inf if none did.
func (m *Model) firstChecked() []float64 {
	checked := make([]float64, len(m.Threads))
	for i := range checked {
		checked[i] = math.Inf(1)
	}
	for _, i := range m.interactions.items {
		if i.Op == TryRead {
			checked[i.Other] = min(checked[i.Other], i.Time)
		}
	}
	return checked
}

// wokenBy returns the thread whose result t waits for all its life before it
// does anything else, or None.
func (m *Model) wokenBy(parent, t ID, checked []float64) ID {
	if m.Threads[parent].Becomes == t {
		return None
	}
	switch event.ThreadType(m.Threads[t].Type) {
	default:
		return None
	case event.Bind, event.Try, event.Map, event.IgnoreResult, event.OnFailure, event.OnTermination:
	}
	acts := m.Interactions(t)
	if len(acts) == 0 {
		return None
	}
	first := acts[0]
	if labels := m.Labels(t); len(labels) > 0 && labels[0].Time < first.Time {
		return None
	}
	if first.Op != Read || first.Time >= checked[t] {
		return None
	}
	return first.Other
}

// drop takes the children for which gone is true from t's list.
func (m *Model) drop(t ID, gone func(ID) bool) {
	link := &m.Threads[t].firstChild
	for *link != None {
		if gone(*link) {
			*link = m.Threads[*link].nextChild
		} else {
			link = &m.Threads[*link].nextChild
		}
	}
}

// reconnect puts threads that moved below themselves back under Top.
func (m *Model) reconnect() {
	reached := make([]bool, len(m.Threads))
	left := len(m.Threads) - m.reach(Top, reached)
	for id := 1; left > 0 && id < len(m.Threads); id++ {
		if !reached[id] {
			m.abandon(ID(id))
			m.adopt(Top, ID(id))
			left -= m.reach(ID(id), reached)
		}
	}
}

// reach marks t and all threads under it, and returns how many those are.
func (m *Model) reach(t ID, reached []bool) int {
	n := 0
	for c := range m.Descend(t) {
		reached[c] = true
		n++
	}
	return n
}

// Descend calls yield for t and all threads drawn under it, parents before
// their children and children in the order of [Model.Children].
func (m *Model) Descend(t ID) func(yield func(ID) bool) {
	return func(yield func(ID) bool) {
		stack := []ID{t}
		for len(stack) > 0 {
			c := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !yield(c) {
				return
			}
			// Last in, first out: the brothers wait below the children.
			if next := m.Threads[c].nextChild; c != t && next != None {
				stack = append(stack, next)
			}
			if child := m.Threads[c].firstChild; child != None {
				stack = append(stack, child)
			}
		}
	}
}
