package engine

import (
	"sync"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Trace is one opened trace. What a question needs beyond the model is made
// when it is first asked, and kept.
type Trace struct {
	about  About
	model  *thread.Model
	memory *memory // of a trace of memory; its model is empty
	index  *scene.Index
	lists  sync.Pool // *scene.List

	backwards sync.Once
	incoming  backColumn // by thread: who did something to it
	became    backColumn // by thread: which ones became it

	once  sync.Once
	spans spanTimes

	mu      sync.Mutex
	chained []thread.ID            // what chainOf said last
	chainID thread.ID              // of this thread
	found   []*found               // the latest searches, newest last
	onlys   []onlyFound            // the latest of them that were drawn alone, newest last
	orders  map[string][]thread.ID // the table's, by column
	ran     []float64              // by thread, in s; nil until needed
	strip   *Overview              // the latest, without hits
}

// NewTrace makes a trace of a model that has been laid out. The model must not
// change any more.
func NewTrace(about About, m *thread.Model) *Trace {
	t := &Trace{about: about, model: m, index: scene.NewIndex(m), orders: make(map[string][]thread.ID)}
	t.lists.New = func() any { return new(scene.List) }
	return t
}

// Name returns what the trace's tab is called.
func (t *Trace) Name() string { return t.about.Name }

// Model returns what is known of the threads, nil for a trace of memory.
func (t *Trace) Model() *thread.Model {
	if t.memory != nil {
		return nil
	}
	return t.model
}

// backColumn holds, for each thread, who refers to it.
type backColumn struct {
	from  []uint32
	items []backRef
}

// backRef is the interaction number at of thread owner. (Sizes: 8 bytes)
type backRef struct {
	owner thread.ID
	at    uint32
}

func (c *backColumn) of(id thread.ID) []backRef { return c.items[c.from[id]:c.from[id+1]] }

// gather makes a column of what each calls back with: the thread that is
// referred to, and by what. It is called twice, and must say the same.
func gather(threads int, each func(yield func(to thread.ID, by backRef))) backColumn {
	from := make([]uint32, threads+1)
	each(func(to thread.ID, _ backRef) { from[to+1]++ })
	for i := range threads {
		from[i+1] += from[i]
	}
	items, next := make([]backRef, from[threads]), append([]uint32(nil), from[:threads]...)
	each(func(to thread.ID, by backRef) {
		items[next[to]] = by
		next[to]++
	})
	return backColumn{from, items}
}

// refer makes the columns that lead backwards: 8 bytes per interaction.
func (t *Trace) refer() {
	t.backwards.Do(func() {
		m := t.model
		t.incoming = gather(len(m.Threads), func(yield func(thread.ID, backRef)) {
			for id := range m.Threads {
				for i, in := range m.Interactions(thread.ID(id)) {
					yield(in.Other, backRef{thread.ID(id), uint32(i)})
				}
			}
		})
		t.became = gather(len(m.Threads), func(yield func(thread.ID, backRef)) {
			for id := range m.Threads {
				if b := m.Threads[id].Becomes; b != thread.None {
					yield(b, backRef{owner: thread.ID(id)})
				}
			}
		})
	})
}

// ranTime returns how long a thread ran, in s.
func (t *Trace) ranTime(id thread.ID) float64 {
	sum := 0.0
	for _, s := range t.model.Activations(id) {
		sum += s.End - s.Start
	}
	return sum
}
