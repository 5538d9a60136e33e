package native

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"math"
	"slices"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// cursor goes through one ring. It stands on an event.
type cursor struct {
	Ring
	dir     fs.FS
	packets []found // in order
	next    int     // the packet after the current one

	data []byte // what is left of the current packet
	pos  int    // where the event starts in it
	end  int    // where it ends
	time uint64 // the event's, in cycles
	told uint64 // what its packet says of it: earlier, if the packet begins too early
	past uint64 // the time of the last event before the packet
	kind event.Kind
	file *found

	kinds []event.Kind // by their numbers in the trace

	after bool // whether the event may be the effect of one at the same time

	until    uint64 // what happened later does not count
	complete uint64 // when what can be read without a gap begins; 0 if all can
}

// shapes is how the events of each kind are laid out.
var shapes = packet.Shapes()

// clockKind is the kind of what is no event, but tells the time.
const clockKind = event.NumKinds

// arrange puts the packets in order, and leaves out those that were never
// written to, those that begin too late and those that stand there twice.
func (c *cursor) arrange(until uint64) {
	c.until = until
	for i := range c.packets {
		c.Discarded = max(c.Discarded, c.packets[i].lost)
	}
	c.packets = slices.DeleteFunc(c.packets, func(p found) bool {
		return p.seq < packet.FirstSeq || p.used == packet.HeaderSize && !p.gone
	})
	slices.SortStableFunc(c.packets, func(a, b found) int { return cmp.Compare(a.seq, b.seq) })
	c.packets = slices.CompactFunc(c.packets, func(a, b found) bool { return a.seq == b.seq })
	c.findGaps()
	c.packets = slices.DeleteFunc(c.packets, func(p found) bool { return p.gone || p.begin > until })
	c.Packets = len(c.packets)
}

// findGaps counts the packets that are not there.
func (c *cursor) findGaps() {
	expect := uint64(packet.FirstSeq)
	for i, p := range c.packets {
		if gap := int(p.seq - expect); i == 0 {
			c.Overwritten = gap
		} else {
			c.Missing += gap
		}
		switch {
		case p.gone:
			c.Missing++
			c.complete = p.end
		case p.seq != expect:
			c.complete = p.begin
		}
		expect = p.seq + 1
	}
}

// advance goes to the next event; at the end, data is nil.
func (r *Reader) advance(c *cursor) {
	c.pos = c.end
	for {
		if c.pos < len(c.data) {
			what := c.parse()
			if what == "" && c.time <= c.until {
				return
			} else if what == "" {
				c.data, c.file, c.next = nil, nil, len(c.packets)
				return
			}
			r.broken(c.file.file, c.file.offset+int64(c.pos), "%s; skipped the packet's other %d bytes", what, len(c.data)-c.pos)
		}
		if c.next == len(c.packets) {
			c.data, c.file = nil, nil
			return
		}
		r.enter(c)
	}
}

// enter begins with the next packet.
func (r *Reader) enter(c *cursor) {
	if c.file != nil {
		c.file.data = nil
	}
	p := &c.packets[c.next]
	c.next++
	c.file, c.data = p, p.data
	if c.data == nil {
		var err error
		if c.data, err = load(c.dir, p); err != nil {
			r.broken(p.file, p.offset, "%v", err)
			c.data = nil
		}
	}
	c.pos, c.told, c.past = packet.HeaderSize, p.begin, c.time
	if p.begin < c.past {
		r.broken(p.file, p.offset, "the packet begins before the one before it ends; its events are put after that")
	}
}

func load(dir fs.FS, p *found) ([]byte, error) {
	f, err := dir.Open(p.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at, err := readerAt(f)
	if err != nil {
		return nil, err
	}
	data := make([]byte, p.used)
	if n, err := at.ReadAt(data, p.offset); n < len(data) {
		return nil, cutShort(err)
	}
	return data, nil
}

// parse looks at the event at pos. If it cannot be one, it says what it is.
func (c *cursor) parse() (wrong string) {
	b := c.data[c.pos:]
	if len(b) < 16 {
		return "a part of an event"
	}
	word := binary.LittleEndian.Uint64(b)
	told := c.told + (word-c.told)&packet.TimeMask
	if told > c.file.end {
		return "an event after its packet's end"
	}
	size := 24
	c.kind = clockKind
	if id := int(word >> packet.TimeBits); id != packet.ClockKind {
		if id >= len(c.kinds) || c.kinds[id] == event.NumKinds {
			return "an unknown kind of event"
		}
		c.kind = c.kinds[id]
		shape := shapes[c.kind]
		size = 16 + 8*shape.Words
		if shape.Text {
			if len(b) < size+2 {
				return "a part of an event"
			}
			size += 2 + int(binary.LittleEndian.Uint16(b[size:]))
		}
	}
	if size > len(b) {
		return "a part of an event"
	}
	c.told, c.time = told, max(told, c.past)
	c.end, c.after = c.pos+size, effects>>c.kind&1 != 0
	return ""
}

// effects has a bit for each kind that is the effect of another event.
const effects = 1<<event.Read | 1<<event.ReadLater | 1<<event.Signal | 1<<event.SignalOnly

// read gives the event but for its time.
func (c *cursor) read(e *event.Event) {
	b := c.data[c.pos:c.end]
	e.Offset = c.file.offset + int64(c.pos)
	e.Kind, e.Proc, e.Stack = c.kind, int32(c.ID), 0
	e.Thread = int64(binary.LittleEndian.Uint64(b[8:]))
	spec, at := &event.Specs[e.Kind], 16
	if spec.Other != "" {
		e.Other = int64(binary.LittleEndian.Uint64(b[at:]))
		at += 8
	}
	if spec.Value != "" {
		e.Value = int64(binary.LittleEndian.Uint64(b[at:]))
		at += 8
	}
	if spec.Typed {
		if t := binary.LittleEndian.Uint64(b[at:]); t <= math.MaxUint8 {
			e.Type = event.ThreadType(t)
		} else {
			e.Type = event.Unknown
		}
		at += 8
	}
	if spec.Text != "" {
		e.Text = b[at+2:]
		for len(e.Text) > 0 && e.Text[len(e.Text)-1] == 0 {
			e.Text = e.Text[:len(e.Text)-1]
		}
	}
}

// queue has the cursors that stand on an event, as a heap: the one whose event
// is next comes first.
type queue []*cursor

func (q queue) less(i, j int) bool {
	a, b := q[i], q[j]
	if a.time != b.time {
		return a.time < b.time
	}
	if a.after != b.after {
		return b.after
	}
	return a.ID < b.ID
}

// fix restores the order after the first cursor has moved.
func (q *queue) fix() {
	if h := *q; h[0].data == nil {
		last := len(h) - 1
		h[0] = h[last]
		*q = h[:last]
	}
	q.sink(0)
}

func (q queue) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q); child++ {
			if q.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}

// sort makes a heap.
func (q queue) sort() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
}
