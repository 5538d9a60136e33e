package heap

import (
	"github.com/mirador-trace/mirador/memtrace"
)

// Walk brings the backtraces of one trace into a [Stacks]. It follows the
// current backtrace of each domain, so that an allocation costs what is new in
// its backtrace, however deep that is.
type Walk struct {
	stacks *Stacks
	r      *memtrace.Reader
	frames []frame
	funcs  []uint32 // of all frames
	paths  []*path  // by domain
}

// frame is what a Walk knows of a frame of its trace.
type frame struct {
	first uint32 // in funcs
	count uint16
	known bool
	place uint32 // of the innermost function, 0 when there is none
}

// path is the current backtrace of a domain.
type path struct {
	steps []pathStep
	depth []uint32 // by function: how often it is in the backtrace
}

type pathStep struct {
	frame memtrace.Frame
	node  Node
	place uint32 // the innermost that is known
	site  Site   // + 1; 0 when it was not asked for
}

// Walk returns a Walk of r's backtraces.
func (s *Stacks) Walk(r *memtrace.Reader) *Walk { return &Walk{stacks: s, r: r} }

// Site returns where ev, an Alloc, was allocated. It must see every Alloc.
func (w *Walk) Site(ev *memtrace.Event) Site {
	for int(ev.Domain) >= len(w.paths) {
		w.paths = append(w.paths, nil)
	}
	p := w.paths[ev.Domain]
	if p == nil {
		p = &path{steps: make([]pathStep, 1, 64)}
		w.paths[ev.Domain] = p
	}
	w.widen(p)
	keep := min(ev.Prefix+1, len(p.steps)) // steps[0] is the root
	if !w.stacks.exact {
		for _, s := range p.steps[keep:] {
			f := &w.frames[s.frame]
			for _, fn := range w.funcs[f.first : f.first+uint32(f.count)] {
				p.depth[fn]--
			}
		}
	}
	p.steps = p.steps[:keep]
	top := p.steps[keep-1]
	for _, id := range ev.Stack[keep-1:] {
		if int(id) >= len(w.frames) || !w.frames[id].known {
			w.learn(id)
			w.widen(p)
		}
		f := &w.frames[id]
		n := top.node
		switch {
		case w.stacks.exact:
			n = w.stacks.step(n, uint32(id))
		case f.count == 1:
			fn := w.funcs[f.first]
			if p.depth[fn] == 0 {
				n = w.stacks.step(n, fn)
			}
			p.depth[fn]++
		default:
			for _, fn := range w.funcs[f.first : f.first+uint32(f.count)] {
				if p.depth[fn] == 0 {
					n = w.stacks.step(n, fn)
				}
				p.depth[fn]++
			}
		}
		place := top.place
		if f.place != 0 {
			place = f.place
		}
		top = pathStep{id, n, place, 0}
		p.steps = append(p.steps, top)
	}
	last := &p.steps[len(p.steps)-1]
	if last.site == 0 {
		last.site = w.stacks.site(last.node, last.place) + 1
	}
	return last.site - 1
}

// widen makes room in p.depth for every function that is known.
func (w *Walk) widen(p *path) {
	if n := len(w.stacks.names); n > len(p.depth) {
		p.depth = append(p.depth, make([]uint32, 2*n-len(p.depth))...)
	}
}

// learn looks up the functions of a frame. Those of a frame whose location
// the trace has not told are none, and stay none.
func (w *Walk) learn(id memtrace.Frame) {
	for int(id) >= len(w.frames) {
		w.frames = append(w.frames, make([]frame, max(1024, len(w.frames)))...)
	}
	f := frame{first: uint32(len(w.funcs)), known: true}
	for _, l := range w.r.Locations(nil, id) {
		w.funcs = append(w.funcs, w.stacks.name(l.Func))
		f.count++
		f.place = w.stacks.place(l)
	}
	w.frames[id] = f
}
