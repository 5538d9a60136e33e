package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// strip takes out of a program that Go made for a page (GOOS=js) what only a
// traceback would say: files, lines, what was inlined where and arguments; the
// names of functions stay. It also joins the data's thousands of segments to
// one. The linker has no flag for either, and together they are a fifth of what
// is left when the program is packed.
//
// What is known of the tables is of package runtime, symtab.go, and of package
// internal/abi, symtab.go. A program whose tables look otherwise is an error.
func strip(program []byte) ([]byte, error) {
	sections, err := split(program)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(sections, func(s section) bool { return s.id == dataSection })
	if at < 0 {
		return nil, errors.New("a program without data")
	}
	m, err := newMemory(sections[at].body)
	if err != nil {
		return nil, err
	}
	t, err := findTables(m.bytes)
	if err != nil {
		return nil, err
	}
	if err := t.strip(); err != nil {
		return nil, err
	}
	sections[at].body = m.segment()
	return join(sections), nil
}

// Which of a function's tables stay: those that the garbage collector, panics
// and growing stacks need.
const (
	keepPoints = 1 << 1                           // PCDATA_StackMapIndex
	keepData   = 1<<0 | 1<<1 | 1<<2 | 1<<4 | 1<<7 // FUNCDATA: maps of arguments and locals, objects, defers, wrappers
	noData     = 1<<32 - 1                        // in the place of a FUNCDATA that is not there
)

// tables are what the runtime knows of the functions, in the program's memory.
type tables struct {
	memory    []byte
	cu, files []byte   // which file has which number; the files' names
	points    []byte   // pctab: what holds from which point of a function on
	funcs     [][]byte // a _func each, and what follows it
	data      []byte   // go.func.*
}

// pcHeader is how the runtime's pcHeader begins: the version, no padding, code
// that is counted by one, and pointers of 8 bytes.
var pcHeader = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}

const funcSize = 44 // of a _func without what follows

func findTables(memory []byte) (*tables, error) {
	bad := func(what string) (*tables, error) {
		return nil, fmt.Errorf("the program's function tables are not those of the Go that is known here: %s", what)
	}
	word := func(at uint64) uint64 {
		if at > uint64(len(memory))-8 {
			return 1 << 62 // too far for anything
		}
		return binary.LittleEndian.Uint64(memory[at:])
	}
	header := uint64(bytes.Index(memory, pcHeader))
	if header > 1<<31 {
		return bad("no header")
	}
	count := word(header + 8)
	names, cu, files, points, funcs := header+word(header+32), header+word(header+40), header+word(header+48), header+word(header+56), header+word(header+64)
	if !slices.IsSorted([]uint64{header, names, cu, files, points, funcs}) || funcs+8*count > uint64(len(memory)) {
		return bad("offsets")
	}
	// The module's data begins with the header's place and its first slice.
	begin := binary.LittleEndian.AppendUint64(nil, header)
	begin = binary.LittleEndian.AppendUint64(begin, names)
	module := uint64(bytes.Index(memory, begin))
	const dataWord, endWord = 40, 41 // gofunc, epclntab
	if module > 1<<31 || word(module+8*13) != funcs {
		return bad("no module")
	}
	data, end := word(module+8*dataWord), word(module+8*endWord)
	if !(funcs < data && data < end && end <= uint64(len(memory))) {
		return bad("data")
	}
	t := &tables{memory: memory, cu: memory[cu:files], files: memory[files:points], points: memory[points:funcs], data: memory[data:end]}
	for i := range count {
		from := funcs + uint64(binary.LittleEndian.Uint32(memory[funcs+8*i+4:]))
		if from+funcSize > data {
			return bad("a function's place")
		}
		f := memory[from:]
		n := funcSize + 4*(uint64(binary.LittleEndian.Uint32(f[28:]))+uint64(f[43]))
		if from+n > data {
			return bad("a function's size")
		}
		t.funcs = append(t.funcs, f[:n])
	}
	return t, nil
}

func (t *tables) strip() error {
	kept, places := []byte{0}, map[uint32]uint32{0: 0}
	move := func(field []byte) error {
		from := binary.LittleEndian.Uint32(field)
		to, ok := places[from]
		if !ok {
			n, err := pointsLen(t.points, from)
			if err != nil {
				return err
			}
			to = uint32(len(kept))
			places[from] = to
			kept = append(kept, t.points[from:from+n]...)
		}
		binary.LittleEndian.PutUint32(field, to)
		return nil
	}
	uses := make(map[uint32]bool) // of the data, and whether it stays
	for _, f := range t.funcs {
		if err := move(f[16:]); err != nil { // the stack's depth
			return err
		}
		clear(f[20:28]) // files, lines
		clear(f[32:40]) // the number of its first file, its first line
		points := int(binary.LittleEndian.Uint32(f[28:]))
		for i := range points {
			field := f[funcSize+4*i:]
			if keepPoints>>i&1 == 0 {
				clear(field[:4])
			} else if err := move(field); err != nil {
				return err
			}
		}
		for i := range int(f[43]) {
			field := f[funcSize+4*(points+i):]
			at := binary.LittleEndian.Uint32(field)
			if at == noData {
				continue
			}
			keep := keepData>>i&1 != 0
			uses[at] = uses[at] || keep
			if !keep {
				binary.LittleEndian.PutUint32(field, noData)
			}
		}
	}
	clear(t.cu)
	clear(t.files)
	clear(t.points[copy(t.points, kept):])
	return t.clearData(uses)
}

// clearData clears what nobody uses any more. A datum ends where the next begins.
func (t *tables) clearData(uses map[uint32]bool) error {
	places := make([]uint32, 0, len(uses))
	for at := range uses {
		places = append(places, at)
	}
	slices.Sort(places)
	for i, at := range places[:max(len(places)-1, 0)] { // of the last nobody knows the end
		to := places[i+1]
		if int(to) > len(t.data) {
			return errors.New("a function's data lies outside of all")
		}
		if !uses[at] {
			clear(t.data[at:to])
		}
	}
	return nil
}

// pointsLen returns how long a table of points is: pairs of numbers of which
// the first is 0 only at its end, or at its very beginning.
func pointsLen(all []byte, from uint32) (uint32, error) {
	at := int(from)
	for first := true; ; first = false {
		if at >= len(all) {
			return 0, errors.New("a function's points have no end")
		}
		if all[at] == 0 && !first {
			return uint32(at) + 1 - from, nil
		}
		for range 2 {
			_, n := binary.Uvarint(all[min(at, len(all)):])
			if n <= 0 {
				return 0, errors.New("a function's points have no end")
			}
			at += n
		}
	}
}
