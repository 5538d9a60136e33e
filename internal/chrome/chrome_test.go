package chrome_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/mirador-trace/mirador/internal/chrome"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

// chromeEvent is what the format says an event has.
type chromeEvent struct {
	Phase    string   `json:"ph"`
	Time     *float64 `json:"ts"`
	Duration *float64 `json:"dur"`
	Process  *int     `json:"pid"`
	Thread   *int     `json:"tid"`
	Name     string   `json:"name"`
	ID       int      `json:"id"`
	Args     map[string]any
}

// What is written for recorded traces is what the format wants, and has all
// that the model has: each thread, each running part, each label, each sample
// of a counter, and as many flows' ends as beginnings.
func TestWrite(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/*.ctf*")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d recorded traces, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			loaded, err := trace.Load(path, nil, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := chrome.Write(&out, loaded.Model, "a \"name\""); err != nil {
				t.Fatal(err)
			}
			var file struct {
				TraceEvents []chromeEvent
				OtherData   struct{ Source string }
			}
			if err := json.Unmarshal(out.Bytes(), &file); err != nil {
				t.Fatal(err)
			}
			if file.OtherData.Source != "a \"name\"" {
				t.Errorf("source %q", file.OtherData.Source)
			}
			compareCounts(t, file.TraceEvents, loaded.Model)
		})
	}
}

func compareCounts(t *testing.T, events []chromeEvent, m *thread.Model) {
	t.Helper()
	got := make(map[string]int)
	begun := make(map[int]float64) // the flows that have not ended
	for i, e := range events {
		if e.Time == nil || e.Process == nil || e.Thread == nil || e.Name == "" && e.Phase != "i" && e.Phase != "X" {
			t.Fatalf("event %d lacks a field: %+v", i, e)
		}
		switch e.Phase {
		case "X":
			if e.Duration == nil || *e.Duration < 0 {
				t.Fatalf("event %d lasts %v", i, e.Duration)
			}
			if e.Args["thread"] != nil {
				got["threads"]++
			}
		case "C":
			got["samples"]++
		case "i":
			got["labels"]++
		case "s":
			begun[e.ID] = *e.Time
			got["flows"]++
		case "f":
			at, ok := begun[e.ID]
			if !ok || *e.Time < at {
				t.Fatalf("flow %d ends at %v, but begins at %v (%v)", e.ID, *e.Time, at, ok)
			}
			delete(begun, e.ID)
		case "M":
		default:
			t.Fatalf("event %d has phase %q", i, e.Phase)
		}
	}
	want := map[string]int{"threads": len(m.Threads) - 1, "flows": got["flows"]}
	for id := range m.Threads {
		if id != int(thread.Top) {
			want["labels"] += len(m.Labels(thread.ID(id)))
		}
	}
	for _, c := range m.Counters {
		want["samples"] += len(c.Samples)
	}
	for what, n := range want {
		if got[what] != n {
			t.Errorf("%d %s, the model has %d", got[what], what, n)
		}
	}
	if len(begun) > 0 || got["flows"] == 0 {
		t.Errorf("%d flows, of which %d never end", got["flows"], len(begun))
	}
}
