package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/mirador-trace/mirador/internal/thread"
)

// maxDetail is how many entries of each of a thread's lists are told.
const maxDetail = 100

// Links is a list of threads that may have been cut: Total is its true length.
type Links struct {
	Total int    `json:"total"`
	Items []Link `json:"items"`
}

func (l *Links) add(link func() Link) {
	if l.Total++; l.Total <= maxDetail {
		l.Items = append(l.Items, link())
	}
}

// Detail is all about one thread.
type Detail struct {
	Link
	Start      float64  `json:"start"`
	End        float64  `json:"end"`
	Row        int32    `json:"row"`
	Y          float64  `json:"y"`
	Resolved   bool     `json:"resolved"`
	Failure    string   `json:"failure,omitempty"`
	Runs       int      `json:"runs"` // how often it ran
	Ran        float64  `json:"ran"`  // for how long, in s
	FirstRun   *float64 `json:"firstRun,omitempty"`
	Parent     *Link    `json:"parent,omitempty"`
	Children   Links    `json:"children"`
	Becomes    Links    `json:"becomes"` // what it became, and what that became …
	Became     Links    `json:"became"`  // which ones became it
	WokenBy    Links    `json:"wokenBy"` // in order of time
	ResolvedBy Links    `json:"resolvedBy"`
	WaitsFor   Links    `json:"waitsFor"` // what it looked at and never got
	WaitedFor  Links    `json:"waitedFor"`
	Wakes      Links    `json:"wakes"`
	Labels     Labels   `json:"labels"`
	Waits      Waits    `json:"waits"`
}

// Labels is what was said of a thread. Total is how often.
type Labels struct {
	Total int         `json:"total"`
	Items []LabelText `json:"items"`
}

// LabelText is one thing that was said.
type LabelText struct {
	Time float64 `json:"time"`
	Text string  `json:"text"`
}

// Waits is when a thread waited, where the trace tells for what.
type Waits struct {
	Total int    `json:"total"`
	Items []Wait `json:"items"` // the longest, longest first
}

// Wait is one stretch of waiting.
type Wait struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Reason string  `json:"reason"`
}

// longestWaits are the waits of a thread that are worth a look.
func (t *Trace) longestWaits(id thread.ID) Waits {
	all := slices.Clone(t.model.Waits(id))
	w := Waits{Total: len(all)}
	slices.SortStableFunc(all, func(a, b thread.Wait) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	for _, x := range all[:min(len(all), maxDetail)] {
		w.Items = append(w.Items, Wait{x.Start, x.End, clip(t.model.Text(x.Reason))})
	}
	return w
}

func (t *Trace) thread(r *Request) (*Detail, error) {
	id, err := t.which(r)
	if err != nil {
		return nil, err
	}
	th, m := &t.model.Threads[id], t.model
	d := &Detail{
		Link: t.link(id), Start: th.Start, End: th.End, Row: th.Row, Y: finite(th.Y()),
		Resolved: th.Resolved, Failure: clip(m.Text(th.Failure)),
		Runs: len(m.Activations(id)), Ran: t.ranTime(id),
	}
	if a := m.Activations(id); len(a) > 0 {
		d.FirstRun = &a[0].Start
	}
	if th.Parent != thread.None {
		l := t.linkAt(th.Parent, th.Start, "")
		d.Parent = &l
	}
	for c := range m.Children(id) {
		d.Children.add(func() Link { return t.linkAt(c, m.Threads[c].Start, "") })
	}
	for _, b := range t.successors(id) {
		d.Becomes.add(func() Link { return t.linkAt(b, m.Threads[b].Start, "") })
	}
	t.refer()
	for _, b := range t.became.of(id) {
		d.Became.add(func() Link { return t.linkAt(b.owner, m.Threads[b.owner].End, "") })
	}
	for _, l := range m.Labels(id) {
		if d.Labels.Total++; d.Labels.Total <= maxDetail {
			d.Labels.Items = append(d.Labels.Items, LabelText{l.Time, clip(m.Text(l.Text))})
		}
	}
	d.Waits = t.longestWaits(id)
	t.deeds(id, d)
	return d, nil
}

// deeds fills in who acted on whom.
func (t *Trace) deeds(id thread.ID, d *Detail) {
	for _, c := range t.causes(id) {
		list := &d.WokenBy
		if c.Op == thread.Resolve {
			list = &d.ResolvedBy
		}
		list.add(func() Link { return t.linkAt(c.Other, c.Time, c.Op.String()) })
	}
	for _, e := range t.effects(id) {
		d.Wakes.add(func() Link { return t.linkAt(e.Other, e.Time, e.Op.String()) })
	}
	own := t.model.Interactions(id)
	got := make(map[thread.ID]float64) // when each was last read
	for _, in := range own {
		if in.Op == thread.Read {
			got[in.Other] = in.Time
		}
	}
	for _, in := range own {
		if in.Op != thread.TryRead {
			continue
		}
		list := &d.WaitsFor
		if at, ok := got[in.Other]; ok && at >= in.Time {
			list = &d.WaitedFor
		}
		list.add(func() Link { return t.linkAt(in.Other, in.Time, in.Op.String()) })
	}
}

// causes returns what made a thread run or resolved it, in order of time. An
// interaction's Other is who did it.
func (t *Trace) causes(id thread.ID) []thread.Interaction {
	t.refer()
	var all []thread.Interaction
	for _, in := range t.model.Interactions(id) {
		if in.Op == thread.Read && in.Other != id {
			all = append(all, in)
		}
	}
	for _, b := range t.incoming.of(id) {
		in := t.model.Interactions(b.owner)[b.at]
		if b.owner != id && (in.Op == thread.Signal || in.Op == thread.Resolve) {
			all = append(all, thread.Interaction{Time: in.Time, Other: b.owner, Op: in.Op})
		}
	}
	sortByTime(all)
	return all
}

// effects returns whom a thread woke or resolved, in order of time.
func (t *Trace) effects(id thread.ID) []thread.Interaction {
	t.refer()
	var all []thread.Interaction
	for _, in := range t.model.Interactions(id) {
		if in.Other != id && (in.Op == thread.Signal || in.Op == thread.Resolve) {
			all = append(all, in)
		}
	}
	for _, b := range t.incoming.of(id) {
		in := t.model.Interactions(b.owner)[b.at]
		if b.owner != id && in.Op == thread.Read {
			all = append(all, thread.Interaction{Time: in.Time, Other: b.owner, Op: in.Op})
		}
	}
	sortByTime(all)
	return all
}

func sortByTime(all []thread.Interaction) {
	slices.SortStableFunc(all, func(a, b thread.Interaction) int { return cmp.Compare(a.Time, b.Time) })
}

// follow goes one step along the arrows: back to the latest cause at or before
// a time, or forth to the first effect at or after it. The thread that one came
// from (Other) is not gone back to at the same instant.
func (t *Trace) follow(r *Request) (*Link, error) {
	id, err := t.which(r)
	if err != nil {
		return nil, err
	}
	came := func(in thread.Interaction) bool {
		return r.Other != nil && in.Other == *r.Other && in.Time == r.Time
	}
	if r.Back {
		for _, in := range slices.Backward(t.causes(id)) {
			if in.Time <= r.Time && !came(in) {
				l := t.linkAt(in.Other, in.Time, in.Op.String())
				return &l, nil
			}
		}
		return nil, nil
	}
	for _, in := range t.effects(id) {
		if in.Time >= r.Time && !came(in) {
			l := t.linkAt(in.Other, in.Time, in.Op.String())
			return &l, nil
		}
	}
	return nil, nil
}

// successors returns what a thread became, and what that became, to the end.
func (t *Trace) successors(id thread.ID) []thread.ID {
	var all []thread.ID
	seen := map[thread.ID]bool{id: true}
	for b := t.model.Threads[id].Becomes; b != thread.None && !seen[b]; b = t.model.Threads[b].Becomes {
		seen[b] = true
		all = append(all, b)
	}
	return all
}

// Chain is the threads that became one another.
type Chain struct {
	Total   int         `json:"total"`
	Threads []thread.ID `json:"threads"`
	From    float64     `json:"from"`
	To      float64     `json:"to"`
}

func (t *Trace) chain(r *Request) (*Chain, error) {
	id, err := t.which(r)
	if err != nil {
		return nil, err
	}
	all := t.chainOf(id)
	c := &Chain{Total: len(all), Threads: all[:min(len(all), maxList)], From: math.Inf(1), To: math.Inf(-1)}
	for _, b := range all {
		c.From = min(c.From, t.model.Threads[b].Start)
		c.To = max(c.To, t.model.Threads[b].End)
	}
	return c, nil
}

// chainOf returns a thread, all that it became, and all that became one of
// those, in order of number. The latest answer is kept: each frame asks again.
func (t *Trace) chainOf(id thread.ID) []thread.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.chained == nil || t.chainID != id {
		t.chained, t.chainID = t.findChain(id), id
	}
	return t.chained
}

func (t *Trace) findChain(id thread.ID) []thread.ID {
	t.refer()
	seen := map[thread.ID]bool{id: true}
	all := []thread.ID{id}
	for _, b := range t.successors(id) {
		seen[b] = true
		all = append(all, b)
	}
	for i := 0; i < len(all); i++ {
		for _, b := range t.became.of(all[i]) {
			if !seen[b.owner] {
				seen[b.owner] = true
				all = append(all, b.owner)
			}
		}
	}
	slices.Sort(all)
	return all
}

// finite makes a number fit for JSON.
func finite(f float64) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return 0
	}
	return f
}
