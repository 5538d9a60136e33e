package event_test

import (
	"reflect"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
)

// Each stack has one number, which gives it back; 0 and what is too high are
// no stack.
func TestStacks(t *testing.T) {
	a, b, c := event.Frame{Func: "a", File: "x.go", Line: 1}, event.Frame{Func: "b"}, event.Frame{Func: "a", File: "x.go", Line: 2}
	all := [][]event.Frame{{a}, {a, b}, {b, a}, {c, b, b, a}, {b}}
	var s event.Stacks
	for range 2 {
		for i, frames := range all {
			if n := s.Add(frames); n != uint32(i+1) {
				t.Errorf("stack %v has number %d, want %d", frames, n, i+1)
			}
		}
	}
	for i, want := range all {
		if got := s.Frames(uint32(i + 1)); !reflect.DeepEqual(got, want) {
			t.Errorf("stack %d is %v, want %v", i+1, got, want)
		}
		if got := s.Outermost(uint32(i + 1)); got != want[len(want)-1] {
			t.Errorf("stack %d began with %v", i+1, got)
		}
	}
	var none *event.Stacks
	if s.Add(nil) != 0 || s.Len() != len(all) || s.Frames(0) != nil || s.Frames(6) != nil || none.Frames(1) != nil ||
		s.Outermost(1<<31) != (event.Frame{}) {
		t.Error("there are stacks that nobody added")
	}
}
