package engine

import (
	"encoding/json"
	"math"
	"slices"
	"sync"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Memory is what a question about a trace of memory adds to a [Request]. All
// questions are about the blocks that every clause of Filter holds for:
//
//	memory      how much that is, and its peak           (no more)
//	chart       what was alive over time, as a picture   Request.View
//	flame       a flame graph, as a picture              Request.View and all below
//	box         the flame graph's box at X, Y            the same
//	draw        the chart or flame graph as an SVG file  the same; What is chart or flame
//	functions   a page of the functions                  Query Sort Desc Offset Limit Base
//	function    callers and callees of the one in Query  (no more)
//	spots       a page of the places that allocate       Query Sort Desc Offset Limit
//	ways        hot paths                                (no more)
//	histograms  by size and by lifetime                  (no more)
//	groups      by domain, goroutine and source          (no more)
//
// Amounts are in samples; how many bytes a sample stands for is said in
// [MemoryInfo]. Where two selections are compared amounts are in bytes.
type Memory struct {
	Filter   []Clause `json:"filter"`
	Base     *Base    `json:"base"`     // what to compare with
	Inverted bool     `json:"inverted"` // from the innermost functions outwards
	Flipped  bool     `json:"flipped"`  // the first row is at the bottom
	Hidden   []string `json:"hidden"`   // functions that are left out as if inlined
	Focus    *Focus   `json:"focus"`    // the box that is as wide as the graph
	Marked   string   `json:"marked"`   // a function whose boxes are highlighted, when Request.Query is empty
}

// Clause is a condition, as [heap.Clause]. Times are in s since the trace's
// begin, sizes in bytes, lifetimes in s; a bound that is left out is none.
type Clause struct {
	What string   `json:"what"`
	From *float64 `json:"from,omitempty"`
	To   *float64 `json:"to,omitempty"`
	Text string   `json:"text,omitempty"`
}

// Base names a selection of any trace of memory that is open.
type Base struct {
	Trace  int      `json:"trace"`
	Filter []Clause `json:"filter"`
}

// Focus names a box of a flame graph: by a node of the trace's stacks, or the
// base's, by how many functions lead to it, and by the function.
type Focus struct {
	Node   uint32 `json:"node"`
	Depth  int    `json:"depth"`
	Theirs bool   `json:"theirs,omitempty"`
	Func   string `json:"func"`
}

// NewMemory makes a trace of what is known of a program's memory. A question
// about threads is answered as for a trace that has none.
func NewMemory(about About, b *heap.Blocks) *Trace {
	t := NewTrace(about, thread.Build(nothing{}, thread.Options{}))
	t.memory = &memory{blocks: b}
	return t
}

// About returns where the trace came from.
func (t *Trace) About() About { return t.about }

// nothing is a source without events.
type nothing struct{}

func (nothing) Next(*event.Event) bool { return false }

// memory is what a trace of memory has besides its empty model.
type memory struct {
	blocks *heap.Blocks

	mu         sync.Mutex
	selections kept[*heap.Selection]
	flames     kept[*flame]
	spots      kept[[]heap.Spot]
	functions  kept[[]heap.Function]
}

// kept holds the latest of what was made, by what it was made of.
type kept[T any] struct {
	keys   []string
	values []T
}

const keptValues = 6

func (k *kept[T]) get(key string) (value T, ok bool) {
	i := slices.Index(k.keys, key)
	if i < 0 {
		return value, false
	}
	value = k.values[i]
	k.keys = append(slices.Delete(k.keys, i, i+1), key)
	k.values = append(slices.Delete(k.values, i, i+1), value)
	return value, true
}

func (k *kept[T]) put(key string, value T) {
	if len(k.keys) == keptValues {
		k.keys, k.values = slices.Delete(k.keys, 0, 1), slices.Delete(k.values, 0, 1)
	}
	k.keys, k.values = append(k.keys, key), append(k.values, value)
}

// made returns what is kept for a key, and makes it when there is nothing. Two
// who ask at once may both make it.
func made[T any](m *memory, k *kept[T], key string, make func() (T, error)) (T, error) {
	m.mu.Lock()
	value, ok := k.get(key)
	m.mu.Unlock()
	if ok {
		return value, nil
	}
	value, err := make()
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := k.get(key); !ok {
		k.put(key, value)
	}
	return value, nil
}

// keyOf turns a part of a question into text.
func keyOf(parts ...any) string {
	b, _ := json.Marshal(parts) // numbers and strings: it cannot fail, but for NaN, which JSON cannot have had
	return string(b)
}

// maxClauses is how many clauses a filter has at most.
const maxClauses = 32

// selection returns what a filter selects.
func (t *Trace) selection(filter []Clause) (*heap.Selection, error) {
	if len(filter) == 0 {
		return t.memory.blocks.All(), nil
	}
	if len(filter) > maxClauses {
		return nil, refuse("bad-filter", "%d clauses: at most %d", len(filter), maxClauses)
	}
	return made(t.memory, &t.memory.selections, keyOf(filter), func() (*heap.Selection, error) {
		clauses := make([]heap.Clause, len(filter))
		for i := range filter {
			var err error
			if clauses[i], err = t.clause(&filter[i]); err != nil {
				return nil, err
			}
		}
		s, err := t.memory.blocks.Select(clauses)
		if err != nil {
			return nil, refuse("bad-filter", "%v", err)
		}
		return s, nil
	})
}

// clause turns a clause into the heap's words.
func (t *Trace) clause(c *Clause) (heap.Clause, error) {
	what, ok := heap.WhatByName(c.What)
	if !ok {
		return heap.Clause{}, refuse("bad-filter", "no clause %q", clip(c.What))
	}
	if len(c.Text) > 1024 {
		return heap.Clause{}, refuse("bad-filter", "a text of %d bytes: at most 1024", len(c.Text))
	}
	b := t.memory.blocks
	scale, origin := 1.0, int64(0)
	switch what {
	case heap.AllocatedIn, heap.AliveIn, heap.CollectedIn:
		scale, origin = 1e6, b.Begin
	case heap.OfLifetime:
		scale = 1e6
	}
	bound := func(v *float64, none int64) int64 {
		if v == nil {
			return none
		}
		if f := math.Round(*v * scale); f < 1<<62 && f > -1<<62 {
			return origin + int64(f)
		}
		return none
	}
	return heap.Clause{What: what, From: bound(c.From, 0), To: bound(c.To, math.MaxInt64), Text: c.Text}, nil
}

// asked returns the selection that a question is about.
func (t *Trace) asked(r *Request) (*heap.Selection, error) {
	if t.memory == nil {
		return nil, refuse("no-memory", "this is a trace of threads")
	}
	if r.Memory == nil {
		r.Memory = &Memory{}
	}
	return t.selection(r.Memory.Filter)
}

// against returns the selection to compare with, nil for none.
func (r *Request) against() (*heap.Selection, error) {
	if r.Memory.Base == nil {
		return nil, nil
	}
	if r.base == nil || r.base.memory == nil {
		return nil, refuse("no-memory", "what to compare with is a trace of threads")
	}
	return r.base.selection(r.Memory.Base.Filter)
}

// compared looks up the trace that a request compares with.
func (e *Engine) compared(r *Request) error {
	if r.Memory == nil || r.Memory.Base == nil {
		return nil
	}
	o, err := e.get(r.Memory.Base.Trace)
	r.base, r.baseGeneration = o.trace, o.generation
	return err
}

// memoryAsks are the questions about a trace of memory.
var memoryAsks = map[string]func(t *Trace, dst []byte, r *Request) ([]byte, error){
	"memory":     reply((*Trace).amounts),
	"chart":      (*Trace).chart,
	"flame":      (*Trace).flame,
	"box":        reply((*Trace).box),
	"draw":       (*Trace).draw,
	"functions":  reply((*Trace).functions),
	"function":   reply((*Trace).function),
	"spots":      reply((*Trace).spots),
	"ways":       reply((*Trace).ways),
	"histograms": reply((*Trace).histograms),
	"groups":     reply((*Trace).groups),
}

// MemoryInfo introduces a trace of memory.
type MemoryInfo struct {
	Blocks     int64   `json:"blocks"` // that were sampled
	Samples    int64   `json:"samples"`
	Unit       float64 `json:"unit"` // bytes that a sample stands for; 0 when the rate is not known
	Begin      float64 `json:"begin"`
	Rate       float64 `json:"rate"`
	WordSize   int     `json:"wordSize"`
	Version    int     `json:"version"` // of the format
	Executable string  `json:"executable"`
	Host       string  `json:"host"`
	Context    string  `json:"context"`
	Promoted   int64   `json:"promoted"` // blocks
	Peak       Point   `json:"peak"`
	End        int64   `json:"end"` // samples alive at the end
	Domains    int     `json:"domains"`
	Goroutines bool    `json:"goroutines"` // the trace tells which allocated
	Cycles     int     `json:"cycles"`     // garbage collections that the trace tells of
	Lost       uint64  `json:"lost"`       // sampled allocations and deaths that the trace does not have
}

// Point is a moment, and how many samples were alive then.
type Point struct {
	Time    float64 `json:"time"`
	Samples int64   `json:"samples"`
}

// since turns a time of the trace into seconds since its begin.
func (m *memory) since(time int64) float64 { return float64(time-m.blocks.Begin) / 1e6 }

func (t *Trace) memoryInfo(i *TraceInfo) {
	b := t.memory.blocks
	all := b.All()
	c := all.Course()
	i.Events = int(b.Events)
	i.Duration = max(b.Seconds(), 1e-6)
	i.Memory = &MemoryInfo{
		Blocks: all.Count, Samples: all.Samples, Unit: finite(b.Unit), Begin: float64(b.Begin) / 1e6, Rate: finite(b.Info.SampleRate),
		WordSize: b.Info.WordSize, Version: b.Info.Version, Executable: clip(b.Info.Executable), Host: clip(b.Info.Host),
		Context: clip(b.Info.Context), Promoted: b.Promoted, Peak: Point{t.memory.since(c.Peak.Time), c.Peak.Live}, End: c.End,
		Domains: b.Domains(), Goroutines: b.Goroutines(),
		Cycles: len(b.Notes().Cycles), Lost: b.Notes().Lost,
	}
}

// Amounts is how much a filter selects.
type Amounts struct {
	Samples int64 `json:"samples"`
	Blocks  int64 `json:"blocks"`
	Peak    Point `json:"peak"`
	End     int64 `json:"end"` // samples alive at the end
}

func (t *Trace) amounts(r *Request) (*Amounts, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	c := s.Course()
	return &Amounts{s.Samples, s.Count, Point{t.memory.since(c.Peak.Time), c.Peak.Live}, c.End}, nil
}
