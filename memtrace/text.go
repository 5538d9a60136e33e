package memtrace

import (
	"io"
	"strconv"
)

// Dumper writes events as text, one line each:
//
//	0000000895 0000000000 alloc 2 len=50 dom=0    0: $4243040 Main.go@main.ml:59:14-27
//	0000001125 0000000037 promote
//	0000001847 0000000036 collect
//
// that is the time in µs since the trace's start, the block's id, and for an
// allocation (alloc, alloc_major, alloc_ext) its samples, length in words,
// domain, and the backtrace behind the length of what it shares with the
// previous one; a frame without locations is its code behind a dollar sign.
// These are the lines of the original's dump_trace.
//
// Its cost is that of the text, most of which it copies from the line before.
type Dumper struct {
	r     *Reader
	w     io.Writer
	start int64
	buf   []byte
	known []rendered          // by frame
	lines map[uint16]*backlog // by domain
}

// rendered is the text of a frame, nil when there is none yet.
type rendered struct {
	text    []byte
	located bool
}

// backlog is the text of a domain's current backtrace.
type backlog struct {
	text []byte
	ends []int // in text: where each frame's text ends
}

// NewDumper returns a Dumper of r's events that writes to w.
func NewDumper(w io.Writer, r *Reader) *Dumper {
	return &Dumper{r: r, w: w, start: r.Info().Start, lines: map[uint16]*backlog{}, buf: make([]byte, 0, 1<<16)}
}

// Dump writes the line of ev, which must be the event that the Reader decoded
// last, after every one before it has been dumped. The error is the writer's.
func (d *Dumper) Dump(ev *Event) error {
	b := appendPadded(d.buf, ev.Time-d.start)
	b = append(b, ' ')
	b = appendPadded(b, int64(ev.ID))
	if ev.Kind != Alloc {
		b = append(b, ' ')
		b = append(b, ev.Kind.String()...)
		b = append(b, '\n')
		return d.flush(b, 1<<15)
	}
	switch ev.Source {
	case Major:
		b = append(b, " alloc_major "...)
	case External:
		b = append(b, " alloc_ext "...)
	default:
		b = append(b, " alloc "...)
	}
	b = strconv.AppendInt(b, ev.Samples, 10)
	b = append(b, " len="...)
	b = strconv.AppendInt(b, ev.Length, 10)
	b = append(b, " dom="...)
	b = strconv.AppendUint(b, uint64(ev.Domain), 10)
	b = append(b, ' ')
	digits := len(b)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(ev.Prefix+ev.Lost), 10)
	for len(b)-digits < 4 {
		b = append(b, 0)
		copy(b[digits+1:], b[digits:])
		b[digits] = ' '
	}
	b = append(b, ':')
	text := d.backtrace(ev)
	if len(b)+len(text) < cap(d.buf) {
		b = append(b, text...)
	} else {
		if err := d.flush(b, 0); err != nil {
			return err
		}
		if _, err := d.w.Write(text); err != nil {
			return err
		}
		b = d.buf
	}
	return d.flush(append(b, '\n'), 1<<15)
}

// Flush writes what has not been written yet.
func (d *Dumper) Flush() error { return d.flush(d.buf, 0) }

// flush keeps b for later, or writes it when it is longer than limit.
func (d *Dumper) flush(b []byte, limit int) error {
	d.buf = b
	if len(b) <= limit {
		return nil
	}
	_, err := d.w.Write(b)
	d.buf = b[:0]
	return err
}

func (d *Dumper) backtrace(ev *Event) []byte {
	l := d.lines[ev.Domain]
	if l == nil {
		l = new(backlog)
		d.lines[ev.Domain] = l
	}
	n := min(ev.Prefix, len(l.ends))
	l.ends = l.ends[:n]
	end := 0
	if n > 0 {
		end = l.ends[n-1]
	}
	l.text = l.text[:end]
	for _, f := range ev.Stack[n:] {
		l.text = append(l.text, d.frame(f)...)
		l.ends = append(l.ends, len(l.text))
	}
	return l.text
}

func (d *Dumper) frame(f Frame) []byte {
	for int(f) >= len(d.known) {
		d.known = append(d.known, make([]rendered, max(1024, len(d.known)))...)
	}
	k := &d.known[f]
	if k.text != nil && (k.located || !d.r.Located(f)) {
		return k.text
	}
	*k = rendered{located: d.r.Located(f)}
	for _, loc := range d.r.Locations(nil, f) {
		k.text = loc.AppendText(append(k.text, ' '))
	}
	if k.text == nil {
		k.text = strconv.AppendUint([]byte(" $"), d.r.Code(f), 10)
	}
	return k.text
}

// appendPadded appends v in at least ten digits.
func appendPadded(b []byte, v int64) []byte {
	if v < 0 || v > 9_999_999_999 {
		start := len(b)
		b = strconv.AppendInt(b, v, 10)
		for digits := start + btoi(v < 0); len(b)-start < 10; {
			b = append(b, 0)
			copy(b[digits+1:], b[digits:])
			b[digits] = '0'
		}
		return b
	}
	var digits [10]byte
	for i := 9; i >= 0; i-- {
		digits[i] = byte('0' + v%10)
		v /= 10
	}
	return append(b, digits[:]...)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
