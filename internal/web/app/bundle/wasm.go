package main

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// section is a part of a WebAssembly module.
type section struct {
	id   byte
	body []byte
}

const dataSection = 11

const wasmMagic = "\x00asm\x01\x00\x00\x00"

var errModule = errors.New("not a WebAssembly module, or a damaged one")

func split(module []byte) (all []section, err error) {
	rest, ok := bytes.CutPrefix(module, []byte(wasmMagic))
	if !ok {
		return nil, errModule
	}
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errModule
		}
		from := 1 + n
		all = append(all, section{rest[0], rest[from : from+int(size)]})
		rest = rest[from+int(size):]
	}
	return all, nil
}

func join(sections []section) []byte {
	out := []byte(wasmMagic)
	for _, s := range sections {
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(s.body)))
		out = append(out, s.body...)
	}
	return out
}

// memory is what a module's data makes of its memory, from address 0.
type memory struct {
	first int // where the data begins
	bytes []byte
}

// newMemory lays the segments of a data section to where they belong.
func newMemory(body []byte) (*memory, error) {
	r := leb{body, false}
	m := &memory{first: -1}
	for range r.unsigned() {
		const i32Const, end = 0x41, 0x0b
		active, op := r.unsigned(), r.byte()
		at := r.signed()
		if active != 0 || op != i32Const || r.byte() != end || at < 0 || at > 1<<30 {
			return nil, errModule
		}
		data := r.take(r.unsigned())
		if r.bad {
			return nil, errModule
		}
		if m.first < 0 || at < m.first {
			m.first = at
		}
		if end := at + len(data); end > len(m.bytes) {
			m.bytes = append(m.bytes, make([]byte, end-len(m.bytes))...)
		}
		copy(m.bytes[at:], data)
	}
	if r.bad || m.first < 0 {
		return nil, errModule
	}
	return m, nil
}

// segment returns a data section of one segment.
func (m *memory) segment() []byte {
	data := m.bytes[m.first:]
	out := []byte{1, 0, 0x41}
	at := m.first
	for ; at > 0x3f; at >>= 7 {
		out = append(out, byte(at)|0x80)
	}
	out = append(out, byte(at), 0x0b)
	return append(binary.AppendUvarint(out, uint64(len(data))), data...)
}

// leb reads numbers as WebAssembly writes them.
type leb struct {
	rest []byte
	bad  bool // it ended too early
}

func (r *leb) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *leb) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *leb) unsigned() int {
	v, n := binary.Uvarint(r.rest)
	if r.take(n); n <= 0 || v > 1<<31 {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *leb) signed() int {
	v, shift := 0, 0
	for {
		b := r.byte()
		v |= int(b&0x7f) << shift
		shift += 7
		if b < 0x80 || shift > 35 {
			if b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}
