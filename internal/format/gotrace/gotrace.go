// Package gotrace reads the execution traces of Go 1.22 and later, which
// runtime/trace, go test -trace, net/http/pprof and the flight recorder write.
//
// There are few types: a [Reader] gives a trace's events one by one, in our
// words; its [Totals] say how much there was and in which states the
// goroutines spent their time; a [Clock] ties the trace's clock to others.
//
// # What becomes of a Go event
//
// Threads are goroutines, under their own numbers. Thread 0, "runtime", is what
// acts while no goroutine runs: the network poller, timers, the scheduler.
// Task n is thread -1-n.
//
//	created                     creates, of type Goroutine, and label: the function it starts with
//	there before the trace      label, as soon as a stack tells it; what it does then
//	starts to run on a P        switch
//	blocks                      wait, for the runtime's reason: "chan receive", "sync", "select" …
//	is unblocked                signal_only, by the goroutine that does it, or by thread 0
//	is preempted, yields        wait, for "preempted", "runtime.Gosched" …
//	enters a system call        wait, for "syscall"
//	leaves it                   switch if it still has its P, else wait, for "runnable"
//	ends                        fulfills, of itself, and switch to -1
//	task                        creates, of type Task, under its parent or its goroutine, and label; fulfills
//	region, log, label          region_begin, region_end, log, label
//	GC mark phase               gc
//	stop-the-world              pause
//	GC mark assist              region_begin, region_end
//	HeapAlloc, HeapGoal,        counter
//	GOMAXPROCS
//
// A goroutine is runnable when it neither runs nor waits, and when it waits for
// one of "preempted", "runnable" and what it yields with. When a goroutine
// waits for nothing known, it did so since before the trace. Ps, CPU samples,
// sweeps and experimental events have no event of ours.
//
// Times are ns on the trace's clock, which on Linux is CLOCK_MONOTONIC.
//
// # Damage
//
// A trace is a run of generations, most of them a second long, and is decoded
// one generation after the other. Where one is unfinished, because the program
// was killed, or says what cannot be, reading stops: what came before has been
// read, and an [event.Damage] says where that is.
//
// The decoder is golang.org/x/exp/trace, and none of its types leaves this
// package. It takes about 80 ns an event, and memory for one generation.
package gotrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/mirador-trace/mirador/internal/event"
)

// Runtime is the number of the thread that stands for the runtime at work
// while no goroutine runs.
const Runtime = 0

// Errors of [NewReader] that a caller may want to tell apart.
var (
	ErrVersion      = errors.New("not a version of Go execution traces that can be read")
	ErrNoGeneration = errors.New("no whole generation of a Go execution trace")
)

const (
	headerSize = 16
	oldest     = 22 // the format changed from the ground up with Go 1.22
)

// Is reports whether a file that starts with these bytes is a Go execution
// trace of any version. It wants 16 of them.
func Is(start []byte) bool { return version(start) >= 0 }

// version returns N of a header "go 1.N trace", or -1.
func version(start []byte) int {
	if len(start) < headerSize {
		return -1
	}
	number, ok := bytes.CutPrefix(bytes.TrimRight(start[:headerSize], "\x00"), []byte("go 1."))
	number, has := bytes.CutSuffix(number, []byte(" trace"))
	n, err := strconv.ParseUint(string(number), 10, 16)
	if !ok || !has || err != nil {
		return -1
	}
	return int(n)
}

// Totals is what was counted while a trace was read.
type Totals struct {
	Events     int // as the trace has them, which are more than ours
	Goroutines int // how many different ones

	// How long all goroutines together were in each state, in ns. A state
	// lasts from the event that says so to the goroutine's next, or to the
	// last event of the trace.
	Running, Runnable, Waiting, Syscall int64
}

// Clock is the time that three clocks told at once. Traces have it from Go
// 1.25 on.
type Clock struct {
	Trace int64 // ns on the trace's clock
	Mono  int64 // ns on the machine's monotonic clock
	Wall  time.Time
}

// Reader gives the events of a trace in the order in which they happened.
type Reader struct {
	decoder     *xtrace.Reader
	version     int
	generations generations
	current     int   // index in generations of the one being read; -1 before the first
	offset      int64 // of that generation
	damage      []event.Damage
	stacks      event.Stacks
	numbers     map[xtrace.Stack]uint32 // in stacks, of this generation
	names       map[uint32]string       // of goroutines with these stacks; "" where they do not tell
	clock       Clock
	events      int
	last        int64 // the last event's time
	goroutines  goroutines
	marking     span // of the GC
	stopped     span // of the world
	runtime     bool // whether the runtime's thread is labelled
	ended       bool
	buf         []event.Event
	next        int // index in buf
}

// span is a stretch of time that has begun.
type span struct {
	open   bool
	since  int64
	thread int64
	reason string
	stack  uint32
}

// NewReader reads the first generation of a trace that lies in memory. The
// error is an [ErrVersion], or an [ErrNoGeneration] when nothing can be read.
func NewReader(data []byte) (*Reader, error) {
	v := version(data)
	if v < oldest {
		return nil, fmt.Errorf("a trace of Go 1.%d: %w", v, ErrVersion)
	}
	decoder, err := xtrace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("a trace of Go 1.%d: %w", v, ErrVersion)
	}
	r := &Reader{
		decoder: decoder, version: v, generations: findGenerations(data), current: -1, offset: headerSize,
		numbers: make(map[xtrace.Stack]uint32), names: make(map[uint32]string),
		buf: make([]event.Event, 0, bufferSize),
	}
	if r.fill(); len(r.buf) == 0 && len(r.damage) > 0 {
		return nil, fmt.Errorf("%v: %w", r.damage[0], ErrNoGeneration)
	}
	return r, nil
}

// Version returns the version of the format, "1.26": it is of the Go release
// that brought it, not of the one that wrote the trace.
func (r *Reader) Version() string { return "1." + strconv.Itoa(r.version) }

// Clock returns what the clocks told when the trace began; false if it does
// not say.
func (r *Reader) Clock() (Clock, bool) { return r.clock, r.clock != Clock{} }

// Totals returns what was counted so far; all of it once Next has returned
// false.
func (r *Reader) Totals() Totals {
	t := r.goroutines.totals(r.last)
	t.Events = r.events
	return t
}

// Stacks returns the stacks of the events so far; reading on adds to them.
func (r *Reader) Stacks() *event.Stacks { return &r.stacks }

// Damage returns what could not be read so far; all of it once Next has
// returned false.
func (r *Reader) Damage() []event.Damage { return r.damage }

// Next overwrites e with the next event and reports whether there was one. The
// event's Offset is that of its generation. It costs about 100 ns.
func (r *Reader) Next(e *event.Event) bool {
	for r.next == len(r.buf) {
		if r.ended {
			return false
		}
		r.fill()
	}
	*e = r.buf[r.next]
	r.next++
	return true
}

const (
	bufferSize = 256
	mostOfOne  = 8 // no event of the trace becomes as many of ours
)

// fill decodes the next events into the buffer. The decoder may panic on what
// cannot be, which then is damage.
func (r *Reader) fill() {
	r.buf, r.next = r.buf[:0], 0
	defer func() {
		switch what := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			panic(what) // the file has become shorter: see input.File.Read
		default:
			r.stop(fmt.Sprint(what))
		}
	}()
	for len(r.buf)+mostOfOne <= cap(r.buf) {
		e, err := r.decoder.ReadEvent()
		if err == io.EOF {
			r.end()
			return
		}
		if err != nil {
			r.stop(err.Error())
			return
		}
		r.event(&e)
	}
}

// stop ends the reading at damage.
func (r *Reader) stop(what string) {
	what, _, _ = strings.Cut(strings.TrimSpace(what), "\n")
	what = strings.TrimSuffix(what, ": frontier:")
	const most = 200
	if len(what) > most {
		what = what[:most] + "…"
	}
	r.damage = append(r.damage, event.Damage{Offset: r.offset, What: what})
	r.end()
}

// end ends what is still open when there is no more.
func (r *Reader) end() {
	r.ended = true
	r.endMark(r.last, -1)
	r.endStop(r.last, -1)
	r.goroutines.each(func(id int64, g *goroutine) {
		if g.state != absent {
			r.nameAnyway(id, g)
		}
	})
}
