package heap

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/memtrace"
)

func load(t testing.TB, path string) []byte {
	t.Helper()
	for _, p := range []string{path, path + ".gz"} {
		if m, _ := filepath.Glob(p); len(m) == 1 {
			return reference.Read(t, p)
		}
	}
	t.Fatalf("no file %s", path)
	return nil
}

func dir(t testing.TB) string { return filepath.Join(reference.Dir(t), "memtrace") }

// allocated reads a trace: its sites, and the samples of each.
func allocated(t testing.TB, trace []byte) (*Stacks, []int64) {
	t.Helper()
	r, err := memtrace.NewReaderBytes(trace)
	if err != nil {
		t.Fatal(err)
	}
	s := NewStacks()
	w := s.Walk(r)
	var amounts []int64
	var ev memtrace.Event
	for {
		err := r.Next(&ev)
		if err == io.EOF {
			return s, amounts
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == memtrace.Alloc {
			i := w.Site(&ev)
			for int(i) >= len(amounts) {
				amounts = append(amounts, 0)
			}
			amounts[i] += ev.Samples
		}
	}
}

// TestFolded compares the folded stacks of every reference trace with what
// the original's flamegraph prints.
func TestFolded(t *testing.T) {
	files := reference.Glob(t, "memtrace/*/flamegraph.txt.gz")
	for _, path := range files {
		folder := filepath.Dir(path)
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			s, amounts := allocated(t, load(t, filepath.Join(folder, name+".ctf")))
			var got bytes.Buffer
			if err := s.WriteFolded(&got, amounts); err != nil {
				t.Fatal(err)
			}
			compare(t, got.Bytes(), reference.Read(t, path))
		})
	}
}

func compare(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			t.Fatalf("line %d\n got %.300s\nwant %.300s", i+1, g[i], w[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(g), len(w))
}

// BenchmarkFolded makes the folded stacks of the trace with the deep stacks.
func BenchmarkFolded(b *testing.B) {
	data := load(b, filepath.Join(dir(b), "big", "big.ctf"))
	for b.Loop() {
		s, amounts := allocated(b, data)
		if err := s.WriteFolded(io.Discard, amounts); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Nodes()), "nodes")
		b.ReportMetric(float64(s.Sites()), "sites")
	}
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
