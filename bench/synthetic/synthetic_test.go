package synthetic

import (
	"bytes"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

// What is measured with has to be what it says it is: so many events, whole
// packets, time that goes on, and a chain as long as was asked for.
func TestShapes(t *testing.T) {
	for _, shape := range []Shape{{Events: 50_000}, {Events: 50_000, Chain: 10_000}, {Events: 50_000, Concurrent: 3000}} {
		var b, again bytes.Buffer
		if err := Write(&b, shape); err != nil {
			t.Fatal(err)
		}
		if err := Write(&again, shape); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%+v: another trace each time", shape)
		}
		r, err := mirage.NewReader(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var e event.Event
		n, becomes, last := 0, 0, int64(0)
		for ; r.Next(&e); n++ {
			if e.Time <= last {
				t.Fatalf("%+v: event %d is at %d, after %d", shape, n, e.Time, last)
			}
			last = e.Time
			if e.Kind == event.Becomes {
				becomes++
			}
		}
		if n != shape.Events || becomes != shape.Chain || len(r.Damage()) > 0 || r.Lost() > 0 {
			t.Errorf("%+v: %d events, %d become, damage %v, %d packets lost", shape, n, becomes, r.Damage(), r.Lost())
		}
	}
}
