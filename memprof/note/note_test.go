package note

import (
	"encoding/hex"
	"reflect"
	"testing"
)

func packets(b *Builder, now int64) [][]byte {
	var list [][]byte
	b.AppendPackets(nil, now, func(p []byte) { list = append(list, append([]byte(nil), p...)) })
	return list
}

func parse(t *testing.T, list [][]byte) []Note {
	t.Helper()
	var notes []Note
	for _, p := range list {
		if len(p) > maxSize {
			t.Errorf("a packet of %d bytes", len(p))
		}
		if err := Parse(p, func(n Note) { notes = append(notes, n) }); err != nil {
			t.Fatal(err)
		}
	}
	return notes
}

func TestRoundTrip(t *testing.T) {
	var b Builder
	b.Cycle(1000, 7)
	b.Alloc(5, 1)
	b.Alloc(6, 1)
	b.Alloc(7, 20)
	b.Alloc(10, 20)
	b.Lost(1500, 3, 1)
	b.Alive(1501)
	b.Beginning(1502, 9)
	b.Complete(1600)
	got := parse(t, packets(&b, 2000))
	want := []Note{
		{Kind: Cycle, Time: 1000, Number: 7},
		{Kind: Lost, Time: 1500, Allocs: 3, Deaths: 1},
		{Kind: Alive, Time: 1501},
		{Kind: Beginning, Time: 1502, Allocs: 9},
		{Kind: Complete, Time: 1600},
		{Kind: Goroutines, Time: 1000, First: 5, Runs: []Run{{2, 1}, {1, 20}, {2, 0}, {1, 20}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if list := packets(&b, 3000); list != nil {
		t.Errorf("%d packets without notes", len(list))
	}
}

func TestBytes(t *testing.T) {
	var b Builder
	b.Cycle(0x0102, 300)
	const want = "c11ffcc1" + "30020000" + "0201000000000000" + "0301000000000000" + "00000000" + "0200" +
		"726f646172696d00" + "ffff" + "0000" + "0000000000000000" + "0000000000000000" + "0000000000000000" +
		"0200ac02"
	if got := hex.EncodeToString(packets(&b, 0x0103)[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Each id has the goroutine it was given, however many packets it takes.
func TestManyRuns(t *testing.T) {
	var b Builder
	const count = 100_000
	for id := range uint64(count) {
		b.Alloc(id, id*7)
		if id%20 == 0 {
			b.Cycle(int64(id), id)
		}
	}
	next, cycles := uint64(0), 0
	for _, n := range parse(t, packets(&b, count)) {
		if n.Kind == Cycle {
			cycles++
			continue
		}
		if n.First != next {
			t.Fatalf("runs begin at %d, want %d", n.First, next)
		}
		for _, r := range n.Runs {
			for range r.Allocs {
				if r.Goroutine != next*7 {
					t.Fatalf("allocation %d by goroutine %d", next, r.Goroutine)
				}
				next++
			}
		}
	}
	if next != count || cycles != count/20 {
		t.Errorf("%d allocations, %d cycles", next, cycles)
	}
}

func FuzzParse(f *testing.F) {
	var b Builder
	b.Cycle(1, 2)
	b.Alloc(1, 1)
	b.Lost(2, 2, 2)
	for _, p := range packets(&b, 9) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		n := 0
		_ = Parse(p, func(Note) { n++ })
		if n > len(p) {
			t.Errorf("%d notes in %d bytes", n, len(p))
		}
	})
}
