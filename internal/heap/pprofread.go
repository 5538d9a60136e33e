package heap

import (
	"errors"
	"fmt"

	"github.com/mirador-trace/mirador/memtrace"
)

// PprofError says where in a pprof profile something cannot be.
type PprofError struct {
	Offset int // in the unpacked profile
	Err    error
}

func (e *PprofError) Error() string {
	return fmt.Sprintf("offset %d: pprof profile: %v", e.Offset, e.Err)
}

func (e *PprofError) Unwrap() error { return e.Err }

// ErrNoMemory is returned for a pprof profile that is not one of memory.
var ErrNoMemory = errors.New("no memory in it: it has no sample type in bytes")

// LooksLikePprof reports whether unpacked data may be a pprof profile: it
// begins with a sample type, which is a message of two short numbers.
func LooksLikePprof(data []byte) bool {
	return len(data) > 4 && data[0] == 0x0a && data[1] <= 12 && (data[2] == 0x08 || data[2] == 0x10)
}

// pprofProfile is what the reports need of a pprof profile.
type pprofProfile struct {
	types     [][2]uint64 // string numbers of type and unit
	samples   [][]byte
	locations map[uint64][]pprofLine // the innermost function first
	functions map[uint64]pprofFunc
	strings   []string
}

type pprofLine struct{ function, line uint64 }

type pprofFunc struct{ name, file uint64 }

// ReadPprof reads an unpacked pprof profile of memory. kind is the sample
// type to read, such as alloc_space or inuse_space; with "" it is alloc_space
// or else the last one that is in bytes. A sample of the result is a byte.
func ReadPprof(data []byte, s *Stacks, kind string) (*Profile, error) {
	p := &pprofProfile{locations: map[uint64][]pprofLine{}, functions: map[uint64]pprofFunc{}}
	if err := p.read(data); err != nil {
		return nil, err
	}
	column, err := p.column(kind)
	if err != nil {
		return nil, err
	}
	result := &Profile{Stacks: s, Unit: 1}
	var frames [][]memtrace.Location
	for _, b := range p.samples {
		frames = frames[:0]
		var value int64
		n := 0
		fail := fields(b, 0, func(field int, v uint64, list []byte) error {
			switch field {
			case 1:
				return packed(v, list, func(v uint64) { frames = append(frames, p.lines(v)) })
			case 2:
				return packed(v, list, func(v uint64) {
					if n++; n-1 == column {
						value = int64(v)
					}
				})
			}
			return nil
		})
		if fail != nil {
			return nil, fail
		}
		if value != 0 {
			result.add(s.put(frames), value, 1)
		}
	}
	return result, nil
}

// put returns the site of a stack whose innermost frame comes first, and in a
// frame the innermost function.
func (s *Stacks) put(frames [][]memtrace.Location) Site {
	n, place := Node(0), uint32(0)
	seen := map[uint32]bool{}
	for i := len(frames) - 1; i >= 0; i-- {
		for j := len(frames[i]) - 1; j >= 0; j-- {
			l := frames[i][j]
			place = s.place(l)
			if fn := s.name(l.Func); !seen[fn] {
				seen[fn] = true
				n = s.step(n, fn)
			}
		}
	}
	return s.site(n, place)
}

func (p *pprofProfile) text(i uint64) string {
	if i < uint64(len(p.strings)) {
		return p.strings[i]
	}
	return unknown
}

// lines returns the places of a location.
func (p *pprofProfile) lines(id uint64) []memtrace.Location {
	var list []memtrace.Location
	for _, l := range p.locations[id] {
		f := p.functions[l.function]
		list = append(list, memtrace.Location{Func: p.text(f.name), File: p.text(f.file), Line: int(l.line)})
	}
	return list
}

// column returns which of a sample's values to take.
func (p *pprofProfile) column(kind string) (int, error) {
	best := -1
	for i, t := range p.types {
		switch name := p.text(t[0]); {
		case name == kind && kind != "":
			return i, nil
		case kind != "":
		case p.text(t[1]) != "bytes":
		case best < 0 || p.text(p.types[best][0]) != "alloc_space":
			best = i
		}
	}
	switch {
	case best >= 0:
		return best, nil
	case kind != "":
		return 0, fmt.Errorf("pprof profile without sample type %s", kind)
	}
	return 0, ErrNoMemory
}

func (p *pprofProfile) read(data []byte) error {
	return fields(data, 0, func(field int, v uint64, b []byte) error {
		switch field {
		case 1:
			var t [2]uint64
			err := fields(b, 0, func(field int, v uint64, _ []byte) error {
				if field == 1 || field == 2 {
					t[field-1] = v
				}
				return nil
			})
			p.types = append(p.types, t)
			return err
		case 2:
			p.samples = append(p.samples, b)
		case 4:
			return p.readLocation(b)
		case 5:
			var id uint64
			var f pprofFunc
			err := fields(b, 0, func(field int, v uint64, _ []byte) error {
				switch field {
				case 1:
					id = v
				case 2:
					f.name = v
				case 4:
					f.file = v
				}
				return nil
			})
			p.functions[id] = f
			return err
		case 6:
			p.strings = append(p.strings, string(b))
		}
		return nil
	})
}

func (p *pprofProfile) readLocation(b []byte) error {
	var id uint64
	var lines []pprofLine
	err := fields(b, 0, func(field int, v uint64, b []byte) error {
		switch field {
		case 1:
			id = v
		case 4:
			var l pprofLine
			err := fields(b, 0, func(field int, v uint64, _ []byte) error {
				switch field {
				case 1:
					l.function = v
				case 2:
					l.line = v
				}
				return nil
			})
			lines = append(lines, l)
			return err
		}
		return nil
	})
	p.locations[id] = lines
	return err
}

var errCut = errors.New("a field is cut")

// fields calls f for each field of a protobuf message: with the number of a
// varint, or with the bytes of a field that has some.
func fields(b []byte, base int, f func(field int, v uint64, b []byte) error) error {
	for i := 0; i < len(b); {
		at := i
		tag, n := varint(b[i:])
		i += n
		if n == 0 {
			return &PprofError{base + at, errCut}
		}
		var v uint64
		var data []byte
		switch tag & 7 {
		case 0:
			if v, n = varint(b[i:]); n == 0 {
				return &PprofError{base + at, errCut}
			}
			i += n
		case 1:
			i += 8
		case 5:
			i += 4
		case 2:
			size, n := varint(b[i:])
			i += n
			if n == 0 || size > uint64(len(b)-i) {
				return &PprofError{base + at, errCut}
			}
			data = b[i : i+int(size)]
			i += int(size)
		default:
			return &PprofError{base + at, fmt.Errorf("wire type %d", tag&7)}
		}
		if i > len(b) {
			return &PprofError{base + at, errCut}
		}
		if err := f(int(tag>>3), v, data); err != nil {
			return err
		}
	}
	return nil
}

// packed calls f for each number of a repeated field, packed or not.
func packed(v uint64, list []byte, f func(uint64)) error {
	if list == nil {
		f(v)
		return nil
	}
	for at := 0; at < len(list); {
		v, n := varint(list[at:])
		if n == 0 {
			return &PprofError{at, errCut}
		}
		f(v)
		at += n
	}
	return nil
}

// varint returns the number at the start of b and its length, 0 when b ends
// first.
func varint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 10 {
		v |= uint64(b[n]&0x7f) << (7 * n)
		n++
		if b[n-1] < 0x80 {
			return v, n
		}
	}
	return 0, 0
}
