package thread_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/testtrace"
	"github.com/mirador-trace/mirador/internal/thread"
)

var update = flag.Bool("update", false, "write what the models are into the golden files")

// TestGolden compares the models of the traces in testdata, one file per rule
// of the model, with what the files expect. A file tells its rule, then has a
// trace as text (see package testtrace), the model of it as text under
// "expect", and under "expect kept" the one with its binds kept where they were
// created. Times are ns since the first event.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 25 {
		t.Errorf("only %d files", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { golden(t, path) })
	}
}

func golden(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Comment) == 0 || len(archive.Files) < 2 || archive.Files[0].Name != "trace" {
		t.Fatalf("%s does not tell a rule and have a trace", path)
	}
	text := archive.Files[0].Data
	data, err := testtrace.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("packet")) { // in order, and whole
		sameText(t, text, data)
	}
	changed := false
	for i, file := range archive.Files[1:] {
		keep := file.Name == "expect kept"
		if !keep && file.Name != "expect" {
			t.Fatalf("%s has %q", path, file.Name)
		}
		got := modelText(t, data, keep)
		if got == string(file.Data) {
			continue
		}
		if *update {
			archive.Files[i+1].Data, changed = []byte(got), true
			continue
		}
		t.Errorf("%s: %s\ngot\n%swant\n%s", path, file.Name, got, file.Data)
	}
	if changed {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sameText reads the trace back: it must say what was written.
func sameText(t *testing.T, text, data []byte) {
	t.Helper()
	var want, got []string
	for line := range strings.Lines(string(text)) {
		if first := line[0]; first >= '0' && first <= '9' {
			want = append(want, line)
		}
	}
	r, err := mirage.NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	for r.Next(&e) {
		got = append(got, string(e.AppendText(nil))+"\n")
	}
	if strings.Join(got, "") != strings.Join(want, "") {
		t.Errorf("the trace reads\n%s", strings.Join(got, ""))
	}
}

// modelText builds the model of a trace and prints it.
func modelText(t *testing.T, data []byte, keep bool) string {
	t.Helper()
	r, err := mirage.NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	m := thread.Build(r, thread.Options{KeepBinds: keep})
	var b strings.Builder
	fmt.Fprintf(&b, "%d events from %d, %s ns long\n", m.Events, m.OriginNS, ns(m.Duration()))
	for _, d := range r.Damage() {
		fmt.Fprintf(&b, "damage at %v\n", d)
	}
	for _, d := range m.Notes {
		fmt.Fprintf(&b, "passed over at %v\n", d)
	}
	for _, gc := range m.GC {
		fmt.Fprintf(&b, "gc %s\n", spanText(gc))
	}
	for _, c := range m.Counters {
		fmt.Fprintf(&b, "counter %q from %g to %g:", c.Name, c.Min, c.Max)
		for _, s := range c.Samples {
			fmt.Fprintf(&b, " %s=%g", ns(s.Time), s.Value)
		}
		b.WriteByte('\n')
	}
	for id := range m.Descend(thread.Top) {
		threadText(&b, m, id)
	}
	return b.String()
}

func threadText(b *strings.Builder, m *thread.Model, id thread.ID) {
	t := &m.Threads[id]
	fmt.Fprintf(b, "%d %v %s", t.TID, t.Type, spanText(thread.Span{Start: t.Start, End: t.End}))
	switch {
	case t.Becomes != thread.None:
		fmt.Fprintf(b, " becomes %d", m.Threads[t.Becomes].TID)
	case t.Resolved && !t.Failed():
		b.WriteString(" resolved")
	case !t.Resolved:
		b.WriteString(" never resolved")
	}
	if t.Failed() {
		fmt.Fprintf(b, " failed %q", m.Text(t.Failure))
	}
	if t.Parent != thread.None {
		fmt.Fprintf(b, " under %d", m.Threads[t.Parent].TID)
	}
	if !t.ShowCreation {
		b.WriteString(", creation hidden")
	}
	b.WriteByte('\n')
	for _, span := range m.Activations(id) {
		fmt.Fprintf(b, "\truns %s\n", spanText(span))
	}
	for _, label := range m.Labels(id) {
		fmt.Fprintf(b, "\t%s label %q\n", ns(label.Time), m.Text(label.Text))
	}
	for _, i := range m.Interactions(id) {
		fmt.Fprintf(b, "\t%s %v %d\n", ns(i.Time), i.Op, m.Threads[i.Other].TID)
	}
}

func spanText(s thread.Span) string { return ns(s.Start) + ".." + ns(s.End) }

// ns writes a time in s as whole ns.
func ns(s float64) string { return fmt.Sprint(int64(math.Round(s * 1e9))) }
