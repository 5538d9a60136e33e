package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGoCommandLine: what is wrong before go has been asked.
func TestGoCommandLine(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		errs   string
	}{
		{[]string{"go"}, 2, "mirador: error: missing a command of go: build, run, test, install, vet\n"},
		{[]string{"go", "-x", "build"}, 2, "mirador: error: unknown flag -x before the command of go\n"},
		{[]string{"go", "--help"}, 0, ""},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), c.args, nil, &out, &errs); status != c.status || !strings.HasPrefix(errs.String(), c.errs) {
			t.Errorf("%v: status %d, %s", c.args, status, &errs)
		}
	}
}

// TestGoPatched: the program, its status and a signal are as with go itself,
// and a program that fails to build is not mirador's error.
func TestGoPatched(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "mirador")
	if out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(dir, "program.go")
	const text = `package main

import (
	"os"
	"os/signal"
)

func main() {
	switch os.Args[1] {
	case "fail":
		os.Exit(3)
	case "wait":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		println("ready")
		<-c
		println("interrupted")
	default:
		println(os.Args[1])
	}
}
`
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		errs   string
	}{
		{[]string{"go", "run", program, "-overlay=x"}, 0, "-overlay=x\n"},
		{[]string{"go", "run", program, "fail"}, 1, "exit status 3\n"},
		{[]string{"go", "build", "./nowhere"}, 1, "directory not found"},
		{[]string{"go", "nothing"}, 2, "unknown command"},
	} {
		cmd := exec.Command(exe, c.args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		cmd.Run()
		if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%v: status %d, %s", c.args, status, &errs)
		}
	}

	endsAtInterrupt(t, exec.Command(exe, "go", "run", program, "wait"))
}

// endsAtInterrupt runs a command in a process group of its own, and does to it
// what Ctrl-C in a terminal does.
func endsAtInterrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	interrupt := ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var said []byte
	buf := make([]byte, 100)
	for {
		n, err := errs.Read(buf)
		before := len(said)
		said = append(said, buf[:n]...)
		if bytes.Contains(said, []byte("ready\n")) && !bytes.Contains(said[:before], []byte("ready\n")) {
			interrupt()
		}
		if err != nil {
			break
		}
	}
	cmd.Wait()
	if !bytes.Contains(said, []byte("interrupted\n")) {
		t.Errorf("the program said %q, and ended with %v", said, cmd.ProcessState)
	}
}
