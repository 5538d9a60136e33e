//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/bench/synthetic"
)

// Issue 2: Ctrl-C ends every command at once, whatever it waits for, with
// status 130 and nothing half done left behind. A command that waited for its
// standard input used to go on waiting, since the signal was caught and only
// looked at between two events.
func TestInterrupt(t *testing.T) {
	for _, args := range []string{"info", "dump", "threads", "convert -o out.json", "convert -o out.ctf", "convert -o out",
		"render -o out.svg", "view --no-open"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, dir, append(strings.Fields(args), pipe), nil)
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the command reads
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			p.interrupt(t)
			if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
				t.Errorf("left behind: %v %v", files, err)
			}
		})
	}
}

// Nor does a command go on that writes to a pipe which nobody reads.
func TestInterruptWriter(t *testing.T) {
	dir := t.TempDir()
	var data bytes.Buffer
	if err := synthetic.Write(&data, synthetic.Shape{Events: 50_000}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "trace.ctf")
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := start(t, dir, []string{"dump", path}, w)
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	p.interrupt(t)
}

// A reader that has seen enough, as head does, ends the command quietly.
func TestReaderLeaves(t *testing.T) {
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	trace, err := filepath.Abs("../../testdata/combinators.ctf.gz")
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, []string{"dump", trace}, w)
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := p.wait(t); err == nil {
		t.Error("status 0")
	}
	if p.errs.Len() > 0 {
		t.Errorf("it says %s", &p.errs)
	}
}

// process is a running mirador.
type process struct {
	cmd  *exec.Cmd
	done chan error
	errs bytes.Buffer
}

func start(t *testing.T, dir string, args []string, out io.Writer) *process {
	p := &process{cmd: exec.Command("mirador", args...), done: make(chan error, 1)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, &p.errs
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p
}

func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		t.Fatal("it goes on")
		return nil
	}
}

// interrupt does what Ctrl-C does, and wants the command to end.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.wait(t); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("ended with %v: %s", err, &p.errs)
	}
}
