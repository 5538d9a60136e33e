package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// What was folded unfolds to the same, whatever it is.
func TestFold(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	noise := func(n, letters int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(letters))
		}
		return b
	}
	far := noise(100_000, 256)
	all := map[string][]byte{
		"nothing": nil, "a byte": {1}, "zeros": make([]byte, 300_000), "noise": noise(5000, 256), "letters": noise(50_000, 3),
		"far": bytes.Join([][]byte{far, far[:70_000], noise(300, 2), far[20:]}, nil),
	}
	for name, data := range all {
		f := fold(data)
		if got := unfold(f, len(data)); !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes are %d others", name, len(data), len(got))
		}
		if size := len(f.literals) + 3*len(f.runs) + len(f.bits); name == "far" && size > 101_000 || name == "zeros" && size > 20 {
			t.Errorf("%s: %d bytes of %d", name, size, len(data))
		}
	}
}

// unfold is written as program.ts has it.
func unfold(f *folded, size int) []byte {
	var value uint64
	have, rest := 0, f.bits
	take := func(width int) int {
		for ; have < width; have += 8 {
			value |= uint64(rest[0]) << have
			rest = rest[1:]
		}
		taken := value & (1<<width - 1)
		value >>= width
		have -= width
		return int(taken)
	}
	count := func(code byte) int {
		if code < 224 {
			return int(code)
		}
		return 1<<(code-224) + 223 + take(int(code)-224)
	}
	var out []byte
	d, taken := [3]int{1, 2, 4}, 0
	for i := range f.runs {
		n := count(f.runs[i])
		out = append(out, f.literals[taken:taken+n]...)
		taken += n
		n = count(f.lengths[i]) + 2
		switch code := f.distances[i]; code {
		case 0:
		case 1:
			d[0], d[1] = d[1], d[0]
		case 2:
			d[0], d[1], d[2] = d[2], d[0], d[1]
		default:
			width := int(code>>3) - 3
			d[0], d[1], d[2] = (8|int(code&7))<<width|take(width), d[0], d[1]
			d[0] -= 7
		}
		for ; n > 0; n-- {
			out = append(out, out[len(out)-d[0]])
		}
		if len(out) > size {
			return out
		}
	}
	return append(out, f.literals[taken:]...)
}

// What is no program of Go's is an error.
func TestStripRefuses(t *testing.T) {
	segment := []byte{1, 0, 0x41, 0, 0x0b}
	header := append(bytes.Clone(pcHeader), make([]byte, 100)...)
	binary.LittleEndian.PutUint64(header[8:], 1<<40)
	for name, program := range map[string][]byte{
		"nothing":   nil,
		"no data":   join(nil),
		"too short": []byte(wasmMagic + "\x0b\x20\x01"),
		"empty":     join([]section{{dataSection, append(segment[:5:5], 0)}}),
		"functions": join([]section{{dataSection, append(append(segment[:5:5], byte(len(header))), header...)}}),
	} {
		if _, err := strip(program); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := pack(program); err == nil {
			t.Errorf("%s: packed without an error", name)
		}
	}
}
