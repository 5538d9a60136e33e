package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// pack makes a program smaller than a packer can that knows only bytes: what its
// functions consist of is sorted into streams of one kind each, and what follows
// from elsewhere is left out; each stream is [folded]; and gzip packs what is
// left. src/program.ts is the way back.
//
// Unpacked it begins with numbers of four bytes:
//
//	how long the program is, how many functions it has,
//	which number Go's counters of instructions have for the first one,
//	and for each stream how long it is, how many steps it has, how many
//	literals and how many bytes of bits
//
// The columns of each stream follow. The streams are the program up to the first
// function; the program behind the last one; then the parts of a function, see
// [part].
func pack(program []byte) ([]byte, error) {
	head, streams, err := sort(program)
	if err != nil {
		return nil, err
	}
	var columns [][]byte
	for _, s := range streams {
		f := fold(s)
		for _, n := range []int{len(s), len(f.runs), len(f.literals), len(f.bits)} {
			head = binary.LittleEndian.AppendUint32(head, uint32(n))
		}
		columns = append(columns, f.literals, f.runs, f.lengths, f.distances, f.bits)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // tells no time and no name
	if err != nil {
		return nil, err
	}
	for _, c := range append([][]byte{head}, columns...) {
		if _, err := z.Write(c); err != nil {
			return nil, err
		}
		if err := z.Flush(); err != nil { // each has its own code
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// sort returns the streams, and how the head begins.
func sort(program []byte) (head []byte, streams [][]byte, err error) {
	sections, err := split(program)
	if err != nil {
		return nil, nil, err
	}
	front := len(wasmMagic)
	for _, s := range sections {
		size := 1 + uvarintLen(len(s.body)) + len(s.body)
		if s.id != codeSection {
			front += size
			continue
		}
		p := packer{r: leb{rest: s.body}}
		count := p.r.unsigned()
		for p.function = range count {
			if err := p.pack(); err != nil {
				return nil, nil, fmt.Errorf("function %d: %w", p.function, err)
			}
		}
		if p.r.bad || len(p.r.rest) > 0 {
			return nil, nil, errModule
		}
		begin := front + size - len(s.body) + uvarintLen(count)
		streams = append([][]byte{program[:begin], program[front+size:]}, p.parts[:]...)
		for _, n := range []int{len(program), count, firstFunction} {
			head = binary.LittleEndian.AppendUint32(head, uint32(n))
		}
		return head, streams, nil
	}
	return nil, nil, errors.New("a program without code")
}

const codeSection = 10

// firstFunction is the number that Go's linker gives the first function: an
// address of code is the number of a function and, below, that of a block in it.
const firstFunction = 0x1000

// part is a kind of what a function consists of.
type part int

const (
	ops     part = iota // instructions, with their blocks' types and their locals
	locals              // what locals there are
	jumps               // labels
	labels              // of labels: how many, and then each less the one before
	calls               // functions, types
	offsets             // of loads and stores, whose alignment is always the natural one
	ints                // constants of 32 bits
	longs               // constants of 64 bits
	floats              // constants
	blocks              // of addresses of code in this very function: each less the one before
	partCount
)

// address stands for an i64.const whose value is an address in this function.
const address = 0xff

type packer struct {
	r        leb
	function int
	parts    [partCount][]byte
}

// pack takes one function apart.
func (p *packer) pack() error {
	size := p.r.unsigned()
	r := leb{rest: p.r.take(size)}
	add := func(to part, b ...byte) { p.parts[to] = append(p.parts[to], b...) }
	groups := r.number()
	add(locals, groups...)
	n, _ := binary.Uvarint(groups)
	for range n {
		add(locals, r.number()...)
		add(locals, r.byte())
	}
	block, depth := 0, 1
	for depth > 0 && !r.bad {
		op := r.byte()
		switch {
		case op == 0x42:
			n := r.number()
			v, minimal := signed(n)
			if !minimal || v>>16 != firstFunction+p.function {
				add(ops, op)
				add(longs, n...)
				break
			}
			add(ops, address)
			p.parts[blocks] = binary.AppendVarint(p.parts[blocks], int64(v&0xffff-block))
			block = v & 0xffff
			continue
		default:
			add(ops, op)
		}
		switch {
		case op >= 0x02 && op <= 0x04: // block, loop, if
			depth++
			add(ops, r.byte())
		case op == 0x0b: // end
			depth--
		case op == 0x0c || op == 0x0d: // br, br_if
			add(jumps, r.number()...)
		case op == 0x0e: // br_table
			n, last := r.unsigned(), 0
			p.parts[labels] = binary.AppendUvarint(p.parts[labels], uint64(n))
			for i := 0; i <= n && !r.bad; i++ {
				label := r.unsigned()
				p.parts[labels] = binary.AppendVarint(p.parts[labels], int64(label-last))
				last = label
			}
		case op == 0x10: // call
			add(calls, r.number()...)
		case op == 0x11: // call_indirect
			add(calls, r.number()...)
			add(calls, r.number()...)
		case op >= 0x20 && op <= 0x24: // local.get to global.set
			add(ops, r.number()...)
		case op >= 0x28 && op <= 0x3e: // loads and stores
			if r.byte() != alignments[op-0x28] {
				return errors.New("an alignment that is not the natural one")
			}
			add(offsets, r.number()...)
		case op == 0x41: // i32.const
			add(ints, r.number()...)
		case op == 0x43: // f32.const
			add(floats, r.take(4)...)
		case op == 0x44: // f64.const
			add(floats, r.take(8)...)
		case op == 0x3f || op == 0x40: // memory.size, memory.grow
			add(ops, r.byte())
		case op == 0xfc:
			second := r.byte()
			add(ops, second)
			switch {
			case second == 10: // memory.copy
				add(ops, r.take(2)...)
			case second == 11: // memory.fill
				add(ops, r.byte())
			case second > 7: // saturating conversions
				return fmt.Errorf("instruction fc %x is not known here", second)
			}
		case op <= 0x01, op == 0x05, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x42 && op <= 0xc4:
		default:
			return fmt.Errorf("instruction %x is not known here", op)
		}
	}
	if r.bad || len(r.rest) > 0 {
		return errModule
	}
	return nil
}

// alignments are the natural ones of the loads and stores, from i32.load on.
var alignments = [...]byte{2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2}

// number takes a number as it is written.
func (r *leb) number() []byte {
	for i, b := range r.rest {
		if b < 0x80 {
			return r.take(i + 1)
		}
	}
	r.bad, r.rest = true, nil
	return []byte{0}
}

// signed reads a number of up to 40 bits, and tells whether it is written as
// short as can be. Longer ones are not minimal.
func signed(b []byte) (v int, minimal bool) {
	if len(b) > 5 {
		return 0, false
	}
	for i, c := range b {
		v |= int(c&0x7f) << (7 * i)
	}
	shift := bits.UintSize - 7*len(b)
	v = v << shift >> shift
	return v, v >= 0 && len(b) == bits.Len(uint(v))/7+1
}

func uvarintLen(n int) int { return len(binary.AppendUvarint(nil, uint64(n))) }
