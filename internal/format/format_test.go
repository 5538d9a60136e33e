package format_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/reference"
)

// A trace is known by its bytes, whatever it is called, and can be read as
// often as one likes.
func TestOpen(t *testing.T) {
	data, err := os.ReadFile("../../testdata/odd.ctf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "picture.png")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	trace, err := format.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	if trace.Format != format.Mirage || trace.Size != int64(len(data)) || trace.Path != path {
		t.Errorf("%+v", trace)
	}
	for range 2 {
		n := 0
		err := trace.Read(func(events format.Events) error {
			var e event.Event
			for events.Next(&e) {
				n++
			}
			if damage := trace.Damage(events); len(damage) > 0 {
				t.Errorf("damage %v", damage)
			}
			return nil
		})
		if n != 319 || err != nil {
			t.Errorf("%d events, %v", n, err)
		}
	}
	mine := errors.New("mine")
	if err := trace.Read(func(format.Events) error { return mine }); err != mine {
		t.Errorf("the reader's error became %v", err)
	}
}

// Traces of allocations look much like those of threads, but are none: the
// error says what they are.
func TestMemtraceIsNoThreads(t *testing.T) {
	for _, path := range append(reference.Glob(t, "memtrace/*/*.ctf"), reference.Glob(t, "memtrace/*/*.ctf.gz")...) {
		if strings.Contains(path, "/broken/") {
			continue
		}
		_, err := format.Open(path, nil)
		var unknown *format.Unknown
		if !errors.As(err, &unknown) || !strings.Contains(unknown.Like, "memtrace") || unknown.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Whatever is broken, opening fails with one of the two errors that are
// promised.
func TestOpenErrors(t *testing.T) {
	for _, path := range append(reference.Glob(t, "memtrace/broken/*"), t.TempDir(), filepath.Join(t.TempDir(), "absent")) {
		_, err := format.Open(path, nil)
		var in *input.Error
		var unknown *format.Unknown
		if !errors.As(err, &in) && !errors.As(err, &unknown) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
