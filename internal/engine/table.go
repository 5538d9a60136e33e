package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mirador-trace/mirador/internal/thread"
)

// Table is a page of the list of all threads: what the picture shows, in words.
type Table struct {
	Total  int   `json:"total"`
	Offset int   `json:"offset"`
	Rows   []Row `json:"rows"`
}

// Row is one thread of the table.
type Row struct {
	Link
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Runs    int     `json:"runs"`
	Ran     float64 `json:"ran"`
	State   string  `json:"state"` // "resolved", "failed" or "never resolved"
	Failure string  `json:"failure,omitempty"`
}

func state(th *thread.Thread) string {
	switch {
	case th.Failed():
		return "failed"
	case th.Resolved:
		return "resolved"
	}
	return "never resolved"
}

// columns are what the table can be sorted by.
var columns = map[string]func(t *Trace, a, b thread.ID) int{
	"start": func(t *Trace, a, b thread.ID) int {
		return cmp.Compare(t.model.Threads[a].Start, t.model.Threads[b].Start)
	},
	"end": func(t *Trace, a, b thread.ID) int {
		return cmp.Compare(t.model.Threads[a].End, t.model.Threads[b].End)
	},
	"lasted": func(t *Trace, a, b thread.ID) int { return cmp.Compare(t.lasted(a), t.lasted(b)) },
	"tid": func(t *Trace, a, b thread.ID) int {
		return cmp.Compare(t.model.Threads[a].TID, t.model.Threads[b].TID)
	},
	"title": func(t *Trace, a, b thread.ID) int { return strings.Compare(t.model.Title(a), t.model.Title(b)) },
	"type": func(t *Trace, a, b thread.ID) int {
		return strings.Compare(t.model.Threads[a].Type.String(), t.model.Threads[b].Type.String())
	},
	"state": func(t *Trace, a, b thread.ID) int {
		return strings.Compare(state(&t.model.Threads[a]), state(&t.model.Threads[b]))
	},
	"runs": func(t *Trace, a, b thread.ID) int {
		return cmp.Compare(len(t.model.Activations(a)), len(t.model.Activations(b)))
	},
	"ran": func(t *Trace, a, b thread.ID) int { return cmp.Compare(t.ran[a], t.ran[b]) },
}

func (t *Trace) lasted(id thread.ID) float64 {
	return t.model.Threads[id].End - t.model.Threads[id].Start
}

// order returns all threads but the top one, sorted by a column.
func (t *Trace) order(column string) ([]thread.ID, error) {
	compare, ok := columns[column]
	if !ok {
		return nil, refuse("bad-request", "no column %q", clip(column))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.orders[column]; ok {
		return o, nil
	}
	if column == "ran" && t.ran == nil {
		t.ran = make([]float64, len(t.model.Threads))
		for i := range t.ran {
			t.ran[i] = t.ranTime(thread.ID(i))
		}
	}
	o := make([]thread.ID, 0, len(t.model.Threads))
	for i := 1; i < len(t.model.Threads); i++ {
		o = append(o, thread.ID(i))
	}
	slices.SortStableFunc(o, func(a, b thread.ID) int { return compare(t, a, b) })
	t.orders[column] = o
	return o, nil
}

func (t *Trace) table(r *Request) (*Table, error) {
	order, err := t.order(cmp.Or(r.Sort, "start"))
	if err != nil {
		return nil, err
	}
	if r.Query != "" {
		f, err := t.find(r.Query)
		if err != nil {
			return nil, err
		}
		order = among(order, f.ids)
	}
	from, to := page(len(order), r.Offset, r.Limit)
	out := &Table{Total: len(order), Offset: from, Rows: make([]Row, 0, to-from)}
	for i := from; i < to; i++ {
		id := order[i]
		if r.Desc {
			id = order[len(order)-1-i]
		}
		th := &t.model.Threads[id]
		out.Rows = append(out.Rows, Row{
			Link: t.link(id), Start: th.Start, End: th.End, State: state(th),
			Runs: len(t.model.Activations(id)), Ran: t.ranTime(id), Failure: clip(t.model.Text(th.Failure)),
		})
	}
	return out, nil
}

// among returns those of order that are in ids, which is sorted by number.
func among(order, ids []thread.ID) []thread.ID {
	all := make([]thread.ID, 0, len(ids))
	for _, id := range order {
		if _, ok := slices.BinarySearch(ids, id); ok {
			all = append(all, id)
		}
	}
	return all
}
