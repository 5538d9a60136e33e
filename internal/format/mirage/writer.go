package mirage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/mirador-trace/mirador/internal/event"
)

// PacketSize is how long a [Writer]'s packets are, in bytes, but for the last
// one, which is as long as it has to be: so many that a trace of 32 GiB still
// has fewer packets than the format can count.
const PacketSize = 1 << 20

// maxPacket is the longest packet that the format can express in bits, and
// that readers with signed sizes take.
const maxPacket = 1<<28 - 1

// Writer writes a trace, its packets one after the other in the order of
// writing. Call Close at the end.
type Writer struct {
	w      io.Writer
	packet []byte // with room for the header in front
	count  uint16
	full   int  // how long a packet may get
	begun  bool // whether the packet is to be written though it is empty
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, packet: make([]byte, headerSize, PacketSize), full: PacketSize, begun: true}
}

// Begin ends the packet being written and begins one with a number of the
// caller's, so that a copy can keep the packets of its original. From then on
// packets end where the caller says so, or where they have to.
func (w *Writer) Begin(count uint16) error {
	var err error
	if w.full != PacketSize || len(w.packet) > headerSize {
		err = w.flush()
	}
	w.count, w.full, w.begun = count, maxPacket, true
	return err
}

// Write adds an event. Its text ends at its first NUL, if it has one, and is
// cut where no packet could hold it.
func (w *Writer) Write(e *event.Event) error {
	if e.Kind >= numOperations {
		return fmt.Errorf("write event: %s has no operation in this format", e.Kind)
	}
	body := operations[e.Kind]
	size := 9 + body.fixed
	var text []byte
	if body.text {
		text, _, _ = bytes.Cut(e.Text, []byte{0})
		text = text[:min(len(text), maxPacket-headerSize-size-1)]
		size += len(text) + 1
	}
	if len(w.packet)+size > w.full && len(w.packet) > headerSize {
		if err := w.flush(); err != nil {
			return err
		}
	}
	b := binary.LittleEndian.AppendUint64(w.packet, uint64(e.Time))
	b = append(b, byte(e.Kind))
	if e.Kind != event.GC {
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Thread))
	}
	spec := &event.Specs[e.Kind]
	switch {
	case spec.Other != "":
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Other))
	case spec.Value != "":
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Value))
	}
	if spec.Typed {
		b = append(b, byte(e.Type))
	}
	if body.text {
		b = append(b, text...)
		b = append(b, 0)
	}
	w.packet = b
	return nil
}

// Close writes what is left. A trace without events has one empty packet.
func (w *Writer) Close() error {
	if len(w.packet) > headerSize || w.begun {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	b := w.packet
	copy(b, signature)
	binary.LittleEndian.PutUint32(b[20:], uint32(8*len(b)))
	binary.LittleEndian.PutUint16(b[24:], w.count)
	binary.LittleEndian.PutUint32(b[26:], uint32(8*len(b)))
	w.count++
	w.packet, w.begun = b[:headerSize], false
	_, err := w.w.Write(b)
	return err
}
