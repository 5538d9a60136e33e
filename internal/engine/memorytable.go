package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/memtrace"
)

// FunctionTable is a page of the functions. Total counts those that the query
// leaves.
type FunctionTable struct {
	Total  int           `json:"total"`
	Offset int           `json:"offset"`
	Rows   []FunctionRow `json:"rows"`
}

// FunctionRow is a function, with amounts in samples; with a base to compare
// with in bytes, and the base's too.
type FunctionRow struct {
	Name       string  `json:"name"`
	Module     string  `json:"module"`
	Self       float64 `json:"self"`
	Amount     float64 `json:"amount"` // of it and all that it called
	Blocks     int64   `json:"blocks"`
	Live       float64 `json:"live"` // of Self, alive at the end
	BaseSelf   float64 `json:"baseSelf"`
	BaseAmount float64 `json:"baseAmount"`
}

var functionColumns = map[string]func(a, b *FunctionRow) int{
	"name":   func(a, b *FunctionRow) int { return strings.Compare(a.Name, b.Name) },
	"module": func(a, b *FunctionRow) int { return strings.Compare(a.Module, b.Module) },
	"self":   func(a, b *FunctionRow) int { return cmp.Compare(a.Self, b.Self) },
	"amount": func(a, b *FunctionRow) int { return cmp.Compare(a.Amount, b.Amount) },
	"blocks": func(a, b *FunctionRow) int { return cmp.Compare(a.Blocks, b.Blocks) },
	"live":   func(a, b *FunctionRow) int { return cmp.Compare(a.Live, b.Live) },
	"change": func(a, b *FunctionRow) int { return cmp.Compare(a.Self-a.BaseSelf, b.Self-b.BaseSelf) },
	"changeAmount": func(a, b *FunctionRow) int {
		return cmp.Compare(a.Amount-a.BaseAmount, b.Amount-b.BaseAmount)
	},
}

// ordered sorts by a column, and by name where that says nothing.
func ordered[T any](list []T, columns map[string]func(a, b *T) int, column string, desc bool) error {
	compare, ok := columns[column]
	if !ok {
		return refuse("bad-request", "no column %q", clip(column))
	}
	byName := columns["name"]
	slices.SortFunc(list, func(a, b T) int {
		c := compare(&a, &b)
		if desc {
			c = -c
		}
		return cmp.Or(c, byName(&a, &b))
	})
	return nil
}

func (t *Trace) functions(r *Request) (*FunctionTable, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	against, err := r.against()
	if err != nil {
		return nil, err
	}
	match := func(string) bool { return true }
	if r.Query != "" {
		if match, err = heap.Finder(r.Query); err != nil || len(r.Query) > 1024 {
			return nil, refuse("bad-query", "%v", err)
		}
	}
	ours, err := t.functionsOf(s, r.Memory.Filter)
	if err != nil {
		return nil, err
	}
	rows := make([]FunctionRow, 0, len(ours))
	number := map[string]int{}
	scale := 1.0
	if against != nil {
		scale = cmp.Or(finite(s.Blocks.Unit), 1)
	}
	for _, f := range ours {
		if match(f.Name) {
			number[f.Name] = len(rows)
			rows = append(rows, FunctionRow{Name: f.Name, Module: heap.Module(f.Name), Self: float64(f.Self) * scale,
				Amount: float64(f.Total) * scale, Blocks: f.Blocks, Live: float64(f.Live) * scale})
		}
	}
	if against != nil {
		theirs, err := r.base.functionsOf(against, r.Memory.Base.Filter)
		if err != nil {
			return nil, err
		}
		scale = cmp.Or(finite(against.Blocks.Unit), 1)
		for _, f := range theirs {
			if !match(f.Name) {
				continue
			}
			at, ok := number[f.Name]
			if !ok {
				at = len(rows)
				rows = append(rows, FunctionRow{Name: f.Name, Module: heap.Module(f.Name)})
			}
			rows[at].BaseSelf, rows[at].BaseAmount = float64(f.Self)*scale, float64(f.Total)*scale
		}
	}
	if err := ordered(rows, functionColumns, cmp.Or(r.Sort, "self"), r.Desc); err != nil {
		return nil, err
	}
	from, to := page(len(rows), r.Offset, r.Limit)
	out := &FunctionTable{len(rows), from, rows[from:to]}
	for i := range out.Rows {
		out.Rows[i].Name, out.Rows[i].Module = clip(out.Rows[i].Name), clip(out.Rows[i].Module)
	}
	return out, nil
}

func (t *Trace) functionsOf(s *heap.Selection, filter []Clause) ([]heap.Function, error) {
	return made(t.memory, &t.memory.functions, keyOf(filter), func() ([]heap.Function, error) { return s.Functions(), nil })
}

// FunctionDetail is all about a function, in samples.
type FunctionDetail struct {
	Name    string     `json:"name"`
	Module  string     `json:"module"`
	Self    int64      `json:"self"`
	Amount  int64      `json:"amount"`
	Blocks  int64      `json:"blocks"`
	Live    int64      `json:"live"`
	Callers []Neighbor `json:"callers"`
	Callees []Neighbor `json:"callees"`
}

// Neighbor is a function that calls another, or is called by it.
type Neighbor struct {
	Name   string `json:"name"`
	Amount int64  `json:"amount"`
}

func (t *Trace) function(r *Request) (*FunctionDetail, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	list, err := t.functionsOf(s, r.Memory.Filter)
	if err != nil {
		return nil, err
	}
	name := t.unclipped(r.Query)
	d := &FunctionDetail{Name: r.Query, Module: clip(heap.Module(name))}
	if i, ok := slices.BinarySearchFunc(list, name, func(f heap.Function, name string) int { return strings.Compare(f.Name, name) }); ok {
		f := &list[i]
		d.Self, d.Amount, d.Blocks, d.Live = f.Self, f.Total, f.Blocks, f.Live
	}
	callers, callees := s.Neighbors(name)
	d.Callers, d.Callees = neighbors(callers), neighbors(callees)
	return d, nil
}

// unclipped returns the name of a function that an answer had to cut.
func (t *Trace) unclipped(name string) string {
	if !strings.HasSuffix(name, "…") {
		return name
	}
	for _, f := range t.memory.blocks.All().Functions() {
		if clip(f.Name) == name {
			return f.Name
		}
	}
	return name
}

func neighbors(list []heap.Neighbor) []Neighbor {
	out := make([]Neighbor, 0, min(len(list), maxList))
	for _, n := range list[:cap(out)] {
		out = append(out, Neighbor{clip(n.Name), n.Samples})
	}
	return out
}

// SpotTable is a page of the places that allocate.
type SpotTable struct {
	Total  int       `json:"total"`
	Offset int       `json:"offset"`
	Rows   []SpotRow `json:"rows"`
}

// SpotRow is a place that allocates, with amounts in samples.
type SpotRow struct {
	Name       string   `json:"name"` // of the function
	Place      string   `json:"place"`
	Amount     int64    `json:"amount"`
	Blocks     int64    `json:"blocks"`
	Live       int64    `json:"live"`
	LiveBlocks int64    `json:"liveBlocks"`
	Typical    float64  `json:"typical"`    // the median lifetime of those that died, in s; 0 when none has
	Oldest     float64  `json:"oldest"`     // the age of the oldest that is alive, in s
	Growing    bool     `json:"growing"`    // in the whole trace, what is alive goes up steadily
	NeverFreed bool     `json:"neverFreed"` // in the whole trace
	Slope      float64  `json:"slope"`      // samples a second
	Stack      []string `json:"stack"`      // that most of it came from, the outermost first; its last functions
	Deep       int      `json:"deep"`
}

var spotColumns = map[string]func(a, b *SpotRow) int{
	"name": func(a, b *SpotRow) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Place, b.Place))
	},
	"amount":  func(a, b *SpotRow) int { return cmp.Compare(a.Amount, b.Amount) },
	"blocks":  func(a, b *SpotRow) int { return cmp.Compare(a.Blocks, b.Blocks) },
	"live":    func(a, b *SpotRow) int { return cmp.Compare(a.Live, b.Live) },
	"typical": func(a, b *SpotRow) int { return cmp.Compare(a.Typical, b.Typical) },
	"slope":   func(a, b *SpotRow) int { return cmp.Compare(a.Slope, b.Slope) },
}

func (t *Trace) spots(r *Request) (*SpotTable, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	list, err := made(t.memory, &t.memory.spots, keyOf(r.Memory.Filter), func() ([]heap.Spot, error) { return s.Spots(), nil })
	if err != nil {
		return nil, err
	}
	match := func(string) bool { return true }
	if r.Query != "" {
		if match, err = heap.Finder(r.Query); err != nil {
			return nil, refuse("bad-query", "%v", err)
		}
	}
	growing, neverFreed, err := t.suspects()
	if err != nil {
		return nil, err
	}
	rows := make([]SpotRow, 0, len(list))
	for i := range list {
		p := &list[i]
		if !match(p.Location.Func) && !match(p.Location.File) && !slices.ContainsFunc(p.Stack, match) {
			continue
		}
		row := SpotRow{Name: clip(p.Location.Func), Place: clip(place(p.Location)), Amount: p.Samples, Blocks: p.Blocks, Live: p.Live,
			LiveBlocks: p.LiveCount, Typical: float64(p.Typical) / 1e6, Oldest: float64(p.Oldest) / 1e6,
			Growing: growing[p.Location], NeverFreed: neverFreed[p.Location], Slope: finite(p.Slope), Deep: len(p.Stack)}
		row.Stack = tail(p.Stack)
		rows = append(rows, row)
	}
	if err := ordered(rows, spotColumns, cmp.Or(r.Sort, "amount"), r.Desc); err != nil {
		return nil, err
	}
	from, to := page(len(rows), r.Offset, r.Limit)
	return &SpotTable{len(rows), from, rows[from:to]}, nil
}

// suspects returns the places of the whole trace that grow, and those of which
// nothing died: a filter may well leave nothing else of a place.
func (t *Trace) suspects() (growing, neverFreed map[memtrace.Location]bool, err error) {
	b := t.memory.blocks
	list, err := made(t.memory, &t.memory.spots, keyOf([]Clause(nil)), func() ([]heap.Spot, error) { return b.All().Spots(), nil })
	if err != nil {
		return nil, nil, err
	}
	growing, neverFreed = map[memtrace.Location]bool{}, map[memtrace.Location]bool{}
	for i := range list {
		growing[list[i].Location] = list[i].Growing(b.Seconds())
		neverFreed[list[i].Location] = list[i].NeverFreed()
	}
	return growing, neverFreed, nil
}

// place writes where in the program something is.
func place(l memtrace.Location) string {
	if l.File == "" {
		return ""
	}
	return l.File + ":" + strconv.Itoa(l.Line)
}

// tail returns the last functions of a stack.
func tail(stack []string) []string {
	const shown = 40
	out := make([]string, 0, min(len(stack), shown))
	for _, name := range stack[len(stack)-cap(out):] {
		out = append(out, clip(name))
	}
	return out
}

// Way is a hot path.
type Way struct {
	Stack  []string `json:"stack"` // the last functions
	Deep   int      `json:"deep"`
	Amount int64    `json:"amount"` // samples
	Self   int64    `json:"self"`
}

// wayShare is what a hot path has at least of the whole.
const wayShare = 0.02

func (t *Trace) ways(r *Request) ([]Way, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	out := []Way{}
	for _, w := range s.Ways(wayShare) {
		out = append(out, Way{tail(w.Stack), len(w.Stack), w.Samples, w.Self})
	}
	return out, nil
}

// Histograms counts blocks by size and lifetime.
type Histograms struct {
	Sizes     []Bucket `json:"sizes"`     // in bytes
	Lifetimes []Bucket `json:"lifetimes"` // in s, of blocks that died
	Never     int64    `json:"never"`     // samples of those that did not
}

// Bucket is a bar of a histogram. Amounts are in samples; All is that of the
// whole trace.
type Bucket struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Amount int64   `json:"amount"`
	All    int64   `json:"all"`
	Blocks int64   `json:"blocks"`
}

func (t *Trace) histograms(r *Request) (*Histograms, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	whole := t.memory.blocks.All()
	sizes, lifetimes := s.Histograms()
	allSizes, allLifetimes := sizes, lifetimes
	if s != whole {
		allSizes, allLifetimes = whole.Histograms()
	}
	h := &Histograms{Sizes: buckets(sizes, allSizes, 1), Lifetimes: buckets(lifetimes, allLifetimes, 1e-6), Never: s.Samples}
	_, died := lifetimes.Total()
	h.Never -= died
	return h, nil
}

// buckets returns the bars between the first and the last that the whole has.
func buckets(h, all *heap.Histogram, scale float64) []Bucket {
	out := []Bucket{}
	first, last, ok := all.Bounds()
	for i := first; ok && i <= last; i++ {
		from, to := h.Range(i)
		out = append(out, Bucket{float64(from) * scale, float64(to) * scale, h.Samples[i], all.Samples[i], h.Blocks[i]})
	}
	return out
}

// Groups is a selection by who allocated, the largest first.
type Groups struct {
	Domains    []Group `json:"domains"`
	Goroutines []Group `json:"goroutines"`
	Sources    []Group `json:"sources"`
	More       int     `json:"more"` // goroutines that are not listed
}

// Group is a part of a selection, in samples.
type Group struct {
	Number int64  `json:"number"`
	Name   string `json:"name,omitempty"` // of a source
	Amount int64  `json:"amount"`
	Blocks int64  `json:"blocks"`
	Live   int64  `json:"live"`
}

func (t *Trace) groups(r *Request) (*Groups, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	list := func(what heap.What) []Group {
		out := []Group{}
		for _, g := range s.By(what) {
			out = append(out, Group{Number: g.Number, Amount: g.Samples, Blocks: g.Blocks, Live: g.Live})
		}
		return out
	}
	g := &Groups{Domains: list(heap.OfDomain), Goroutines: list(heap.OfGoroutine), Sources: list(heap.OfSource)}
	for i := range g.Sources {
		g.Sources[i].Name = memtrace.Source(g.Sources[i].Number).String()
	}
	g.Domains = g.Domains[:min(len(g.Domains), maxList)]
	if n := len(g.Goroutines); n > maxList {
		g.Goroutines, g.More = g.Goroutines[:maxList], n-maxList
	}
	return g, nil
}
