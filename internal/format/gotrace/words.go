package gotrace

import (
	"strings"
	"unsafe"

	xtrace "golang.org/x/exp/trace"

	"github.com/mirador-trace/mirador/internal/event"
)

// Reasons to wait that the trace has no text for.
const (
	inSyscall  = "syscall"
	isRunnable = "runnable"
	handedOver = "coroutine switch"
)

// event puts an event of the trace into our words.
func (r *Reader) event(e *xtrace.Event) {
	r.events++
	r.last = int64(e.Time())
	switch e.Kind() {
	case xtrace.EventStateTransition:
		r.transition(e)
	case xtrace.EventSync:
		r.sync(e)
	case xtrace.EventMetric:
		r.metric(e)
	case xtrace.EventRangeBegin, xtrace.EventRangeActive, xtrace.EventRangeEnd:
		r.phase(e)
	case xtrace.EventTaskBegin, xtrace.EventTaskEnd:
		r.task(e)
	case xtrace.EventRegionBegin:
		r.say(e, event.RegionBegin, e.Region().Type)
	case xtrace.EventRegionEnd:
		r.say(e, event.RegionEnd, e.Region().Type)
	case xtrace.EventLog:
		text := e.Log().Message
		if category := e.Log().Category; category != "" {
			text = category + ": " + text
		}
		r.say(e, event.Log, text)
	case xtrace.EventLabel:
		r.say(e, event.Label, e.Label().Label)
	}
}

// put adds an event of ours that happens now.
func (r *Reader) put(kind event.Kind, thread int64, proc xtrace.ProcID) *event.Event {
	r.buf = append(r.buf, event.Event{
		Kind: kind, Thread: thread, Time: r.last, Proc: int32(max(proc, 0)),
		Offset: r.offset,
	})
	return &r.buf[len(r.buf)-1]
}

// say adds what a goroutine says of itself.
func (r *Reader) say(e *xtrace.Event, kind event.Kind, text string) {
	actor, stack := r.actor(e), r.here(e)
	said := r.put(kind, actor, e.Proc())
	said.Text, said.Stack = raw(text), stack
}

// actor returns the thread that acts: a goroutine or the runtime.
func (r *Reader) actor(e *xtrace.Event) int64 {
	if g := e.Goroutine(); g != xtrace.NoGoroutine {
		return int64(g)
	}
	if !r.runtime {
		r.runtime = true
		r.put(event.Label, Runtime, 0).Text = raw("runtime")
	}
	return Runtime
}

// here returns the stack of the thread that acts, which may tell its name.
func (r *Reader) here(e *xtrace.Event) uint32 {
	stack := r.stack(e.Stack())
	if id := e.Goroutine(); stack != 0 && id != xtrace.NoGoroutine {
		if g := r.goroutines.find(int64(id)); !g.named {
			r.name(int64(id), g, stack)
		}
	}
	return stack
}

// raw returns a string's bytes, which nobody may change.
func raw(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// stack returns the number of a stack. The trace numbers them anew in each
// generation.
func (r *Reader) stack(s xtrace.Stack) uint32 {
	if s == xtrace.NoStack {
		return 0
	}
	n, ok := r.numbers[s]
	if !ok {
		var frames []event.Frame
		for f := range s.Frames() {
			frames = append(frames, event.Frame{Func: f.Func, File: f.File, Line: int(f.Line)})
		}
		n = r.stacks.Add(frames)
		r.numbers[s] = n
	}
	return n
}

// sync begins a generation.
func (r *Reader) sync(e *xtrace.Event) {
	clear(r.numbers)
	r.current++
	r.offset = r.generations.start(r.current)
	if c := e.Sync().ClockSnapshot; c != nil && r.clock == (Clock{}) {
		r.clock = Clock{Trace: int64(c.Trace), Mono: int64(c.Mono), Wall: c.Wall}
	}
}

var counters = map[string][]byte{
	"/sched/gomaxprocs:threads":          []byte("GOMAXPROCS"),
	"/memory/classes/heap/objects:bytes": []byte("HeapAlloc"),
	"/gc/heap/goal:bytes":                []byte("HeapGoal"),
}

func (r *Reader) metric(e *xtrace.Event) {
	m := e.Metric()
	name, ok := counters[m.Name]
	const none = 1 << 62 // a goal as high as that is none: the GC is off
	if !ok || m.Value.Kind() != xtrace.ValueUint64 || m.Value.Uint64() >= none {
		return
	}
	c := r.put(event.Counter, int64(e.Goroutine()), e.Proc())
	c.Text, c.Value = name, int64(m.Value.Uint64())
}

// phase is what the GC does, and the world's stops.
func (r *Reader) phase(e *xtrace.Event) {
	is := e.Range()
	ends := e.Kind() == xtrace.EventRangeEnd
	reason, stops := strings.CutPrefix(is.Name, "stop-the-world (")
	switch {
	case stops && ends:
		r.endStop(r.last, e.Proc())
	case stops:
		r.stopped = span{true, r.last, r.actor(e), strings.TrimSuffix(reason, ")"), r.here(e)}
	case is.Name == "GC concurrent mark phase" && ends:
		r.endMark(r.last, e.Proc())
	case is.Name == "GC concurrent mark phase" && !r.marking.open:
		r.marking = span{open: true, since: r.last}
	case is.Name == "GC mark assist" && is.Scope.Kind == xtrace.ResourceGoroutine:
		if kind := event.RegionEnd; ends {
			r.put(kind, int64(is.Scope.Goroutine()), e.Proc()).Text = raw(is.Name)
		} else if e.Kind() == xtrace.EventRangeBegin || r.current == 0 {
			stack := r.here(e)
			begin := r.put(event.RegionBegin, int64(is.Scope.Goroutine()), e.Proc())
			begin.Text, begin.Stack = raw(is.Name), stack
		}
	}
}

func (r *Reader) endMark(time int64, proc xtrace.ProcID) {
	if r.marking.open {
		r.put(event.GC, event.NoThread, proc).Value = time - r.marking.since
		r.marking.open = false
	}
}

func (r *Reader) endStop(time int64, proc xtrace.ProcID) {
	if s := &r.stopped; s.open {
		pause := r.put(event.Pause, s.thread, proc)
		pause.Value, pause.Text, pause.Stack = time-s.since, raw(s.reason), s.stack
		s.open = false
	}
}

// task is a thread as well.
func (r *Reader) task(e *xtrace.Event) {
	t := e.Task()
	id, ok := taskThread(t.ID)
	if !ok {
		return
	}
	actor, stack := r.actor(e), r.here(e)
	if e.Kind() == xtrace.EventTaskEnd {
		end := r.put(event.Fulfills, actor, e.Proc())
		end.Other, end.Stack = id, stack
		return
	}
	if parent, ok := taskThread(t.Parent); ok {
		actor = parent
	}
	begin := r.put(event.Creates, actor, e.Proc())
	begin.Other, begin.Type, begin.Stack = id, event.Task, stack
	r.put(event.Label, id, e.Proc()).Text = raw(t.Type)
}

// taskThread returns the thread that stands for a task; false if it is none.
func taskThread(id xtrace.TaskID) (int64, bool) {
	const most = 1 << 61 // thread numbers have 63 bits
	return -1 - int64(id), id != xtrace.BackgroundTask && id < most
}
