package memprof

import (
	"runtime"
	"strings"

	"github.com/mirador-trace/mirador/memtrace"
)

// stacks numbers call stacks. All of it lies outside the Go heap: in a small one,
// each kilobyte that lives makes for more collections.
type stacks struct {
	codes  slab[uint64] // of all stacks, each the outermost caller first
	spans  slab[span]   // of each in codes
	byHash table[uint32]
	inner  table[inner] // of codes that a stack began with
	turned []uint64     // a stack while it is turned round
	place  [1]memtrace.Location
}

type span struct{ begin, end uint32 }

func (s *stacks) release() {
	s.codes.release()
	s.spans.release()
	s.byHash.release()
	s.inner.release()
}

// of returns the addresses of a stack.
func (s *stacks) of(number uint32) []uint64 {
	p := s.spans.s[number]
	return s.codes.s[p.begin:p.end]
}

// number returns the number of a stack of return addresses as runtime.Callers
// gives them, the innermost function first. The allocator's own functions in
// front are left out, as pprof does.
func (s *stacks) number(pcs []uintptr) (uint32, error) {
	pcs = pcs[s.allocator(pcs):]
	s.turned = s.turned[:0]
	for i := len(pcs) - 1; i >= 0; i-- {
		s.turned = append(s.turned, uint64(pcs[i]))
	}
	h := uint64(14695981039346656037)
	for _, c := range s.turned {
		h = (h ^ c) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for h |= 1; ; h += 2 {
		v, err := s.byHash.put(h)
		if err != nil {
			return 0, err
		}
		if *v == 0 {
			number, err := s.add()
			if err != nil {
				s.byHash.remove(h)
				return 0, err
			}
			*v = number + 1
			return number, nil
		}
		if equal(s.of(*v-1), s.turned) {
			return *v - 1, nil
		}
	}
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// add gives a number to the stack in turned.
func (s *stacks) add() (uint32, error) {
	begin := len(s.codes.s)
	if err := s.codes.reserve(begin + len(s.turned)); err != nil {
		return 0, err
	}
	s.codes.s = append(s.codes.s, s.turned...)
	err := s.spans.add(span{uint32(begin), uint32(len(s.codes.s))})
	return uint32(len(s.spans.s) - 1), err
}

// inner says whether a code is in one of the runtime's functions.
type inner uint8

const (
	unknown inner = iota
	ofRuntime
	ofOthers
)

// allocator returns how many of the innermost functions are the runtime's,
// 0 when all are.
func (s *stacks) allocator(pcs []uintptr) int {
	for i, pc := range pcs {
		if s.innerOf(uint64(pc)) != ofRuntime {
			return i
		}
	}
	return 0
}

func (s *stacks) innerOf(code uint64) inner {
	known, err := s.inner.put(code)
	if err != nil { // no memory
		known = new(inner)
	}
	if *known == unknown {
		*known = ofOthers
		if at := s.locate(code); len(at) > 0 &&
			(strings.HasPrefix(at[0].Func, "runtime.") || strings.HasPrefix(at[0].Func, "internal/runtime/")) {
			*known = ofRuntime
		}
	}
	return *known
}

// locate returns the place of a return address, until it is called again. An
// inlined function has an address of its own here. The runtime is asked each
// time: a stream wants few places twice.
func (s *stacks) locate(code uint64) []memtrace.Location {
	f, _ := runtime.CallersFrames([]uintptr{uintptr(code)}).Next()
	if f.Function == "" && f.File == "" {
		return nil
	}
	s.place[0] = memtrace.Location{File: f.File, Line: f.Line, Func: f.Function}
	return s.place[:]
}
