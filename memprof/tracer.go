package memprof

import (
	"fmt"
	"slices"

	"github.com/mirador-trace/mirador/memprof/note"
	"github.com/mirador-trace/mirador/memtrace"
)

// tracer knows the sampled objects that live, and writes what happens to them
// to a stream when there is one. A stream that begins late, because a ring
// was full or a peer came back, begins with the objects that live, at the
// times when they were born.
//
// When the outlet has no room the tracer is behind: objects wait to be told
// in untold, and what happened to those that were told already waits in
// fates. Who dies before he was told is lost, and counted.
type tracer struct {
	info    memtrace.Info
	out     outlet
	most    int // objects
	objects table[object]
	stacks  stacks
	young   queue[birth]
	now     int64 // µs since the Unix epoch, of the last event

	writer    *memtrace.Writer // nil between streams
	domain    *memtrace.Domain
	memory    []byte // of domain
	lastStack uint32 // + 1, of the last allocation that was told
	notes     note.Builder
	packet    []byte
	flushed   int64 // when

	behind     bool
	beginning  int // objects that the stream is to begin with; they are not told yet
	untold     queue[uint64]
	fates      queue[fate]
	lostAllocs uint64
	lostDeaths uint64

	allocs, deaths, dropped uint64 // in all
}

// object is a sampled object that lives.
type object struct {
	id        uint64 // in the stream, + 1; 0 when it has not been told
	time      int64
	goroutine uint64
	words     int64
	samples   int64
	stack     uint32
	source    memtrace.Source
	survived  bool
}

// birth is an object that has not yet been through a collection.
type birth struct {
	key   uint64
	cycle uint32 // the collection before, or during the marking of which, it was born
}

type fate struct {
	id    uint64
	time  int64
	death bool
}

// alloc makes an object known. Keys are the source's.
func (t *tracer) alloc(key uint64, o *object) {
	t.allocs++
	t.now = max(t.now, o.time)
	if t.objects.n >= t.most {
		t.lose(1, 0)
		return
	}
	known, err := t.objects.put(key)
	if err != nil { // no memory
		t.lose(1, 0)
		return
	}
	*known = *o
	if t.domain == nil {
		return
	}
	if t.behind || !t.out.room() {
		t.behind = true
		if t.untold.push(key) != nil {
			t.objects.remove(key)
			t.lose(1, 0)
		}
		return
	}
	t.tell(known)
}

// free says that an object is gone. One that is not known was born before the
// tracer was, or is lost.
func (t *tracer) free(key uint64, time int64) {
	t.now = max(t.now, time)
	o := t.objects.get(key)
	if o == nil {
		return
	}
	t.deaths++
	id, waits := o.id, t.domain != nil && o.id == 0
	t.objects.remove(key)
	switch {
	case waits:
		t.lose(1, 0)
	case id != 0:
		t.fate(fate{id - 1, time, true})
	}
}

// born says before, or during the marking of, which collection an object of
// the heap was allocated: the first that it can die in is the next.
func (t *tracer) born(key uint64, cycle uint32) {
	t.young.push(birth{key, cycle}) // without memory it is never said to survive
}

// survive says that a collection has ended, with all of its deaths.
func (t *tracer) survive(cycle uint32, time int64) {
	t.now = max(t.now, time)
	for t.young.len() > 0 && int32(cycle-t.young.front().cycle) > 0 {
		o := t.objects.get(t.young.front().key)
		t.young.pop()
		if o == nil {
			continue
		}
		o.survived = true
		if o.id != 0 {
			t.fate(fate{o.id - 1, time, false})
		}
	}
}

// cycle says that the marking of a collection has ended.
func (t *tracer) cycle(number uint32, time int64) {
	t.now = max(t.now, time)
	if t.domain != nil {
		t.notes.Cycle(time, uint64(number))
	}
}

// lose counts what is not in the stream.
func (t *tracer) lose(allocs, deaths uint64) {
	t.lostAllocs += allocs
	t.lostDeaths += deaths
	t.dropped += allocs + deaths
}

// fate writes what happened to an object that was told.
func (t *tracer) fate(f fate) {
	if t.domain == nil {
		return
	}
	if t.behind || !t.out.room() {
		t.behind = true
		if t.fates.push(f) != nil {
			t.lose(0, 1)
		}
		return
	}
	t.write(f)
}

func (t *tracer) write(f fate) {
	if f.death {
		t.domain.Collect(f.time, f.id)
	} else {
		t.domain.Promote(f.time, f.id)
	}
}

// tell writes the allocation of an object.
func (t *tracer) tell(o *object) {
	a := memtrace.Allocation{Time: o.time, Length: o.words, Samples: o.samples, Source: o.source}
	a.Codes = t.stacks.of(o.stack)
	if t.lastStack == o.stack+1 {
		a.Prefix, a.Codes = len(a.Codes), nil
	}
	id, err := t.domain.Alloc(&a)
	if err != nil {
		return // the outlet has ended the stream, and says so at its next turn
	}
	t.lastStack = o.stack + 1
	o.id = id + 1
	t.notes.Alloc(id, o.goroutine)
	if o.survived {
		t.domain.Promote(o.time, id)
	}
}

// catchUp tells what waits, in the order of time, as far as there is room.
func (t *tracer) catchUp() {
	for t.behind && t.domain != nil && t.out.room() {
		for t.untold.len() > 0 {
			if o := t.objects.get(*t.untold.front()); o != nil && o.id == 0 {
				break
			}
			t.next()
		}
		born := t.untold.len() > 0
		switch {
		case t.fates.len() > 0 && (!born || t.fates.front().time <= t.objects.get(*t.untold.front()).time):
			t.write(*t.fates.front())
			t.fates.pop()
		case born:
			t.tell(t.objects.get(*t.untold.front()))
			t.next()
		default:
			t.behind = false
		}
	}
}

// next takes the first off those who wait to be told.
func (t *tracer) next() {
	t.untold.pop()
	if t.beginning > 0 {
		if t.beginning--; t.beginning == 0 {
			t.complete()
		}
	}
}

// complete notes that the objects of the stream's beginning have been told. The
// outlet may give up the streams before this one, so that it must have them all
// first.
func (t *tracer) complete() {
	t.writer.Flush()
	t.notes.Complete(t.now)
	t.writeNotes()
	if t.out.room() {
		t.out.complete()
	}
}

// turn begins and ends streams as the outlet has it.
func (t *tracer) turn() error {
	begin, end := t.out.turn(t.objects.n)
	if end && t.domain != nil {
		t.end()
	}
	if begin {
		return t.begin()
	}
	return nil
}

// begin starts a stream, with the objects that live.
func (t *tracer) begin() error {
	t.untold.clear()
	t.fates.clear()
	t.notes = note.Builder{}
	t.lostAllocs, t.lostDeaths = 0, 0
	if err := t.untold.reserve(t.objects.n); err != nil {
		return err
	}
	t.objects.each(func(key uint64, o *object) {
		o.id = 0
		t.untold.s = append(t.untold.s, key)
	})
	slices.SortFunc(t.untold.s, func(a, b uint64) int {
		x, y := t.objects.get(a), t.objects.get(b)
		switch {
		case x.time != y.time:
			return int(min(1, max(-1, x.time-y.time)))
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	info := t.info
	info.Start = t.now
	if t.untold.len() > 0 {
		info.Start = min(info.Start, t.objects.get(*t.untold.front()).time)
	}
	w, err := memtrace.NewWriter(t.out, info, t.stacks.locate)
	if err != nil {
		return fmt.Errorf("begin a stream: %w", err)
	}
	if t.memory == nil {
		t.memory, _ = mapMemory(memtrace.DomainMemory) // else the heap's is taken
	} else {
		clear(t.memory)
	}
	d, err := w.DomainIn(0, t.memory)
	if err != nil {
		return err
	}
	t.writer, t.domain, t.lastStack, t.flushed = w, d, 0, t.now
	t.beginning = t.untold.len()
	t.behind = t.beginning > 0
	if !t.behind {
		t.out.complete()
		return nil
	}
	t.notes.Beginning(t.now, uint64(t.beginning))
	t.writeNotes()
	t.catchUp()
	return nil
}

// end forgets the stream.
func (t *tracer) end() {
	t.writer, t.domain = nil, nil
	t.behind = false
}

// flush writes all that is known, notes included.
func (t *tracer) flush() {
	t.catchUp()
	if t.domain == nil || !t.out.room() {
		return
	}
	t.flushed = t.now
	t.writer.Flush()
	if t.lostAllocs|t.lostDeaths != 0 {
		t.notes.Lost(t.now, t.lostAllocs, t.lostDeaths)
		t.lostAllocs, t.lostDeaths = 0, 0
	}
	if t.out.doubtful() && t.notes.Len() == 0 {
		t.notes.Alive(t.now)
	}
	t.writeNotes()
}

// writeNotes writes the notes. An error is the outlet's, which says so at its
// next turn.
func (t *tracer) writeNotes() {
	t.packet = t.notes.AppendPackets(t.packet, t.now, func(p []byte) { t.out.Write(p) })
}

func (t *tracer) release() {
	t.objects.release()
	t.stacks.release()
	t.young.release()
	t.untold.release()
	t.fates.release()
	t.end()
	unmapMemory(t.memory)
	t.memory = nil
}
