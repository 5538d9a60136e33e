//go:build linux

package ring_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petermattis/goid"
	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring"
)

func record(t testing.TB, dir string, size int64) *ring.Session {
	t.Helper()
	s, err := ring.Start(ring.Options{Dir: dir, Size: size, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

// read calls fn with every event of a trace, which must be whole.
func read(t testing.TB, dir string, fn func(*event.Event)) *native.Reader {
	t.Helper()
	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	for last := int64(0); r.Next(&e); last = e.Time {
		if e.Time < last {
			t.Fatalf("time %d after %d", e.Time, last)
		}
		fn(&e)
	}
	for _, d := range r.Damage() {
		t.Errorf("damage: %v", d)
	}
	return r
}

// write records n events from each of four goroutines: of each, the numbers 0
// to n-1 as what it reads.
func write(n int) (ids [4]int64) {
	var wait sync.WaitGroup
	for g := range ids {
		wait.Go(func() {
			ids[g] = goid.Get()
			for i := range n {
				ring.EmitOther(event.Read, ids[g], int64(i))
			}
		})
	}
	wait.Wait()
	return ids
}

// Ten million events are all there, in the order of each goroutine.
func TestAllThere(t *testing.T) {
	n, size := 2_500_000, int64(640<<20)
	if testing.Short() || raced {
		n, size = 100_000, 32<<20
	}
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, size)
	ids := write(n)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	next := make(map[int64]int64)
	began := time.Now()
	r := read(t, dir, func(e *event.Event) {
		if e.Kind == event.Read {
			if e.Other != next[e.Thread] {
				t.Fatalf("goroutine %d: %d follows %d", e.Thread, e.Other, next[e.Thread]-1)
			}
			next[e.Thread]++
		}
	})
	t.Logf("%.1f M events/s", float64(4*n)/1e6/time.Since(began).Seconds())
	for _, id := range ids {
		if next[id] != int64(n) {
			t.Errorf("goroutine %d recorded %d events, the trace has %d", id, n, next[id])
		}
	}
	if r.Lost() != 0 || r.Discarded() != 0 || r.Complete() != 0 {
		t.Errorf("lost %d packets, discarded %d events, complete since %d", r.Lost(), r.Discarded(), r.Complete())
	}
}

// After a hundred laps, everything since the ring's oldest packet is there.
func TestWrapped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, 256<<10)
	const n = 300_000 // times 24 bytes times 4 is a hundred times the size
	ids := write(n)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	type tail struct{ time, value int64 }
	last := make(map[int64]tail)
	checked := 0
	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	read(t, dir, func(e *event.Event) {
		if e.Kind != event.Read {
			return
		}
		was, known := last[e.Thread]
		if known && was.time >= r.Complete() {
			checked++
			if e.Other != was.value+1 {
				t.Fatalf("goroutine %d: %d follows %d", e.Thread, e.Other, was.value)
			}
		}
		last[e.Thread] = tail{e.Time, e.Other}
	})
	ended := 0
	for _, id := range ids {
		if last[id].value == n-1 {
			ended++
		}
	}
	if r.Lost() < 90*r.Packets() || checked < 1000 || ended == 0 {
		t.Errorf("lost %d packets, checked %d events, saw the end of %d goroutines", r.Lost(), checked, ended)
	}
}

// Ps come and go while events are recorded, and none is lost.
func TestGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, 32<<20)
	const n = 30_000
	for _, ps := range []int{1, 8, 2} {
		runtime.GOMAXPROCS(ps)
		write(n)
	}
	runtime.GOMAXPROCS(8)
	for range 20 { // until the new Ps have rings
		time.Sleep(5 * time.Millisecond)
		write(n / 20)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	count := 0
	next := make(map[int64]int64)
	r := read(t, dir, func(e *event.Event) {
		if e.Kind == event.Read {
			count++
			if e.Other != next[e.Thread] {
				t.Errorf("goroutine %d: %d follows %d", e.Thread, e.Other, next[e.Thread]-1)
			}
			next[e.Thread]++
		}
	})
	if want := 4 * 4 * n; count != want || r.Lost() != 0 {
		t.Errorf("%d events of %d; lost %d packets, discarded %d", count, want, r.Lost(), r.Discarded())
	}
	if len(r.Rings()) < 3 {
		t.Errorf("%d rings", len(r.Rings()))
	}
}

// A recording is stopped and started again while others record.
func TestRestart(t *testing.T) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					ring.EmitText(event.Label, goid.Get(), "busy")
				}
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "trace")
	for range 10 {
		s := record(t, dir, 1<<20)
		if _, err := ring.Start(ring.Options{Dir: dir + "2", Size: 1 << 20}); !errors.Is(err, ring.ErrRecording) {
			t.Errorf("a second recording: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if err := s.Stop(); err != nil {
			t.Errorf("second Stop: %v", err)
		}
		read(t, dir, func(*event.Event) {})
	}
	close(done)
	wait.Wait()
}

// Where no trace can be made, that is an error at the start, of which nothing
// stays behind.
func TestCannotStart(t *testing.T) {
	tmp := t.TempDir()
	full := filepath.Join(tmp, "file")
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(tmp, "other")
	if err := os.MkdirAll(filepath.Join(other, "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(tmp, "link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		size      int64
		want      string
	}{
		{"100 bytes", filepath.Join(tmp, "a"), 100, "a size of 100 bytes is too small"},
		{"negative", filepath.Join(tmp, "a"), -1, "too small"},
		{"huge", filepath.Join(tmp, "a"), 1 << 60, "too large"},
		{"no parent", filepath.Join(tmp, "no", "such"), 1 << 20, "no such file or directory"},
		{"under a file", filepath.Join(full, "x"), 1 << 20, "not a directory"},
		{"a file", full, 1 << 20, "is not a directory"},
		{"a symbolic link", link, 1 << 20, "is not a directory"},
		{"something else", other, 1 << 20, "something other than a trace"},
		{"not writable", "/proc/trace", 1 << 20, "/proc/trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ring.Start(ring.Options{Dir: c.dir, Size: c.size, Program: "test"})
			if err == nil {
				s.Stop()
				t.Fatal("it records")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if ring.On() {
				t.Error("it is on")
			}
		})
	}
	if _, err := os.Stat(filepath.Join(other, "precious")); err != nil {
		t.Error(err)
	}
}

// A disk without room is an error at the start, and no SIGBUS later.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	_, err := ring.Start(ring.Options{Dir: filepath.Join(dir, "trace"), Size: 16 << 20, Program: "test"})
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("error %v", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "trace"))
	if err != nil || len(left) > 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	s, err := ring.Start(ring.Options{Dir: filepath.Join(dir, "trace"), Size: 2 << 20, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	os.WriteFile(filepath.Join(dir, "rest"), make([]byte, 4<<20), 0o600) // nothing is left now
	write(100_000)
}

// A limit on the size of files is an error, and no SIGXFSZ. Another process
// sets it, since the test's own log is a file, too.
func TestFileSizeLimit(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "RING_TEST_LIMITED="+filepath.Join(t.TempDir(), "trace"))
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != unix.EFBIG.Error() {
		t.Fatalf("%v: %s", err, out)
	}
}

// limited starts a recording where files may be 10 KiB long, and prints the
// error's cause.
func limited(dir string) {
	limit := unix.Rlimit{Cur: 10 << 10, Max: 10 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Print(err)
		return
	}
	_, err := ring.Start(ring.Options{Dir: dir, Size: 16 << 20, Program: "test"})
	if errors.Is(err, unix.EFBIG) {
		err = unix.EFBIG
	}
	fmt.Print(err)
}

// The directory is removed while the program records: the program goes on, and
// hears of it when it stops.
func TestRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, 1<<20)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write(100_000)
	if err := s.Stop(); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("error %v", err)
	}
}

// A second process is not let into a directory, as long as the first lives.
func TestBusy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	cmd := start(t, dir, 1<<20)
	if _, err := ring.Start(ring.Options{Dir: dir, Size: 1 << 20, Program: "test"}); !errors.Is(err, ring.ErrBusy) {
		t.Fatalf("error %v", err)
	}
	count(t, os.DirFS(dir))
	cmd.Process.Kill()
	cmd.Wait()
	s, err := ring.Start(ring.Options{Dir: dir, Size: 1 << 20, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	write(10)
	s.Stop()
	events := 0
	r := read(t, dir, func(e *event.Event) {
		if e.Kind == event.Read {
			events++
		}
	})
	if events != 40 || r.Program() != "test" {
		t.Errorf("%d events of %s", events, r.Program())
	}
}

// Large and small sizes are what they say, on disk, too.
func TestSizes(t *testing.T) {
	sizes := []int64{128 << 10, 1 << 20, 100 << 20}
	if !testing.Short() {
		sizes = append(sizes, 1<<30)
	}
	for _, size := range sizes {
		dir := filepath.Join(t.TempDir(), "trace")
		s := record(t, dir, size)
		write(1000)
		s.Stop()
		files, _ := filepath.Glob(filepath.Join(dir, "[0-9s]*.*"))
		var total int64
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		if total > size || total < size*3/4 {
			t.Errorf("a trace of %d bytes takes %d", size, total)
		}
		if r := read(t, dir, func(*event.Event) {}); r.Lost() > 0 && size > 1<<20 {
			t.Errorf("lost %d packets", r.Lost())
		}
		os.RemoveAll(dir)
	}
}

// Texts are cut where they are too long, and not inside a character; any
// bytes are kept.
func TestTexts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, 16<<20)
	texts := []string{"", "a", "123456", "1234567", "\xff\x00\xfe", "grüß",
		strings.Repeat("x", 32<<10), strings.Repeat("y", 100<<10), "z" + strings.Repeat("ü", 32<<10)}
	want := append([]string(nil), texts...)
	want[7] = texts[7][:32<<10]
	want[8] = texts[8][:32<<10-1]
	for _, text := range texts {
		ring.EmitText(event.Label, 1, text)
		ring.EmitWordText(event.Counter, 1, -5, text)
	}
	s.Stop()
	i := 0
	read(t, dir, func(e *event.Event) {
		if e.Thread == 1 {
			if string(e.Text) != want[i/2] {
				t.Errorf("text %d is %.20q of %d bytes", i/2, e.Text, len(e.Text))
			}
			i++
		}
	})
	if i != 2*len(texts) {
		t.Errorf("%d texts", i)
	}
}

// Nothing is allocated where events are recorded.
func TestAllocations(t *testing.T) {
	record(t, filepath.Join(t.TempDir(), "trace"), 1<<20)
	if n := testing.AllocsPerRun(1000, func() {
		ring.Emit(event.Switch, 1)
		ring.EmitOther(event.Fulfills, 1, 2)
		ring.EmitCreates(1, 2, event.Bind)
		ring.EmitText(event.Label, 1, "0123456789abcdef")
		ring.EmitWordText(event.Counter, 1, 5, "counter")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The clock is told in the world's time to the microsecond.
func TestClock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, 1<<20)
	var want []time.Time
	for range 50 {
		want = append(want, time.Now())
		ring.Emit(event.Switch, 77)
		time.Sleep(2 * time.Millisecond)
	}
	s.Stop()
	var off []time.Duration
	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	for r.Next(&e) {
		if e.Thread == 77 {
			off = append(off, r.Start().Add(time.Duration(e.Time)).Sub(want[len(off)]))
		}
	}
	if len(off) != len(want) {
		t.Fatalf("%d events", len(off))
	}
	within := 2 * time.Microsecond
	if raced {
		within *= 10 // between looking at the clock and recording, much more happens
	}
	close := 0
	for _, d := range off {
		if d > -within && d < within {
			close++
		}
	}
	if close < len(off)/2 {
		t.Errorf("off by %v", off)
	}
}

// babeltrace2 shows what was recorded, with the names of the event table.
func TestBabeltrace(t *testing.T) {
	babeltrace, err := exec.LookPath("babeltrace2")
	if err != nil {
		t.Skip("babeltrace2 is not installed")
	}
	dir := filepath.Join(t.TempDir(), "trace")
	s := record(t, dir, 1<<20)
	ring.EmitCreates(1, 2, event.Bind)
	ring.EmitText(event.Label, 2, "grüß Gott")
	ring.EmitWordText(event.Fails, 1, 2, "no such file")
	ring.EmitWordText(event.Counter, 1, -7, "bytes")
	s.Stop()
	out, err := exec.Command(babeltrace, "--no-delta", "--clock-gmt", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`creates: { thread = 1 }, { child = 2, thread_type = ( "Bind" : container = 2 ) }`,
		`label: { thread = 2 }, { label_size = 14, label = "grüß Gott" }`,
		`fails: { thread = 1 }, { resolvee = 2, exn_size = 14, exn = "no such file" }`,
		`counter: { thread = 1 }, { value = -7, counter_size = 6, counter = "bytes" }`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
