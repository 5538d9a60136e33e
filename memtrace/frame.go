package memtrace

import (
	"bytes"
	"fmt"
)

// framing is where a packet, or a stretch that is none, ends.
type framing struct {
	size    int // bytes; 0 is the end of the input
	more    int // when not 0: how many bytes it takes to tell
	packet  bool
	h       header // of a packet
	partial bool
	version int // when that is the reason for a refusal, else -1

	kind   DamageKind // what is wrong, 0 when nothing is
	detail string
}

var magicBytes = []byte{0xC1, 0x1F, 0xFC, 0xC1}

// frame finds out what b begins with. final says that the input ends with b.
func frame(b []byte, final bool, r *Reader) framing {
	h, ok := parseHeader(b)
	if !ok {
		switch {
		case !final:
			return framing{more: max(headerSizeV3, len(b)+1)}
		case len(b) == 0:
			return framing{}
		case bytes.HasPrefix(b, magicBytes[:min(4, len(b))]):
			return framing{size: len(b), kind: Truncated, version: -1, detail: "inside a header"}
		}
		return framing{size: len(b), kind: Garbage, version: -1, detail: "at the end"}
	}
	if !hasMagic(b) || !h.framed() {
		return resync(b, h, final, r)
	}
	if len(b) >= h.size {
		// A live stream may end here for now: what has come is looked at,
		// and no more is waited for.
		if h.size == len(b) || startsPacket(b[h.size:]) {
			return framing{size: h.size, packet: true, h: h}
		}
		// The next packet is not where it should be. Is it inside this one?
		if j := find(b[:min(len(b), h.size+headerSizeV3)], h.headerLength, r); j > 0 && j < h.size {
			return framing{size: j, packet: true, h: h, kind: BadHeader,
				detail: fmt.Sprintf("size %d, but the next packet begins at %d", h.size, j)}
		}
		return framing{size: h.size, packet: true, h: h}
	}
	if !final {
		return framing{more: h.size}
	}
	if j := find(b, h.headerLength, r); j > 0 {
		return framing{size: j, packet: true, h: h, kind: BadHeader,
			detail: fmt.Sprintf("size %d, but the next packet begins at %d", h.size, j)}
	}
	return framing{size: len(b), packet: true, h: h, partial: true, kind: Truncated,
		detail: fmt.Sprintf("%d of its %d bytes are there", len(b), h.size)}
}

// startsPacket reports whether b may begin with a packet, as far as it goes.
func startsPacket(b []byte) bool {
	n := min(len(b), 4)
	return bytes.Equal(b[:n], magicBytes[:n])
}

// resync looks for the next packet behind the bad header h at the start of b.
// What is before it is still taken for a packet when only the magic or only
// the size is wrong.
func resync(b []byte, h header, final bool, r *Reader) framing {
	j := find(b, 1, r)
	switch {
	case j > 0:
	case final:
		j = len(b)
	case len(b) < 2*maxReadPacket:
		return framing{more: 2 * len(b)}
	default:
		j = len(b) - headerSizeV3
	}
	sane := r.known && h.pid == r.info.PID && int(h.version) == r.info.Version && h.flush == 0 &&
		h.end >= h.begin && j > h.headerLength
	switch {
	case !sane:
	case !hasMagic(b) && h.size == j:
		return framing{size: j, packet: true, h: h, kind: BadHeader, detail: "wrong magic number"}
	case hasMagic(b):
		return framing{size: j, packet: true, h: h, kind: BadHeader, detail: "impossible size"}
	}
	f := framing{size: j, kind: Garbage, version: -1}
	if hasMagic(b) && (h.version < 1 || h.version > 3) {
		f.version = int(h.version)
		f.detail = fmt.Sprintf("version %d", h.version)
	}
	return f
}

// find returns where in b, from on, a packet's header begins that can be
// believed; -1 is nowhere.
func find(b []byte, from int, r *Reader) int {
	for from < len(b) {
		j := bytes.Index(b[from:], magicBytes)
		if j < 0 {
			return -1
		}
		from += j
		if h, ok := parseHeader(b[from:]); ok && h.plausible() {
			if !r.known || h.pid == r.info.PID {
				return from
			}
			// Another process's is believed when a packet follows it.
			if end := from + h.size; end <= len(b) && startsPacket(b[end:]) {
				return from
			}
		}
		from++
	}
	return -1
}
