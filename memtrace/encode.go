package memtrace

import "encoding/binary"

// maxBacktrace is where a backtrace is cut: the innermost frames are lost.
const maxBacktrace = 4096

// backtrace appends the code words for codes to the packet and returns their
// number. A code is looked for in two buckets of the cache. Where it is, its
// bucket is told; and not even that as long as each code is in the bucket
// that came after the last one the time before.
func (d *Domain) backtrace(codes []uint64, id uint64) (words int) {
	limit := len(d.packet) + maxBacktrace - 10
	bucket := uint16(0)
	for i := 0; i < len(codes) && len(d.packet) <= limit; {
		code := codes[i]
		i++
		words++
		last := bucket
		bucket = uint16(code * 0x4983723 >> 11 & cacheMask)
		if d.code[bucket&cacheMask] != code {
			other := uint16(code * 0xfdea731 >> 21 & cacheMask)
			if d.code[other&cacheMask] != code {
				if d.date[bucket&cacheMask] >= d.date[other&cacheMask] {
					bucket = other
				}
				d.miss(bucket, code, id)
				d.next[last&cacheMask] = bucket
				continue
			}
			bucket = other
		}
		first := bucket
		d.date[first&cacheMask] = id
		d.next[last&cacheMask] = first
		run := 0
		for i < len(codes) && len(d.packet)+2 <= limit && run < 255 {
			next := d.next[bucket&cacheMask]
			if d.code[next&cacheMask] != codes[i] {
				break
			}
			bucket = next
			run++
			i++
		}
		switch run {
		case 0:
			d.packet = append(d.packet, byte(first<<2), byte(first>>6))
		case 1:
			d.packet = append(d.packet, byte(first<<2|1), byte(first>>6))
		default:
			d.packet = append(d.packet, byte(first<<2|2), byte(first>>6), byte(run))
		}
	}
	return words
}

// miss puts a code into a bucket and tells so.
func (d *Domain) miss(bucket uint16, code, id uint64) {
	d.fresh = append(d.fresh, code) // once more when it was evicted: so does the original
	d.code[bucket&cacheMask], d.date[bucket&cacheMask] = code, id
	d.packet = append(d.packet, byte(bucket<<2|3), byte(bucket>>6))
	d.packet = binary.LittleEndian.AppendUint64(d.packet, code)
}

// fileTable is the writer's move-to-front table of files, each with one of
// function names.
type fileTable struct {
	len   int
	text  [mtfSize]string
	names [mtfSize]*fileTable
}

// code returns what stands for text, mtfSize when it is not in the table, and
// brings it to the front. A text that is new begins without names; a reader's
// entry may have those of the one that was dropped, of which it hears no more.
func (m *fileTable) code(text string) int {
	for i := range m.len {
		if m.text[i] == text {
			names := m.names[i]
			copy(m.text[1:i+1], m.text[:i])
			copy(m.names[1:i+1], m.names[:i])
			m.text[0], m.names[0] = text, names
			return i
		}
	}
	if m.len < mtfSize {
		m.len++
	}
	copy(m.text[1:m.len], m.text[:m.len-1])
	copy(m.names[1:m.len], m.names[:m.len-1])
	m.text[0], m.names[0] = text, nil
	return mtfSize
}

func (m *fileTable) front() *fileTable {
	if m.names[0] == nil {
		m.names[0] = new(fileTable)
	}
	return m.names[0]
}

// flushLocations writes the locations of the codes that are new, in packets
// of their own.
func (d *Domain) flushLocations() {
	w := d.w
	for len(d.fresh) > 0 {
		b := w.appendHeader(w.block[:0], d.id, nil)
		for len(d.fresh) > 0 && maxPacket-len(b) > maxLocation {
			b = d.appendLocations(b, d.fresh[0])
			d.fresh = d.fresh[1:]
		}
		w.closeHeader(b, d.begin, d.begin, d.idBegin, d.idBegin)
		w.write(b)
		w.block = b
	}
	d.fresh = d.fresh[:0]
}

// A location event has at most so many bytes.
const maxLocation = 4 + 8 + 1 + maxLocBytes

func (d *Domain) appendLocations(b []byte, code uint64) []byte {
	list := d.w.locate(code)
	size := 0
	for _, l := range list {
		size += 6 + len(l.File) + 1 + len(l.Func) + 1
	}
	if len(list) > maxLocs || size > maxLocBytes {
		list = []Location{{File: unknownFile, Line: 1, Start: 1, End: 1, Func: unknownFunc}}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(d.begin&timeMask)|codeLocation<<timeBits)
	b = binary.LittleEndian.AppendUint64(b, code)
	b = append(b, byte(len(list)))
	for _, l := range list {
		file := d.files.code(l.File)
		name := d.files.front().code(l.Func)
		bits := clamp(l.Line, 0xfffff) | clamp(l.Start, 0xff)<<20 | clamp(l.End, 0x3ff)<<28 |
			uint64(file)<<38 | uint64(name)<<43
		b = append(b, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24), byte(bits>>32), byte(bits>>40))
		if file == mtfSize {
			b = appendText(b, l.File)
		}
		if name == mtfSize {
			b = appendText(b, l.Func)
		}
	}
	return b
}

// clamp limits v to what its field can hold; a negative number is the most,
// as in the original.
func clamp(v int, most uint64) uint64 {
	if v < 0 || uint64(v) > most {
		return most
	}
	return uint64(v)
}
