package native

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// What is written is read again, whatever the events are.
func TestWriter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	start := time.Unix(1_700_000_000, 123_456_789)
	w := NewWriter(start, [16]byte{1, 2, 3})
	var want []event.Event
	now := int64(0)
	for range 50_000 {
		e := event.Event{Time: now, Kind: event.Kind(random.IntN(int(event.NumKinds))), Proc: int32(random.IntN(3))}
		e.Thread = random.Int64() - random.Int64()
		spec := &event.Specs[e.Kind]
		if spec.Other != "" {
			e.Other = random.Int64()
		}
		if spec.Value != "" {
			e.Value = random.Int64N(1000) - 500
		}
		if spec.Typed {
			e.Type = event.ThreadType(random.IntN(18))
		}
		if spec.Text != "" {
			e.Text = bytes.Repeat([]byte("x"), random.IntN(40))
		}
		w.Write(&e)
		want = append(want, e)
		now += 1 + random.Int64N(1000) + random.Int64N(2)*random.Int64N(1e10)
	}
	long := event.Event{Time: now, Kind: event.Log, Text: bytes.Repeat([]byte("y"), 2*packet.MaxText)}
	w.Write(&long)
	long.Text = long.Text[:packet.MaxText]
	want = append(want, long)

	dir := make(fstest.MapFS)
	for name, data := range w.Files() {
		dir[name] = &fstest.MapFile{Data: data}
	}
	r, err := NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Start().Equal(start) || r.Lost() != 0 || len(r.Rings()) != 3 {
		t.Errorf("it starts at %v; lost %d; %d rings", r.Start(), r.Lost(), len(r.Rings()))
	}
	var e event.Event
	n := 0
	for ; r.Next(&e); n++ {
		if n == len(want) {
			t.Fatal("more events are read than were written")
		}
		x := want[n]
		spec := &event.Specs[e.Kind]
		if e.Kind != x.Kind || e.Time != x.Time || e.Proc != x.Proc || e.Thread != x.Thread || spec.Other != "" && e.Other != x.Other ||
			spec.Value != "" && e.Value != x.Value || spec.Typed && e.Type != x.Type || spec.Text != "" && !bytes.Equal(e.Text, x.Text) {
			t.Fatalf("event %d is %+v; want %+v", n, e, x)
		}
	}
	if n != len(want) || len(r.Damage()) > 0 {
		t.Errorf("%d events of %d; damage %v", n, len(want), r.Damage())
	}
}
