//go:build linux

package memprof

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/memprof/ring"
)

// The tests of this file start themselves again as a program that is killed.
func TestMain(m *testing.M) {
	if what := os.Getenv("MEMPROF_TEST_VICTIM"); what != "" {
		victim(what)
	}
	os.Exit(m.Run())
}

//go:noinline
func batchKept() *[1024]byte { return new([1024]byte) }

// word is what a victim says: how many objects it keeps, and when.
type word struct {
	kept int
	at   int64 // µs
}

// victim allocates until it is killed. It says a word each time.
func victim(what string) {
	ringSize := 0
	if what == "small" {
		ringSize = 1 << 20
	}
	if err := Start(Config{Dir: os.Getenv("MEMPROF_TEST_DIR"), Rate: 4096, Ring: ringSize}); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var kept []*[1024]byte
	for i := 0; ; i++ {
		for range 1000 {
			batch1K()
			batch40()
		}
		if what == "leak" || i%100 == 0 {
			for range 1000 {
				kept = append(kept, batchKept())
			}
		}
		fmt.Println(len(kept), time.Now().UnixMicro())
		if what == "leak" {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// startVictim starts a victim. said returns its words when it has ended.
func startVictim(t *testing.T, what, dir string, wrap ...string) (cmd *exec.Cmd, said func() []word) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(wrap, exe)
	cmd = exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "MEMPROF_TEST_VICTIM="+what, "MEMPROF_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	words := make(chan []word, 1)
	go func() {
		var list []word
		for s := bufio.NewScanner(out); s.Scan(); {
			var w word
			if _, err := fmt.Sscan(s.Text(), &w.kept, &w.at); err != nil {
				t.Errorf("the victim said %q", s.Text())
			}
			list = append(list, w)
		}
		words <- list
	}()
	return cmd, func() []word {
		t.Helper()
		select {
		case list := <-words:
			if len(list) == 0 {
				t.Fatal("the victim said nothing")
			}
			return list
		case <-time.After(30 * time.Second):
			t.Fatal("the victim lives")
		}
		return nil
	}
}

// lastTrace returns the last complete trace of a directory.
func lastTrace(t *testing.T, dir string) *traced {
	t.Helper()
	files, err := ring.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(files) - 1; i >= 0; i-- {
		b, err := files[i].ReadFile()
		if err != nil {
			t.Fatal(err)
		}
		if files[i].Complete {
			return parseTrace(t, b)
		}
	}
	t.Fatalf("no complete file among %v", files)
	return nil
}

// end returns the time of the last event or note.
func (tr *traced) end() (end int64) {
	for i := range tr.objects {
		end = max(end, tr.objects[i].born, tr.objects[i].died)
	}
	return end
}

// checkKilled compares what a killed process left with what it said.
func checkKilled(t *testing.T, dir string, said []word) {
	t.Helper()
	tr := lastTrace(t, dir)
	tr.sound(t)
	end, last := tr.end(), said[len(said)-1]
	// The machine may be busy: the drainer is a goroutine like any other.
	if last.at-end > 1_000_000 {
		t.Errorf("the trace ends %d µs before the program", last.at-end)
	}
	// What was kept before the trace's end is in it, and at most what was
	// kept at the next word.
	next := sort.Search(len(said), func(i int) bool { return said[i].at > end })
	least, most := 0.0, math.Inf(1)
	if next > 0 {
		least = float64(said[next-1].kept) * 1024
	}
	if next < len(said) {
		most = float64(said[next].kept) * 1024
	}
	live := 0.0
	for _, o := range tr.site("batchKept") {
		if o.died == 0 {
			live += tr.bytes(o)
		}
	}
	sigma := math.Sqrt((least + 1<<20) * 4096)
	if Exact() && (live < least-5*sigma || live > most+5*sigma) {
		t.Errorf("%.0f bytes live, of %.0f to %.0f ± %.0f", live, least, most, sigma)
	}
	t.Logf("%d objects; %.0f of %.0f to %.0f bytes are live; ends %d µs before the program's last words", len(tr.objects), live, least, most, last.at-end)
}

func TestKilled(t *testing.T) {
	for i := range 4 {
		dir := t.TempDir()
		what := []string{"large", "small"}[i%2]
		cmd, said := startVictim(t, what, dir)
		time.Sleep(time.Second + time.Duration(rand.IntN(1000))*time.Millisecond)
		cmd.Process.Signal(syscall.SIGKILL)
		checkKilled(t, dir, said())
		files, _ := ring.Find(dir)
		if len(files) > 3 {
			t.Errorf("%d files are left", len(files))
		}
	}
}

// TestOutOfMemory: a process that is killed because it wants more memory than
// there is has said where it went.
func TestOutOfMemory(t *testing.T) {
	dir := t.TempDir()
	var wrap []string
	group, err := memoryGroup(t, 200<<20)
	if err == nil {
		wrap = []string{"sh", "-c", "echo $$ > " + group + "/cgroup.procs && exec \"$0\""}
	} else {
		t.Logf("no control group (%v); a limit of the address space instead", err)
		wrap = []string{"sh", "-c", "ulimit -v 1000000; exec \"$0\""}
	}
	cmd, said := startVictim(t, "leak", dir, wrap...)
	words := said()
	cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil && status.Signal() != syscall.SIGKILL {
		t.Errorf("the victim ended with %v", cmd.ProcessState)
	}
	t.Logf("the victim: %v", cmd.ProcessState)
	checkKilled(t, dir, words)
}

// memoryGroup makes a control group with so much memory.
func memoryGroup(t *testing.T, limit int) (string, error) {
	for _, v := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max"},
	} {
		dir := filepath.Join(v.root, fmt.Sprintf("mirador-test-%d", os.Getpid()))
		if _, err := os.Stat(filepath.Join(v.root, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			for range 50 { // its processes go first
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		if err := os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.Itoa(limit)), 0o644); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("memory control groups of %s: not writable", runtime.GOOS)
}

// TestRingIsPrivate: what is in a trace is nobody else's business.
func TestRingIsPrivate(t *testing.T) {
	dir := t.TempDir()
	startTrace(t, Config{Dir: dir})
	files, err := ring.Find(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, name := range []string{files[0].Path, filepath.Dir(files[0].Path)} {
		if about, err := os.Stat(name); err != nil || about.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, about.Mode(), err)
		}
	}
	if !strings.HasSuffix(files[0].Path, ring.Name(os.Getpid(), 1)) {
		t.Error(files[0].Path)
	}
}
