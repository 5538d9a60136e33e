package gotrace

import (
	"strings"

	xtrace "golang.org/x/exp/trace"

	"github.com/mirador-trace/mirador/internal/event"
)

// states are the decoder's in our words. Undetermined is before the first
// state of a goroutine that was there before the trace.
var states = [...]state{
	xtrace.GoUndetermined: free,
	xtrace.GoNotExist:     absent,
	xtrace.GoRunnable:     runnable,
	xtrace.GoRunning:      running,
	xtrace.GoWaiting:      waiting,
	xtrace.GoSyscall:      syscall,
}

// transition is a goroutine coming from one state into another. Ps are passed
// over: what runs on them says it all.
func (r *Reader) transition(e *xtrace.Event) {
	t := e.StateTransition()
	if t.Resource.Kind != xtrace.ResourceGoroutine {
		return
	}
	was, is := t.Goroutine()
	from, to := states[was], states[is]
	if to == free {
		return // it cannot be
	}
	id := int64(t.Resource.Goroutine())
	g := r.goroutines.find(id)
	r.goroutines.enter(g, to, r.last)
	if from == to {
		return // a generation begins with what is known
	}
	if from == absent {
		r.created(e, &t, id, g)
		return
	}
	if from == free && to == waiting {
		// The wait comes first: then it is known to be older than the trace.
		stack := r.stack(t.Stack)
		r.wait(e, id, t.Reason, stack)
		r.name(id, g, stack)
		return
	}
	stack := uint32(0)
	if t.Stack != xtrace.NoStack {
		if stack = r.stack(t.Stack); !g.named {
			r.name(id, g, stack)
		}
	}
	if to == absent {
		r.nameAnyway(id, g)
	}
	switch to {
	case running:
		r.put(event.Switch, id, e.Proc())
	case waiting:
		reason := t.Reason
		if reason == "" {
			reason = handedOver
		}
		r.wait(e, id, reason, stack)
	case syscall:
		r.wait(e, id, inSyscall, stack)
	case runnable:
		if from == waiting {
			r.woken(e, id)
			return
		}
		reason := t.Reason
		if reason == "" {
			reason = isRunnable
		}
		r.wait(e, id, reason, stack)
	case absent:
		end := r.put(event.Fulfills, id, e.Proc())
		end.Other = id
		if from == running {
			r.put(event.Switch, event.NoThread, e.Proc())
		}
	}
}

// created adds a goroutine that is new, and the function it starts with.
func (r *Reader) created(e *xtrace.Event, t *xtrace.StateTransition, id int64, g *goroutine) {
	state, entry := g.state, r.stack(t.Stack)
	g.entry = entry
	actor, stack := r.actor(e), r.here(e)
	creates := r.put(event.Creates, actor, e.Proc())
	creates.Other, creates.Type, creates.Stack = id, event.Goroutine, stack
	r.name(id, r.goroutines.find(id), entry)
	switch state {
	case waiting:
		r.wait(e, id, handedOver, entry)
	case syscall:
		r.wait(e, id, inSyscall, entry)
	}
}

// starters are functions that do nothing but call the one that their caller
// wants to run on a goroutine: that one's name tells more.
var starters = map[string]bool{
	"sync.(*WaitGroup).Go.func1":                      true,
	"golang.org/x/sync/errgroup.(*Group).Go.func1":    true,
	"golang.org/x/sync/errgroup.(*Group).TryGo.func1": true,
	"golang.org/x/sync/errgroup.(*Group).add.func1":   true,
	"github.com/mirador-trace/mirador.spawn.func1":    true,
	"github.com/mirador-trace/mirador.GoErr.func1":    true,
}

// name labels a goroutine with the function that it starts with, if a stack of
// its tells.
func (r *Reader) name(id int64, g *goroutine, stack uint32) {
	name, ok := r.names[stack]
	if !ok {
		frames := r.stacks.Frames(stack)
		for i := len(frames) - 1; i >= 0 && name == ""; i-- {
			if !starters[frames[i].Func] {
				name = frames[i].Func
			}
		}
		if strings.HasPrefix(name, "runtime.doInit") {
			name = "main.main" // packages are initialized by the goroutine that calls it afterwards
		}
		r.names[stack] = name
	}
	if name != "" {
		r.label(id, g, name)
	}
}

func (r *Reader) label(id int64, g *goroutine, name string) {
	g.named = true
	r.put(event.Label, id, 0).Text = raw(name)
}

// nameAnyway labels a goroutine that no stack but its first has told of.
func (r *Reader) nameAnyway(id int64, g *goroutine) {
	if f := r.stacks.Outermost(g.entry); !g.named && f.Func != "" {
		r.label(id, g, f.Func)
	}
}

func (r *Reader) wait(e *xtrace.Event, id int64, reason string, stack uint32) {
	w := r.put(event.Wait, id, e.Proc())
	w.Text, w.Stack = raw(reason), stack
}

func (r *Reader) woken(e *xtrace.Event, id int64) {
	waker := r.actor(e)
	w := r.put(event.SignalOnly, id, e.Proc())
	w.Other, w.Stack = waker, r.stack(e.Stack())
}
