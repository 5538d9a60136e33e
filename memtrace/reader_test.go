package memtrace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	refdata "github.com/mirador-trace/mirador/internal/reference"
)

// reference returns the folder of the reference traces.
func reference(t testing.TB) string {
	t.Helper()
	return filepath.Join(refdata.Dir(t), "memtrace")
}

// load reads a file, or NAME.gz unpacked.
func load(t testing.TB, path string) []byte {
	t.Helper()
	if data, err := os.ReadFile(path); err == nil {
		return data
	}
	f, err := os.Open(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// traces returns the names of the reference traces in folders of their own.
func traces(t testing.TB, dir string) []string {
	list, err := filepath.Glob(filepath.Join(dir, "*", "counts.txt"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no traces in %s: %v", dir, err)
	}
	var names []string
	for _, path := range list {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names
}

func dump(t testing.TB, w io.Writer, r *Reader) {
	t.Helper()
	d := NewDumper(w, r)
	var ev Event
	for {
		err := r.Next(&ev)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Dump(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
}

// comparer is a Writer that compares what it gets with what it should get.
type comparer struct {
	want []byte
	at   int
}

func (c *comparer) Write(p []byte) (int, error) {
	rest := c.want[c.at:]
	n := min(len(p), len(rest))
	if !bytes.Equal(p[:n], rest[:n]) {
		i := 0
		for p[i] == rest[i] {
			i++
		}
		start := bytes.LastIndexByte(c.want[:c.at+i], '\n') + 1
		return 0, fmt.Errorf("differs in line %d\n got …%.300q\nwant …%.300q", bytes.Count(c.want[:c.at+i], []byte("\n"))+1,
			p[max(0, i-20):], c.want[max(start, c.at+i-20):])
	}
	if n < len(p) {
		return 0, fmt.Errorf("longer than it should be by %.200q", p[n:])
	}
	c.at += n
	return len(p), nil
}

// TestDump compares the text of every undamaged reference trace with what the
// original's dump_trace prints.
func TestDump(t *testing.T) {
	dir := reference(t)
	for _, name := range traces(t, dir) {
		if name == "big" { // its text would have 80 GB: see TestDumpBig
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkDump(t, load(t, filepath.Join(dir, name, name+".ctf")), load(t, filepath.Join(dir, name, "dump.txt")))
		})
	}
	t.Run("mirage", func(t *testing.T) {
		checkDump(t, load(t, filepath.Join(dir, "mirage", "stream_pid-1_v2.ctf")), load(t, filepath.Join(dir, "mirage", "stream.dump.txt")))
	})
}

func checkDump(t *testing.T, trace, want []byte) {
	r, err := NewReaderBytes(trace)
	if err != nil {
		t.Fatal(err)
	}
	w := &comparer{want: want}
	dump(t, w, r)
	if w.at != len(want) {
		t.Errorf("%d of %d bytes are missing: %.200q", len(want)-w.at, len(want), want[w.at:])
	}
	for _, d := range r.Damage() {
		t.Errorf("damage: %v", d)
	}
}

// TestDumpBig compares the first lines of the trace with the deep stacks.
func TestDumpBig(t *testing.T) {
	dir := reference(t)
	want := load(t, filepath.Join(dir, "big", "dump_first400.txt"))
	r, err := NewReaderBytes(load(t, filepath.Join(dir, "big", "big.ctf")))
	if err != nil {
		t.Fatal(err)
	}
	w := &comparer{want: want}
	d := NewDumper(w, r)
	var ev Event
	for range 400 {
		if err := r.Next(&ev); err != nil {
			t.Fatal(err)
		}
		if err := d.Dump(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.at != len(want) {
		t.Errorf("%d bytes are missing", len(want)-w.at)
	}
}

// TestCounts compares figures of every reference trace with counts.txt.
func TestCounts(t *testing.T) {
	dir := reference(t)
	for _, name := range traces(t, dir) {
		t.Run(name, func(t *testing.T) {
			checkCounts(t, load(t, filepath.Join(dir, name, name+".ctf")), string(load(t, filepath.Join(dir, name, "counts.txt"))))
		})
	}
	t.Run("mirage", func(t *testing.T) {
		checkCounts(t, load(t, filepath.Join(dir, "mirage", "stream_pid-1_v2.ctf")), string(load(t, filepath.Join(dir, "mirage", "stream.counts.txt"))))
	})
}

func checkCounts(t *testing.T, trace []byte, want string) {
	line, _, _ := strings.Cut(want, "\n")
	line, _, _ = strings.Cut(line, " bytes/alloc")
	open := map[string]func() (*Reader, error){
		"bytes":  func() (*Reader, error) { return NewReaderBytes(trace) },
		"stream": func() (*Reader, error) { return NewReader(dribble{bytes.NewReader(trace)}) },
	}
	for mode, open := range open {
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if got := counts(t, r, len(trace)); got != line {
			t.Errorf("%s:\n got %s\nwant %s", mode, got, line)
		}
		for _, d := range r.Damage() {
			t.Errorf("%s: damage: %v", mode, d)
		}
	}
}

// dribble gives its bytes in small portions, as a connection may.
type dribble struct{ r io.Reader }

func (d dribble) Read(p []byte) (int, error) { return d.r.Read(p[:min(len(p), 1000)]) }

func counts(t *testing.T, r *Reader, size int) string {
	var ev Event
	var allocs, major, ext, samples, promotes, collects, events, frames, fresh, deepest int64
	first := r.Info().Start
	last := first
	domains := map[uint16]bool{}
	for {
		err := r.Next(&ev)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		events++
		last = max(last, ev.Time)
		switch ev.Kind {
		case Promote:
			promotes++
		case Collect:
			collects++
		case Alloc:
			domains[ev.Domain] = true
			allocs++
			samples += ev.Samples
			frames += int64(len(ev.Stack))
			fresh += int64(len(ev.Stack) - ev.Prefix)
			deepest = max(deepest, int64(len(ev.Stack)))
			switch ev.Source {
			case Major:
				major++
			case External:
				ext++
			}
		}
	}
	info := r.Info()
	return fmt.Sprintf("size=%d rate=%v word=%d start_us=%d dur_us=%d allocs=%d (major %d ext %d) samples=%d promotes=%d collects=%d events=%d frames=%d new_frames=%d max_frames=%d domains=%d",
		size, info.SampleRate, info.WordSize, info.Start, last-first, allocs, major, ext, samples, promotes, collects, events, frames, fresh, deepest, len(domains))
}

// TestConstantMemory reads the large trace as a stream: what is alive of it
// at any moment is a packet, the tables, and what it tells of the program.
func TestConstantMemory(t *testing.T) {
	f, err := os.Open(filepath.Join(reference(t), "big", "big.ctf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(z)
	if err != nil {
		t.Fatal(err)
	}
	alive := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := alive()
	var most uint64
	var ev Event
	for n := 0; r.Next(&ev) == nil; n++ {
		if n%500_000 == 0 {
			most = max(most, alive())
		}
	}
	if most > before+8<<20 {
		t.Errorf("%d bytes are alive, %d before", most, before)
	}
}
