package event

import "encoding/binary"

// Frame is a call on a stack.
type Frame struct {
	Func string `json:"func"` // the function's name with its package's path
	File string `json:"file"`
	Line int    `json:"line"` // the line of File that was being executed; 0 if unknown
}

// Stacks are the call stacks that the events of a trace name by number, each
// kept once. Number 0 is no stack; the zero Stacks has no other. It may be read
// from any number of goroutines while nothing is added.
type Stacks struct {
	frames []Frame
	calls  []uint32 // indices in frames, one stack after the other
	ends   []uint32 // stack n's calls end at calls[ends[n-1]] and begin where those of n-1 end

	knownFrames map[Frame]uint32
	known       map[string]uint32 // by the bytes of their calls
	key         []byte
}

// MaxStacks is how many stacks are told apart: a number has 24 bits.
const MaxStacks = 1<<24 - 1

// Add returns the number of a stack, innermost call first; 0 for one without
// calls, and for a new one once there are [MaxStacks].
func (s *Stacks) Add(stack []Frame) uint32 {
	if len(stack) == 0 {
		return 0
	}
	if s.known == nil {
		s.knownFrames, s.known = make(map[Frame]uint32), make(map[string]uint32)
	}
	s.key = s.key[:0]
	for _, f := range stack {
		i, ok := s.knownFrames[f]
		if !ok {
			i = uint32(len(s.frames))
			s.frames = append(s.frames, f)
			s.knownFrames[f] = i
		}
		s.key = binary.LittleEndian.AppendUint32(s.key, i)
	}
	if n, ok := s.known[string(s.key)]; ok {
		return n
	}
	if len(s.ends) == MaxStacks {
		return 0
	}
	for i := 0; i < len(s.key); i += 4 {
		s.calls = append(s.calls, binary.LittleEndian.Uint32(s.key[i:]))
	}
	s.ends = append(s.ends, uint32(len(s.calls)))
	s.known[string(s.key)] = uint32(len(s.ends))
	return uint32(len(s.ends))
}

// Len returns how many stacks there are; they have the numbers 1 to Len.
func (s *Stacks) Len() int { return len(s.ends) }

// Frames returns a stack, innermost call first; nil for 0 and for a number
// that no stack has.
func (s *Stacks) Frames(n uint32) []Frame {
	calls := s.of(n)
	if len(calls) == 0 {
		return nil
	}
	frames := make([]Frame, len(calls))
	for i, c := range calls {
		frames[i] = s.frames[c]
	}
	return frames
}

// Outermost returns the call that began a stack, as far as it was recorded:
// the function that a goroutine was started with, most often. It is the zero
// Frame for 0 and for a number that no stack has.
func (s *Stacks) Outermost(n uint32) Frame {
	calls := s.of(n)
	if len(calls) == 0 {
		return Frame{}
	}
	return s.frames[calls[len(calls)-1]]
}

func (s *Stacks) of(n uint32) []uint32 {
	if s == nil || n == 0 || uint64(n) > uint64(len(s.ends)) {
		return nil
	}
	from := uint32(0)
	if n > 1 {
		from = s.ends[n-2]
	}
	return s.calls[from:s.ends[n-1]]
}
