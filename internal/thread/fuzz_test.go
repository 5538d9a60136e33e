package thread_test

import (
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/thread"
)

// anything makes events of any bytes: of few threads, so that they meet.
type anything []byte

func (a *anything) Next(e *event.Event) bool {
	b := *a
	if len(b) < 8 {
		return false
	}
	*e = event.Event{
		Kind:   event.Kind(b[0] % byte(event.NumKinds)),
		Time:   int64(int16(binary.LittleEndian.Uint16(b[1:]))),
		Thread: int64(b[3]%8) - 1,
		Other:  int64(b[4]%8) - 1,
		Value:  int64(int8(b[5])),
		Type:   event.ThreadType(b[6] % 20),
		Proc:   int32(b[6]) / 100,
		Text:   []byte("abcdefgh#1__should_resolve")[b[7]%26:],
	}
	*a = b[8:]
	return true
}

// Whatever the events say, the model holds together: every thread is drawn
// once, under a parent, on a row, and ends after it starts.
func FuzzModel(f *testing.F) {
	f.Add([]byte("a few events made of any eight bytes each; more of them, please!"), true)
	f.Fuzz(func(t *testing.T, data []byte, keep bool) {
		src := anything(data)
		m := thread.Build(&src, thread.Options{KeepBinds: keep})
		layout.Arrange(m)
		seen := 0
		for id := range m.Descend(thread.Top) {
			seen++
			th := &m.Threads[id]
			if id == thread.Top {
				continue
			}
			if th.End < th.Start || math.IsInf(th.End, 0) || math.IsNaN(th.Start) {
				t.Fatalf("thread %d lives from %v to %v", th.TID, th.Start, th.End)
			}
			if th.Row < 0 || int(th.Row) >= m.Rows {
				t.Fatalf("thread %d is on row %d of %d", th.TID, th.Row, m.Rows)
			}
			for c := range m.Children(id) {
				if m.Threads[c].Parent != id {
					t.Fatalf("thread %d is not the parent of its child %d", th.TID, m.Threads[c].TID)
				}
			}
		}
		if seen != len(m.Threads) {
			t.Fatalf("%d of %d threads are drawn", seen, len(m.Threads))
		}
		if err := m.WriteJSON(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}
