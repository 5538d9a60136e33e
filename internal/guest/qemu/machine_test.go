//go:build guests

// Package qemu boots virtual machines and reads the traces of the programs in
// them, from outside. ".ci/guests" gets what it needs and runs it.
package qemu

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/guest/qemu/count"
)

// unpacked is where .ci/guests has put kernels and Xen.
func unpacked(t *testing.T, path ...string) string {
	t.Helper()
	root := os.Getenv("MIRADOR_GUESTS")
	if root == "" {
		t.Fatal("MIRADOR_GUESTS is not set: run this by .ci/guests")
	}
	found, err := filepath.Glob(filepath.Join(append([]string{root}, path...)...))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files, %v", filepath.Join(path...), len(found), err)
	}
	return found[0]
}

// programs builds what runs in the machines, and mirador, all static.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "mirador-guests-"); err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"init": "./inside", "mirador": "../../../cmd/mirador"} {
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %s", err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// archive is an initial file system, in the format of cpio that kernels read.
type archive struct {
	bytes.Buffer
	dirs      map[string]bool
	libraries map[string]bool
	n         int
}

func (a *archive) add(name string, mode uint32, data []byte) {
	if a.dirs == nil {
		a.dirs = make(map[string]bool)
	}
	if dir := filepath.Dir(name); dir != "." && !a.dirs[dir] {
		a.dirs[dir] = true
		a.add(dir, 0o40755, nil)
	}
	a.n++
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.n, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.Len()%4 != 0 {
		a.WriteByte(0)
	}
}

func (a *archive) addFile(t *testing.T, name, path string, mode uint32) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a.add(name, 0o100000|mode, data)
}

// addModules adds kernel modules and what they need, and a list of all in the
// order in which they are to be loaded.
func (a *archive) addModules(t *testing.T, kernel string, names ...string) {
	t.Helper()
	dir := unpacked(t, kernel, "lib/modules/*")
	text, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		t.Fatal(err)
	}
	needs := make(map[string][]string) // by path
	paths := make(map[string]string)   // by name
	for line := range strings.Lines(string(text)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		needs[path] = strings.Fields(rest)
		paths[strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".ko"), "-", "_")] = path
	}
	var order []string
	var visit func(path string)
	visit = func(path string) {
		if slices.Contains(order, path) {
			return
		}
		for _, need := range needs[path] {
			visit(need)
		}
		order = append(order, path)
	}
	for _, name := range names {
		path, ok := paths[strings.ReplaceAll(name, "-", "_")]
		if !ok {
			t.Fatalf("%s has no module %s", dir, name)
		}
		visit(path)
	}
	var list strings.Builder
	for _, path := range order {
		name := "ko/" + filepath.Base(path)
		a.addFile(t, name, filepath.Join(dir, path), 0o600)
		fmt.Fprintf(&list, "/%s\n", name)
	}
	a.add("modules", 0o100600, []byte(list.String()))
}

func (a *archive) write(t *testing.T) string {
	t.Helper()
	a.add("TRAILER!!!", 0, nil)
	path := filepath.Join(t.TempDir(), "init.cpio")
	if err := os.WriteFile(path, a.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// small returns an initial file system for a machine with one program.
func small(t *testing.T, modules ...string) string {
	var a archive
	a.addFile(t, "init", program(t, "init"), 0o700)
	a.addFile(t, "mirador", program(t, "mirador"), 0o700)
	a.addModules(t, "cloud", modules...)
	return a.write(t)
}

// machine is QEMU at work.
type machine struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	ended  chan struct{}
	known  sync.Mutex // protects what follows
	said   count.Known
	lines  []string
	passed []string
	more   chan struct{} // closed when there is another line
}

// limit is how long a machine may live: many times what it takes, since the
// processors may have other work.
const limit = 5 * time.Minute

// start runs QEMU without acceleration by hardware, which may look as if it
// was there and then hang.
func start(t *testing.T, args ...string) *machine {
	t.Helper()
	all := append([]string{"-accel", "tcg", "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio"}, args...)
	m := &machine{t: t, cmd: exec.Command("qemu-system-x86_64", all...), ended: make(chan struct{}), more: make(chan struct{})}
	var err error
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.cmd.Stderr = m.cmd.Stdout
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // when the tests are given up
	began := time.Now()
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go m.listen(out)
	stop := time.AfterFunc(limit, func() { m.cmd.Process.Kill() })
	t.Cleanup(func() {
		stop.Stop()
		m.kill()
		used := m.cmd.ProcessState
		t.Logf("the machine took %.1f s, and %.1f s of the processor's time", time.Since(began).Seconds(),
			(used.UserTime() + used.SystemTime()).Seconds())
		if t.Failed() {
			t.Logf("the console:\n%s", m.text())
		}
	})
	return m
}

func (m *machine) listen(out io.Reader) {
	defer close(m.ended)
	s := bufio.NewScanner(out)
	for s.Scan() {
		line := strings.TrimRight(s.Text(), "\r")
		m.known.Lock()
		if known, ok := count.Parse(line); ok {
			m.said = known
		}
		m.lines = append(m.lines, line)
		close(m.more)
		m.more = make(chan struct{})
		m.known.Unlock()
	}
	io.Copy(io.Discard, out)
	m.cmd.Wait()
}

func (m *machine) text() string {
	m.known.Lock()
	defer m.known.Unlock()
	return strings.Join(m.lines[max(0, len(m.lines)-120):], "\n")
}

// knows returns how far the program is known to be.
func (m *machine) knows() count.Known {
	m.known.Lock()
	defer m.known.Unlock()
	return m.said
}

// wait waits for a line that ok likes, beginning with line number from, and
// returns the number of the one after it.
func (m *machine) wait(from int, what string, ok func(line string) bool) int {
	m.t.Helper()
	deadline := time.After(limit)
	for {
		m.known.Lock()
		lines, more := m.lines, m.more
		m.known.Unlock()
		for ; from < len(lines); from++ {
			if strings.HasPrefix(lines[from], "FAIL ") {
				select {
				case <-m.ended:
				case <-time.After(5 * time.Second):
				}
				m.t.Fatal(lines[from])
			}
			if ok(lines[from]) {
				return from + 1
			}
		}
		select {
		case <-more:
		case <-m.ended:
			m.t.Fatalf("the machine has ended, without %s", what)
		case <-deadline:
			m.t.Fatalf("no %s within %v", what, limit)
		}
	}
}

// counting waits until the program has counted for a while.
func (m *machine) counting() {
	m.t.Helper()
	at := 0
	for range 5 {
		at = m.wait(at, "counting", func(line string) bool { _, ok := count.Parse(line); return ok })
	}
}

func (m *machine) tell(command string) {
	m.t.Helper()
	if _, err := io.WriteString(m.in, command+"\n"); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends QEMU as kill -9 does.
func (m *machine) kill() {
	m.cmd.Process.Kill()
	<-m.ended
}
