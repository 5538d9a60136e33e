package scene

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/mirador-trace/mirador/internal/typeface"
)

// axisHeight is how many px at the top the axis takes.
const axisHeight = 16.0

// keepFree keeps the place of the axis and of the grid's caption free.
func (f *frame) keepFree() {
	f.taken.put(0, 0, f.w, axisHeight)
	f.taken.put(0, f.h-14, f.captionRoom(), f.h)
}

// gridLines draws the grid.
func (f *frame) gridLines() {
	f.ticks(1, func(_, t float64) {
		px := hair(f.p.X(t))
		f.l.line(Grid, Opaque, px, 0, px, f.h)
	})
}

// captionRoom returns how wide the grid's caption is.
func (f *frame) captionRoom() float64 {
	from := len(f.l.chars)
	f.l.chars = appendGridCaption(f.l.chars, f.p.GridStep())
	w := f.widthFrom(from, GridCaption)
	f.l.chars = f.l.chars[:from]
	return w + 16
}

// axis draws the time axis at the top, with the times of as many lines of the
// grid as there is room for, and says in the corner how long a division is.
func (f *frame) axis() {
	step := f.p.GridStep()
	every := 1.0 // how many steps there are from a time to the next
	wide := f.timeRoom(step)
	for _, k := range [...]float64{2, 5, 10, 20, 50} {
		if step*f.p.scale*every >= wide {
			break
		}
		every = k
	}
	f.l.rect(LabelPlate, Opaque, 0, 0, f.w, axisHeight)
	f.ticks(1, func(i, t float64) {
		long := 3.0
		if math.Mod(i, every) == 0 {
			long = 5
		}
		px := hair(f.p.X(t))
		f.l.line(Axis, Opaque, px, 0, px, long)
	})
	unit := unitOf(max(math.Abs(f.v.From), math.Abs(f.v.To)))
	end := 2.0 // of what is written so far
	f.ticks(every, func(_, t float64) {
		from := len(f.l.chars)
		f.l.chars = appendTime(f.l.chars, t, step, unit)
		w := f.widthFrom(from, AxisCaption)
		if x := f.p.X(t) - w/2; x >= end && x+w <= f.w-2 {
			f.l.text(AxisCaption, Opaque, x, 14, f.l.endString())
			end = x + w + 8
		} else {
			f.l.chars = f.l.chars[:from]
		}
	})
	if room := f.captionRoom(); room < f.w && f.h > 60 {
		f.l.rect(LabelPlate, Opaque, 0, f.h-15, room-4, 15)
		f.l.chars = appendGridCaption(f.l.chars, step)
		f.l.text(GridCaption, Opaque, 6, f.h-4.5, f.l.endString())
	}
}

func appendGridCaption(b []byte, step float64) []byte {
	b = append(b, "1 div = "...)
	return appendTime(b, step, step, unitOf(step))
}

// bandCaption names a band that takes so long and lies between two places, and
// says how long if there is room. A folded one had better say that.
func (f *frame) bandCaption(name string, x0, x1, long float64) {
	from := len(f.l.chars)
	f.l.chars = append(append(f.l.chars, name...), ' ')
	time := len(f.l.chars)
	step := math.Pow(10, math.Floor(math.Log10(max(long, 1e-12)))-2)
	f.l.chars = appendTime(f.l.chars, long, step, unitOf(long))
	room, w := x1-x0, f.widthFrom(from, BandCaption)
	switch {
	case w > room && long*f.p.scale > 2*room:
		f.l.chars = append(f.l.chars[:from], f.l.chars[time:]...)
	case w > room:
		f.l.chars = f.l.chars[:time-1]
	}
	w = f.widthFrom(from, BandCaption)
	x, y := (x0+x1-w)/2, f.h-4.5
	if w > room || !f.taken.free(x, y-9, x+w, y+3) {
		f.l.chars = f.l.chars[:from]
		return
	}
	f.taken.put(x-2, y-9, x+w+2, f.h)
	f.l.text(BandCaption, Opaque, x, y, f.l.endString())
}

// widthFrom measures the string that is being made.
func (f *frame) widthFrom(from int, style Style) float64 {
	w := 0.0
	for s := f.l.chars[from:]; len(s) > 0; {
		r, n := utf8.DecodeRune(s)
		w += typeface.Advance(r)
		s = s[n:]
	}
	return w * Styles[style].Font
}

// timeRoom returns how far apart times of the axis have to be.
func (f *frame) timeRoom(step float64) float64 {
	from := len(f.l.chars)
	most := max(math.Abs(f.v.From), math.Abs(f.v.To))
	f.l.chars = appendTime(f.l.chars, -most, step, unitOf(most))
	w := f.widthFrom(from, AxisCaption)
	f.l.chars = f.l.chars[:from]
	return w + 20
}

// unit is a unit of time.
type unit struct {
	name  string
	power int // 10^power seconds
}

var units = [...]unit{{"ns", -9}, {"µs", -6}, {"ms", -3}, {"s", 0}}

// unitOf returns the unit in which times up to most are told: the largest that
// leaves a digit in front of the point.
func unitOf(most float64) unit {
	u := units[0]
	for _, k := range units[1:] {
		if most >= 0.9999999*math.Pow10(k.power) {
			u = k
		}
	}
	return u
}

// appendTime appends a time as a text with as many digits as the step, a power
// of ten, asks for: "12.4 ms". Many digits behind the point stand in threes.
func appendTime(b []byte, t, step float64, u unit) []byte {
	digits := max(0, u.power-int(math.Round(math.Log10(step))))
	digits = min(digits, 15)
	v := t * math.Pow10(-u.power)
	if v == 0 || math.Abs(v) < 0.5*math.Pow10(-digits) {
		v = 0
	}
	from := len(b)
	b = strconv.AppendFloat(b, v, 'f', digits, 64)
	if digits > 3 {
		b = group3(b, from, digits)
	}
	b = append(b, ' ')
	return append(b, u.name...)
}

// group3 puts a space behind each third digit behind the point.
func group3(b []byte, from, digits int) []byte {
	point := len(b) - digits
	for at := point + 3; at < len(b); at += 3 + len(" ") {
		b = append(b, " "...)
		copy(b[at+len(" "):], b[at:])
		copy(b[at:], " ")
	}
	return b
}
