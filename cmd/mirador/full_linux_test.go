package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fullDisk tells a process of the test how its disk is to be full.
const fullDisk = "MIRADOR_TEST_FULL_DISK"

// room is how many bytes that disk, or a file on it, takes.
const room = 256 << 10

// TestCollectFullDisk has collect write to a disk that fills up: a file system
// of its own where that may be mounted, in a process with a view of its own on
// what is mounted; else a disk that takes files up to a size.
func TestCollectFullDisk(t *testing.T) {
	if os.Getenv(fullDisk) != "" {
		collectFullDisk(t)
		return
	}
	dir := t.TempDir()
	attempt := func(kind string, attr *syscall.SysProcAttr) (out []byte, err error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCollectFullDisk$", "-test.v", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), fullDisk+"="+kind+":"+dir)
		cmd.SysProcAttr = attr
		return cmd.CombinedOutput()
	}
	private := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		private.Cloneflags |= syscall.CLONE_NEWUSER
		private.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		private.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := attempt("mount", private)
	if errors.Is(err, os.ErrPermission) || bytes.Contains(out, []byte(mayNotMount)) {
		t.Log("no file system may be mounted here")
		out, err = attempt("limit", nil)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestCollectFullDisk")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

const mayNotMount = "this process may not mount"

// fillable makes a disk that will be full, and returns what the system says
// when it is.
func fillable(t *testing.T) (dir string, says string) {
	t.Helper()
	kind, dir, _ := strings.Cut(os.Getenv(fullDisk), ":")
	if kind == "limit" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: room, Max: room}); err != nil {
			t.Fatal(err)
		}
		return dir, "file too large"
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=700")
	}
	if err != nil {
		t.Fatalf("%s: %v", mayNotMount, err)
	}
	return dir, "no space left on device"
}

func collectFullDisk(t *testing.T) {
	disk, says := fillable(t)
	trace, err := os.ReadFile("testdata/mem/interp.ctf")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(disk, "traces")
	log := &listener{addr: make(chan string, 1)}
	status := make(chan int, 1)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Second)
	defer stop()
	go func() {
		status <- run(ctx, []string{"mem", "collect", "--listen", "localhost:0", "-o", dir}, nil, io.Discard, log)
	}()
	addr := <-log.addr
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	await := func(what string, ok func() bool) {
		t.Helper()
		for range 1000 {
			if ok() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%s: does not happen: %s", what, log)
	}
	ofSize := func(size int) (list []string) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.ctf"))
		for _, path := range files {
			if about, err := os.Stat(path); err == nil && about.Size() == int64(size) {
				list = append(list, path)
			}
		}
		return list
	}

	// One sender has sent half of its trace, and waits.
	patient := dial()
	patient.Write(trace[:9000])
	await("9000 bytes are there", func() bool { return len(ofSize(9000)) == 1 })

	// Another sends its trace again and again, until there is no room.
	flood := dial()
	torrent := bytes.Repeat(trace, 2*room/len(trace))
	go flood.Write(torrent)
	await("a file cannot be written", func() bool { return strings.Contains(log.String(), says) })
	if want := "mirador: error: " + flood.LocalAddr().String() + ": write " + dir; !strings.Contains(log.String(), want) ||
		!strings.Contains(log.String(), says+" after 2") { // hundred and some KiB
		t.Errorf("no %q in %s", want, log)
	}
	flood.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := flood.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the sender does not learn of it: %v", err)
	}

	// What came before is there, and can be read to where it ends.
	cut := largest(t, dir)
	data, err := os.ReadFile(cut)
	if err != nil || len(data) < room/2 || len(data) > room || !bytes.Equal(data, torrent[:len(data)]) {
		t.Errorf("%d bytes are not what was sent: %v", len(data), err)
	}
	one, _, _ := events(t, "testdata/mem/interp.ctf")
	all, errs, code := events(t, cut)
	if want := len(data) / len(trace) * one; code != 0 || want == 0 || all < want {
		t.Errorf("%d events of the %d in whole traces, status %d: %s", all, want, code, errs)
	}

	if says != "file too large" {
		// There is no room for the first bytes of a third: no file stays.
		third := dial()
		third.Write(trace)
		await("a second error", func() bool { return strings.Count(log.String(), says) == 2 })
		await("its file is gone", func() bool { return len(ofSize(0)) == 0 })
	}

	// When there is room again, all goes on.
	if err := os.Remove(cut); err != nil {
		t.Fatal(err)
	}
	patient.Write(trace[9000:])
	patient.Close()
	last := dial()
	last.Write(trace)
	last.Close()
	await("two whole traces are there", func() bool { return len(ofSize(len(trace))) == 2 })
	for _, path := range ofSize(len(trace)) {
		if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, trace) {
			t.Errorf("%s: not what was sent: %v", path, err)
		}
	}
	await("the streams have ended", func() bool { return strings.Count(log.String(), "13.5 KiB in ") == 2 })
	stop()
	if s := <-status; s != 1 || !strings.Contains(log.String(), "could not be written whole") || !strings.Contains(log.String(), "mirador: hint: make room in "+dir) {
		t.Errorf("status %d: %s", s, log)
	}
}

// largest returns the largest trace in a folder.
func largest(t *testing.T, dir string) (path string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.ctf"))
	most := int64(-1)
	for _, f := range files {
		if about, err := os.Stat(f); err == nil && about.Size() > most {
			path, most = f, about.Size()
		}
	}
	if path == "" {
		t.Fatalf("no traces in %s", dir)
	}
	return path
}

// events returns how many events a trace of memory has.
func events(t *testing.T, path string) (n int, errs string, status int) {
	t.Helper()
	out, errs, status := memCLI(t, "mem", "info", "--json", path)
	var about struct{ Events int }
	if err := json.Unmarshal([]byte(out), &about); err != nil {
		t.Fatalf("%v: %s %s", err, out, errs)
	}
	return about.Events, errs, status
}
