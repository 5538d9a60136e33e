package engine

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// found is what a query found, kept because each frame shows it again.
type found struct {
	query string
	hits  []hit       // in order of time
	ids   []thread.ID // the same threads, by number
}

// hit is a thread of which something matches, and when it was said.
type hit struct {
	time  float64
	id    thread.ID
	label int32 // the number of the label that matches, or -1
}

// keptSearches is how many searches are remembered: what is typed, letter by
// letter, in a few windows.
const keptSearches = 8

// matcher decides by a query what is found.
//
// A query is a text that a label or a failure has anywhere in it, whatever the
// case, or a thread's type or number as a whole; or /a regular expression/ (of
// package regexp, whatever the case) that matches a label, a failure, a type
// or a number.
type matcher struct {
	text  string // in lower case
	re    *regexp.Regexp
	texts []uint8 // by TextID: not known, no, yes
	types [256]uint8
	buf   []byte
}

const (
	unknown uint8 = iota
	no
	yes
)

func verdict(b bool) uint8 {
	if b {
		return yes
	}
	return no
}

func newMatcher(query string) (*matcher, error) {
	if len(query) > 1024 {
		return nil, refuse("bad-query", "a query of %d bytes: at most 1024", len(query))
	}
	if len(query) > 1 && query[0] == '/' {
		re, err := regexp.Compile("(?i)" + strings.TrimSuffix(query[1:], "/"))
		if err != nil {
			return nil, refuse("bad-query", "%v", err)
		}
		return &matcher{re: re}, nil
	}
	return &matcher{text: strings.ToLower(query)}, nil
}

func (x *matcher) label(m *thread.Model, id thread.TextID) bool {
	if int(id) >= len(x.texts) {
		x.texts = append(x.texts, make([]uint8, int(id)+1-len(x.texts)+len(x.texts)/2)...)
	}
	if x.texts[id] == unknown {
		s := m.Text(id)
		if x.re != nil {
			x.texts[id] = verdict(x.re.MatchString(s))
		} else {
			x.texts[id] = verdict(strings.Contains(strings.ToLower(s), x.text))
		}
	}
	return x.texts[id] == yes
}

func (x *matcher) thread(th *thread.Thread) bool {
	if x.types[th.Type] == unknown {
		if name := th.Type.String(); x.re != nil {
			x.types[th.Type] = verdict(x.re.MatchString(name))
		} else {
			x.types[th.Type] = verdict(name == x.text)
		}
	}
	if x.types[th.Type] == yes {
		return true
	}
	x.buf = strconv.AppendInt(x.buf[:0], th.TID, 10)
	if x.re != nil {
		return x.re.Match(x.buf)
	}
	return string(x.buf) == x.text
}

// find returns what a query finds; nothing for the empty query.
func (t *Trace) find(query string) (*found, error) {
	if query == "" {
		return &found{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.found, func(f *found) bool { return f.query == query }); i >= 0 {
		f := t.found[i]
		t.found = append(slices.Delete(t.found, i, i+1), f)
		return f, nil
	}
	x, err := newMatcher(query)
	if err != nil {
		return nil, err
	}
	f := &found{query: query}
	for i := 1; i < len(t.model.Threads); i++ { // not the top thread
		id := thread.ID(i)
		th := &t.model.Threads[i]
		labels := t.model.Labels(id)
		n := slices.IndexFunc(labels, func(l thread.Label) bool { return x.label(t.model, l.Text) })
		switch {
		case n >= 0:
			f.hits = append(f.hits, hit{labels[n].Time, id, int32(n)})
		case x.thread(th), th.Failed() && x.label(t.model, th.Failure):
			f.hits = append(f.hits, hit{th.Start, id, -1})
		}
	}
	f.ids = make([]thread.ID, len(f.hits))
	for i, h := range f.hits {
		f.ids[i] = h.id
	}
	slices.SortStableFunc(f.hits, func(a, b hit) int { return cmp.Compare(a.time, b.time) })
	if len(t.found) == keptSearches {
		t.found = slices.Delete(t.found, 0, 1)
	}
	t.found = append(t.found, f)
	return f, nil
}

// onlyFound is an index in which only what was found is drawn.
type onlyFound struct {
	of    *found
	index *scene.Index
}

// keptOnlys is how many such indices are remembered: those of two windows.
const keptOnlys = 2

// only returns the index in which only what was found is drawn.
func (t *Trace) only(f *found) *scene.Index {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.onlys, func(o onlyFound) bool { return o.of == f }); i >= 0 {
		o := t.onlys[i]
		t.onlys = append(slices.Delete(t.onlys, i, i+1), o)
		return o.index
	}
	o := onlyFound{f, t.index.Only(f.ids)}
	if len(t.onlys) == keptOnlys {
		t.onlys = slices.Delete(t.onlys, 0, 1)
	}
	t.onlys = append(t.onlys, o)
	return o.index
}

// Hits is a page of what a search found, in order of time.
type Hits struct {
	Total  int   `json:"total"`
	Offset int   `json:"offset"`
	Near   int   `json:"near"` // the first hit at or after the request's time
	Items  []Hit `json:"items"`
}

// Hit is a thread, and what of it was found.
type Hit struct {
	Link
	Text string `json:"text"`
}

func (t *Trace) search(r *Request) (*Hits, error) {
	f, err := t.find(r.Query)
	if err != nil {
		return nil, err
	}
	near, _ := slices.BinarySearchFunc(f.hits, r.Time, func(h hit, time float64) int { return cmp.Compare(h.time, time) })
	from, to := page(len(f.hits), r.Offset, r.Limit)
	out := &Hits{Total: len(f.hits), Offset: from, Near: near, Items: make([]Hit, 0, to-from)}
	for _, h := range f.hits[from:to] {
		x := Hit{Link: t.linkAt(h.id, h.time, "")}
		if h.label >= 0 {
			x.Text = clip(t.model.Text(t.model.Labels(h.id)[h.label].Text))
		} else {
			x.Text = x.Title
		}
		out.Items = append(out.Items, x)
	}
	return out, nil
}

// typeNames are the types that a trace has, for completion.
func (t *Trace) typeNames() []string {
	var seen [256]bool
	var names []string
	for i := range t.model.Threads {
		if ty := t.model.Threads[i].Type; !seen[ty] {
			seen[ty] = true
			names = append(names, ty.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
