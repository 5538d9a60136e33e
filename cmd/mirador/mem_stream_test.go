package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/memtrace"
)

// TestMemStream compares what the commands say of a file, which is mapped, with
// what they say of the same bytes on standard input, as they are and packed.
func TestMemStream(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of commands are slow")
	}
	files := memTraces(t)
	for _, path := range reference.Glob(t, "memtrace/broken/*.gz") {
		files["broken/"+filepath.Base(path)] = path
	}
	for name, path := range files {
		data := reference.Read(t, path)
		if len(data) == 0 || len(data) > 400<<10 {
			continue // the commands take seconds for the larger ones
		}
		plain := filepath.Join(t.TempDir(), "plain.ctf")
		if err := os.WriteFile(plain, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(data)
		z.Close()
		for _, args := range [][]string{{"dump"}, {"info", "--histograms"}, {"info", "--json"}, {"hotspots"}, {"flame"},
			{"copy", "--v3", "-o", "-"}, {"strip", "--keep-stacks", "-o", "-"}} {
			args = append([]string{"mem"}, args...)
			want, wantErrs, wantStatus := memCLI(t, append(args, plain)...)
			for _, in := range [][]byte{data, packed.Bytes()} {
				var out, errs bytes.Buffer
				status := run(t.Context(), append(args, "-"), bytes.NewReader(in), &out, &errs)
				as := strings.NewReplacer(`"-"`, `"`+plain+`"`, "-:", plain+":", "standard input:", "plain.ctf:", "info -'", "info "+plain+"'")
				if status != wantStatus || args[1] != "copy" && args[1] != "strip" && as.Replace(out.String()) != want ||
					out.Len() == 0 != (want == "") || anyOrder(as.Replace(errs.String())) != anyOrder(wantErrs) {
					t.Errorf("%s %s: status %d, want %d\n%s\nwant\n%s", args, name, status, wantStatus, first(errs.String()+out.String()), first(wantErrs+want))
				}
				if (args[1] == "copy" || args[1] == "strip") && out.String() != want {
					t.Errorf("%s %s: %d other bytes than the %d", args, name, out.Len(), len(want))
				}
			}
		}
	}
}

func first(s string) string { return s[:min(len(s), 2000)] }

// endless is a trace of a program that allocates and frees, as long as it is
// read from, and up to a length.
type endless struct {
	buf    bytes.Buffer
	w      *memtrace.Writer
	domain *memtrace.Domain
	left   int
	time   int64
	most   *uint64 // of the heap while it is read
}

func newEndless(t *testing.T, size int, most *uint64) *endless {
	t.Helper()
	e := &endless{left: size, most: most}
	w, err := memtrace.NewWriter(&e.buf, memtrace.Info{Version: 2, SampleRate: 1e-3, WordSize: 64, PID: 7},
		func(code uint64) []memtrace.Location {
			return []memtrace.Location{{Func: "f", File: "f.go", Line: int(code % 1000)}}
		})
	if err != nil {
		t.Fatal(err)
	}
	e.w = w
	if e.domain, err = w.Domain(0); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *endless) Read(p []byte) (int, error) {
	for e.buf.Len() == 0 && e.left > 0 {
		for range 10_000 {
			e.time += 3
			codes := []uint64{uint64(1 + e.time%5), uint64(100 + e.time%700), uint64(1000 + e.time%11)}
			id, err := e.domain.Alloc(&memtrace.Allocation{Time: e.time, Length: 10, Samples: 1 + e.time%3, Codes: codes})
			if err == nil {
				err = e.domain.Collect(e.time+1, id)
			}
			if err != nil {
				return 0, err
			}
		}
		if err := e.w.Flush(); err != nil {
			return 0, err
		}
		if e.left -= e.buf.Len(); e.left/(8<<20) != (e.left+e.buf.Len())/(8<<20) {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			*e.most = max(*e.most, m.HeapAlloc)
		}
	}
	n, err := e.buf.Read(p)
	return n, err
}

// TestMemStreamMemory: what a stream takes does not grow with it.
func TestMemStreamMemory(t *testing.T) {
	size := 40 << 20
	if testing.Short() {
		size = 16 << 20
	}
	for _, args := range [][]string{{"dump"}, {"info"}, {"hotspots"}, {"flame"}, {"copy", "-o", "-"}, {"strip", "-o", "-"}} {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var most uint64
		in := newEndless(t, size, &most)
		var errs bytes.Buffer
		if status := run(t.Context(), append(append([]string{"mem"}, args...), "-"), in, io.Discard, &errs); status != 0 || errs.Len() > 0 {
			t.Fatalf("%s: status %d: %s", args, status, errs.String())
		}
		if most == 0 || in.left > 0 || most > before.HeapAlloc+12<<20 {
			t.Errorf("%s: %d bytes are alive, %d before; %d bytes were not read", args, most, before.HeapAlloc, in.left)
		}
	}
}

// anyOrder sorts lines: what is damaged is said in the order of reading.
func anyOrder(s string) string {
	list := strings.Split(s, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}
