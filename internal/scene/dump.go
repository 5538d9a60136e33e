package scene

import (
	"fmt"
	"strings"
)

var kindNames = [...]string{Rects: "rects", Lines: "lines", Polyline: "polyline", Triangles: "triangles", Texts: "texts"}

// String returns the kind's name, as in "lines".
func (k Kind) String() string {
	if k >= Rects && k <= Texts {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// String returns the list as text for people and for tests: the size, an
// operation's kind, style and, if they are not the usual ones, alpha in 16ths
// and width, and indented below it a line for each primitive, in px.
func (l *List) String() string {
	var b strings.Builder
	w, h := l.Size()
	fmt.Fprintf(&b, "picture %g x %g\n", w, h)
	for op, err := range l.Ops() {
		if err != nil {
			fmt.Fprintln(&b, err)
			break
		}
		fmt.Fprintf(&b, "%v %v", op.Kind, op.Style)
		if op.Alpha != 1 {
			fmt.Fprintf(&b, " alpha %g", op.Alpha*Opaque)
		}
		if op.Width != Styles[op.Style].Width {
			fmt.Fprintf(&b, " width %g", op.Width)
		}
		b.WriteByte('\n')
		for i := range op.N {
			op.dump(&b, i)
		}
	}
	fmt.Fprintf(&b, "meta %s\n", l.Meta())
	return b.String()
}

func (o *Op) dump(b *strings.Builder, i int) {
	if o.Kind == Texts {
		x, y, from, to, s := o.Text(i)
		fmt.Fprintf(b, "  %.1f %.1f %q", x, y, s)
		if to != 0 {
			fmt.Fprintf(b, " clip %.1f %.1f", from, to)
		}
		b.WriteByte('\n')
		return
	}
	b.WriteByte(' ')
	for k := range words[o.Kind] {
		fmt.Fprintf(b, " %.1f", o.Float(i*words[o.Kind]+k))
	}
	b.WriteByte('\n')
}
