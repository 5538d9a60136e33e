//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// build builds the program of testdata/worker.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/worker").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// command runs mirador in a directory.
func command(dir string, args ...string) (out, errs string, status int) {
	cmd := exec.Command("mirador", args...)
	var o, e bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		status = -1
	}
	return o.String(), e.String(), status
}

// Issue 3: run sets MIRADOR, ends as the program does and says where the trace
// is; what it recorded can be looked at; save and stream copy it while the
// program runs, when it is stopped and when it was killed.
func TestRecord(t *testing.T) {
	program := build(t)
	dir := t.TempDir()
	must := func(status int, out, errs string, args ...string) {
		t.Helper()
		o, e, s := command(dir, args...)
		if s != status || !strings.Contains(o, out) || !strings.Contains(e, errs) {
			t.Errorf("mirador %s: status %d\n%s%s", strings.Join(args, " "), s, o, e)
		}
	}
	must(0, "hello\n", "mirador: the trace is in worker.trace\nmirador: hint: run 'mirador view worker.trace'", "run", "--size", "1MB", "--", program, "hello")
	must(3, "fail\n", "the trace is in failed\n", "run", "-o", "failed", program, "fail")
	must(0, "x\n", "the trace is in p.", "run", "-o", "p.%p", program, "x")
	must(0, "", "/true has recorded nothing\nmirador: hint: a program records itself when", "run", "-o", "none", "/bin/true")
	must(137, "", "was ended by SIGKILL\n", "run", "/bin/sh", "-c", "kill -9 $$")
	must(1, "", "mirador: error: exec: \"no-such-program\"", "run", "no-such-program")
	must(2, "", "mirador: error: missing the program to run", "run")
	must(2, "", "mirador: error: \"12QB\" is not a size", "run", "--size", "12QB", program, "x")
	must(0, "x\n", "mirador: nothing is recorded: a size of 100 bytes is too small", "run", "--size", "100", program, "x")
	must(2, "", "mirador: error: missing -o", "save", "worker.trace")
	must(2, "", "mirador: error: missing -o", "stream", "worker.trace")
	must(1, "", "mirador: error: stat none: no such file", "save", "-o", "x", "none")
	must(1, "", "mirador: error: no such process: 999999999", "save", "-o", "x", "999999999")
	must(1, "", "is not empty\nmirador: hint: name a directory that is not there yet", "save", "-o", "worker.trace", "worker.trace")
	must(0, "", " packets, ", "stream", "-o", "streamed", "worker.trace")

	// The same events are in the trace and in its copies.
	want := dump(t, dir, "worker.trace")
	if len(want) < 8 {
		t.Errorf("events: %v", want)
	}
	must(0, "", " packets, ", "save", "-o", "saved", "worker.trace")
	for _, name := range []string{"saved", "streamed"} {
		if got := dump(t, dir, name); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%v\nnot\n%v", name, got, want)
		}
	}
	var info struct {
		Format string
		Rings  int
		Lost   *int `json:"lost_packets"`
		Events int
	}
	out, _, _ := command(dir, "info", "--json", "worker.trace")
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.Format != "mirador" || info.Rings < 1 || info.Lost == nil || *info.Lost != 0 {
		t.Errorf("info: %v %s", err, out)
	}

	// It is looked at while it runs, and follows what comes.
	if out := served(t, dir, "run", "-o", "viewed", "--view", "--no-open", "--", program, "x"); !strings.HasSuffix(out, "#follow=1\n") {
		t.Errorf("run --view says %q", out)
	}

	must(0, "", "has recorded nothing", "run", "--view", "--no-open", "-o", "none", "/bin/true")

	// A program that does nothing but run, and lets nobody else.
	spins := exec.Command(program, "spin")
	spins.Env = append(os.Environ(), "MIRADOR="+filepath.Join(dir, "spins")+",size=1MB", "GOMAXPROCS=1")
	said, err := spins.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := spins.Start(); err != nil {
		t.Fatal(err)
	}
	defer spins.Process.Kill()
	if _, err := fmt.Fscanln(said, new(string)); err != nil {
		t.Fatal(err)
	}
	must(0, "", " packets, ", "save", "-o", "spun", fmt.Sprint(spins.Process.Pid))
	must(0, "about to spin", "", "dump", "spun")
	must(0, "about to spin", "", "dump", "spins")
	served(t, dir, "view", "--no-open", "spins")
	spins.Process.Kill()
	spins.Wait()

	// A program that runs, is stopped and then killed.
	live := exec.Command(program, "forever")
	live.Env = append(os.Environ(), "MIRADOR="+filepath.Join(dir, "live")+",size=1MB")
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	defer live.Process.Kill()
	for range 500 {
		if _, err := os.Stat(filepath.Join(dir, "live", "metadata")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	follow := exec.Command("mirador", "stream", "-o", "followed", "--follow", "live")
	follow.Dir = dir
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	defer follow.Process.Kill()
	time.Sleep(50 * time.Millisecond)
	must(0, "", " packets, ", "save", "-o", "running", fmt.Sprint(live.Process.Pid))
	must(0, "mirador", "", "info", "live")
	live.Process.Signal(syscall.SIGSTOP)
	must(0, "", " packets, ", "save", "-o", "stopped", "live")
	must(0, "", "", "info", "live")
	live.Process.Kill()
	live.Wait()
	must(0, "", " packets, ", "save", "-o", "dead", "live")
	if err := follow.Wait(); err != nil {
		t.Errorf("stream --follow: %v", err)
	}
	running, stopped, dead, followed := len(dump(t, dir, "running")), len(dump(t, dir, "stopped")), len(dump(t, dir, "dead")), len(dump(t, dir, "followed"))
	if running > stopped || stopped > dead || dead != followed || running < 20 {
		t.Errorf("%d events when it ran, %d when it was stopped, %d when it was dead, %d followed", running, stopped, dead, followed)
	}
}

// dump returns a trace's events, which must be in time order and have what
// every event has.
func dump(t *testing.T, dir, name string) (events []string) {
	t.Helper()
	out, errs, status := command(dir, "dump", "--json", name)
	if status != 0 || errs != "" {
		t.Fatalf("dump: status %d: %s", status, errs)
	}
	last := int64(0)
	for line := range strings.Lines(out) {
		var e struct {
			T       *int64
			Name    string
			Thread  *int64
			Label   *string
			Counter *string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.T == nil || *e.T < last {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Name != "gc" && e.Thread == nil || e.Name == "label" && e.Label == nil || e.Name == "counter" && e.Counter == nil {
			t.Errorf("%s lacks a field", line)
		}
		last = *e.T
		// The place in the file is not the same in a copy.
		_, rest, _ := strings.Cut(line, `"t":`)
		events = append(events, strings.TrimSpace(rest))
	}
	return events
}

// What a program's goroutines did is there up to the last moments, also when it
// was killed: it is told each tenth of a second, not each second.
func TestRunOfKilled(t *testing.T) {
	dir := t.TempDir()
	out, errs, status := command(dir, "run", "-o", "killed", "--", "/bin/sh", "-c",
		build(t)+" forever & until test -e killed/.run/go-000004.trace; do sleep 0.05; done; kill -9 $!")
	if status != 0 || !strings.Contains(errs, "the trace is in killed\n") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	out, _, _ = command(dir, "info", "--json", "killed")
	var info struct {
		Duration int64 `json:"duration_ns"`
	}
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.Duration <= 0 || info.Duration > int64(3*time.Second) {
		t.Errorf("three generations took %v (%v)", time.Duration(info.Duration), err)
	}
	out, _, _ = command(dir, "threads", "killed")
	if !strings.Contains(out, "  main.main\n") || !strings.Contains(out, "sleep") {
		t.Errorf("the goroutines are not there:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "traceAdvancerState") && !strings.Contains(line, "waits: ") {
			t.Errorf("what the runtime did last it does for ever: %s", line)
		}
	}
	for settings, want := range map[string]string{
		"":                                    "GODEBUG=traceadvanceperiod=100000000",
		"gctrace=1":                           "GODEBUG=gctrace=1,traceadvanceperiod=100000000",
		"traceadvanceperiod=5,madvdontneed=1": "GODEBUG=traceadvanceperiod=5,madvdontneed=1",
	} {
		if got := promptTrace(settings); got != want {
			t.Errorf("%q becomes %q", settings, got)
		}
	}
}
