package scene

import (
	"math"
	"strconv"

	"github.com/mirador-trace/mirador/internal/event"
)

// Meta is what a list says about itself, as its JSON is named.
type Meta struct {
	From           float64       `json:"from"` // s, at the left edge
	To             float64       `json:"to"`   // s, at the right edge
	GridStep       float64       `json:"gridStep"`
	GridCaption    string        `json:"gridCaption"` // "1 div = 100 µs"
	RowsTotal      int           `json:"rowsTotal"`
	ThreadsVisible int           `json:"threadsVisible"`  // alive between From and To; within 32
	HiddenArrows   int           `json:"hiddenArrows"`    // left out because there are too many
	MergedThreads  int           `json:"mergedThreads"`   // visible ones that are not drawn one by one
	ContentHeight  float64       `json:"contentHeight"`   // px that linear rows take
	ScrollMax      float64       `json:"scrollMax"`       // px by which they can be scrolled
	Counters       []MetaCounter `json:"counters"`        // those that are drawn, from top to bottom
	Folds          []MetaFold    `json:"folds,omitempty"` // those that are seen
}

// MetaCounter tells where a counter's name stands: its left end and baseline,
// in px.
type MetaCounter struct {
	Name  string  `json:"name"`
	Style Style   `json:"style"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
}

// MetaFold tells where a stretch of time is that is drawn as a short break: in
// s and in px. Between folds, and in them, time is linear.
type MetaFold struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	X0   float64 `json:"x0"`
	X1   float64 `json:"x1"`
}

// meta writes the list's [Meta].
func (f *frame) meta() {
	b := f.l.meta[:0]
	number := func(name string, v float64) {
		b = append(b, name...)
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	whole := func(name string, v int) { b = strconv.AppendInt(append(b, name...), int64(v), 10) }
	visible := f.visible()
	number(`{"from":`, f.v.From)
	number(`,"to":`, f.v.To)
	number(`,"gridStep":`, f.p.GridStep())
	b = append(b, `,"gridCaption":"`...)
	b = append(appendGridCaption(b, f.p.GridStep()), '"')
	whole(`,"rowsTotal":`, f.m.Rows)
	whole(`,"threadsVisible":`, visible)
	whole(`,"hiddenArrows":`, f.hidden)
	whole(`,"mergedThreads":`, max(0, visible-f.whole))
	content := f.x.contentHeight(&f.v)
	number(`,"contentHeight":`, content)
	number(`,"scrollMax":`, max(0, content-f.h))
	b = append(b, `,"counters":[`...)
	for i := range f.names {
		n := &f.names[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = event.AppendJSONString(b, f.m.Counters[n.counter].Name)
		whole(`,"style":`, int(n.style))
		number(`,"x":`, math.Round(n.x*10)/10)
		number(`,"y":`, math.Round(n.y*10)/10)
		b = append(b, '}')
	}
	b = append(b, ']')
	if len(f.p.folds) > 0 {
		b = append(b, `,"folds":[`...)
		comma := ""
		f.seenFolds(func(s fold, x0, x1 float64) {
			b = append(b, comma...)
			comma = ","
			number(`{"from":`, s.start)
			number(`,"to":`, s.end)
			number(`,"x0":`, x0)
			number(`,"x1":`, x1)
			b = append(b, '}')
		})
		b = append(b, ']')
	}
	f.l.meta = append(b, '}')
}

// visible returns how many threads are alive in the view; among few rows it
// counts those of all rows, seen or not.
func (f *frame) visible() int {
	n := f.x.byStart.before(f.v.To) - f.x.endedBefore(f.v.From)
	return max(n, f.whole)
}
