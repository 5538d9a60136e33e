package scene

import "github.com/mirador-trace/mirador/internal/thread"

// set is some of a model's threads, a bit for each.
type set []uint64

func (s set) has(t thread.ID) bool { return s[t>>6]>>(t&63)&1 != 0 }

// Only returns an index of the same model in which, of all threads, only some
// are drawn and picked: those of ids, which are in order of number. With them
// are drawn the arrows that have one of them at an end, and the verticals that
// have one at both. Everything stays where it is in pictures of x.
//
// The selected thread is drawn, too, so that one can go to where it is.
//
// It costs a look at all arrows, some 20 ms per million, and what [NewIndex]
// costs of so few threads. What concerns no thread is shared with x.
func (x *Index) Only(ids []thread.ID) *Index {
	m := x.m
	o := &Index{m: m, only: make(set, (len(m.Threads)+63)/64), idle: x.idle, folds: x.folds, gc: x.gc, busy: x.busy, counters: x.counters}
	order := make([]thread.ID, 0, len(ids))
	for _, t := range ids {
		if t > thread.Top && int(t) < len(m.Threads) && m.Threads[t].Row >= 0 {
			order = append(order, t)
			o.only[t>>6] |= 1 << (t & 63)
		}
	}
	o.byStart = enumerate(m, order)
	o.sortRows()
	o.groupRows()
	o.findEnds()
	o.created = x.created.filter(func(i int) bool {
		t := x.created.from[i]
		return o.only.has(t) && o.only.has(m.Threads[t].Parent)
	})
	o.became = x.became.filter(func(i int) bool {
		t := x.became.from[i]
		return o.only.has(t) && o.only.has(m.Threads[t].Becomes)
	})
	o.failed = x.failed.filter(func(i int) bool { return o.only.has(x.failed.from[i]) })
	for op := range x.arrows {
		l := &x.arrows[op]
		o.arrows[op] = l.filter(func(i int) bool { return o.only.has(l.from[i]) || o.only.has(l.to[i]) })
	}
	return o
}

// filter returns those of a timeline's things that are kept, in their order.
func (l *timeline) filter(keep func(i int) bool) timeline {
	n := 0
	for i := range l.at {
		if keep(i) {
			n++
		}
	}
	kept := newTimeline(n)
	if l.to != nil {
		kept.to = make([]thread.ID, 0, n)
	}
	for i := range l.at {
		if keep(i) {
			kept.add(l.at[i], l.from[i])
			if l.to != nil {
				kept.to = append(kept.to, l.to[i])
			}
		}
	}
	return kept
}

// selected draws the selected thread where it would else be left out.
func (f *frame) selected() {
	t := f.v.Selected
	if f.x.only == nil || t <= thread.Top || int(t) >= len(f.m.Threads) || f.m.Threads[t].Row < 0 || f.x.only.has(t) {
		return
	}
	if th := &f.m.Threads[t]; th.End >= f.v.From && th.Start <= f.v.To {
		if y := f.y(t); y > -outside && y < f.h+outside {
			f.latest = -1
			f.thread(t, y)
		}
	}
}
