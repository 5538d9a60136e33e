package lostwakeup

import (
	"path/filepath"
	"testing"

	"github.com/mirador-trace/mirador/internal/story"
	"github.com/mirador-trace/mirador/internal/trace"
)

func TestRun(t *testing.T) {
	if read, _ := Run(true); read != 5 {
		t.Errorf("the good program reads %d letters", read)
	}
	read, release := Run(false)
	if read > 4 { // on a busy machine it may lose an earlier one, too
		t.Error("the bad program is good")
	}
	release()
}

// What the story names is in each recording, whatever its times.
func TestStory(t *testing.T) {
	draft, err := story.Parse("story.md", Story)
	if err != nil {
		t.Fatal(err)
	}
	var traces []story.Trace
	for _, name := range []string{"good", "bad"} {
		path := filepath.Join(t.TempDir(), name+".trace")
		if err := Record(path, name == "good"); err != nil {
			t.Skip(err) // recording is for Linux and macOS
		}
		loaded, err := trace.Load(path, nil, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, story.Trace{Name: name + ".trace", Model: loaded.Model})
	}
	told, err := draft.Locate(traces)
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Steps) != 6 {
		t.Errorf("%d steps", len(told.Steps))
	}
	for _, s := range told.Steps {
		if s.View == "" {
			t.Errorf("%q shows nothing", s.Title)
		}
	}
}
