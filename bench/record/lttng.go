package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lttng is LTTng-UST from the packages liblttng-ust-dev and lttng-tools, by a
// program in C, since it has no Go of its own.
func lttng() []peer {
	return []peer{
		{name: "LTTng-UST", n: 1_000_000, note: "a number", elsewhere: func(dir string, n, threads int) (float64, error) {
			return runLTTng(dir, "number", n, threads)
		}},
		{name: "LTTng-UST", n: 1_000_000, note: "16 bytes", elsewhere: func(dir string, n, threads int) (float64, error) {
			return runLTTng(dir, "text", n, threads)
		}},
	}
}

func runLTTng(dir, what string, n, threads int) (ns float64, err error) {
	if _, err := exec.LookPath("lttng"); err != nil {
		return 0, errors.New("lttng-tools is not installed")
	}
	program := filepath.Join(dir, "lttng-events")
	source, err := filepath.Abs("lttng")
	if err != nil {
		return 0, err
	}
	if err := command("cc", "-O2", "-I"+source, "-o", program, filepath.Join(source, "events.c"), "-llttng-ust", "-ldl", "-lpthread"); err != nil {
		return 0, err
	}
	stop, err := startDaemon()
	if err != nil {
		return 0, err
	}
	defer stop()
	session := "mirador-bench-" + strconv.Itoa(os.Getpid())
	if err := command("lttng", "create", session, "--output", filepath.Join(dir, "out")); err != nil {
		return 0, err
	}
	defer func() {
		if e := command("lttng", "destroy", session); err == nil {
			err = e
		}
	}()
	for _, args := range [][]string{
		{"lttng", "enable-channel", "-s", session, "-u", "c", "--overwrite", "--subbuf-size=1M", "--num-subbuf=8"},
		{"lttng", "enable-event", "-s", session, "-u", "-c", "c", "bench:*"},
		{"lttng", "start", session},
	} {
		if err := command(args...); err != nil {
			return 0, err
		}
	}
	out, err := exec.Command(program, what, strconv.Itoa(n), strconv.Itoa(threads)).Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// startDaemon starts LTTng's session daemon, unless one runs already, and
// returns what ends the one that was started.
func startDaemon() (stop func(), err error) {
	if exec.Command("lttng", "--no-sessiond", "list").Run() == nil {
		return func() {}, nil
	}
	daemon := exec.Command("lttng-sessiond", "--no-kernel", "--quiet")
	if err := daemon.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		daemon.Process.Signal(syscall.SIGTERM)
		daemon.Wait()
	}
	for range 100 {
		if exec.Command("lttng", "--no-sessiond", "list").Run() == nil {
			return stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return nil, errors.New("lttng-sessiond does not answer")
}

func command(args ...string) error {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %v: %.300s", strings.Join(args, " "), err, out)
	}
	return nil
}
