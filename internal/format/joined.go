package format

import (
	"bytes"
	"io/fs"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/generations"
)

// Joined is a recording of ours together with the runtime's execution trace of
// the same time, on one clock: the recording's, on which 0 is its start. Both
// number goroutines alike.
//
// As long as there is an execution trace it alone tells what runs where, for
// it knows better; the recording tells all else. A goroutine is called what
// the program calls it and, if the program does not, after its function.
type Joined struct {
	Own *native.Reader
	Go  *gotrace.Reader

	shift    int64 // from the execution trace's clock to the recording's
	own, run pending
	begun    bool                   // whether the execution trace has begun
	created  map[int64]bool         // goroutines that were created
	ended    map[int64]bool         // goroutines of which the recording told the end
	unnamed  map[int64]*event.Event // names that wait for a better one
	advancer int64                  // the runtime's goroutine that ends generations, or 0
	ready    []event.Event          // what goes before the next event
	waitText []byte
}

// pending is an event that has been read and is still to be given.
type pending struct {
	event.Event
	text []byte
	some bool
}

func (p *pending) fill(src Events) {
	if p.some = src.Next(&p.Event); p.some {
		p.text = append(p.text[:0], p.Text...)
		p.Text = p.text
	}
}

// join looks for an execution trace in a trace directory, and returns the
// recording by itself if there is none that can be read.
func join(dir fs.FS, own *native.Reader) Events {
	hidden, err := fs.Sub(dir, ".run")
	if err != nil {
		return own
	}
	data, err := generations.Open(hidden)
	if err != nil || data == nil {
		return own
	}
	run, err := gotrace.NewReader(data)
	if err != nil {
		return own // not one generation is whole yet
	}
	j := &Joined{Own: own, Go: run, shift: -own.Monotonic(),
		created: make(map[int64]bool), ended: make(map[int64]bool), unnamed: make(map[int64]*event.Event)}
	if c, ok := run.Clock(); ok {
		j.shift += c.Mono - c.Trace
	}
	j.own.fill(own)
	j.fillGo()
	return j
}

func (j *Joined) fillGo() {
	j.run.fill(j.Go)
	j.run.Time += j.shift
}

// Damage returns what could not be read of either.
func (j *Joined) Damage() []event.Damage {
	return append(told(j.Own.Damage(), "recording: "), told(j.Go.Damage(), "execution trace: ")...)
}

func told(damage []event.Damage, what string) []event.Damage {
	all := make([]event.Damage, 0, len(damage))
	for _, d := range damage {
		all = append(all, event.Damage{Offset: d.Offset, What: what + d.What})
	}
	return all
}

// Next overwrites e with the next event and reports whether there was one.
func (j *Joined) Next(e *event.Event) bool {
	for {
		if len(j.ready) > 0 {
			*e, j.ready = j.ready[0], j.ready[1:]
			return true
		}
		var wanted bool
		switch {
		case j.run.some && (!j.own.some || j.run.Time <= j.own.Time):
			*e = j.run.Event
			e.Text = j.copied(e.Text)
			wanted = j.fromGo(e)
			j.fillGo()
			if !j.run.some && j.advancer != 0 {
				if wanted {
					j.ready = append(j.ready, *e)
				}
				j.ready = append(j.ready, event.Event{Kind: event.Wait, Time: e.Time, Thread: j.advancer, Text: []byte("chan receive")})
				continue
			}
		case j.own.some:
			*e = j.own.Event
			e.Text = j.copied(e.Text)
			wanted = j.fromOwn(e)
			j.own.fill(j.Own)
		default:
			return false
		}
		if wanted && len(j.ready) > 0 {
			// A name goes before what its goroutine did.
			j.ready = append(j.ready, *e)
			continue
		}
		if wanted {
			return true
		}
	}
}

// copied keeps a text while the next event is read already.
func (j *Joined) copied(text []byte) []byte {
	j.waitText = append(j.waitText[:0], text...)
	return j.waitText
}

// fromGo reports whether an event of the execution trace is wanted.
func (j *Joined) fromGo(e *event.Event) bool {
	j.begun = true
	switch e.Kind {
	case event.Counter:
		return false // the recording samples them all the time
	case event.Creates:
		again := j.created[e.Other]
		j.created[e.Other] = true
		return !again
	case event.Label:
		if e.Thread == gotrace.Runtime {
			return true // it never waits
		}
		if string(e.Text) == advancer {
			j.advancer = e.Thread
		}
		if j.unnamed[e.Thread] == nil && !j.ended[e.Thread] {
			name := *e
			name.Text = bytes.Clone(e.Text)
			j.unnamed[e.Thread] = &name
		}
		return false
	case event.Wait:
		j.name(e.Thread, e.Time)
	case event.Fulfills:
		j.name(e.Thread, e.Time)
		delete(j.created, e.Other)
		if j.ended[e.Other] {
			delete(j.ended, e.Other)
			return false
		}
	}
	return true
}

// advancer is what the goroutine is called that ends each generation of an
// execution trace: so it runs at the end of every trace, and waits right after
// that for the next one's time.
const advancer = "runtime.(*traceAdvancerState).start.func1"

// name calls a goroutine after its function, since it has run and nobody has
// called it anything else.
func (j *Joined) name(thread, time int64) {
	if name := j.unnamed[thread]; name != nil {
		delete(j.unnamed, thread)
		name.Time = time
		j.ready = append(j.ready, *name)
	}
}

// fromOwn reports whether an event of the recording is wanted.
func (j *Joined) fromOwn(e *event.Event) bool {
	if e.Kind == event.Label {
		delete(j.unnamed, e.Thread)
	}
	if !j.begun || !j.run.some {
		return true // nobody else tells
	}
	switch e.Kind {
	case event.Switch, event.Wait, event.GC:
		return false
	case event.Read:
		e.Kind = event.ReadLater
	case event.Signal:
		e.Kind = event.SignalOnly
	case event.Creates:
		again := j.created[e.Other]
		j.created[e.Other] = true
		return !again
	case event.Fulfills, event.Fails:
		if e.Thread == e.Other && j.created[e.Other] {
			j.ended[e.Other] = true
		}
	}
	return true
}
