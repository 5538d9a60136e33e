package story

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/thread"
)

// Trace is a trace that a story may tell of.
type Trace struct {
	Name  string
	Model *thread.Model // nil for a trace of memory
}

// Locate finds in the traces what the views name. The traces are in the order
// of the page's tabs. The error is an [*Error] that says what was not found.
func (d *Draft) Locate(traces []Trace) (*Story, error) {
	told := d.told
	told.Steps = slices.Clone(told.Steps)
	fragments := make([]string, len(d.views))
	current := 0 // the trace that the newest step shows
	for i, v := range d.views {
		fragment, trace, err := v.locate(traces, current)
		if err != nil {
			return nil, &Error{d.name, v.line, err}
		}
		fragments[i] = fragment
		if v.whole {
			current = trace
			told.Steps[v.step].View = fragment
		}
	}
	told.Intro = withViews(told.Intro, fragments)
	for i := range told.Steps {
		told.Steps[i].Body = withViews(told.Steps[i].Body, fragments)
	}
	return &told, nil
}

// withViews returns nodes in which links have their views.
func withViews(nodes []Node, fragments []string) []Node {
	out := slices.Clone(nodes)
	for i := range out {
		n := &out[i]
		n.Children = withViews(n.Children, fragments)
		if n.Kind == "view" {
			number, _ := strconv.Atoi(n.Text) // Parse wrote it
			n.Text = fragments[number]
		}
	}
	return out
}

// locate returns a view as the page's address has it, and of which trace it is.
func (v *view) locate(traces []Trace, current int) (fragment string, trace int, err error) {
	trace = current
	for _, p := range v.parts {
		if p.name == "trace" || p.name == "tab" {
			if trace, err = find(traces, p.value); err != nil {
				return "", 0, err
			}
		}
	}
	if trace >= len(traces) {
		return "", 0, fmt.Errorf("there is no trace to show")
	}
	f := []string{"tab=" + strconv.Itoa(trace+1)}
	in := finder{&traces[trace]}
	for _, p := range v.parts {
		value := p.value
		switch p.name {
		case "trace", "tab":
			continue
		case "from", "to":
			value, err = in.time(value)
		case "mark":
			value, err = in.mark(value)
		case "range":
			value, err = in.stretch(value)
		case "thread":
			value, err = in.selected(value)
		case "pin", "chain":
			value, err = in.thread(value)
		}
		if err != nil {
			return "", 0, fmt.Errorf("%s: %w", p.name, err)
		}
		f = append(f, p.name+"="+url.QueryEscape(value))
	}
	return strings.Join(f, "&"), trace, nil
}

// find returns the number of the trace that is meant.
func find(traces []Trace, name string) (int, error) {
	for _, fits := range []func(string) bool{
		func(n string) bool { return n == name },
		func(n string) bool { return strings.TrimSuffix(n, path.Ext(n)) == name },
	} {
		if i := slices.IndexFunc(traces, func(t Trace) bool { return fits(t.Name) }); i >= 0 {
			return i, nil
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(traces) {
		return n - 1, nil
	}
	names := make([]string, len(traces))
	for i, t := range traces {
		names[i] = t.Name
	}
	return 0, fmt.Errorf("there is no trace %q: only %s", name, strings.Join(names, ", "))
}

// finder finds things in a trace.
type finder struct{ *Trace }

// need refuses to look for something where there are no threads.
func (f finder) need() error {
	if f.Model == nil {
		return fmt.Errorf("%s is a trace of memory: its views have numbers only", f.Name)
	}
	return nil
}

func (f finder) time(value string) (string, error) {
	s := &scanner{value}
	t, err := f.scanTime(s)
	if err == nil {
		err = s.end()
	}
	return exact(t), err
}

// exact writes a time as the page does.
func exact(t float64) string { return strconv.FormatFloat(t, 'g', 12, 64) }

// mark is a time and what is to stand there.
func (f finder) mark(value string) (string, error) {
	s := &scanner{value}
	t, err := f.scanTime(s)
	if err == nil && !s.take(":") {
		err = fmt.Errorf("%q has no : behind its time", value)
	}
	s.space()
	return exact(t) + ":" + s.rest, err
}

// stretch is two times.
func (f finder) stretch(value string) (string, error) {
	s := &scanner{value}
	from, err := f.scanTime(s)
	if err == nil && !s.take("~") {
		err = fmt.Errorf("%q has no ~ between two times", value)
	}
	if err != nil {
		return "", err
	}
	to, err := f.scanTime(s)
	if err == nil {
		err = s.end()
	}
	return exact(from) + "~" + exact(to), err
}

func (f finder) selected(value string) (string, error) {
	s := &scanner{value}
	id, text, err := f.scanThread(s)
	if err != nil {
		return "", err
	}
	at := 0.0
	if s.take("@") {
		if at, err = f.scanTime(s); err != nil {
			return "", err
		}
	} else if id != thread.None {
		at = f.Model.Threads[id].Start
	}
	return text + "@" + exact(at), s.end()
}

func (f finder) thread(value string) (string, error) {
	s := &scanner{value}
	_, text, err := f.scanThread(s)
	if err == nil {
		err = s.end()
	}
	return text, err
}

// scanThread takes a thread; of one that is told by its number, that is all
// that is known.
func (f finder) scanThread(s *scanner) (thread.ID, string, error) {
	title, n, ok, err := s.quoted()
	if err != nil {
		return thread.None, "", err
	}
	if !ok {
		number, rest, _ := strings.Cut(s.rest, "@")
		number = strings.TrimSpace(number)
		if _, err := strconv.ParseInt(number, 10, 64); err != nil {
			return thread.None, "", fmt.Errorf("%q is not a thread: its title in quotes, or its number", s.rest)
		}
		if s.rest = ""; rest != "" {
			s.rest = "@" + rest
		}
		return thread.None, number, nil
	}
	id, err := f.titled(title, n)
	if err != nil {
		return thread.None, "", err
	}
	return id, strconv.FormatInt(f.Model.Threads[id].TID, 10), nil
}

// titled returns the nth thread with a title, in the order in which they began.
func (f finder) titled(title string, n int) (thread.ID, error) {
	if err := f.need(); err != nil {
		return thread.None, err
	}
	var all []thread.ID
	for i := range f.Model.Threads {
		if id := thread.ID(i); id != thread.Top && f.Model.Title(id) == title {
			all = append(all, id)
		}
	}
	slices.SortStableFunc(all, func(a, b thread.ID) int {
		return cmp.Compare(f.Model.Threads[a].Start, f.Model.Threads[b].Start)
	})
	i, often := nth(len(all), n)
	if i < 0 {
		return thread.None, fmt.Errorf("%s does not have a thread %q %s", f.Name, title, often)
	}
	return all[i], nil
}

// scanTime takes a time, and what is added to it.
func (f finder) scanTime(s *scanner) (float64, error) {
	t, err := f.moment(s)
	for err == nil {
		sign := 1.0
		if s.take("-") {
			sign = -1
		} else if !s.take("+") && !digit(s.rest) { // in a link, + is a space
			break
		}
		more, ok, bad := s.number()
		if err = bad; !ok && err == nil {
			err = fmt.Errorf("%q is not a length of time", s.rest)
		}
		t += sign * more
	}
	return t, err
}

func digit(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

// moment takes what a time begins with.
func (f finder) moment(s *scanner) (float64, error) {
	if seconds, ok, err := s.number(); ok || err != nil {
		return seconds, err
	}
	whole := *s
	what := s.word("start", "end", "wait")
	text, n, ok, err := s.quoted()
	switch {
	case err != nil:
		return 0, err
	case !ok && what == "start":
		return 0, nil
	case !ok && what == "end":
		if err := f.need(); err != nil {
			return 0, err
		}
		return f.Model.Duration(), nil
	case !ok:
		return 0, fmt.Errorf("%q is not a time", whole.rest)
	case what == "":
		return f.said(text, n)
	case what == "wait":
		return f.waited(text, n)
	}
	id, err := f.titled(text, n)
	if err != nil {
		return 0, err
	}
	if what == "end" {
		return f.Model.Threads[id].End, nil
	}
	return f.Model.Threads[id].Start, nil
}

// said returns when something was said for the nth time.
func (f finder) said(text string, n int) (float64, error) {
	if err := f.need(); err != nil {
		return 0, err
	}
	var all []float64
	for i := range f.Model.Threads {
		for _, l := range f.Model.Labels(thread.ID(i)) {
			if f.Model.Text(l.Text) == text {
				all = append(all, l.Time)
			}
		}
	}
	slices.Sort(all)
	i, often := nth(len(all), n)
	if i < 0 {
		return 0, fmt.Errorf("%s does not say %q %s", f.Name, text, often)
	}
	return all[i], nil
}

// waited returns when the threads with a title began to wait for the nth time:
// by what the trace tells of waits or, if it does not, by whom they looked at.
func (f finder) waited(title string, n int) (float64, error) {
	if _, err := f.titled(title, 1); err != nil {
		return 0, err
	}
	var all []float64
	for i := range f.Model.Threads {
		id := thread.ID(i)
		if f.Model.Title(id) != title {
			continue
		}
		if f.Model.HasWaits() {
			for _, w := range f.Model.Waits(id) {
				all = append(all, w.Start)
			}
			continue
		}
		for _, a := range f.Model.Interactions(id) {
			if a.Op == thread.TryRead {
				all = append(all, a.Time)
			}
		}
	}
	slices.Sort(all)
	i, often := nth(len(all), n)
	if i < 0 {
		return 0, fmt.Errorf("in %s, %q does not wait %s", f.Name, title, often)
	}
	return all[i], nil
}

// nth returns which of some is meant, and how often it is there if that is
// less often than it was wanted.
func nth(count, n int) (i int, often string) {
	i = n - 1
	if n < 0 {
		i = count + n
	}
	switch {
	case i >= 0 && i < count:
		return i, ""
	case n == 1 || count == 0:
		return -1, "at all"
	}
	return -1, fmt.Sprintf("more than %d times", count)
}
