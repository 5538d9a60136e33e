package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// trace describes the traces of these tests: their clock has 2 cycles a ns,
// and began at cycle 1000.
var trace = packet.Trace{
	UUID: [16]byte{1, 2, 3}, Program: "test", PID: 4711, GoVersion: "go1.26",
	Start:     packet.Clock{Cycles: 1000, Monotonic: 5e9, Realtime: 1.7e18},
	Frequency: 2e9, ClockName: "tsc",
}

// slot makes packets.
type slot struct {
	b    []byte
	ring uint64
}

func newSlot(ring, seq, begin uint64, size int) *slot {
	b := make([]byte, size)
	packet.Put(b, trace.UUID, ring, seq, size, begin)
	return &slot{b, ring}
}

func (s *slot) content() int { return int(packet.Header(s.b).Content() / 8) }

// add writes an event as the recorder does.
func (s *slot) add(time uint64, kind int, thread int64, words []int64, text ...string) *slot {
	at := s.content()
	b := binary.LittleEndian.AppendUint64(s.b[:at], time&packet.TimeMask|uint64(kind)<<packet.TimeBits)
	for _, w := range append([]int64{thread}, words...) {
		b = binary.LittleEndian.AppendUint64(b, uint64(w))
	}
	for _, t := range text {
		n := (len(t)+2+7)&^7 - 2
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = append(append(b, t...), make([]byte, n-len(t))...)
	}
	s.end(time, len(b))
	return s
}

func (s *slot) end(time uint64, content int) {
	binary.LittleEndian.PutUint64(s.b[packet.OffEnd:], time)
	binary.LittleEndian.PutUint64(s.b[packet.OffContent:], 8*uint64(content))
}

func dir(files map[string]*slot) fstest.MapFS {
	fsys := fstest.MapFS{"metadata": {Data: trace.Metadata()}}
	for name, s := range files {
		fsys[name] = &fstest.MapFile{Data: s.b}
	}
	return fsys
}

// text reads a trace and returns its events and damage, a line for each.
func text(t testing.TB, fsys fstest.MapFS) (string, *Reader) {
	t.Helper()
	r, err := NewReader(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for e := (event.Event{}); r.Next(&e); {
		b = append(e.AppendText(b), '\n')
	}
	for _, d := range r.Damage() {
		b = fmt.Appendln(b, d)
	}
	return string(b), r
}

func expect(t *testing.T, fsys fstest.MapFS, want string) *Reader {
	t.Helper()
	got, r := text(t, fsys)
	if want = strings.TrimLeft(want, "\n"); got != want {
		t.Errorf("the events are\n%s, not\n%s", got, want)
	}
	return r
}

const (
	creates = int(event.Creates)
	read    = int(event.Read)
	resolve = int(event.Fulfills)
	label   = int(event.Label)
	counter = int(event.Counter)
)

// Two rings are merged by time; at the same time the cause goes first.
func TestMerge(t *testing.T) {
	r := expect(t, dir(map[string]*slot{
		"0.00": newSlot(0, 16, 1000, 512).
			add(1100, creates, 1, []int64{2, 100}).
			add(1300, read, 2, []int64{7}).
			add(1500, counter, 2, []int64{-3}, "c"),
		"1.00": newSlot(1, 16, 1000, 512).
			add(1200, label, 1, nil, "grüß \x00\xff").
			add(1300, resolve, 1, []int64{7}),
	}), `
50 creates thread=1 child=2 type=Goroutine(100)
100 label thread=1 label="grüß \x00\xff"
150 fulfills thread=1 resolvee=7
150 read thread=2 source=7
250 counter thread=2 value=-3 counter="c"
`)
	if r.Lost() != 0 || r.Packets() != 2 || len(r.Rings()) != 2 || r.Program() != "test" || r.PID() != 4711 || r.Complete() != 0 {
		t.Errorf("%+v", r.Rings())
	}
}

// A ring is read in order from its oldest packet, whichever slot that is in;
// what was overwritten and what is missing is counted.
func TestLost(t *testing.T) {
	r := expect(t, dir(map[string]*slot{
		"0.00": newSlot(0, 24, 2000, 512).add(2100, read, 1, []int64{24}),
		"0.01": newSlot(0, 21, 1200, 512).add(1300, read, 1, []int64{21}),
		"0.02": newSlot(0, 22, 1400, 512).add(1500, read, 1, []int64{22}),
		"0.03": newSlot(0, 15, 990, 512), // never written
		"1.00": newSlot(1, 16, 1000, 512).add(1100, read, 2, []int64{0}),
	}), `
50 read thread=2 source=0
150 read thread=1 source=21
250 read thread=1 source=22
550 read thread=1 source=24
`)
	if ring := r.Rings()[0]; ring.Overwritten != 5 || ring.Missing != 1 || ring.Events != 3 || r.Lost() != 6 || r.Complete() != 500 {
		t.Errorf("%+v; complete since %d", ring, r.Complete())
	}
}

// The 48 bits of a time go on from the event before, and the packet's begin.
func TestTimeWraps(t *testing.T) {
	const high = 5 << packet.TimeBits
	expect(t, dir(map[string]*slot{
		"0.00": newSlot(0, 16, high-100, 512).
			add(high-50, read, 1, []int64{1}).
			add(high+50, read, 1, []int64{2}).
			add(high+1<<47, read, 1, []int64{3}),
	}), fmt.Sprintf(`
%d read thread=1 source=1
%d read thread=1 source=2
%d read thread=1 source=3
`, (high-50-1000)/2, (high+50-1000)/2, (high+1<<47-1000)/2))
}

// Many packets in one file are read as they come, as those in slots are.
func TestStreamed(t *testing.T) {
	var all []byte
	for i := range uint64(5) {
		all = append(all, newSlot(0, 16+i, 1000+100*i, 104).add(1050+100*i, read, 1, []int64{int64(i)}).b...)
	}
	expect(t, dir(map[string]*slot{"ring-0": {b: all}}), `
25 read thread=1 source=0
75 read thread=1 source=1
125 read thread=1 source=2
175 read thread=1 source=3
225 read thread=1 source=4
`)
	expect(t, dir(map[string]*slot{"ring-0": {b: all[:3*104+90]}}), `
25 read thread=1 source=0
75 read thread=1 source=1
125 read thread=1 source=2
offset 312: ring-0: a packet of 104 bytes cut after 90
offset 392: ring-0: a part of an event; skipped the packet's other 10 bytes
`)
}

// What is damaged is told with its place; everything else is read.
func TestDamage(t *testing.T) {
	good := newSlot(1, 16, 1000, 512).add(1100, read, 2, []int64{0})
	bad := func(mangle func(*slot)) fstest.MapFS {
		s := newSlot(0, 16, 1000, 512).add(1200, read, 1, []int64{1}).add(1300, read, 1, []int64{2})
		mangle(s)
		return dir(map[string]*slot{"0.00": s, "1.00": good})
	}
	const all = "50 read thread=2 source=0\n100 read thread=1 source=1\n"
	for _, c := range []struct {
		name   string
		mangle func(*slot)
		want   string
	}{
		{"an unknown kind", func(s *slot) { s.b[104+6] = 0xEE }, all + "offset 104: 0.00: an unknown kind of event; skipped the packet's other 24 bytes\n"},
		{"a time that goes backwards", func(s *slot) { s.b[104+1] = 0 }, all + "offset 104: 0.00: an event after its packet's end; skipped the packet's other 24 bytes\n"},
		{"a part of an event", func(s *slot) { s.end(1300, s.content()-3) }, all + "offset 104: 0.00: a part of an event; skipped the packet's other 21 bytes\n"},
		{"a part of a word", func(s *slot) { s.end(1300, s.content()-20) }, all + "offset 104: 0.00: a part of an event; skipped the packet's other 4 bytes\n"},
		{"a text too long", func(s *slot) { s.add(1400, label, 1, nil, "x"); s.b[128+16] = 99 },
			all + "150 read thread=1 source=2\noffset 128: 0.00: a part of an event; skipped the packet's other 24 bytes\n"},
		{"zeros", func(s *slot) { clear(s.b) }, "50 read thread=2 source=0\noffset 0: 0.00: not a packet of this trace\n"},
		{"another trace's", func(s *slot) { s.b[5] = 9 }, "50 read thread=2 source=0\noffset 0: 0.00: not a packet of this trace\n"},
		{"too much content", func(s *slot) { s.end(1300, 513) }, "50 read thread=2 source=0\noffset 0: 0.00: a packet of 512 bytes with 513 in use\n"},
		{"too little", func(s *slot) { s.end(1300, 79) }, "50 read thread=2 source=0\noffset 0: 0.00: a packet of 512 bytes with 79 in use\n"},
		{"cut in its header", func(s *slot) { s.b = s.b[:50] }, "50 read thread=2 source=0\noffset 0: 0.00: cut in a packet's header: EOF\n"},
		{"empty", func(s *slot) { s.b = nil }, "50 read thread=2 source=0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := text(t, bad(c.mangle))
			// Damage of a packet's header is found, and told, at once.
			if got != c.want {
				t.Errorf("\n%s, not\n%s", got, c.want)
			}
		})
	}
}

// A packet whose header says that it began before the one before it ended loses
// nothing, and no time goes backwards.
func TestPacketBeginsTooEarly(t *testing.T) {
	expect(t, dir(map[string]*slot{
		"0.00": newSlot(0, 16, 1000, 512).add(1100, read, 1, []int64{1}).add(1400, read, 1, []int64{2}),
		"0.01": newSlot(0, 17, 1000, 512).add(1200, read, 1, []int64{3}).add(1500, read, 1, []int64{4}),
		"1.00": newSlot(1, 16, 1000, 512).add(1300, read, 2, []int64{0}),
	}), `
50 read thread=1 source=1
150 read thread=2 source=0
200 read thread=1 source=2
200 read thread=1 source=3
250 read thread=1 source=4
offset 0: 0.01: the packet begins before the one before it ends; its events are put after that
`)
}

// The clock is fitted to what the trace tells of it, unless that cannot be.
func TestClock(t *testing.T) {
	// In truth a cycle is 0.5 ns and 100 ppm.
	told := newSlot(Shared, 16, 1000, 512)
	for i := range uint64(3) {
		cycles := 2e9 * (i + 1)
		told.add(1000+cycles, packet.ClockKind, 5e9+int64(float64(cycles)*0.50005), []int64{1.7e18})
	}
	fsys := dir(map[string]*slot{"s.00": told, "0.00": newSlot(0, 16, 1000, 512).add(1000+4e9, read, 1, []int64{1})})
	expect(t, fsys, "2000200000 read thread=1 source=1\n")

	told.add(1000+8e9, packet.ClockKind, math.MaxInt64, []int64{1.7e18})
	expect(t, fsys, "2000000000 read thread=1 source=1\n")
}

func TestNoTrace(t *testing.T) {
	for name, metadata := range map[string]string{
		"none": "", "foreign": "/* CTF 1.8 */\ntrace { major = 1; };", "ours, cut": string(trace.Metadata()[:900]),
		"newer": strings.Replace(string(trace.Metadata()), "mirador_version = 1", "mirador_version = 2", 1),
	} {
		fsys := fstest.MapFS{}
		if metadata != "" {
			fsys["metadata"] = &fstest.MapFile{Data: []byte(metadata)}
		}
		if _, err := NewReader(fsys); !errors.Is(err, ErrNoTrace) {
			t.Errorf("%s: %v", name, err)
		}
		if Is(fsys) != (name == "ours, cut" || name == "newer") {
			t.Errorf("%s: Is", name)
		}
	}
	empty := fstest.MapFS{"metadata": {Data: trace.Metadata()}}
	if got, r := text(t, empty); got != "" || !Is(empty) || len(r.Rings()) != 0 {
		t.Errorf("%q", got)
	}
}

// Metadata says what it was given, for any program's name.
func TestMetadata(t *testing.T) {
	for _, name := range []string{"test", `"\` + "\x00\n\tfreq = 5;\n", "grüß", ""} {
		want := trace
		want.Program = name
		got, err := packet.ParseMetadata(want.Metadata())
		if err != nil || got.Frequency != want.Frequency || got.UUID != want.UUID || got.Start != want.Start || got.PID != want.PID {
			t.Errorf("%q: %+v %v", name, got, err)
		}
	}
}

// shrinking is a file that changes while it is read.
type changing struct {
	reads  int
	change func(reads int, b []byte)
	b      []byte
}

func (c *changing) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.change(c.reads, c.b)
	return bytes.NewReader(c.b).ReadAt(p, off)
}

// A packet that is overwritten while it is copied is copied again, and one
// that only grows is copied as it was.
func TestCopy(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(reads int, b []byte)
		want   error
		seq    uint64
	}{
		{"nothing changes", func(int, []byte) {}, nil, 16},
		{"it grows", func(_ int, b []byte) { (&slot{b: b}).add(1200, read, 1, []int64{2}) }, nil, 16},
		{"it is overwritten once", func(reads int, b []byte) {
			if reads == 3 {
				packet.Put(b, trace.UUID, 0, 32, len(b), 2000)
			}
		}, nil, 32},
		{"it is emptied", func(reads int, b []byte) {
			if reads == 2 {
				(&slot{b: b}).end(1100, packet.HeaderSize)
			}
		}, nil, 16},
		{"it is overwritten all the time", func(reads int, b []byte) { binary.LittleEndian.PutUint64(b[packet.OffSeq:], uint64(reads)) }, ErrOverwritten, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &changing{change: c.change, b: newSlot(0, 16, 1000, 4096).add(1100, read, 1, []int64{1}).b}
			data, err := Copy(f, 0, nil)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (packet.Header(data).Seq() != c.seq || packet.Header(data).Content() != 8*uint64(len(data))) {
				t.Errorf("packet %d of %d bytes says %d", packet.Header(data).Seq(), len(data), packet.Header(data).Content()/8)
			}
		})
	}
	if _, err := Copy(bytes.NewReader(newSlot(0, 16, 1000, 4096).add(1, read, 1, []int64{1}).b[:90]), 0, nil); err != io.ErrUnexpectedEOF {
		t.Errorf("a file that was cut: %v", err)
	}
}

// A packet is trimmed to a time, and still is one.
func TestTrim(t *testing.T) {
	parsed, err := packet.ParseMetadata(trace.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	s := newSlot(0, 16, 1000, 512)
	for i := range uint64(5) {
		s.add(1100+100*i, read, 1, []int64{int64(i)})
	}
	for until, want := range map[uint64]int{0: 0, 1100: 1, 1350: 3, 1500: 5, math.MaxUint64: 5} {
		data := Trim(parsed, bytes.Clone(s.b[:s.content()]), until)
		got, _ := text(t, dir(map[string]*slot{"0.00": {b: data}}))
		if strings.Count(got, "\n") != want || strings.Contains(got, "offset") {
			t.Errorf("until %d: %s", until, got)
		}
	}
}

// Nothing that a file can hold makes the reader fail in another way than by
// telling of damage, nor give more events than there is room for.
func FuzzReader(f *testing.F) {
	add := func(s *slot) { f.Add(s.b, s.b) }
	add(newSlot(0, 16, 1000, 200))
	add(newSlot(0, 16, 1000, 512).add(1100, creates, 1, []int64{2, 100}).add(1200, label, 2, nil, "text").add(1300, counter, 1, []int64{5}, "c"))
	add(newSlot(Shared, 20, 1000, 256).add(1100, packet.ClockKind, 5e9, []int64{1.7e18}))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r, err := NewReader(fstest.MapFS{"metadata": {Data: trace.Metadata()}, "0.00": {Data: a}, "0.01": {Data: append(bytes.Clone(b), a...)}})
		if err != nil {
			t.Fatal(err)
		}
		events, last := 0, int64(math.MinInt64)
		for e := (event.Event{}); r.Next(&e); events++ {
			if e.Time < last {
				t.Fatalf("time %d after %d", e.Time, last)
			}
			last = e.Time
			e.AppendText(nil)
		}
		if most := (2*len(a) + len(b)) / 16; events > most || len(r.Damage()) > most+10 {
			t.Fatalf("%d events, %d places of damage in %d bytes", events, len(r.Damage()), 2*len(a)+len(b))
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add(trace.Metadata())
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := packet.ParseMetadata(text); err == nil && got.Frequency == 0 {
			t.Fatal("no frequency")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	files := make(map[string]*slot)
	const packets, each = 16, 20_000
	for ring := range uint64(2) {
		time := uint64(1000)
		for i := range uint64(packets) {
			s := newSlot(ring, 16+i, time, 24*each+packet.HeaderSize)
			for n := range each {
				time += 30
				if n%100 == 0 {
					time += 3000
				}
				s.add(time, read, 1, []int64{int64(n)})
			}
			files[fmt.Sprintf("%d.%02d", ring, i)] = s
		}
	}
	fsys := dir(files)
	for b.Loop() {
		r, err := NewReader(fsys)
		if err != nil {
			b.Fatal(err)
		}
		for e := (event.Event{}); r.Next(&e); {
		}
	}
	b.ReportMetric(float64(b.N*2*packets*each)/1e6/b.Elapsed().Seconds(), "Mevents/s")
}
