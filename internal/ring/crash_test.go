//go:build linux

package ring_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/petermattis/goid"
	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring"
)

// The test binary is also the program that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RING_TEST_DIR"); dir != "" {
		size, _ := strconv.ParseInt(os.Getenv("RING_TEST_SIZE"), 10, 64)
		busy(dir, size)
	}
	if dir := os.Getenv("RING_TEST_LIMITED"); dir != "" {
		limited(dir)
		return
	}
	os.Exit(m.Run())
}

// goroutines is how many goroutines the program has that record events.
const goroutines = 4

// busy records events from four goroutines for ever, as fast as it can, with
// collections going on. Each goroutine counts its events, in its events and,
// when an event has been recorded, in a file that outlives the process.
func busy(dir string, size int64) {
	progress, err := os.OpenFile(dir+".progress", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	check(err)
	check(progress.Truncate(4096))
	memory, err := unix.Mmap(int(progress.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check(err)
	counts := unsafe.Slice((*atomic.Int64)(unsafe.Pointer(&memory[0])), 512)
	_, err = ring.Start(ring.Options{Dir: dir, Size: size, Program: "busy", Sample: time.Millisecond})
	check(err)
	for g := range goroutines {
		go func() {
			me, done := goid.Get(), &counts[16*g]
			for n := int64(1); ; n++ {
				ring.EmitWordText(event.Counter, me, n, fmt.Sprint("g", g))
				done.Store(n)
				if n%64 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	fmt.Println("recording")
	for {
		runtime.GC()
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// start starts the program and waits until it records.
func start(t testing.TB, dir string, size int64) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RING_TEST_DIR="+dir, fmt.Sprint("RING_TEST_SIZE=", size), "GOMAXPROCS=3")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "recording\n" {
		cmd.Process.Kill()
		t.Fatalf("the program says %q", line)
	}
	go io.Copy(io.Discard, out)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// seen is what a trace has of one goroutine's count.
type seen struct {
	last int64
	time int64 // of the last
}

// count reads a trace and fails the test unless all is whole and in order: no
// damage, no time that goes backwards and, from when the trace is complete, no
// number missing from a goroutine's count.
func count(t testing.TB, dir fs.FS) (r *native.Reader, counts map[string]*seen, events int) {
	t.Helper()
	r, err := native.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	counts = make(map[string]*seen)
	var e event.Event
	last := int64(0)
	for r.Next(&e) {
		events++
		if e.Time < last {
			t.Fatalf("event %d: time %d after %d", events, e.Time, last)
		}
		last = e.Time
		if e.Kind != event.Counter || !bytes.HasPrefix(e.Text, []byte("g")) || len(e.Text) != 2 {
			continue
		}
		s := counts[string(e.Text)]
		if s == nil {
			s = &seen{time: -1}
			counts[string(e.Text)] = s
		}
		if e.Value != s.last+1 && s.time >= r.Complete() || e.Value <= s.last {
			t.Errorf("%s: %d at %d ns follows %d at %d ns; complete since %d", e.Text, e.Value, e.Time, s.last, s.time, r.Complete())
		}
		s.last, s.time = e.Value, e.Time
	}
	for _, d := range r.Damage() {
		t.Errorf("damage: %v", d)
	}
	return r, counts, events
}

// kills is how many processes are killed: as many as there is time for, and
// at least 200 where all tests are wanted.
func kills() int {
	if testing.Short() {
		return 20
	}
	return 200
}

// A process is killed at any moment, while it records from four goroutines
// and collects garbage: what it had recorded is there, whole, in order, and
// but for the one event in flight in each goroutine neither more nor less.
// The directory is one that babeltrace2 reads without a word.
func TestKill(t *testing.T) {
	babeltrace, err := exec.LookPath("babeltrace2")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("babeltrace2 is not installed")
		}
		t.Log("babeltrace2 is not installed: its part is left out")
	}
	var wrapped, total int
	for i := range kills() {
		dir := filepath.Join(t.TempDir(), "trace")
		cmd := start(t, dir, []int64{1 << 20, 16 << 20}[i%2])
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		r, counts, events := count(t, os.DirFS(dir))
		total += events
		if r.Lost() > 0 {
			wrapped++
		}
		progress, err := os.ReadFile(dir + ".progress")
		if err != nil {
			t.Fatal(err)
		}
		for g := range goroutines {
			n := int64(binary.LittleEndian.Uint64(progress[128*g:]))
			s := counts[fmt.Sprint("g", g)]
			if s == nil {
				if n > 0 && r.Lost() == 0 {
					t.Errorf("kill %d: of goroutine %d nothing is left, but it recorded %d events", i, g, n)
				}
				continue
			}
			// A goroutine that had not run for a while may have been overwritten.
			if s.last < n && s.time >= r.Complete() || s.last > n+1 {
				t.Errorf("kill %d: goroutine %d recorded %d events; the trace's last is %d", i, g, n, s.last)
			}
		}
		if babeltrace != "" {
			out, err := exec.Command(babeltrace, "-o", "dummy", dir).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("kill %d: babeltrace2: %v\n%.2000s", i, err, out)
			}
		}
		if t.Failed() {
			break
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d kills, %d of them after the ring had wrapped; %d events", kills(), wrapped, total)
}

// A trace is copied while it is written as fast as can be.
func TestLiveCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	start(t, dir, 1<<20)
	copies := 1000
	if testing.Short() {
		copies = 50
	}
	total, dropped := 0, 0
	for range copies {
		r, _, events := count(t, os.DirFS(dir))
		total += events
		for _, ring := range r.Rings() {
			dropped += ring.Missing
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d copies, %d events, %d packets overwritten meanwhile", copies, total, dropped)
}

// A process that is stopped is read from outside.
func TestStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	cmd := start(t, dir, 1<<20)
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if _, _, events := count(t, os.DirFS(dir)); events > 0 { // a busy machine may not have come that far
			break
		}
	}
	if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("not stopped: %v %v", status, err)
	}
	_, first, _ := count(t, os.DirFS(dir))
	_, second, events := count(t, os.DirFS(dir))
	if events == 0 {
		t.Fatal("no events")
	}
	for name, s := range first {
		if *s != *second[name] {
			t.Errorf("%s goes on in a stopped process: %v, then %v", name, *s, *second[name])
		}
	}
}
