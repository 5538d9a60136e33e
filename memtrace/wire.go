package memtrace

import "encoding/binary"

// What the format fixes. The layouts are drawn in the package's doc.
const (
	magic         = 0xC1FC1FC1
	maxPacket     = 32768 // the size of the original reader's buffer
	maxReadPacket = 1 << 20
	headerSize    = 66 // versions 1 and 2
	headerSizeV3  = 68

	timeBits = 25
	timeMask = 1<<timeBits - 1

	cacheSize = 1 << 14
	cacheMask = cacheSize - 1

	verifyStart = 4242
	verifyStep  = 5413
	verifyNone  = 0xffff

	codeInfo     = 0
	codeLocation = 1
	codeAlloc    = 2
	codePromote  = 3
	codeCollect  = 4
	codeShort    = 100 // + the length, 1..16

	unknownFile = "<unknown>"
	unknownFunc = "??"
	maxLocs     = 255
	maxLocBytes = 4096
	mtfSize     = 31
	chunkIDs    = 10000
)

// header is what opens a packet.
type header struct {
	size         int // bytes, this header included
	begin, end   int64
	flush        uint32
	version      uint16
	pid          uint64
	domain       uint16
	verifyIx     uint16
	verifyPred   uint16
	verifyVal    uint64
	idBegin      uint64
	idEnd        uint64
	headerLength int
}

// parseHeader reads the header at the start of b, whatever it says. It
// reports false when b is shorter than a header of its version.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize {
		return h, false
	}
	le := binary.LittleEndian
	bits := le.Uint32(b[4:])
	h.size = int(bits / 8)
	if bits%8 != 0 {
		h.size = -1
	}
	h.begin = int64(le.Uint64(b[8:]))
	h.end = int64(le.Uint64(b[16:]))
	h.flush = le.Uint32(b[24:])
	h.version = le.Uint16(b[28:])
	h.pid = le.Uint64(b[30:])
	rest := b[38:]
	h.headerLength = headerSize
	if h.version >= 3 {
		if len(b) < headerSizeV3 {
			return h, false
		}
		h.domain = le.Uint16(rest)
		rest = rest[2:]
		h.headerLength = headerSizeV3
	}
	h.verifyIx = le.Uint16(rest)
	h.verifyPred = le.Uint16(rest[2:])
	h.verifyVal = le.Uint64(rest[4:])
	h.idBegin = le.Uint64(rest[12:])
	h.idEnd = le.Uint64(rest[20:])
	return h, true
}

// framed says that the header's size and version can be believed.
func (h *header) framed() bool {
	return h.version >= 1 && h.version <= 3 && h.size >= h.headerLength && h.size <= maxReadPacket
}

// plausible says that the header makes sense in every field: what a header
// that was found by searching must show.
func (h *header) plausible() bool {
	return h.framed() && h.flush == 0 && h.begin >= 0 && h.end >= h.begin && h.idEnd >= h.idBegin
}

// hasMagic reports whether a packet's magic is at the start of b.
func hasMagic(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b) == magic
}

// vint reads a variable-length integer at p[i:] and returns it with the index
// behind it, which is -1 when p ends first.
func vint(p []byte, i int) (int64, int) {
	if i >= len(p) {
		return 0, -1
	}
	switch b := p[i]; {
	case b < 253:
		return int64(b), i + 1
	case b == 253:
		if i+3 > len(p) {
			return 0, -1
		}
		return int64(binary.LittleEndian.Uint16(p[i+1:])), i + 3
	case b == 254:
		if i+5 > len(p) {
			return 0, -1
		}
		return int64(int32(binary.LittleEndian.Uint32(p[i+1:]))), i + 5
	default:
		if i+9 > len(p) {
			return 0, -1
		}
		return int64(binary.LittleEndian.Uint64(p[i+1:])), i + 9
	}
}

// appendVint appends v in its shortest form.
func appendVint(b []byte, v int64) []byte {
	switch {
	case v >= 0 && v < 253:
		return append(b, byte(v))
	case v >= 0 && v <= 0xffff:
		return append(b, 253, byte(v), byte(v>>8))
	case v >= -1<<31 && v < 1<<31:
		return binary.LittleEndian.AppendUint32(append(b, 254), uint32(v))
	default:
		return binary.LittleEndian.AppendUint64(append(b, 255), uint64(v))
	}
}

// cstring reads a string closed by a zero byte at p[i:] and returns it with
// the index behind the zero, which is -1 when p ends first.
func cstring(p []byte, i int) ([]byte, int) {
	for j := i; j < len(p); j++ {
		if p[j] == 0 {
			return p[i:j], j + 1
		}
	}
	return nil, -1
}
