package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"sort"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	"github.com/mirador-trace/mirador/internal/scene/svg"
)

// chart appends the picture of what was alive over time.
func (t *Trace) chart(dst []byte, r *Request) ([]byte, error) {
	return t.painted(dst, r, t.drawChart)
}

// flame appends the picture of a flame graph.
func (t *Trace) flame(dst []byte, r *Request) ([]byte, error) {
	return t.painted(dst, r, t.drawFlame)
}

func (t *Trace) painted(dst []byte, r *Request, paint func(*Request, *scene.List) error) ([]byte, error) {
	setKind(dst, len(dst), Picture)
	l := t.lists.Get().(*scene.List)
	defer t.lists.Put(l)
	if err := paint(r, l); err != nil {
		return dst, err
	}
	return append(dst, l.Bytes()...), nil
}

// draw appends the chart or the flame graph as an SVG file.
func (t *Trace) draw(dst []byte, r *Request) ([]byte, error) {
	paint, title := t.drawFlame, "flame graph of memory"
	switch r.What {
	case "chart":
		paint, title = t.drawChart, "memory over time"
	case "flame":
	default:
		return dst, refuse("bad-request", "no picture %q: chart or flame", clip(r.What))
	}
	colors, ok := palette.ByName(r.Theme)
	if !ok {
		return dst, refuse("bad-request", "no theme %q: light or dark", clip(r.Theme))
	}
	l := t.lists.Get().(*scene.List)
	defer t.lists.Put(l)
	if err := paint(r, l); err != nil {
		return dst, err
	}
	b := bytes.NewBuffer(dst)
	err := svg.WriteTitled(b, l, colors, title)
	out := b.Bytes()
	setKind(out, len(dst), File)
	return out, err
}

// ChartMeta is what a chart's list says about itself.
type ChartMeta struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Top   float64 `json:"top"` // the amount at the upper edge, in bytes or samples
	Whole float64 `json:"whole"`
}

func (t *Trace) drawChart(r *Request, l *scene.List) error {
	s, err := t.asked(r)
	if err != nil {
		return err
	}
	v := &r.View
	if err := v.check(); err != nil {
		return err
	}
	m := t.memory
	n := int(v.Width)
	scale := cmp.Or(finite(m.blocks.Unit), 1)
	levels := func(s *heap.Selection) []scene.Level {
		all := make([]scene.Level, 0, n)
		for _, step := range s.Course().Steps(m.at(v.From), m.at(v.To), n) {
			all = append(all, scene.Level{Low: float64(step.Low) * scale, High: float64(step.High) * scale, Last: float64(step.Last) * scale})
		}
		return all
	}
	c := scene.Chart{Width: v.Width, Height: v.Height, From: v.From, To: v.To, Bytes: m.blocks.Unit > 0}
	c.All = levels(m.blocks.All())
	for i := range c.All {
		c.Top = max(c.Top, c.All[i].High)
	}
	if len(r.Memory.Filter) > 0 {
		c.Part = levels(s)
	}
	for _, cycle := range m.blocks.Notes().Cycles {
		c.Cycles = append(c.Cycles, m.since(cycle))
	}
	peak := s.Course().Peak
	c.Peak = &scene.Point{Time: m.since(peak.Time), Amount: float64(peak.Live) * scale}
	c.Meta, err = json.Marshal(ChartMeta{v.From, v.To, c.Top, float64(s.Samples)})
	if err != nil {
		return err
	}
	c.Draw(l)
	return nil
}

// at turns seconds since the trace's begin into a time of the trace.
func (m *memory) at(s float64) int64 {
	return m.blocks.Begin + int64(math.Round(min(max(s, -1e9), 1e9)*1e6))
}

// flame is a flame graph with what it takes to paint any part of it.
type flame struct {
	*heap.Icicle
	unit     float64 // bytes that an amount of it stands for; 0 when that is not known
	compared bool
}

// flameOf returns the flame graph that a question is about.
func (t *Trace) flameOf(r *Request) (*flame, error) {
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	against, err := r.against()
	if err != nil {
		return nil, err
	}
	m := r.Memory
	if len(m.Hidden) > maxClauses {
		return nil, refuse("bad-filter", "%d hidden functions: at most %d", len(m.Hidden), maxClauses)
	}
	width := math.Ceil(max(1, min(r.View.Width, maxSide))/64) * 64
	generation := uint32(0)
	if m.Base != nil {
		generation = r.baseGeneration
	}
	key := keyOf(m.Filter, m.Base, generation, m.Inverted, m.Hidden, m.Focus, width)
	return made(t.memory, &t.memory.flames, key, func() (*flame, error) {
		shape := heap.Shape{Inverted: m.Inverted, Hidden: m.Hidden, Against: against, Least: 0.7 / width}
		if shape.Focus, err = t.way(r, shape); err != nil {
			return nil, refuse("bad-filter", "%v", err)
		}
		c, err := s.Icicle(shape)
		if err != nil {
			return nil, refuse("bad-filter", "%v", err)
		}
		f := &flame{Icicle: c, unit: finite(s.Blocks.Unit), compared: against != nil}
		if f.compared && f.unit > 0 {
			f.unit = 1
		}
		return f, nil
	})
}

// way returns the functions that lead to a focus. One that does not exist any
// more, because the trace was loaded again, is none.
func (t *Trace) way(r *Request, shape heap.Shape) ([]string, error) {
	f := r.Memory.Focus
	if f == nil {
		return nil, nil
	}
	b := t.memory.blocks
	if f.Theirs {
		if r.base == nil || r.base.memory == nil {
			return nil, nil
		}
		b = r.base.memory.blocks
	}
	way, err := b.Way(shape, heap.Node(f.Node), f.Depth)
	if err != nil || len(way) == 0 || clip(way[len(way)-1]) != f.Func {
		return nil, err
	}
	return way, nil
}

// FlameMeta is what a flame graph's list says about itself.
type FlameMeta struct {
	Whole    float64 `json:"whole"` // amount of everything
	Base     float64 `json:"base"`  // of it, what is the base's
	Shown    float64 `json:"shown"` // amount of the focus
	Unit     float64 `json:"unit"`  // bytes that an amount stands for
	Rows     int     `json:"rows"`
	Row      float64 `json:"row"`   // px from a row to the next
	Focus    int     `json:"focus"` // the row of the focus
	Boxes    int     `json:"boxes"`
	Full     bool    `json:"full"` // there were too many of them
	Compared bool    `json:"compared"`
	// Of a search: how much of Whole is in boxes that are found.
	Found     float64 `json:"found"`
	Functions int     `json:"functions"`
}

func (t *Trace) drawFlame(r *Request, l *scene.List) error {
	if err := checkSize(&r.View); err != nil {
		return err
	}
	f, err := t.flameOf(r)
	if err != nil {
		return err
	}
	meta := FlameMeta{
		Whole: f.Whole, Base: f.Base, Shown: f.Boxes[f.Focus].W, Unit: f.unit, Rows: len(f.Rows), Row: scene.IcicleRow,
		Focus: int(f.Boxes[f.Focus].Depth), Boxes: len(f.Boxes), Full: f.Full, Compared: f.compared,
	}
	found, err := t.highlight(r, &meta)
	if err != nil {
		return err
	}
	c := scene.Icicle{Width: r.View.Width, Height: r.View.Height, Scroll: max(0, r.View.Scroll), Flipped: r.Memory.Flipped}
	first, last := f.seen(&c)
	for i := first; i < last; i++ {
		c.Boxes = append(c.Boxes, f.frame(i, found))
	}
	if c.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	c.Draw(l)
	return nil
}

// checkSize refuses a picture that cannot be drawn. Its times do not matter.
func checkSize(v *View) error {
	w := *v
	w.From, w.To = 0, 1
	return w.check()
}

// seen returns the boxes whose rows are within the picture.
func (f *flame) seen(c *scene.Icicle) (first, last int) {
	top := max(0, int(c.Scroll/scene.IcicleRow))
	bottom := top + int(c.Height/scene.IcicleRow) + 2
	if top >= len(f.Rows) {
		return 0, 0
	}
	last = len(f.Boxes)
	if bottom < len(f.Rows) {
		last = f.Rows[bottom]
	}
	return f.Rows[top], last
}

// finder returns what tells the boxes that are highlighted; nil for none.
func finder(r *Request) (func(string) bool, error) {
	if r.Query == "" {
		if name := r.Memory.Marked; name != "" {
			return func(s string) bool { return s == name || clip(s) == name }, nil
		}
		return nil, nil
	}
	if len(r.Query) > 1024 {
		return nil, refuse("bad-query", "a query of %d bytes: at most 1024", len(r.Query))
	}
	match, err := heap.Finder(r.Query)
	if err != nil {
		return nil, refuse("bad-query", "%v", err)
	}
	return match, nil
}

// highlight is finder that also tells how much is found.
func (t *Trace) highlight(r *Request, meta *FlameMeta) (func(string) bool, error) {
	match, err := finder(r)
	if err != nil || r.Query == "" {
		return match, err
	}
	s, err := t.asked(r)
	if err != nil {
		return nil, err
	}
	found, err := s.Find(r.Query)
	if err != nil {
		return nil, refuse("bad-query", "%v", err)
	}
	meta.Found, meta.Functions = float64(found.Samples), found.Functions
	return match, nil
}

// frame returns how a box is drawn.
func (f *flame) frame(i int, found func(string) bool) scene.FrameBox {
	b := &f.Boxes[i]
	whole := f.Boxes[f.Focus].W
	box := scene.FrameBox{Row: int(b.Depth), Name: f.Name(b), Alpha: scene.Opaque, Style: scene.FrameAll}
	if whole > 0 {
		box.X, box.W = b.X/whole, b.W/whole
	} else if i <= f.Focus {
		box.W = 1
	}
	if i < f.Focus {
		box.Alpha = 9
	}
	change := 0.0
	switch {
	case b.Func == heap.FuncRest:
		box.Style, box.Name = scene.FrameRest, "…"
		return box
	case f.compared:
		if b.W > 0 {
			change = (b.W - 2*b.Base) / b.W
		}
		switch {
		case change > 0.01:
			box.Style, box.Alpha = scene.FrameGrew, uint8(5+math.Round(11*change))
		case change < -0.01:
			box.Style, box.Alpha = scene.FrameShrank, uint8(5+math.Round(-11*change))
		}
		box.Note = f.difference(b)
	case b.Func != heap.FuncAll:
		box.Style = styleOf(box.Name)
	}
	if m := heap.Module(box.Name); len(m)+1 < len(box.Name) && b.Func >= 0 {
		box.Short = box.Name[len(m)+1:]
	}
	if i <= f.Focus && !f.compared {
		box.Note = f.amount(b.W)
		if i < f.Focus {
			box.Note = ""
		}
	}
	if found != nil && b.Func >= 0 {
		if found(f.Name(b)) {
			box.Style, box.Alpha = scene.FrameHit, scene.Opaque
		} else {
			box.Alpha = min(box.Alpha, 7)
		}
	}
	return box
}

func (f *flame) amount(v float64) string {
	if f.unit == 0 {
		return fmt.Sprintf("%.0f samples", v)
	}
	return heap.FormatBytes(v * f.unit)
}

// difference writes how much more a box has than what it is compared with.
func (f *flame) difference(b *heap.Box) string {
	d := b.W - 2*b.Base
	if d > 0 {
		return "+" + f.amount(d)
	}
	if d == 0 {
		return "±0"
	}
	return "−" + f.amount(-d)
}

// styleOf gives functions of a module the same colour.
func styleOf(name string) scene.Style {
	h := fnv.New32a()
	io.WriteString(h, heap.Module(name))
	return scene.Frame0 + scene.Style(h.Sum32()%uint32(scene.Frames))
}

// Box is a box of a flame graph.
type Box struct {
	Name   string   `json:"name"`
	Module string   `json:"module"`
	Kind   string   `json:"kind"` // "function", "all" or "rest"
	Style  int      `json:"style"`
	X      float64  `json:"x"` // px
	Y      float64  `json:"y"`
	Width  float64  `json:"width"`
	Height float64  `json:"height"`
	Amount float64  `json:"amount"`
	Base   float64  `json:"base"`
	Self   float64  `json:"self"`
	Unit   float64  `json:"unit"`
	Whole  float64  `json:"whole"` // amount of everything
	Focus  *Focus   `json:"focus,omitempty"`
	Path   []string `json:"path"` // the last functions on the way to it
	Deep   int      `json:"deep"` // how many there are
}

// pathShown is how much of a box's path is told.
const pathShown = 100

// box returns what lies at a point of the flame graph; null for nothing. What
// can be "parent", "child", "left" or "right" of the box there, or "next" or
// "previous", row by row, of those that are highlighted.
func (t *Trace) box(r *Request) (*Box, error) {
	if err := checkSize(&r.View); err != nil {
		return nil, err
	}
	f, err := t.flameOf(r)
	if err != nil {
		return nil, err
	}
	c := scene.Icicle{Width: r.View.Width, Height: r.View.Height, Scroll: max(0, r.View.Scroll), Flipped: r.Memory.Flipped}
	i := f.hit(c.Row(r.Y), r.X/r.View.Width)
	if i < 0 {
		return nil, nil
	}
	if r.What == "next" || r.What == "previous" {
		found, err := finder(r)
		if err != nil || found == nil {
			return nil, err
		}
		i = f.stepTo(i, r.What == "next", found)
	} else {
		i = f.step(i, r.What)
	}
	if i < 0 {
		return nil, nil
	}
	b := &f.Boxes[i]
	drawn := f.frame(i, nil)
	path := f.Path(i)
	out := &Box{
		Name: clip(f.Name(b)), Kind: "function", Style: int(drawn.Style), X: drawn.X * c.Width, Y: c.Y(drawn.Row), Width: drawn.W * c.Width,
		Height: scene.IcicleRow, Amount: b.W, Base: b.Base, Self: b.Self, Unit: f.unit, Whole: f.Whole, Deep: len(path),
		Path: []string{},
	}
	for _, name := range path[max(0, len(path)-pathShown):] {
		out.Path = append(out.Path, clip(name))
	}
	switch b.Func {
	case heap.FuncAll:
		out.Kind = "all"
	case heap.FuncRest:
		out.Kind = "rest"
	default:
		out.Module = clip(heap.Module(f.Name(b)))
		out.Focus = &Focus{uint32(b.Node), int(b.Depth), b.Theirs, out.Name}
	}
	return out, nil
}

// hit returns the box of a row that lies at a share of the width, -1 for none.
func (f *flame) hit(row int, x float64) int {
	if row < 0 || row >= len(f.Rows) || x < 0 || x > 1 {
		return -1
	}
	from, to := f.Rows[row], len(f.Boxes)
	if row+1 < len(f.Rows) {
		to = f.Rows[row+1]
	}
	if from <= f.Focus {
		return from
	}
	at := x * f.Boxes[f.Focus].W
	i := from + sort.Search(to-from, func(i int) bool { return f.Boxes[from+i].X > at }) - 1
	if i < from || at >= f.Boxes[i].X+f.Boxes[i].W {
		return -1
	}
	return i
}

// stepTo returns the next box after another, or before it, that is found: that
// box itself if it is the only one, -1 if there is none.
func (f *flame) stepTo(i int, forward bool, found func(string) bool) int {
	n := len(f.Boxes)
	step := n - 1
	if forward {
		step = 1
	}
	for range n {
		i = (i + step) % n
		if b := &f.Boxes[i]; b.Func >= 0 && found(f.Name(b)) {
			return i
		}
	}
	return -1
}

// step returns a neighbor of a box; the box itself for no direction.
func (f *flame) step(i int, where string) int {
	b := &f.Boxes[i]
	switch where {
	case "parent":
		return int(b.Parent)
	case "child":
		if int(b.Depth)+1 >= len(f.Rows) {
			return -1
		}
		widest := -1
		for k := f.Rows[b.Depth+1]; k < len(f.Boxes) && f.Boxes[k].Depth == b.Depth+1; k++ {
			if int(f.Boxes[k].Parent) == i && (widest < 0 || f.Boxes[k].W > f.Boxes[widest].W) {
				widest = k
			}
		}
		return widest
	case "left":
		if i > 0 && f.Boxes[i-1].Depth == b.Depth {
			return i - 1
		}
		return -1
	case "right":
		if i+1 < len(f.Boxes) && f.Boxes[i+1].Depth == b.Depth {
			return i + 1
		}
		return -1
	}
	return i
}
