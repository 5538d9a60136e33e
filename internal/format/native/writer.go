package native

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Writer makes a trace directory of events, in memory. Stacks are left out.
type Writer struct {
	trace packet.Trace
	rings map[int32]*written
}

// written is the file of one ring.
type written struct {
	packets []byte
	from    int // where the newest packet begins
	seq     uint64
}

// origin is when a written trace begins, in cycles of its clock, each 1 ns.
const origin = 1_000_000_000

// packetSize is how long a written packet gets, in bytes.
const packetSize = 256 << 10

// NewWriter returns a writer of a trace that began at a time in the world. The
// uuid tells the trace from others.
func NewWriter(start time.Time, uuid [16]byte) *Writer {
	return &Writer{
		trace: packet.Trace{UUID: uuid, Program: "mirador", Frequency: 1e9, ClockName: "monotonic",
			Start: packet.Clock{Cycles: origin, Realtime: start.UnixNano()}},
		rings: make(map[int32]*written),
	}
}

// Write adds an event, whose time is in ns since the start and not before that
// of the events of the same Proc. Of a text that is too long, the rest is cut.
func (w *Writer) Write(e *event.Event) {
	r := w.rings[e.Proc]
	if r == nil {
		r = &written{seq: packet.FirstSeq - 1}
		w.rings[e.Proc] = r
	}
	now := uint64(origin + e.Time)
	if len(r.packets) == 0 || len(r.packets)-r.from > packetSize {
		r.from = len(r.packets)
		r.seq++
		r.packets = append(r.packets, make([]byte, packet.HeaderSize)...)
		packet.Put(r.packets[r.from:], w.trace.UUID, uint64(e.Proc), r.seq, packet.HeaderSize, now)
	}
	le, spec := binary.LittleEndian, &event.Specs[e.Kind]
	b := le.AppendUint64(r.packets, uint64(e.Kind)<<packet.TimeBits|now&packet.TimeMask)
	b = le.AppendUint64(b, uint64(e.Thread))
	if spec.Other != "" {
		b = le.AppendUint64(b, uint64(e.Other))
	}
	if spec.Value != "" {
		b = le.AppendUint64(b, uint64(e.Value))
	}
	if spec.Typed {
		b = le.AppendUint64(b, uint64(e.Type))
	}
	if spec.Text != "" {
		text := e.Text[:min(len(e.Text), packet.MaxText)]
		padding := -(2 + len(text)) & 7
		b = le.AppendUint16(b, uint16(len(text)+padding))
		b = append(append(b, text...), make([]byte, padding)...)
	}
	r.packets = b
	head := b[r.from:]
	le.PutUint64(head[packet.OffEnd:], now)
	le.PutUint64(head[packet.OffContent:], 8*uint64(len(head)))
	le.PutUint64(head[packet.OffSize:], 8*uint64(len(head)))
}

// Files returns the directory's files by their names. They share the writer's
// memory.
func (w *Writer) Files() map[string][]byte {
	files := map[string][]byte{"metadata": w.trace.Metadata()}
	for _, proc := range slices.Sorted(maps.Keys(w.rings)) {
		files["stream."+strconv.Itoa(int(proc))] = w.rings[proc].packets
	}
	return files
}
