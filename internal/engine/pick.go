package engine

import (
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Picked is what lies under the pointer: the nearest thread, and an arrow if
// one lies nearer. Time is the pointer's.
type Picked struct {
	Thread *Link   `json:"thread,omitempty"`
	Arrow  *Arrow  `json:"arrow,omitempty"`
	Time   float64 `json:"time"`
}

func (t *Trace) pick(r *Request) (*Picked, error) {
	x, v, err := t.viewport(&r.View)
	if err != nil {
		return nil, err
	}
	p := x.Projection(v)
	out := &Picked{Time: finite(p.Time(r.X))}
	if id, ok := x.Pick(v, r.X, r.Y); ok {
		l := t.link(id)
		out.Thread = &l
	}
	if a, ok := x.PickArrow(v, r.X, r.Y); ok {
		out.Arrow = t.arrowOf(&a)
	}
	return out, nil
}

// Arrow is what one thread did with another, with the times at which its arrow
// sets out and comes up. From is who did it, or whose result was read.
type Arrow struct {
	How  string  `json:"how"`  // as in Link
	Time float64 `json:"time"` // when it was done, which is one of the two
	From Link    `json:"from"`
	To   Link    `json:"to"`
}

func (t *Trace) arrowOf(a *scene.Arrow) *Arrow {
	return &Arrow{a.Op.String(), a.Time(), t.linkAt(a.From, a.Start, ""), t.linkAt(a.To, a.End, "")}
}

// ArrowName says which arrow is meant.
type ArrowName struct {
	How  string    `json:"how"`
	From thread.ID `json:"from"`
	To   thread.ID `json:"to"`
	Time float64   `json:"time"`
}

// named returns the arrow that is meant, if there is one that can be drawn.
func (t *Trace) named(n *ArrowName) (scene.Arrow, bool) {
	for op := thread.Resolve; op <= thread.Signal; op++ {
		if op.String() == n.How {
			return t.index.Arrow(op, n.From, n.To, n.Time)
		}
	}
	return scene.Arrow{}, false
}

// arrow finds an arrow by its threads' own numbers.
func (t *Trace) arrow(r *Request) (*Arrow, error) {
	from, err := t.which(&Request{TID: r.TID})
	if err != nil {
		return nil, err
	}
	to, err := t.which(&Request{TID: r.ToTID})
	if err != nil {
		return nil, err
	}
	a, ok := t.named(&ArrowName{r.How, from, to, r.Time})
	if !ok {
		return nil, refuse("no-arrow", "the picture has no arrow from thread %s to thread %s then", r.TID, r.ToTID)
	}
	return t.arrowOf(&a), nil
}
