package memtrace

import "encoding/binary"

// place is a Location in 16 bytes.
type place struct {
	pos        uint64 // line:20 | start:8 | end:10, the lowest bits first
	file, name uint32 // indexes of atlas.strings
}

// atlas is what a trace has told about the program's places: the frames, the
// codes (addresses) that stand for them, and their locations.
type atlas struct {
	codes   []uint64 // of each frame
	first   []uint32 // of each frame: index of its places, noPlaces when never told
	count   []uint8
	places  []place
	strings []string
	byText  map[string]uint32

	table []uint32 // code → frame + 1, open addressing
	since int      // frames before this one are not in table: see forget
}

const noPlaces = ^uint32(0)

func newAtlas() *atlas {
	a := &atlas{byText: map[string]uint32{}, table: make([]uint32, 1024)}
	a.intern([]byte("?"))
	a.add(0)
	return a
}

func (a *atlas) intern(s []byte) uint32 {
	if i, ok := a.byText[string(s)]; ok {
		return i
	}
	i := uint32(len(a.strings))
	text := string(s)
	a.strings = append(a.strings, text)
	a.byText[text] = i
	return i
}

func (a *atlas) slot(code uint64) uint32 {
	h := code * 0x9e3779b97f4a7c15
	mask := uint32(len(a.table) - 1)
	i := uint32(h>>32) & mask
	for a.table[i] != 0 && a.codes[a.table[i]-1] != code {
		i = (i + 1) & mask
	}
	return i
}

// add makes a frame for a code that has none yet.
func (a *atlas) add(code uint64) Frame {
	if len(a.codes)*2 >= len(a.table) {
		a.table = make([]uint32, 2*len(a.table))
		a.table[a.slot(0)] = 1
		for f := a.since; f < len(a.codes); f++ {
			a.table[a.slot(a.codes[f])] = uint32(f) + 1
		}
	}
	f := uint32(len(a.codes))
	a.codes = append(a.codes, code)
	a.first = append(a.first, noPlaces)
	a.count = append(a.count, 0)
	a.table[a.slot(code)] = f + 1
	return Frame(f)
}

// frame returns the frame of a code, a new one if it must.
func (a *atlas) frame(code uint64) (f Frame, isNew bool) {
	if f := a.table[a.slot(code)]; f != 0 {
		return Frame(f - 1), false
	}
	return a.add(code), true
}

// forget makes every code a new one: another trace begins, in which a code
// may mean something else. The frames that there are stay.
func (a *atlas) forget() {
	clear(a.table)
	a.since = len(a.codes)
	a.table[a.slot(0)] = 1 // frame 0 is always that of code 0
}

// mtf is a move-to-front table of 31 strings. Each entry of the table of
// files has a table of function names.
type mtf struct {
	len   int
	text  [mtfSize]uint32
	inner [mtfSize]*mtf // of a table of files
}

// hit moves entry i to the front.
func (m *mtf) hit(i int) {
	text, inner := m.text[i], m.inner[i]
	copy(m.text[1:i+1], m.text[:i])
	copy(m.inner[1:i+1], m.inner[:i])
	m.text[0], m.inner[0] = text, inner
}

// push puts a new entry in front. When the table is full the last entry is
// dropped, and the new one takes over its inner table as it is.
func (m *mtf) push(text uint32) {
	var inner *mtf
	if m.len == mtfSize {
		inner = m.inner[mtfSize-1]
	} else {
		m.len++
	}
	copy(m.text[1:m.len], m.text[:m.len-1])
	copy(m.inner[1:m.len], m.inner[:m.len-1])
	m.text[0], m.inner[0] = text, inner
}

// front returns the inner table of the entry in front.
func (m *mtf) front() *mtf {
	if m.inner[0] == nil {
		m.inner[0] = new(mtf)
	}
	return m.inner[0]
}

// blank fills the tables with entries that nothing is known about, text 0.
func (m *mtf) blank() {
	*m = mtf{len: mtfSize}
	for i := range m.inner {
		m.inner[i] = &mtf{len: mtfSize}
	}
}

// location reads a location event at p[i:], behind the event's header. It
// returns the index behind the event, -1 when p ends first or the event
// cannot be.
func (r *Reader) location(l *lane, p []byte, i int) int {
	if i+9 > len(p) {
		return -1
	}
	start := i
	code, n := binary.LittleEndian.Uint64(p[i:]), int(p[i+8])
	i += 9
	a := r.atlas
	first := len(a.places)
	for range n {
		if i+6 > len(p) {
			break
		}
		bits := uint64(binary.LittleEndian.Uint32(p[i:])) | uint64(binary.LittleEndian.Uint16(p[i+4:]))<<32
		i += 6
		file, name := int(bits>>38&31), int(bits>>43&31)
		if i = r.entry(&l.files, file, p, i); i < 0 {
			break
		}
		names := l.files.front()
		if i = r.entry(names, name, p, i); i < 0 {
			break
		}
		a.places = append(a.places, place{bits & (1<<38 - 1), l.files.text[0], names.text[0]})
	}
	if i < 0 || len(a.places)-first != n {
		a.places = a.places[:first]
		return -1
	}
	f, _ := a.frame(code)
	if a.first[f] == noPlaces {
		a.first[f], a.count[f] = uint32(first), uint8(n)
		return i
	}
	if !r.sameText(a.places[a.first[f]:a.first[f]+uint32(a.count[f])], a.places[first:]) {
		r.damage(BadLocation, l.base+int64(start), 0, "code %d was another place before", code)
	}
	a.places = a.places[:first]
	return i
}

// sameText reports whether two lists of places are the same, as far as both
// are known.
func (r *Reader) sameText(a, b []place) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.pos != y.pos || x.file != y.file && x.file*y.file != 0 || x.name != y.name && x.name*y.name != 0 {
			return false
		}
	}
	return true
}

// entry brings to the front of m what a code stands for: an entry, or a new
// string at p[i:]. It returns the index behind what it read, -1 on damage.
func (r *Reader) entry(m *mtf, code int, p []byte, i int) int {
	if code < mtfSize {
		if code >= m.len {
			return -1
		}
		m.hit(code)
		return i
	}
	s, next := cstring(p, i)
	if next < 0 {
		return -1
	}
	m.push(r.atlas.intern(s))
	return next
}

// Code returns the number that the trace has for f, the address in the
// program as a rule.
func (r *Reader) Code(f Frame) uint64 {
	if int(f) >= len(r.atlas.codes) {
		return 0
	}
	return r.atlas.codes[f]
}

// Frames returns how many frames the Reader has numbered so far: f is one of
// them when f < Frames().
func (r *Reader) Frames() int { return len(r.atlas.codes) }

// Located reports whether the trace has told the locations of f, be they
// none. What it has told does not change any more.
func (r *Reader) Located(f Frame) bool {
	return int(f) < len(r.atlas.first) && r.atlas.first[f] != noPlaces
}

// Locations appends the locations of f to list, the outermost caller first
// and the innermost (inlined) callee last.
func (r *Reader) Locations(list []Location, f Frame) []Location {
	if !r.Located(f) {
		return list
	}
	a := r.atlas
	for _, p := range a.places[a.first[f] : a.first[f]+uint32(a.count[f])] {
		list = append(list, Location{
			File:  a.strings[p.file],
			Line:  int(p.pos & 0xfffff),
			Start: int(p.pos >> 20 & 0xff),
			End:   int(p.pos >> 28 & 0x3ff),
			Func:  a.strings[p.name],
		})
	}
	return list
}
