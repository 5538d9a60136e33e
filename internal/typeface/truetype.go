package typeface

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// truetype reads a TrueType file: as much of the format as [Regular] uses, which is
// characters of 16 bits and glyphs of quadratic curves, put together without
// turning or scaling. The format is Apple's "TrueType Reference Manual", chapter
// 6. The file is the program's own, so that nothing here doubts its numbers.
type truetype struct {
	cmap, glyf, hmtx, loca table
	units                  int // per em
	wide                   int // how many glyphs have a width of their own; the others have the last one
	long                   bool
}

// table is one of the file's tables, big-endian.
type table []byte

func (t table) u16(at int) int { return int(binary.BigEndian.Uint16(t[at:])) }
func (t table) i16(at int) int { return int(int16(t.u16(at))) }
func (t table) u32(at int) int { return int(binary.BigEndian.Uint32(t[at:])) }

func parse(file table) (*truetype, error) {
	if len(file) < 12 || file.u32(0) != 0x10000 {
		return nil, fmt.Errorf("%d bytes that are not a TrueType font", len(file))
	}
	tables := make(map[string]table)
	for i := range file.u16(4) {
		entry := file[12+16*i:]
		tables[string(entry[:4])] = file[entry.u32(8):][:entry.u32(12)]
	}
	f := &truetype{
		glyf:  tables["glyf"],
		hmtx:  tables["hmtx"],
		loca:  tables["loca"],
		units: tables["head"].u16(18),
		wide:  tables["hhea"].u16(34),
		long:  tables["head"].u16(50) != 0,
	}
	cmap := tables["cmap"]
	for i := range cmap.u16(2) {
		const unicode, windows = 0, 3
		entry := cmap[4+8*i:]
		if p := entry.u16(0); p == unicode || p == windows {
			if sub := cmap[entry.u32(4):]; sub.u16(0) == 4 {
				f.cmap = sub
				return f, nil
			}
		}
	}
	return nil, errors.New("a font without characters of 16 bits")
}

// glyph returns the number of a character's glyph; 0, the box, when it has none.
func (f *truetype) glyph(c rune) int {
	if c < 0 || c > 0xffff {
		return 0
	}
	segments := f.cmap.u16(6) // twice the number of them
	ends, starts, deltas, offsets := f.cmap[14:], f.cmap[16+segments:], f.cmap[16+2*segments:], f.cmap[16+3*segments:]
	for i := 0; i < segments; i += 2 {
		if int(c) > ends.u16(i) {
			continue
		}
		if int(c) < starts.u16(i) {
			return 0
		}
		offset := offsets.u16(i)
		if offset == 0 {
			return (int(c) + deltas.u16(i)) & 0xffff
		}
		if g := offsets.u16(i + offset + 2*(int(c)-starts.u16(i))); g != 0 {
			return (g + deltas.u16(i)) & 0xffff
		}
		return 0
	}
	return 0
}

// advance returns how far a glyph moves the pen, in the font's units.
func (f *truetype) advance(glyph int) int { return f.hmtx.u16(4 * min(glyph, f.wide-1)) }

// point is a place in a glyph, in the font's units, y up.
type point struct{ x, y int }

func (p point) plus(q point) point { return point{p.x + q.x, p.y + q.y} }

func middle(a, b point) point { return point{(a.x + b.x) / 2, (a.y + b.y) / 2} }

// outline calls draw with each piece of a glyph's edge.
func (f *truetype) outline(glyph int, at point, draw func(op Op, p ...point)) {
	from, to := 0, 0
	if f.long {
		from, to = f.loca.u32(4*glyph), f.loca.u32(4*glyph+4)
	} else {
		from, to = 2*f.loca.u16(2*glyph), 2*f.loca.u16(2*glyph+2)
	}
	if from == to {
		return
	}
	data := f.glyf[from:to]
	if contours := data.i16(0); contours >= 0 {
		simple(data[10:], contours, at, draw)
		return
	}
	for data = data[10:]; ; {
		const words, more = 1 << 0, 1 << 5
		flags, part := data.u16(0), data.u16(2)
		if flags&words != 0 {
			f.outline(part, at.plus(point{data.i16(4), data.i16(6)}), draw)
			data = data[8:]
		} else {
			f.outline(part, at.plus(point{int(int8(data[4])), int(int8(data[5]))}), draw)
			data = data[6:]
		}
		if flags&more == 0 {
			return
		}
	}
}

// simple draws a glyph that is not made of others: the last points of its
// contours, instructions to skip, and then the points, first all their flags,
// then all x, then all y, each relative to the point before.
func simple(data table, contours int, at point, draw func(op Op, p ...point)) {
	const on, again = 1 << 0, 1 << 3
	ends := data
	data = data[2*contours:]
	data = data[2+data.u16(0):]
	flags := make([]byte, 0, 128)
	for n := ends.u16(2*contours-2) + 1; len(flags) < n; {
		flag, times := data[0], 1
		data = data[1:]
		if flag&again != 0 {
			times, data = 1+int(data[0]), data[1:]
		}
		for range times {
			flags = append(flags, flag)
		}
	}
	xs, data := coordinates(data, flags, 1<<1, 1<<4)
	ys, _ := coordinates(data, flags, 1<<2, 1<<5)
	from := 0
	for i := range contours {
		c := contour{draw: draw}
		end := ends.u16(2*i) + 1
		for ; from < end; from++ {
			c.add(point{xs[from], ys[from]}.plus(at), flags[from]&on != 0)
		}
		c.close()
	}
}

// coordinates reads a coordinate of all points. The bits say that it is one
// byte, and what its sign is, or without that that there is none to read.
func coordinates(data table, flags []byte, short, same byte) ([]int, table) {
	list, v := make([]int, len(flags)), 0
	for i, flag := range flags {
		switch {
		case flag&short != 0:
			d := int(data[0])
			if data = data[1:]; flag&same == 0 {
				d = -d
			}
			v += d
		case flag&same == 0:
			v += data.i16(0)
			data = data[2:]
		}
		list[i] = v
	}
	return list, data
}

// contour draws a closed edge whose points are on the curve or, off it, pull
// it. Between two that pull, the curve goes through the middle.
type contour struct {
	draw              func(op Op, p ...point)
	begin, pull, last point // where it begins, what pulls there, and what pulls now
	begun             bool
	pulls, pulled     bool // whether there is a pull, and a last
}

func (c *contour) add(p point, on bool) {
	switch {
	case !c.begun && on:
		c.begin, c.begun = p, true
		c.draw(MoveTo, p)
	case !c.begun && !c.pulls:
		c.pull, c.pulls = p, true
	case !c.begun:
		c.begin, c.begun = middle(c.pull, p), true
		c.last, c.pulled = p, true
		c.draw(MoveTo, c.begin)
	case on && c.pulled:
		c.draw(QuadTo, c.last, p)
		c.pulled = false
	case on:
		c.draw(LineTo, p)
	case c.pulled:
		c.draw(QuadTo, c.last, middle(c.last, p))
		c.last = p
	default:
		c.last, c.pulled = p, true
	}
}

func (c *contour) close() {
	if c.pulled && c.pulls {
		c.add(c.pull, false)
		c.draw(QuadTo, c.last, c.begin)
	} else if c.pulls {
		c.draw(QuadTo, c.pull, c.begin)
	} else {
		c.add(c.begin, true)
	}
}
