package scene

import (
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/typeface"
)

// candidate is a thread that is wide enough to be labelled. (Sizes: 40 bytes)
type candidate struct {
	t      thread.ID
	y      float64
	x0, x1 float64 // the thread
	room   float64 // where the next thread of the row starts
}

// placed is a text that has found its place.
type placed struct {
	style Style
	x, y  float64
	text  uint32
}

const (
	stick    = 4.0  // px from the left at which labels stay when their time is not seen
	beyond   = 160  // px that a label may reach over its thread's end, where nothing follows
	labelGap = 6.0  // px between two labels
	overline = 5.0  // px from a thread up to its labels' baseline
	below    = 10.5 // px from a thread down to its type's baseline
)

// labels writes what was said of threads above them, and their types below.
// Texts never lie on each other or on threads of other rows: those nearer to
// the focus choose first.
func (f *frame) labels() {
	f.nearFirst(f.label)
	f.nearFirst(f.typeName)
	for p := f.plates; len(p) > 0; p = p[4:] {
		f.l.rect(LabelPlate, Opaque, p[0], p[1], p[2], p[3])
	}
	f.emit(LabelTick)
	for _, style := range [...]Style{TypeLabel, ThreadLabel, FailureLabel} {
		for i := range f.texts {
			if p := &f.texts[i]; p.style == style {
				f.l.text(style, Opaque, p.x, p.y, p.text)
			}
		}
	}
}

func (f *frame) takeLines(lines []float64) {
	for l := lines; len(l) > 0; l = l[4:] {
		f.taken.put(l[0], l[1]-1, l[2], l[3]+1)
	}
}

// nearFirst calls place for the candidates, those of rows nearer to the focus
// first, while there is room for texts.
func (f *frame) nearFirst(place func(*candidate)) {
	middle := f.p.Y(f.v.Focus)
	if f.v.Rows == Linear {
		middle = 0
	}
	c := f.candidates
	up := sort.Search(len(c), func(i int) bool { return c[i].y >= middle }) - 1
	down := up + 1
	for len(f.texts)*3 < labelBudget {
		switch {
		case down < len(c) && (up < 0 || c[down].y-middle <= middle-c[up].y):
			place(&c[down])
			down++
		case up >= 0:
			place(&c[up])
			up--
		default:
			return
		}
	}
}

// label writes a thread's labels, each as near to its time as it can be.
func (f *frame) label(c *candidate) {
	t := &f.m.Threads[c.t]
	a, b := max(c.x0, stick), min(c.room, max(c.x1, 0)+beyond, f.w-stick)
	if b-a < 12 || c.y < -4 || c.y > f.h+4 {
		return
	}
	labels := f.m.Labels(c.t)
	if len(labels) == 0 {
		if text, w := f.number(t.TID); w <= b-a {
			f.place(ThreadLabel, a+1, c.y-overline, w, text)
		}
		return
	}
	if t.Failed() {
		// Why it failed matters most: it stands at the end.
		s := f.m.Text(labels[len(labels)-1].Text)
		labels = labels[:len(labels)-1]
		if text, w := f.fitted(s, FailureLabel, min(b, max(c.x1, a+60))-a); w > 0 {
			x := min(b, max(c.x1, a+w)) - w
			if f.place(FailureLabel, x, c.y-overline, w, text) {
				b = x - labelGap
			}
		}
	}
	// The last label before the view is what the thread is when the view
	// starts.
	i := max(0, sort.Search(len(labels), func(i int) bool { return labels[i].Time > f.v.From })-1)
	for at := a; i < len(labels) && b-at >= 12; i++ {
		x := max(a, f.p.X(labels[i].Time))
		if x > b {
			return
		}
		if x < at {
			// Its place is taken: go on with the first whose is not.
			next := f.p.Time(at)
			i += sort.Search(len(labels)-i, func(k int) bool { return labels[i+k].Time >= next }) - 1
			continue
		}
		text, w := f.fitted(f.m.Text(labels[i].Text), ThreadLabel, b-at)
		left := max(at, min(x-w/2, b-w))
		if w == 0 || !f.place(ThreadLabel, left, c.y-overline, w, text) {
			at = max(at, x) + cellWidth // or else a million of them would be tried
			continue
		}
		if x = f.p.X(labels[i].Time); x >= 0 {
			f.line(LabelTick, hair(x), c.y-5, hair(x), c.y)
		}
		at = left + w + labelGap
	}
}

// fitted returns a text, shortened to fit into the room, and its width; 0 if
// too little of it would be left.
func (f *frame) fitted(s string, style Style, room float64) (text uint32, w float64) {
	size := Styles[style].Font
	if len(s) > maxString {
		s = s[:maxString] // and no more of it is looked at
	}
	n, w := typeface.Fit(s, size, room)
	if n == len(s) {
		if n == 0 {
			return 0, 0
		}
		return f.l.str(s), w
	}
	dots := typeface.Advance('…') * size
	n, w = typeface.Fit(s, size, room-dots)
	if utf8.RuneCountInString(s[:n]) < 3 {
		return 0, 0
	}
	return f.l.shortened(s, n, true), w + dots
}

// number returns a thread's number as a text, and its width.
func (f *frame) number(tid int64) (text uint32, w float64) {
	from := len(f.l.chars)
	f.l.chars = strconv.AppendInt(f.l.chars, tid, 10)
	w = float64(len(f.l.chars)-from) * typeface.Advance('0') * Styles[ThreadLabel].Font
	return f.l.endString(), w
}

// typeName writes a thread's type.
func (f *frame) typeName(c *candidate) {
	name := f.m.Threads[c.t].Type.String()
	a, b := max(c.x0, stick), min(c.room, max(c.x1, 0), f.w-stick)
	if w := typeface.Width(name, Styles[TypeLabel].Font); w <= b-a {
		f.place(TypeLabel, a+1, c.y+below, w, f.l.str(name))
	}
}

// place puts a text at a baseline if nothing is there.
func (f *frame) place(style Style, x, y, w float64, text uint32) bool {
	high := Styles[style].Font * 0.72
	if y-high < 0 || y > f.h || !f.taken.free(x, y-high, x+w, y+1) {
		return false
	}
	f.taken.put(x, y-high, x+w, y+1)
	f.texts = append(f.texts, placed{style, x, y, text})
	if style != TypeLabel {
		f.plates = append(f.plates, x-1.5, y-high-1.5, w+3, high+3.5)
	}
	return true
}
