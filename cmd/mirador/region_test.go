//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Issue 5: a trace in one piece of memory is looked at and saved by the file
// that has it, and found in a larger file.
func TestRegionFile(t *testing.T) {
	program := build(t)
	dir := t.TempDir()
	worker := exec.Command(program, "forever")
	worker.Dir, worker.Env = dir, append(os.Environ(), "MIRADOR=file:ring,size=1MB")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer worker.Wait()
	defer worker.Process.Kill()
	must := func(status int, out, errs string, args ...string) string {
		t.Helper()
		o, e, s := command(dir, args...)
		if s != status || !strings.Contains(o, out) || !strings.Contains(e, errs) {
			t.Errorf("mirador %s: status %d\n%.3000s%s", strings.Join(args, " "), s, o, e)
		}
		return o
	}
	waitFor(t, func() bool {
		out, _, status := command(dir, "threads", "ring")
		return status == 0 && strings.Contains(out, "worker")
	})
	follow := exec.Command("mirador", "save", "--follow", "-o", "followed", "ring")
	follow.Dir = dir
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	var about struct {
		Format string `json:"format"`
		Rings  int    `json:"rings"`
		Events int    `json:"events"`
		Damage []any  `json:"damage"`
	}
	if err := json.Unmarshal([]byte(must(0, "", "", "info", "--json", "ring")), &about); err != nil {
		t.Fatal(err)
	}
	if about.Format != "mirador" || about.Rings < 2 || about.Events < 3 || len(about.Damage) > 0 {
		t.Errorf("%+v", about)
	}
	must(0, `"label":"working"`, "", "dump", "--json", "ring")
	must(0, "", " packets, ", "save", "-o", "saved", "ring")
	must(0, "a trace of mirador", "", "info", "saved")
	must(0, "", " packets, ", "stream", "-o", "streamed", "ring")
	must(1, "", "this is no terminal\nmirador: hint: for text, run 'mirador threads ring'", "top", "ring")
	inTerminal(t, dir, "mirador top ring", "worker")
	served(t, dir, "view", "--no-open", "ring")

	ring, err := os.ReadFile(filepath.Join(dir, "ring"))
	if err != nil {
		t.Fatal(err)
	}
	image := append(bytes.Repeat([]byte("memory of something else, "), 40_000), ring...)
	if err := os.WriteFile(filepath.Join(dir, "image"), image, 0o600); err != nil {
		t.Fatal(err)
	}
	must(0, "a trace of mirador", "", "info", "image")
	must(0, "", " packets, ", "save", "-o", "found", "image")
	later := exec.Command(program, "later")
	later.Dir, later.Env = dir, append(os.Environ(), "MIRADOR=file:later,size=1MB")
	if out, err := later.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	another, err := os.ReadFile(filepath.Join(dir, "later"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "two"), append(image, another...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"info two", "dump two", "save -o first two", "convert -o two.ctf two", "report -o two.html two"} {
		must(0, "", "warning: two: there are 2 traces; this is the newest, at offset ", strings.Fields(args)...)
	}
	must(1, "", "saved is not empty\nmirador: hint: name a directory that is not there yet", "save", "-o", "saved", "ring")
	if err := os.WriteFile(filepath.Join(dir, "letter"), []byte("dear all"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(1, "", "letter: offset 0: no region of a mirador trace\nmirador: hint: ", "save", "-o", "none", "letter")
	ring[300]++
	if err := os.WriteFile(filepath.Join(dir, "broken"), ring, 0o600); err != nil {
		t.Fatal(err)
	}
	must(1, "", "broken: offset 0: the header of a region, damaged: its checksum is wrong", "info", "broken")
	must(2, "", "--follow is for guests", "save", "--follow", "-o", "none", ".")

	follow.Process.Signal(os.Interrupt)
	if err := follow.Wait(); err != nil {
		t.Errorf("save --follow: %v", err)
	}
	must(0, "a trace of mirador", "", "info", "followed")
}

// inTerminal runs a command in a terminal until it shows something.
func inTerminal(t *testing.T, dir, line, want string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("tmux is not installed")
		}
		t.Log("tmux is not installed: nothing is run in a terminal")
		return
	}
	socket := filepath.Join(t.TempDir(), "tmux")
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	// The shell stays, so that the last words of the command can be read.
	tmux("new-session", "-d", "-x", "120", "-y", "30", line+"; sleep 60")
	defer tmux("kill-server")
	var screen string
	defer func() {
		if t.Failed() {
			t.Logf("%s shows\n%s", line, screen)
		}
	}()
	waitFor(t, func() bool { screen = tmux("capture-pane", "-p"); return strings.Contains(screen, want) })
	tmux("send-keys", "q")
}

// served runs a command until it serves a page, which must be there, and
// interrupts it.
func served(t *testing.T, dir string, args ...string) (out string) {
	t.Helper()
	cmd := exec.Command("mirador", args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		out += lines.Text() + "\n"
		url, ok := strings.CutPrefix(lines.Text(), "mirador: serving ")
		if !ok {
			continue
		}
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("<title>mirador")) {
			t.Errorf("%s: %s %v\n%.300s", url, answer.Status, err, page)
		}
		return out
	}
	t.Fatalf("mirador %s serves nothing: %s", strings.Join(args, " "), out)
	return ""
}

// Each destination that cannot be had is one line, and the program goes on.
func TestDestinationErrors(t *testing.T) {
	program := build(t)
	for request, want := range map[string]string{
		"ivshmem:nowhere":     "ivshmem:nowhere: ",
		"file:/no/such/place": "file:/no/such/place: no such file or directory",
		"file:x,size=12":      "too small",
		"vsock:here":          "vsock:here: after the colon comes CID:PORT",
		"xen:here":            "xen:here: after the colon comes the number of a domain",
	} {
		cmd := exec.Command(program, "hello")
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "MIRADOR="+request)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || string(out) != "hello\n" || strings.Count(errs.String(), "\n") != 1 ||
			!strings.HasPrefix(errs.String(), "mirador: nothing is recorded: ") || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %q, %q, %v", request, out, errs.String(), err)
		}
	}
}

// The holder keeps the memory of a program that was killed, and ends as the
// program did.
func TestHold(t *testing.T) {
	program := build(t)
	dir := t.TempDir()
	hold := exec.Command("mirador", "hold", "--", program, "forever")
	hold.Dir, hold.Env = dir, append(os.Environ(), "MIRADOR=memory:,size=1MB")
	errs, err := os.Create(filepath.Join(dir, "errs"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	hold.Stderr = errs
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	defer hold.Process.Kill()
	child := 0
	waitFor(t, func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", hold.Process.Pid, hold.Process.Pid))
		if n, _ := fmt.Sscan(string(text), &child); n == 1 {
			return true
		}
		return childOf(hold.Process.Pid, &child)
	})
	time.Sleep(200 * time.Millisecond)
	syscall.Kill(child, syscall.SIGKILL)
	var said string
	waitFor(t, func() bool {
		text, _ := os.ReadFile(errs.Name())
		said = string(text)
		return strings.Contains(said, "was ended by SIGKILL; its trace stays /proc/")
	})
	_, rest, _ := strings.Cut(said, "its trace stays ")
	path, _, _ := strings.Cut(rest, " ")
	if out, errs, status := command(dir, "info", path); status != 0 || !strings.Contains(out, "steps") {
		t.Errorf("%s%s", out, errs)
	}
	if out, errs, status := command(dir, "save", "-o", "OUT", path); status != 0 {
		t.Errorf("%s%s", out, errs)
	}
	hold.Process.Signal(syscall.SIGTERM)
	hold.Wait()
	if status := hold.ProcessState.ExitCode(); status != 128+9 {
		t.Errorf("status %d", status)
	}
}

// childOf finds a child process where the kernel does not list them.
func childOf(parent int, child *int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ")
		var state string
		var of int
		if n, _ := fmt.Sscan(rest, &state, &of); n == 2 && of == parent {
			fmt.Sscanf(path, "/proc/%d/stat", child)
			return true
		}
	}
	return false
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to pass")
		}
	}
}
