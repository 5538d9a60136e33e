package memtrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// FuzzReader gives the Reader arbitrary bytes: it must come to an end, and
// say the same of a stream as of bytes.
func FuzzReader(f *testing.F) {
	f.Add(synthetic(f, 3, 200, 1))
	f.Add(synthetic(f, 2, 200, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		read := func(r *Reader, err error) {
			if err != nil {
				return
			}
			var ev Event
			last := map[uint16][]Frame{}
			for n := 0; ; n++ {
				if err := r.Next(&ev); err != nil {
					if err != io.EOF {
						t.Fatal(err)
					}
					return
				}
				if ev.Kind == Alloc && n < 1000 {
					if p := last[ev.Domain]; ev.Prefix > len(p) || !slices.Equal(ev.Stack[:ev.Prefix], p[:ev.Prefix]) {
						t.Fatalf("event %d does not share %d frames with the one before", n, ev.Prefix)
					}
					last[ev.Domain] = slices.Clone(ev.Stack)
				}
				if n > len(data) {
					t.Fatal("more events than bytes")
				}
				if ev.Prefix > len(ev.Stack) || ev.Lost < 0 {
					t.Fatalf("prefix %d + %d of %d", ev.Prefix, ev.Lost, len(ev.Stack))
				}
				for _, f := range ev.Stack[ev.Prefix:] {
					if int(f) >= r.Frames() {
						t.Fatalf("frame %d of %d", f, r.Frames())
					}
					r.Locations(nil, f)
				}
			}
		}
		read(NewReaderBytes(data))
		read(NewReader(bytes.NewReader(data)))
	})
}

// step is an event as the Writer is told it.
type step struct {
	Kind    Kind
	Domain  uint16
	Time    int64
	ID      uint64
	Length  int64
	Samples int64
	Source  Source
	Stack   []uint64
}

// play makes up a program with n events.
func play(version, n int, seed uint64) []step {
	rnd := rand.New(rand.NewPCG(seed, 7))
	domains := 1
	if version == 3 {
		domains = 1 + rnd.IntN(4)
	}
	stacks := make([][]uint64, domains)
	now := int64(1_700_000_000_000_000)
	var steps []step
	for range n {
		now += 1 + int64(rnd.IntN(1000)) // at the same time, the order of domains is not told
		if rnd.IntN(200) == 0 {
			now += int64(rnd.IntN(40_000_000))
		}
		d := rnd.IntN(domains)
		s := step{Kind: Kind(rnd.IntN(3)), Domain: uint16(d), Time: now}
		if s.Kind == Alloc {
			s.Length = int64(rnd.IntN(20))
			if rnd.IntN(10) == 0 {
				s.Length = rnd.Int64N(1 << (1 + rnd.IntN(62)))
			}
			s.Samples = 1 + int64(rnd.IntN(3))
			s.Source = Source(rnd.IntN(3))
			stack := stacks[d][:rnd.IntN(len(stacks[d])+1)]
			for range rnd.IntN(12) {
				stack = append(stack, 1+rnd.Uint64N(1<<(1+rnd.IntN(40))))
			}
			if len(stack) > 300 {
				stack = stack[:5]
			}
			stacks[d] = stack
			s.Stack = bytesOf(stack)
		}
		steps = append(steps, s)
	}
	return steps
}

func bytesOf(s []uint64) []uint64 { return append([]uint64{}, s...) }

func places(code uint64) []Location {
	var list []Location
	for i := range code % 4 {
		list = append(list, Location{fmt.Sprintf("f%d.go", code%97), int(code % 5000), int(code % 200), int(code % 900), fmt.Sprintf("p.F%d.%d", code%1009, i)})
	}
	return list
}

// write writes the steps, fills in the ids that the Writer gives, and makes
// promotions and collections ones of blocks that are there.
func write(t testing.TB, steps []step, version int) []byte {
	var out bytes.Buffer
	info := Info{Version: version, SampleRate: 0.25, WordSize: 64, Executable: "x", Host: "h", RuntimeParams: "p", PID: 5, Context: "c", Start: 1_700_000_000_000_000}
	w, err := NewWriter(&out, info, places)
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for i := range steps {
		s := &steps[i]
		d, err := w.Domain(s.Domain)
		if err != nil {
			t.Fatal(err)
		}
		switch s.Kind {
		case Alloc:
			s.ID, err = d.Alloc(&Allocation{Time: s.Time, Length: s.Length, Samples: s.Samples, Source: s.Source, Codes: s.Stack})
			last = s.ID
		case Promote:
			s.ID = last
			err = d.Promote(s.Time, s.ID)
		case Collect:
			s.ID = last
			err = d.Collect(s.Time, s.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func synthetic(t testing.TB, version, n int, seed uint64) []byte {
	return write(t, play(version, n, seed), version)
}

// FuzzRoundTrip writes made-up programs and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), 1000, true)
	f.Add(uint64(2), 30000, false)
	f.Fuzz(func(t *testing.T, seed uint64, n int, three bool) {
		version := 2
		if three {
			version = 3
		}
		steps := play(version, min(max(n, 0), 50_000), seed)
		trace := write(t, steps, version)
		r, err := NewReaderBytes(trace)
		if err != nil {
			t.Fatal(err)
		}
		var ev Event
		for i, want := range steps {
			if err := r.Next(&ev); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			got := step{ev.Kind, ev.Domain, ev.Time, ev.ID, ev.Length, ev.Samples, ev.Source, nil}
			if ev.Kind == Alloc {
				got.Stack = []uint64{}
				for _, f := range ev.Stack {
					got.Stack = append(got.Stack, r.Code(f))
					if list := r.Locations(nil, f); !reflect.DeepEqual(list, places(r.Code(f))) {
						t.Fatalf("event %d: code %d is at %v", i, r.Code(f), list)
					}
				}
			}
			if want.Kind == Alloc && want.Stack == nil {
				want.Stack = []uint64{}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("event %d:\n got %+v\nwant %+v", i, got, want)
			}
		}
		if err := r.Next(&ev); err != io.EOF {
			t.Fatalf("after the last event: %v", err)
		}
		for _, d := range r.Damage() {
			t.Error(d)
		}
	})
}

// TestCuts cuts a trace at every length, as a connection may: each must give
// a beginning of the whole's events.
func TestCuts(t *testing.T) {
	trace := synthetic(t, 3, 100, 3)
	whole := events(t, trace)
	for n := range trace {
		r, err := NewReader(bytes.NewReader(trace[:n]))
		if err != nil {
			continue
		}
		var ev Event
		i := 0
		for ; r.Next(&ev) == nil; i++ {
			if got := line(r, &ev); got != whole[i] {
				t.Fatalf("cut at %d, event %d:\n got %s\nwant %s", n, i, got, whole[i])
			}
		}
	}
}

// TestGarbageBetween puts bytes that are no packet between all packets: no
// event may be lost.
func TestGarbageBetween(t *testing.T) {
	trace := synthetic(t, 3, 3000, 4)
	var torn []byte
	for at := 0; at < len(trace); {
		h, _ := parseHeader(trace[at:])
		torn = append(append(torn, trace[at:at+h.size]...), "no packet"...)
		at += h.size
	}
	whole := events(t, trace)
	got := events(t, torn)
	if !reflect.DeepEqual(got, whole) {
		t.Fatalf("%d events of %d, or others", len(got), len(whole))
	}
}

func events(t *testing.T, trace []byte) (lines []string) {
	r, err := NewReader(bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	var ev Event
	for r.Next(&ev) == nil {
		lines = append(lines, line(r, &ev))
	}
	return lines
}

func line(r *Reader, ev *Event) string {
	s := fmt.Sprint(ev.Kind, ev.Domain, ev.Time, ev.ID, ev.Length, ev.Samples, ev.Source, ev.Uncertain)
	for _, f := range ev.Stack {
		s += fmt.Sprint(" ", r.Code(f), r.Locations(nil, f))
	}
	return s
}

// TestRoundTrip copies every reference trace and reads the copy: the text of
// both must be the same, and a copy of the copy the same bytes.
func TestRoundTrip(t *testing.T) {
	dir := reference(t)
	for _, name := range append(traces(t, dir), "mirage") {
		path := filepath.Join(dir, name, name+".ctf")
		switch name {
		case "big":
			continue // TestCopy has it; its text is too long
		case "mirage":
			path = filepath.Join(dir, "mirage", "stream_pid-1_v2.ctf")
		}
		t.Run(name, func(t *testing.T) {
			trace := load(t, path)
			first := copyOf(t, trace, 3)
			if second := copyOf(t, first, 3); !bytes.Equal(first, second) {
				t.Error("a copy of the copy differs")
			}
			if name == "edge_v3" {
				return // its cut backtraces are told differently in the copy
			}
			if got, want := digest(t, first), digest(t, trace); got != want {
				t.Error("the copy has other events")
			}
		})
	}
}

// digest is the hash of all that a trace's events say.
func digest(t *testing.T, trace []byte) uint64 {
	r, err := NewReaderBytes(trace)
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	var ev Event
	var b []byte
	for r.Next(&ev) == nil {
		b = fmt.Appendf(b[:0], "%d %d %d %d %d %d %d %d", ev.Kind, ev.Domain, ev.Time, ev.ID, ev.Length, ev.Samples, ev.Source, ev.Prefix)
		for _, f := range ev.Stack[ev.Prefix:] {
			b = binary.LittleEndian.AppendUint64(b, r.Code(f))
			for _, l := range r.Locations(nil, f) {
				b = l.AppendText(b)
			}
		}
		h.Write(b)
	}
	return h.Sum64()
}
