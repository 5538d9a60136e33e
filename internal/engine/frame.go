package engine

import (
	"bytes"
	"runtime/debug"
	"slices"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	"github.com/mirador-trace/mirador/internal/scene/svg"
	"github.com/mirador-trace/mirador/internal/thread"
)

// viewport turns a view into the scene's words, and says of which index it is.
func (t *Trace) viewport(v *View) (*scene.Index, scene.Viewport, error) {
	if err := v.check(); err != nil {
		return nil, scene.Viewport{}, err
	}
	s := scene.Viewport{
		From: v.From, To: v.To, Width: v.Width, Height: v.Height,
		Focus: v.Focus, Scroll: v.Scroll, Zoom: v.Zoom,
		Marks: v.Marks, FoldIdle: v.Fold,
	}
	for i := range t.model.Counters {
		if name := t.model.Counters[i].Name; slices.Contains(v.Hidden, clip(name)) {
			s.HiddenCounters = append(s.HiddenCounters, name)
		}
	}
	if v.Rows == "linear" {
		s.Rows = scene.Linear
	}
	if id := v.Selected; id != nil && t.has(*id) {
		s.Selected = *id
	}
	if v.Arrow != nil {
		s.SelectedArrow, _ = t.named(v.Arrow)
	}
	if id := v.Chain; id != nil && t.has(*id) {
		s.Highlighted = t.chainOf(*id)
	}
	f, err := t.find(v.Query)
	if err != nil {
		return nil, scene.Viewport{}, err
	}
	if v.Only && v.Query != "" {
		return t.only(f), s, nil
	}
	s.SearchHits = f.ids
	return t.index, s, nil
}

func (t *Trace) has(id thread.ID) bool { return id > thread.Top && int(id) < len(t.model.Threads) }

// frame appends the picture of a view.
func (t *Trace) frame(dst []byte, r *Request) ([]byte, error) {
	x, v, err := t.viewport(&r.View)
	if err != nil {
		return dst, err
	}
	setKind(dst, len(dst), Picture)
	l := t.lists.Get().(*scene.List)
	defer t.lists.Put(l)
	x.Frame(v, l)
	return append(dst, l.Bytes()...), nil
}

// export appends the picture of a view as an SVG file.
func (t *Trace) export(dst []byte, r *Request) ([]byte, error) {
	x, v, err := t.viewport(&r.View)
	if err != nil {
		return dst, err
	}
	colors, ok := palette.ByName(r.Theme)
	if !ok {
		return dst, refuse("bad-request", "no theme %q: light or dark", clip(r.Theme))
	}
	l := t.lists.Get().(*scene.List)
	defer t.lists.Put(l)
	x.Frame(v, l)
	b := bytes.NewBuffer(dst)
	err = svg.Write(b, l, colors)
	out := b.Bytes()
	setKind(out, len(dst), File)
	return out, err
}

// Hello is what a page has to know before anything else.
type Hello struct {
	Version   string          `json:"version"` // of the program
	Traces    []TraceInfo     `json:"traces"`
	DashLimit int             `json:"dashLimit"` // see package scene
	Light     palette.Palette `json:"light"`
	Dark      palette.Palette `json:"dark"`
}

// TraceInfo introduces a trace.
type TraceInfo struct {
	About
	Events     int           `json:"events"`
	Threads    int           `json:"threads"`
	Rows       int           `json:"rows"`
	Height     float64       `json:"height"` // the y of the last row
	Duration   float64       `json:"duration"`
	Simplified bool          `json:"simplified"`
	Counters   []CounterInfo `json:"counters"`
	Types      []string      `json:"types"`
	Folds      []Fold        `json:"folds"` // with View.Fold
	Generation uint32        `json:"generation"`
	Memory     *MemoryInfo   `json:"memory,omitempty"` // of a trace of memory
}

// CounterInfo introduces a counter. Style is which of the counters' styles it
// has; Bytes says that bytes are what it counts.
type CounterInfo struct {
	Name  string  `json:"name"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Style int     `json:"style"`
	Bytes bool    `json:"bytes"`
}

func (e *Engine) hello() *Hello {
	e.mu.RLock()
	defer e.mu.RUnlock()
	h := &Hello{Version: version(), DashLimit: scene.DashLimit, Light: palette.Light, Dark: palette.Dark}
	h.Traces = make([]TraceInfo, len(e.traces))
	for i, o := range e.traces {
		h.Traces[i] = o.trace.info()
		h.Traces[i].Generation = o.generation
	}
	return h
}

func (t *Trace) info() TraceInfo {
	m := t.model
	i := TraceInfo{
		About: t.about, Events: m.Events, Threads: len(m.Threads) - 1, Rows: m.Rows, Height: m.Height(),
		Duration: m.Duration(), Simplified: m.Simplified, Types: t.typeNames(),
		Counters: make([]CounterInfo, len(m.Counters)),
	}
	i.Damage = cut(i.Damage)
	i.Folds = t.folds()
	if t.memory != nil {
		t.memoryInfo(&i)
	}
	for k := range m.Counters {
		c := &m.Counters[k]
		i.Counters[k] = CounterInfo{clip(c.Name), finite(c.Min), finite(c.Max), k % scene.Counters, c.InBytes()}
	}
	return i
}

// Fold is an idle stretch that a folded view shows as if it took Kept seconds.
type Fold struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Kept float64 `json:"kept"`
}

// folds returns what a folded view folds. A trace with more folds than can be
// told apart cannot be folded.
func (t *Trace) folds() []Fold {
	p := t.index.Projection(scene.Viewport{FoldIdle: true})
	var all []Fold
	for _, s := range t.model.Activations(thread.Top) {
		long := s.End - s.Start
		if kept := (p.X(s.End) - p.X(s.Start)) / p.Scale(); kept < 0.99*long {
			if len(all) == maxList {
				return nil
			}
			all = append(all, Fold{s.Start, s.End, kept})
		}
	}
	return all
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
