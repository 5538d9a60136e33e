package guest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/xen"
)

// A file is made, mapped, and used again; what has anything but a trace in it
// is left alone.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	m, err := Open("file:"+path, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Bytes) != 98304 {
		t.Errorf("%d bytes", len(m.Bytes))
	}
	copy(m.Bytes, "\x8amirador region\n")
	m.Bytes[98303] = 7
	if _, err := Open("file:"+path, 0); err == nil || err.Error() != "file:"+path+": another process is recording there" {
		t.Errorf("twice: %v", err)
	}
	if err := m.Release(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 98304 || data[98303] != 7 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if m, err = Open("file:"+path, 0); err != nil || len(m.Bytes) != 98304 {
		t.Fatalf("%v", err)
	}
	m.Release()
	if m, err = Open("file:"+path, 1<<20); err != nil || len(m.Bytes) != 1<<20 {
		t.Fatalf("%v", err)
	}
	m.Release()
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"letter": "dear all", "half": "\x8amira"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("letter", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"letter": "has something other than a trace in it", "half": "has something other than a trace in it",
		"link": "too many levels of symbolic links", "pipe": "is not a regular file",
		"no/ring": "no such file or directory", ".": "is a directory",
	} {
		_, err := Open("file:"+filepath.Join(dir, name), 1<<20)
		if err == nil || !strings.HasSuffix(err.Error(), name+": "+want) && !strings.HasSuffix(err.Error(), ": "+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "letter")); string(text) != "dear all" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// What cannot be had is said in one line.
func TestErrors(t *testing.T) {
	for destination, want := range map[string]string{
		"vsock:":          "vsock: after the colon comes CID:PORT",
		"vsock:1:port":    "vsock:1:port: after the colon comes CID:PORT",
		"memory:here":     "memory:here: nothing comes after the colon",
		"xen:web":         "xen:web: after the colon comes the number of a domain",
		"ivshmem:nowhere": "ivshmem:nowhere: ",
	} {
		_, err := Open(destination, 1<<20)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", destination, err)
		}
	}
	if _, err := Open("memory:", -1); err == nil {
		t.Error("a negative size is no error")
	}
	if _, err := Hold("file:x", 0); err == nil || err.Error() != "file:x: needs no holding, only xen: and memory: do" {
		t.Error(err)
	}
	_, storeErr := xen.OpenStore()
	for _, destination := range []string{"xen:", "xen:3"} {
		if _, err := Open(destination, 0); storeErr != nil && (err == nil || !strings.Contains(err.Error(), "xenstore: ")) {
			t.Errorf("%s: %v", destination, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ListenVsock(ctx, 5005, func() {}); err == nil {
		t.Error("a listener that was given up has got a stream")
	}
}

// The machine's devices are found by what they are.
func TestFindIvshmem(t *testing.T) {
	dir := t.TempDir()
	add := func(address, vendor, device string) {
		if err := os.Mkdir(filepath.Join(dir, address), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"vendor": vendor, "device": device} {
			if err := os.WriteFile(filepath.Join(dir, address, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	find := func(address, want, wantErr string) {
		t.Helper()
		got, err := findIvshmem(dir, address)
		if got != want || (err == nil) != (wantErr == "") || err != nil && err.Error() != wantErr {
			t.Errorf("%q: %q, %v", address, got, err)
		}
	}
	add("0000:00:01.0", "0x8086", "0x7000")
	add("0000:00:02.0", "0x1af4", "0x1000")
	find("", "", "this machine has no ivshmem device")
	add("0000:00:04.0", "0x1af4", "0x1110")
	find("", "0000:00:04.0", "")
	find("0000:00:04.0", "0000:00:04.0", "")
	find("0000:00:02.0", "", "is no ivshmem device; there is 0000:00:04.0")
	add("0000:00:05.0", "0x1af4", "0x1110")
	find("", "", "this machine has several, say which one: 0000:00:04.0, 0000:00:05.0")
	find("0000:00:05.0", "0000:00:05.0", "")
}

// Memory that is held is seen by a process that it is passed to, which the
// holder outlives.
func TestHeld(t *testing.T) {
	if os.Getenv("TEST_HELD") != "" {
		m, err := Open("memory:", 0)
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Bytes[4096:], "it was here")
		if os.Getenv(HeldVariable) != "" {
			t.Fatal("the variable is still there")
		}
		unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	h, err := Hold("memory:", 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	f, variable := h.Pass()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHeld$")
	cmd.Env = append(os.Environ(), variable, "TEST_HELD=1")
	cmd.ExtraFiles = []*os.File{f}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Success() || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	b := make([]byte, 11)
	if _, err := f.ReadAt(b, 4096); err != nil || !bytes.Equal(b, []byte("it was here")) {
		t.Errorf("%q, %v", b, err)
	}
	for _, bad := range []string{"nonsense", "1:0:4096", "3:0:0", "999:0:4096"} {
		t.Setenv(HeldVariable, bad)
		if _, err := Open("memory:", 0); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
