package thread

import "github.com/mirador-trace/mirador/internal/event"

// procs is what runs on each of the processors that a trace tells of.
//
// With one processor, the process is idle while the top thread runs there, as
// in mirage-profile. With several it is idle while nothing runs on any.
type procs struct {
	running   []onProc
	busy      int     // how many processors run a thread, once there are several
	idleSince float64 // while busy is 0
}

type onProc struct {
	thread ID // None before the first switch
	since  float64
}

// most is how many processors are told apart: the numbers in a trace may be
// anything.
const most = 1 << 12

func (p *procs) on(proc int32) *onProc {
	n := int(min(uint32(proc), most-1))
	for n >= len(p.running) {
		if len(p.running) == 1 && p.running[0].thread != None {
			if first := &p.running[0]; first.thread == Top {
				p.idleSince, first.thread = first.since, None
			} else {
				p.busy = 1
			}
		}
		p.running = append(p.running, onProc{thread: None})
	}
	return &p.running[n]
}

// switchTo ends what runs on a processor and lets t run there; Top when it is
// idle, None when nothing is known.
func (b *builder) switchTo(proc int32, time float64, t ID) {
	on := b.procs.on(proc)
	if len(b.procs.running) > 1 {
		b.switchOneOf(on, time, t)
		return
	}
	if on.thread == t {
		return
	}
	b.stop(on, time)
	on.thread, on.since = t, time
}

// where returns the processor that a thread runs on, or nil.
func (p *procs) where(t ID) *onProc {
	for i := range p.running {
		if p.running[i].thread == t {
			return &p.running[i]
		}
	}
	return nil
}

// switchOneOf is switchTo where there are several processors. A thread that
// runs here does not run elsewhere any longer: a recorder that does not see
// the scheduler only learns by and by that a goroutine has moved.
func (b *builder) switchOneOf(on *onProc, time float64, t ID) {
	known := t != None
	if t == Top {
		t = None
	}
	p := &b.procs
	if t != None && on.thread != t {
		if other := p.where(t); other != nil {
			b.stop(other, time)
			if on.thread != None {
				p.busy-- // two that were busy are one now
			}
			b.stop(on, time)
			other.thread = None
			on.thread, on.since = t, time
		}
	}
	if on.thread != t {
		b.stop(on, time)
		if on.thread == None {
			if p.busy++; p.busy == 1 {
				b.activations.add(Top, Span{p.idleSince, time})
			}
		} else if t == None {
			if p.busy--; p.busy == 0 {
				p.idleSince = time
			}
		}
		on.thread, on.since = t, time
	}
	if !known && p.busy == 0 && p.idleSince < time {
		b.activations.add(Top, Span{p.idleSince, time}) // the trace ends idle
		p.idleSince = time
	}
}

// stop notes that the thread on a processor ran until now.
func (b *builder) stop(on *onProc, time float64) {
	if on.thread != None {
		b.activations.add(on.thread, Span{on.since, min(time, b.m.Threads[on.thread].End)})
	}
}

// wait lets a thread wait, and end what it waited for before. It stops running
// if it did, on whatever processor; what else runs there goes on.
func (b *builder) wait(e *event.Event, time float64) {
	before := len(b.m.Threads)
	t := b.thread(e.Thread)
	b.procs.on(e.Proc)
	b.stopsRunning(t, time)
	b.wakes(t, time)
	w := Wait{Span: Span{Start: time}, Stack: e.Stack}
	if len(e.Text) > 0 {
		w.Reason = b.m.texts.add(e.Text)
	} else if len(b.m.Threads) > before {
		w.Start = 0 // all that is known of it is that it has waited
	}
	for int(t) >= len(b.open) {
		b.open = append(b.open, make([]uint32, len(b.m.Threads)-len(b.open))...)
	}
	b.open[t] = uint32(b.waits.add(t, w) + 1)
}

// stopsRunning lets a thread not run any longer, wherever it did.
func (b *builder) stopsRunning(t ID, time float64) {
	for i := range b.procs.running {
		if b.procs.running[i].thread == t {
			b.switchTo(int32(i), time, Top)
			return
		}
	}
}

// wakes ends the wait of a thread, if it waits.
func (b *builder) wakes(t ID, time float64) {
	if int(t) < len(b.open) && b.open[t] > 0 {
		b.waits.at(int(b.open[t] - 1)).End = time
		b.open[t] = 0
	}
}
