package region

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// A stream is a region on its way: its header and metadata, then packets, each
// as long as the header says and with zeros behind its content, and header
// pages again. A packet comes again when it has got more events.

// Sender sends a region as a stream.
type Sender struct {
	w      io.Writer
	mem    []byte
	region *Region
	seen   Seen
}

// NewSender sends the header of the region in mem.
func NewSender(w io.Writer, mem []byte) (*Sender, error) {
	r, err := Open(bytes.NewReader(mem), 0, int64(len(mem)))
	if err != nil {
		return nil, err
	}
	s := &Sender{w: w, mem: mem, region: r}
	_, err = w.Write(bytes.Clone(mem[:r.Packets]))
	return s, err
}

// Send sends the packets that have got events since the last call.
func (s *Sender) Send() error {
	b := make([]byte, s.region.PacketSize)
	return s.region.Changed(&s.seen, func(_ Ring, data []byte) error {
		clear(b[copy(b, data):])
		_, err := s.w.Write(b)
		return err
	})
}

// SendClocks sends the header page once more.
func (s *Sender) SendClocks() error {
	_, err := s.w.Write(bytes.Clone(s.mem[:Page]))
	return err
}

// Receiver reads a stream.
type Receiver struct {
	in     io.Reader
	region *Region
	buf    []byte
	offset int64
}

// NewReceiver reads the header of a stream. The error is an [*Error].
func NewReceiver(in io.Reader) (*Receiver, error) {
	s := &Receiver{in: in}
	header := make([]byte, Page)
	if _, err := s.read(header); err != nil {
		return nil, err
	}
	h, err := parse(header, math.MaxInt64)
	if err != nil {
		return nil, &Error{0, err}
	}
	header = append(header, make([]byte, h.Packets-Page)...)
	if _, err := s.read(header[Page:]); err != nil {
		return nil, err
	}
	if s.region, err = open(bytes.NewReader(header), 0, math.MaxInt64); err != nil {
		return nil, &Error{0, err}
	}
	s.buf = make([]byte, h.PacketSize)
	return s, nil
}

// Region returns what the header said last. It has no packets.
func (s *Receiver) Region() *Region { return s.region }

// Next returns the next packet up to its content's end, valid until the next
// call. At the stream's end the error is io.EOF, and else an [*Error].
func (s *Receiver) Next() ([]byte, error) {
	for {
		start := s.offset
		if n, err := s.read(s.buf[:Page]); err != nil {
			if n == 0 && errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			return nil, err
		}
		if Is(s.buf) {
			if h, err := parse(s.buf[:Page], math.MaxInt64); err == nil && h.UUID == s.region.UUID {
				s.region.Clocks = parseClocks(s.buf[:Page])
			}
			continue
		}
		if _, err := s.read(s.buf[Page:]); err != nil {
			return nil, err
		}
		h := packet.Header(s.buf)
		if binary.LittleEndian.Uint32(s.buf) != packet.Magic {
			return nil, &Error{start, ErrNoPacket}
		}
		for _, ring := range s.region.Rings {
			if ring.ID == h.Ring() && s.region.checkPacket(ring.First+int((h.Seq()-packet.FirstSeq)%uint64(ring.Slots)), h) == nil {
				return s.buf[:h.Content()/8], nil
			}
		}
		return nil, &Error{start, ErrNoPacket}
	}
}

func (s *Receiver) read(b []byte) (int, error) {
	n, err := io.ReadFull(s.in, b)
	s.offset += int64(n)
	if err != nil {
		return n, &Error{s.offset, fmt.Errorf("the stream ends here: %w", err)}
	}
	return n, nil
}
