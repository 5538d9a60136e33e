package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/reference"
)

// memCLI runs the command and returns what it prints and its exit status.
func memCLI(t testing.TB, args ...string) (out, errs string, status int) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), status
}

// memTraces returns the reference traces of memory: their names, and the
// files. Only the small ones are tested with -short.
func memTraces(t testing.TB) map[string]string {
	files := map[string]string{}
	for _, path := range reference.Glob(t, "memtrace/*/*.ctf*") {
		name := filepath.Base(filepath.Dir(path))
		about, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(filepath.Base(path), name+".ctf") && (about.Size() < 300_000 || !testing.Short()) {
			files[name] = path
		}
	}
	files["mirage"] = filepath.Join(reference.Dir(t), "memtrace", "mirage", "stream_pid-1_v2.ctf.gz")
	return files
}

// same is a Writer that compares what it gets with what it should get, and
// keeps none of it.
type same struct {
	want io.Reader // hundreds of MB: it is compared as it comes
	at   int
	buf  []byte
}

func (s *same) Write(p []byte) (int, error) {
	s.buf = slices.Grow(s.buf[:0], len(p))[:len(p)]
	if _, err := io.ReadFull(s.want, s.buf); err != nil || !bytes.Equal(p, s.buf) {
		return 0, fmt.Errorf("differs from byte %d on", s.at)
	}
	s.at += len(p)
	return len(p), nil
}

// end returns how many bytes more were wanted.
func (s *same) end() (int64, error) { return io.Copy(io.Discard, s.want) }

// TestMemText compares dump and flame with what the original's tools print.
func TestMemText(t *testing.T) {
	for name, path := range memTraces(t) {
		for _, c := range []struct{ command, want string }{{"dump", "dump.txt.gz"}, {"flame", "flamegraph.txt.gz"}} {
			golden := filepath.Join(filepath.Dir(path), c.want)
			if name == "mirage" {
				golden = filepath.Join(filepath.Dir(path), "stream."+c.want)
			}
			if _, err := os.Stat(golden); err != nil {
				continue // the original did not come to an end with it
			}
			t.Run(c.command+"/"+name, func(t *testing.T) {
				f, err := os.Open(golden)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				z, err := gzip.NewReader(f)
				if err != nil {
					t.Fatal(err)
				}
				out := &same{want: z}
				var errs bytes.Buffer
				status := run(t.Context(), []string{"mem", c.command, path}, nil, out, &errs)
				if more, err := out.end(); status != 0 || errs.Len() > 0 || more > 0 || err != nil {
					t.Errorf("status %d, %d bytes and %d more to come, %v, %s", status, out.at, more, err, errs.String())
				}
			})
		}
	}
}

// TestMemCopy compares copies with the digests of the original's.
func TestMemCopy(t *testing.T) {
	files := memTraces(t)
	out := filepath.Join(t.TempDir(), "copy.ctf")
	for line := range strings.Lines(string(reference.Read(t, filepath.Join(reference.Dir(t), "memtrace", "COPY_SHA256.txt")))) {
		f := strings.Fields(line)
		if f[2] == "original-fails:" || files[f[0]] == "" && testing.Short() {
			continue
		}
		if _, errs, status := memCLI(t, "mem", "copy", "--"+f[1], "-o", out, files[f[0]]); status != 0 || errs != "" {
			t.Errorf("%s: status %d: %s", f[0], status, errs)
			continue
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != f[2] {
			t.Errorf("%s %s: %s, want %s", f[0], f[1], sum, f[2])
		}
	}
}

// TestMemInfo compares info --json with counts.txt.
func TestMemInfo(t *testing.T) {
	for name, path := range memTraces(t) {
		counts := filepath.Join(filepath.Dir(path), "counts.txt")
		if name == "mirage" {
			counts = filepath.Join(filepath.Dir(path), "stream.counts.txt")
		}
		if _, err := os.Stat(counts); err != nil {
			continue
		}
		out, errs, status := memCLI(t, "mem", "info", "--json", path)
		if status != 0 || errs != "" {
			t.Fatalf("%s: status %d: %s", name, status, errs)
		}
		var d map[string]any
		dec := json.NewDecoder(strings.NewReader(out))
		dec.UseNumber()
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, m := range regexp.MustCompile(`(\w+)[= ](\S+?)\)?(?:\s|$)`).FindAllStringSubmatch(string(reference.Read(t, counts)), -1) {
			if want[m[1]] == "" {
				want[m[1]] = m[2]
			}
		}
		for ours, theirs := range map[string]string{"size": "size", "sample_rate": "rate", "word_size": "word", "start_us": "start_us",
			"allocs": "allocs", "allocs_external": "ext", "samples": "samples", "promotes": "promotes", "collects": "collects",
			"events": "events", "deepest_stack": "max_frames", "domains": "domains"} {
			got, err := d[ours].(json.Number).Float64()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(number(t, want[theirs])) {
				t.Errorf("%s: %s is %v, want %s", name, ours, d[ours], want[theirs])
			}
		}
		if n := len(d["damage"].([]any)); n != 0 {
			t.Errorf("%s: %d places damaged", name, n)
		}
	}
}

func number(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMemBroken runs every command that reads over every damaged trace: the
// status is 0 when there was an event in it, and nothing panics.
func TestMemBroken(t *testing.T) {
	dir := t.TempDir()
	for _, path := range reference.Glob(t, "memtrace/broken/*.gz") {
		name := filepath.Base(path)
		want := 0
		switch strings.TrimSuffix(name, ".ctf.gz") {
		case "empty", "lists_and_sets_v0", "trunc_in_info_header", "trunc_in_info_packet":
			want = 1
		}
		for _, args := range [][]string{{"dump"}, {"info"}, {"info", "--json"}, {"hotspots"}, {"flame"}, {"live"}, {"leaks"},
			{"copy", "-o", filepath.Join(dir, "x.ctf")}, {"strip", "-o", filepath.Join(dir, "x.ctf")},
			{"sample", "-o", filepath.Join(dir, "x.ctf")}, {"convert", "-o", filepath.Join(dir, "x.pb.gz")}} {
			_, errs, status := memCLI(t, append(append([]string{"mem"}, args...), path)...)
			if status != want || want == 1 && !(strings.Contains(errs, "mirador: error: ") && strings.Contains(errs, "mirador: hint: ")) {
				t.Errorf("%s %s: status %d: %s", args[0], name, status, errs)
			}
			if args[0] == "copy" && want == 0 {
				out, errs, status := memCLI(t, "mem", "dump", filepath.Join(dir, "x.ctf"))
				if status != 0 || out == "" {
					t.Errorf("%s: its copy: status %d: %s", name, status, errs)
				}
			}
		}
	}
}

// listener gets the address out of what collect says.
type listener struct {
	mu   sync.Mutex
	text bytes.Buffer
	addr chan string
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := regexp.MustCompile(`listening at (\S+);`).FindSubmatch(p); m != nil {
		l.addr <- string(m[1])
	}
	return l.text.Write(p)
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startCollect runs collect until cancel is called or it ends by itself.
func startCollect(t *testing.T, args ...string) (addr, dir string, log *listener, cancel func(), status chan int) {
	dir = filepath.Join(t.TempDir(), "traces")
	log = &listener{addr: make(chan string, 1)}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	status = make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"mem", "collect", "--listen", "localhost:0", "-o", dir}, args...), nil, io.Discard, log)
	}()
	select {
	case addr = <-log.addr:
	case <-time.After(20 * time.Second):
		t.Fatalf("collect does not listen: %s", log)
	}
	return addr, dir, log, stop, status
}

// TestCollect lets a hundred senders come at once, each with its own stream.
func TestCollect(t *testing.T) {
	const senders = 100
	trace, err := os.ReadFile("testdata/mem/interp.ctf")
	if err != nil {
		t.Fatal(err)
	}
	addr, dir, log, stop, status := startCollect(t, "--streams", fmt.Sprint(senders))
	defer stop()
	var wait sync.WaitGroup
	for i := range senders {
		wait.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for at, end := 0, len(trace)-i; at < end; at += 1 + i*100 {
				conn.Write(trace[at:min(end, at+1+i*100)])
			}
		})
	}
	wait.Wait()
	if s := <-status; s != 0 {
		t.Fatalf("status %d: %s", s, log)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ctf"))
	if err != nil || len(files) != senders {
		t.Fatalf("%d files, %v", len(files), err)
	}
	seen := map[int]bool{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen[len(trace)-len(data)] = true
		if !bytes.HasPrefix(trace, data) {
			t.Errorf("%s: not what was sent", path)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	if len(seen) != senders {
		t.Errorf("%d different files", len(seen))
	}
}

// TestCollectPeers lets peers come that stall, break off inside a packet, say
// nothing, send what is no trace or too much of it; and stops with what Ctrl-C
// does: all that has come must be there.
func TestCollectPeers(t *testing.T) {
	trace, err := os.ReadFile("testdata/mem/interp.ctf")
	if err != nil {
		t.Fatal(err)
	}
	addr, dir, log, stop, status := startCollect(t, "--max-size", "1")
	defer stop()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	stalls, silent, garbage, flood := dial(), dial(), dial(), dial()
	_ = silent
	stalls.Write(trace[:5000])
	io.WriteString(garbage, "GET / HTTP/1.1\r\n\r\n")
	flood.Write(trace)
	go func() {
		for {
			if _, err := flood.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}()
	await := func(text string) {
		t.Helper()
		for range 500 {
			if strings.Contains(log.String(), text) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("no %q in %s", text, log)
	}
	await("refused: it sends no memtrace trace")
	await("cut at 1.0 MiB")
	sizes := func() (list []int64) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.ctf"))
		for _, path := range files {
			if info, err := os.Stat(path); err == nil {
				list = append(list, info.Size())
			}
		}
		return list
	}
	for range 500 {
		if total := sum(sizes()); total == 1<<20+5000 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	select {
	case s := <-status:
		if s != 0 {
			t.Errorf("status %d: %s", s, log)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("collect does not stop: %s", log)
	}
	if total := sum(sizes()); total != 1<<20+5000 || len(sizes()) != 2 {
		t.Errorf("files of %v bytes: %s", sizes(), log)
	}
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// TestFetch records from a program that serves its trace.
func TestFetch(t *testing.T) {
	trace, err := os.ReadFile("testdata/mem/interp.ctf")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	serve := func(data []byte, then func()) {
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			conn.Write(data)
			then()
		}()
	}
	out := filepath.Join(t.TempDir(), "got.ctf")
	serve(trace, func() {})
	if _, errs, status := memCLI(t, "mem", "fetch", "-o", out, l.Addr().String()); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	if data, err := os.ReadFile(out); err != nil || !bytes.Equal(data, trace) {
		t.Errorf("%d bytes, want %d (%v)", len(data), len(trace), err)
	}

	// A program that goes on for ever is recorded for as long as was asked.
	serve(trace[:9000], func() { time.Sleep(10 * time.Second) })
	if _, errs, status := memCLI(t, "mem", "fetch", "--for", "300ms", "-o", out, l.Addr().String()); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	if data, err := os.ReadFile(out); err != nil || !bytes.Equal(data, trace[:9000]) {
		t.Errorf("%d bytes, want 9000 (%v)", len(data), err)
	}

	// One that refuses says so by closing.
	serve(nil, func() {})
	if _, errs, status := memCLI(t, "mem", "fetch", "-o", out, l.Addr().String()); status != 1 || !strings.Contains(errs, "one client at a time") {
		t.Errorf("status %d: %s", status, errs)
	}
}
