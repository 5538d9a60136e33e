package thread

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/event"
)

// Source gives the events of a trace in the order in which they happened.
type Source interface {
	// Next overwrites e with the next event and reports whether there was one.
	Next(e *event.Event) bool
}

// Options say how a model is made. The zero value is what a viewer wants.
type Options struct {
	// KeepBinds leaves every thread where it was created. Otherwise a bind,
	// try, map and the like that only waits for its input starts when it is
	// woken, under the thread that woke it.
	KeepBinds bool

	// QuietCounters leaves it out that a thread changed a counter by so much,
	// which otherwise is said of the thread as if it had been labelled.
	QuietCounters bool

	// Threads is how many threads there will be, as far as is known: memory
	// for so many is set aside. 0 means that nothing is known.
	Threads int
}

// shouldResolve is the label by which a program says that a thread that never
// resolves is a mistake.
const shouldResolve = "__should_resolve"

// afterLast is how long a thread that was never resolved is shown after the
// last that was heard of it, in seconds: it most likely is garbage by then.
const afterLast = 0.000_001

// Build makes a model of all events of src. It takes about 80 ns an event, and
// at its peak some 50 bytes.
func Build(src Source, opt Options) *Model {
	b := newBuilder(opt.Threads)
	b.quiet = opt.QuietCounters
	var e event.Event
	for src.Next(&e) {
		b.event(&e)
	}
	return b.finish(opt)
}

// builder holds what is known of the threads while events come in.
type builder struct {
	m   *Model
	ids idTable

	// For each thread: what it has become, as far as known (see find); the
	// index of its last interaction plus one; when it was last woken or looked at.
	leader  []ID
	last    []uint32
	touched []float64

	labels       inflow[Label]
	interactions inflow[Interaction]
	activations  inflow[Span]
	waits        inflow[Wait]

	procs procs
	open  []uint32 // for each thread the index of the wait it is in plus one; short until one waits

	shouldResolve []ID
	quiet         bool // see [Options.QuietCounters]
	counters      map[string]int
	values        []int64 // each counter's last value
	scratch       []byte
}

func newBuilder(threads int) *builder {
	b := &builder{
		m:        &Model{Threads: make([]Thread, 0, threads), texts: newTexts()},
		leader:   make([]ID, 0, threads),
		last:     make([]uint32, 0, threads),
		touched:  make([]float64, 0, threads),
		procs:    procs{running: []onProc{{thread: None}}},
		counters: make(map[string]int),
	}
	b.add(event.NoThread, None, 0, Preexisting)
	b.m.Threads[Top].End = 0
	return b
}

// add makes a thread and draws it under parent, as its newest child.
func (b *builder) add(tid int64, parent ID, start float64, typ Type) ID {
	id := ID(len(b.m.Threads))
	b.m.Threads = append(b.m.Threads, Thread{
		TID: tid, Start: start, End: math.Inf(1), Parent: None, Becomes: None,
		Row: -1, firstChild: None, nextChild: None, Type: typ, ShowCreation: true,
	})
	b.leader = append(b.leader, id)
	b.last = append(b.last, 0)
	b.touched = append(b.touched, math.Inf(-1))
	b.ids.add(tid, id)
	if parent != None {
		b.m.adopt(parent, id)
	}
	return id
}

// adopt draws child under parent, as its newest.
func (m *Model) adopt(parent, child ID) {
	c, p := &m.Threads[child], &m.Threads[parent]
	c.Parent, c.nextChild = parent, p.firstChild
	p.firstChild = child
}

// abandon takes child from its parent's list.
func (m *Model) abandon(child ID) {
	c := &m.Threads[child]
	link := &m.Threads[c.Parent].firstChild
	for *link != child {
		link = &m.Threads[*link].nextChild
	}
	*link = c.nextChild
	c.Parent, c.nextChild = None, None
}

// thread returns the thread that a number stands for now, after all it has
// become. A number that was never heard of is a thread that was there before.
func (b *builder) thread(number int64) ID {
	tid := narrow(number)
	id, ok := b.ids.find(tid)
	if !ok {
		return b.add(tid, Top, 0, Preexisting)
	}
	return b.find(id)
}

// narrow keeps the 63 bits of a number that the original viewer keeps.
func narrow(number int64) int64 { return number << 1 >> 1 }

// find follows a chain of becomes to its end, and shortens it by half on its
// way (Tarjan and van Leeuwen's path halving), so that chains of any length
// cost next to nothing.
func (b *builder) find(id ID) ID {
	for b.leader[id] != id {
		b.leader[id] = b.leader[b.leader[id]]
		id = b.leader[id]
	}
	return id
}

func (b *builder) event(e *event.Event) {
	if b.m.Events == 0 {
		b.m.OriginNS, b.m.LastNS = e.Time, e.Time
		b.m.Origin = float64(e.Time) / 1e9
	}
	b.m.Events++
	time := float64(e.Time)/1e9 - b.m.Origin
	if top := &b.m.Threads[Top]; time > top.End {
		top.End, b.m.LastNS = time, e.Time
	}
	switch e.Kind {
	case event.Creates:
		b.creates(e, time)
	case event.Fulfills, event.Fails:
		b.resolves(e, time)
	case event.Becomes:
		b.becomes(e, time)
	case event.Read, event.ReadLater, event.TryRead:
		b.reads(e, time)
	case event.Signal, event.SignalOnly:
		receiver := b.thread(e.Thread)
		sender := b.thread(e.Other)
		if e.Kind == event.Signal {
			b.switchTo(e.Proc, time, receiver)
		}
		b.interact(sender, Interaction{Time: time, Other: receiver, Op: Signal}.at(e.Stack))
		b.touched[receiver] = time
		b.wakes(receiver, time)
	case event.Label:
		b.label(e, time)
	case event.Switch:
		t := b.thread(e.Thread)
		b.switchTo(e.Proc, time, t)
		b.wakes(t, time)
	case event.Wait:
		b.wait(e, time)
	case event.Pause:
		b.m.Pauses = append(b.m.Pauses, Wait{Span{time - float64(e.Value)/1e9, time}, b.m.texts.add(e.Text), e.Stack})
	case event.Log, event.RegionBegin:
		b.labels.add(b.thread(e.Thread), Label{Time: time, Text: b.m.texts.add(e.Text)})
	case event.GC:
		b.m.GC = append(b.m.GC, Span{time - float64(e.Value)/1e9, time})
	case event.Increase, event.Counter:
		b.counter(e, time)
	}
}

func (b *builder) creates(e *event.Event, time float64) {
	parent := b.thread(e.Thread)
	tid := narrow(e.Other)
	id, seen := b.ids.find(tid)
	if !seen {
		id = b.add(tid, parent, time, Type(e.Type))
		b.m.Threads[id].Stack = e.Stack
		return
	}
	// Heard of before it was created: this is its creation, late. The
	// original viewer gives up here.
	if t := &b.m.Threads[id]; t.Type == Preexisting && !b.descends(parent, id) {
		t.Type, t.Start, t.Stack = Type(e.Type), time, e.Stack
		b.m.abandon(id)
		b.m.adopt(parent, id)
		return
	}
	b.passOver(e, "thread "+strconv.FormatInt(tid, 10)+" is created again")
}

// descends reports whether id is ancestor or is drawn somewhere under it.
func (b *builder) descends(id, ancestor ID) bool {
	for id != ancestor && id != None {
		id = b.m.Threads[id].Parent
	}
	return id == ancestor
}

func (b *builder) passOver(e *event.Event, what string) {
	const most = 1000
	b.m.Passed++
	if len(b.m.Notes) < most {
		b.m.Notes = append(b.m.Notes, event.Damage{Offset: e.Offset, What: what})
	}
}

func (b *builder) resolves(e *event.Event, time float64) {
	resolver := b.thread(e.Thread)
	resolved := b.thread(e.Other)
	b.interact(resolver, Interaction{Time: time, Other: resolved, Op: Resolve}.at(e.Stack))
	t := &b.m.Threads[resolved]
	t.Failure = NoText
	if e.Kind == event.Fails {
		t.Failure = b.m.texts.add(e.Text)
	}
	t.End, t.Resolved = time, true
	if resolver == resolved && len(b.procs.running) > 1 {
		b.stopsRunning(resolved, time) // it has ended
	}
}

func (b *builder) becomes(e *event.Event, time float64) {
	from := b.thread(e.Thread)
	to := b.thread(e.Other)
	if from == to {
		b.passOver(e, "thread "+strconv.FormatInt(b.m.Threads[from].TID, 10)+" becomes itself")
		return
	}
	t := &b.m.Threads[from]
	t.End, t.Resolved, t.Becomes = time, true, to
	b.leader[from] = to
	if b.procs.on(e.Proc).thread == from {
		b.switchTo(e.Proc, time, to)
	}
}

func (b *builder) reads(e *event.Event, time float64) {
	if narrow(e.Other) == event.NoThread {
		return
	}
	reader := b.thread(e.Thread)
	source := b.thread(e.Other)
	switch e.Kind {
	case event.TryRead:
		b.interact(reader, Interaction{Time: time, Other: source, Op: TryRead}.at(e.Stack))
		b.touched[source] = time
		return
	case event.Read:
		b.switchTo(e.Proc, time, reader)
	}
	read := Interaction{Time: time, Other: source, Op: Read}.at(e.Stack)
	if last := b.last[reader]; last > 0 {
		// It looked just before, and now has it: the look says nothing more.
		if i := b.interactions.at(int(last - 1)); i.Op == TryRead && i.Other == source {
			*i = read
			return
		}
	}
	b.interact(reader, read)
}

func (b *builder) interact(t ID, i Interaction) {
	b.last[t] = uint32(b.interactions.add(t, i) + 1)
}

func (b *builder) label(e *event.Event, time float64) {
	switch {
	case string(e.Text) == shouldResolve:
		b.shouldResolve = append(b.shouldResolve, b.thread(e.Thread))
	case narrow(e.Thread) != event.NoThread:
		b.labels.add(b.thread(e.Thread), Label{Time: time, Text: b.m.texts.add(e.Text)})
	}
}

// counter notes a counter's new value and says on the thread by how much it
// changed, as in "gntref+1".
func (b *builder) counter(e *event.Event, time float64) {
	i, ok := b.counters[string(e.Text)]
	if !ok {
		i = len(b.m.Counters)
		name := string(e.Text)
		b.counters[name] = i
		b.m.Counters = append(b.m.Counters, Counter{Name: name})
		b.values = append(b.values, 0)
	}
	change, value := narrow(e.Value), narrow(e.Value)
	if e.Kind == event.Increase {
		value = narrow(b.values[i] + change)
	} else {
		change = narrow(value - b.values[i])
	}
	b.values[i] = value
	c := &b.m.Counters[i]
	c.Samples = append(c.Samples, Sample{time, float64(value)})
	if b.quiet {
		return
	}
	b.scratch = append(b.scratch[:0], e.Text...)
	if change >= 0 {
		b.scratch = append(b.scratch, '+')
	}
	b.scratch = strconv.AppendInt(b.scratch, change, 10)
	b.labels.add(b.thread(e.Thread), Label{time, b.m.texts.add(b.scratch), true})
}

// finish settles what only the end of the trace decides.
func (b *builder) finish(opt Options) *Model {
	m := b.m
	for proc := range b.procs.running {
		b.switchTo(int32(proc), m.Threads[Top].End, None)
	}
	for t := range b.open {
		b.wakes(ID(t), m.Threads[Top].End)
	}
	for _, t := range slices.Backward(b.shouldResolve) {
		if t := &m.Threads[b.find(t)]; !t.Resolved {
			t.Failure = m.texts.add([]byte("should-resolve thread never resolved"))
			t.End = m.Threads[Top].End
		}
	}
	for id := range m.Threads {
		if t := &m.Threads[id]; t.Failed() {
			b.labels.add(ID(id), Label{Time: t.End, Text: t.Failure})
		}
	}
	n := len(m.Threads)
	m.labels = b.labels.gather(n)
	m.interactions = b.interactions.gather(n)
	m.activations = b.activations.gather(n)
	if b.waits.n > 0 {
		m.waits = b.waits.gather(n)
	}
	m.texts.known = nil
	for id := range m.Threads {
		t := &m.Threads[id]
		switch {
		case !math.IsInf(t.End, 1):
		case t.Type == Type(event.Goroutine):
			t.End = m.Threads[Top].End // it is still there: no goroutine is ever collected
		default:
			t.End = b.lastHeard(ID(id)) + afterLast
		}
	}
	m.Simplified = !opt.KeepBinds
	if m.Simplified {
		m.simplify()
	}
	for id := range m.Threads {
		// Where times go backwards, a thread may end before it starts.
		t := &m.Threads[id]
		t.End = max(t.End, t.Start)
	}
	m.scaleCounters()
	m.sortTop()
	return m
}

// lastHeard returns when a thread last did something, or something was done
// to it.
func (b *builder) lastHeard(id ID) float64 {
	t := &b.m.Threads[id]
	last := max(t.Start, b.touched[id])
	if t.firstChild != None {
		last = max(last, b.m.Threads[t.firstChild].Start)
	}
	if labels := b.m.Labels(id); len(labels) > 0 {
		last = max(last, labels[len(labels)-1].Time)
	}
	if acts := b.m.Interactions(id); len(acts) > 0 {
		last = max(last, acts[len(acts)-1].Time)
	}
	if waits := b.m.Waits(id); len(waits) > 0 {
		last = max(last, waits[len(waits)-1].End)
	}
	if spans := b.m.Activations(id); len(spans) > 0 {
		last = max(last, spans[len(spans)-1].End)
	}
	return last
}

// scaleCounters gives each counter a scale from at most 0 to at least 10 above
// that, which it shares with the counters of the same family.
func (m *Model) scaleCounters() {
	slices.SortFunc(m.Counters, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
	type scale struct{ min, max float64 }
	scales := make(map[string]scale)
	for _, c := range m.Counters {
		var s scale
		for _, v := range c.Samples {
			s.min, s.max = min(s.min, v.Value), max(s.max, v.Value)
		}
		s.max = max(s.max, s.min+10)
		if family, ok := scales[familyOf(c.Name)]; ok {
			s = scale{min(s.min, family.min), max(s.max, family.max)}
		}
		scales[familyOf(c.Name)] = s
	}
	for i := range m.Counters {
		c := &m.Counters[i]
		s := scales[familyOf(c.Name)]
		c.Min, c.Max = s.min, s.max
	}
}

// familyOf names the scale of a counter: buflen#1 and buflen#2 share one.
func familyOf(name string) string {
	if name == "tcp-ackd-segs" {
		return "tcp-to-ip"
	}
	if i := strings.LastIndexByte(name, '#'); i >= 0 {
		return name[:i]
	}
	return name
}

// sortTop puts the threads that were there before the trace in the order of
// their numbers: when they were first heard of means nothing.
func (m *Model) sortTop() {
	children := slices.Collect(m.Children(Top))
	slices.SortFunc(children, func(a, b ID) int { return cmp.Compare(m.Threads[a].TID, m.Threads[b].TID) })
	m.Threads[Top].firstChild = None
	for _, c := range slices.Backward(children) {
		m.adopt(Top, c)
	}
}
