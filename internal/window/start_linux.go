package window

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// program is the program that shows the window, ready to be started, and what
// lets go of it again. It is in memory, not in a file: there is none to clean
// up, or to be changed by others.
func program() (cmd *exec.Cmd, done func(), err error) {
	if len(packed) == 0 {
		return nil, nil, &Unavailable{Why: "mirador has no window for this kind of machine"}
	}
	fd, err := unix.MemfdCreate("mirador-window", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3, where each may be executed
		fd, err = unix.MemfdCreate("mirador-window", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, nil, &Unavailable{Why: fmt.Sprintf("the window's program cannot be put into memory: %v", err)}
	}
	f := os.NewFile(uintptr(fd), "mirador-window")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		_, err = io.Copy(f, z)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("unpacking the window's program: %w", err)
	}
	return &exec.Cmd{Path: fmt.Sprintf("/proc/self/fd/%d", fd), Args: []string{"mirador-window"}}, func() { f.Close() }, nil
}

// notStarted says why the program could not be started.
func notStarted(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		// The file is there: it is the loader of C's libraries that is not.
		return &Unavailable{Why: "this system has no GNU C library", Missing: true}
	}
	return &Unavailable{Why: fmt.Sprintf("the window's program cannot be started: %v", err)}
}

// sandboxRuns reports whether what WebKit puts its processes into works on this
// system. In some containers, and where user namespaces are forbidden, it does
// not; WebKit would end the program then.
func sandboxRuns() bool {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		bwrap = "/usr/bin/bwrap" // where WebKit has it from, most often
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	return exec.CommandContext(ctx, bwrap, "--die-with-parent", "--unshare-pid", "--unshare-uts", "--unshare-net",
		"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true").Run() == nil
}
