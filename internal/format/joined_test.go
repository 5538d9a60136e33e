package format_test

import (
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/ring/harvest"
	"github.com/mirador-trace/mirador/internal/thread"
	tracefile "github.com/mirador-trace/mirador/internal/trace"
)

// plain is a goroutine without a line of ours.
func plain(c chan int, group *sync.WaitGroup) {
	defer group.Done()
	<-c
}

// Our own events and the runtime's lie on the same threads and on one clock:
// what a goroutine says, it says while it runs there, to a microsecond.
func TestJoined(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the test itself is traced")
	}
	dir := filepath.Join(t.TempDir(), "t.trace")
	r, err := mirador.Start(mirador.Config{Path: dir, Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c := make(chan int)
	var group sync.WaitGroup
	for range 3 {
		group.Add(2)
		go plain(c, &group)
		mirador.Go("named", func() {
			defer group.Done()
			for range 50 {
				mirador.Label("says so")
				time.Sleep(time.Millisecond)
			}
			c <- 1
		})
	}
	group.Wait()
	time.Sleep(1100 * time.Millisecond) // the runtime ends a generation
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "saved")
	if _, err := harvest.Save(saved, dir); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, saved, packed(t, dir)} {
		checkJoined(t, dir)
	}
}

// packed returns a trace as one file.
func packed(t *testing.T, path string) string {
	t.Helper()
	opened, err := format.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "packed.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := opened.Pack(f); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func checkJoined(t *testing.T, dir string) {
	loaded, err := tracefile.Load(dir, nil, tracefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Damage) > 0 || loaded.Model.Passed > 0 || loaded.Format != format.Native {
		t.Errorf("a trace of %s, damage %v, %d events passed over: %v", loaded.Format, loaded.Damage, loaded.Model.Passed, loaded.Model.Notes)
	}
	m := loaded.Model
	named, plains, runtime := 0, 0, 0
	for id := range m.Threads {
		th, id := &m.Threads[id], thread.ID(id)
		switch title := m.Title(id); {
		case title == "named":
			named++
			checkNamed(t, m, id)
		case th.TID == gotrace.Runtime && title == "runtime":
			runtime++
		case strings.HasSuffix(title, "format_test.plain"):
			plains++
			if w := m.Waits(id); len(w) == 0 || m.Text(w[len(w)-1].Reason) != "chan receive" || !th.Resolved {
				t.Errorf("plain goroutine %d: waits %v, ended: %v", th.TID, w, th.Resolved)
			}
		}
	}
	if named != 3 || plains != 3 || runtime != 1 {
		t.Errorf("%d named and %d plain goroutines, %d runtimes", named, plains, runtime)
	}
}

func checkNamed(t *testing.T, m *thread.Model, id thread.ID) {
	th := &m.Threads[id]
	if !th.Resolved || len(m.Waits(id)) < 50 {
		t.Errorf("goroutine %d waited %d times; ended: %v", th.TID, len(m.Waits(id)), th.Resolved)
	}
	said := 0
	for _, label := range m.Labels(id) {
		if m.Text(label.Text) != "says so" {
			continue
		}
		said++
		const microsecond = 1e-6
		inside := false
		for _, span := range m.Activations(id) {
			inside = inside || span.Start-microsecond <= label.Time && label.Time <= span.End+microsecond
		}
		if !inside {
			t.Errorf("goroutine %d says something at %.9f s, when it does not run", th.TID, label.Time)
		}
	}
	if said != 50 {
		t.Errorf("goroutine %d said %d things", th.TID, said)
	}
}

// Without an execution trace, or with one that cannot be read, the recording
// is read by itself.
func TestOwnAlone(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "t.trace")
		r, err := mirador.Start(mirador.Config{Path: dir, Size: 1 << 20, GoTrace: -1})
		if err != nil {
			t.Fatal(err)
		}
		mirador.Label("here")
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		if damaged {
			if err := os.WriteFile(filepath.Join(dir, ".run", "go-000001.trace"), []byte("go 1.26 trace\x00\x00\x00rubbish"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		loaded, err := tracefile.Load(dir, nil, tracefile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Model.Events == 0 {
			t.Error("no events")
		}
	}
}
