// Package testtrace makes traces for tests out of text that people can read.
//
// It has one function, [Encode]. A trace as text is a line per event in the
// form of [event.Event.AppendText], and these lines:
//
//	packet                starts a packet, with the number after the last one's
//	packet count=7        starts a packet with this number
//	packet size=400       makes the packet this many bytes long, its end stale
//	bytes 00 01 fe        puts these bytes into the packet, whatever they are
//	# a remark            is passed over, as an empty line is
//
// Lines before the first packet line are in a packet of their own.
package testtrace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

// header is how long a packet's header is, in bytes.
const header = 30

// Encode returns the mirage-profile trace that the text describes. An error
// tells the line.
func Encode(text []byte) ([]byte, error) {
	var out []byte
	var p packet
	var written bytes.Buffer
	w := mirage.NewWriter(&written)
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "packet":
			out = p.appendTo(out)
			p, err = p.next(rest)
		case word == "bytes":
			var b []byte
			b, err = hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
			p.begun, p.content = true, append(p.content, b...)
		default:
			written.Reset()
			if err = encodeEvent(w, line); err == nil {
				p.begun, p.content = true, append(p.content, written.Bytes()[header:]...)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return p.appendTo(out), nil
}

// encodeEvent writes a packet with one event.
func encodeEvent(w *mirage.Writer, line string) error {
	var e event.Event
	if err := e.ParseText([]byte(line)); err != nil {
		return err
	}
	if back := string(e.AppendText(nil)); back != line {
		return fmt.Errorf("%s is written %s", line, back)
	}
	if err := w.Write(&e); err != nil {
		return err
	}
	return w.Close()
}

// packet is one being filled.
type packet struct {
	begun   bool
	count   uint16
	size    int // in bytes, header included; 0: as long as the content
	content []byte
}

// next returns the packet after p that a packet line describes.
func (p packet) next(options string) (packet, error) {
	n := packet{begun: true, count: p.count}
	if p.begun {
		n.count++
	}
	for _, option := range strings.Fields(options) {
		name, value, _ := strings.Cut(option, "=")
		v, err := strconv.ParseUint(value, 10, 24)
		if err != nil {
			return n, err
		}
		switch name {
		case "count":
			n.count = uint16(v)
		case "size":
			n.size = int(v)
		default:
			return n, fmt.Errorf("packets have no %s", name)
		}
	}
	return n, nil
}

func (p packet) appendTo(b []byte) []byte {
	if !p.begun {
		return b
	}
	end := header + len(p.content)
	size := max(p.size, end)
	b = append(b, "\xc1\x1f\xfc\xc1\x05\x88\x3b\x8d\x52\x1a\x48\x7b\xb3\x97\x45\x6a\xb1\x50\x68\x0c"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(8*size))
	b = binary.LittleEndian.AppendUint16(b, p.count)
	b = binary.LittleEndian.AppendUint32(b, uint32(8*end))
	b = append(b, p.content...)
	return append(b, bytes.Repeat([]byte{0xAA}, size-end)...)
}
