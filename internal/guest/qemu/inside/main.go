//go:build linux

// Inside is what runs in the machines of the tests: the first process, which
// sets the machine up, the programs that it starts, and in domain 0 of a Xen
// host the tests that can only be made there.
//
// The kernel's command line has role=…, and the console takes commands: "kill"
// ends the program, "panic" ends the kernel.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/guest/qemu/count"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "count" {
		countHere()
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "send" {
		countThere(os.Args[2])
		return
	}
	if err := setUp(); err != nil {
		fail("set up: %v", err)
	}
	role := os.Getenv("role")
	switch role {
	case "count":
		interactive(os.Getenv("destination"))
	case "pmem":
		if err := mountPmem(); err != nil {
			fail("pmem: %v", err)
		}
		interactive("file:/mnt/ring,size=4MB")
	case "vsock":
		vsock()
	case "core":
		core()
	default:
		if !xenRole(role) {
			fail("no role %q", role)
		}
	}
	powerOff()
}

// countHere is the program: it counts until it is killed.
func countHere() {
	mirador.StartIfRequested()
	count.Run(os.Stdout, 0, nil)
}

// countThere is a program that counts for a while, slowly enough for its trace
// to be sent as it comes.
func countThere(path string) {
	r, err := mirador.Start(mirador.Config{Path: path, Size: 4 << 20})
	if err != nil {
		fail("%v", err)
	}
	stop := make(chan struct{})
	time.AfterFunc(2*time.Second, func() { close(stop) })
	count.Run(os.Stdout, 20*time.Millisecond, stop)
	if err := r.Stop(); err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Printf("\nFAIL %s\n", fmt.Sprintf(format, args...))
	powerOff()
}

func powerOff() {
	fmt.Println("\nOFF .")
	time.Sleep(200 * time.Millisecond)
	if os.Getpid() == 1 {
		unix.Sync()
		unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		select {}
	}
	os.Exit(1)
}

// setUp mounts what a system has and loads the modules that the image lists.
func setUp() error {
	for _, m := range []struct{ what, where, kind string }{
		{"proc", "/proc", "proc"}, {"sysfs", "/sys", "sysfs"}, {"devtmpfs", "/dev", "devtmpfs"},
		{"devpts", "/dev/pts", "devpts"}, {"tmpfs", "/tmp", "tmpfs"}, {"tmpfs", "/run", "tmpfs"},
	} {
		if err := os.MkdirAll(m.where, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.what, m.where, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.where, err)
		}
	}
	os.WriteFile("/proc/sys/kernel/printk", []byte("1"), 0) // the kernel shall not talk into our lines
	os.WriteFile("/proc/sys/kernel/sysrq", []byte("1"), 0)
	list, err := os.ReadFile("/modules")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, path := range strings.Fields(string(list)) {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		parameters := ""
		if filepath.Base(path) == "xen-gntalloc.ko" {
			parameters = "limit=4096" // two rings at a time, when one program follows on another
		}
		err = unix.FinitModule(int(f.Fd()), parameters, 0)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("module %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func mountPmem() error {
	for try := 0; ; try++ {
		_, err := os.Stat("/dev/pmem0")
		if err == nil {
			break
		}
		if try == 100 {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := os.MkdirAll("/mnt", 0o755); err != nil {
		return err
	}
	return unix.Mount("/dev/pmem0", "/mnt", "ext4", 0, "dax=always")
}

// interactive starts the program and does what the console says.
func interactive(request string) {
	program := exec.Command("/proc/self/exe", "count")
	program.Env = append(os.Environ(), mirador.Variable+"="+request)
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	if err := program.Start(); err != nil {
		fail("%v", err)
	}
	console := bufio.NewScanner(os.Stdin)
	for console.Scan() {
		switch strings.TrimSpace(console.Text()) {
		case "kill":
			program.Process.Signal(syscall.SIGKILL)
			program.Wait()
			fmt.Println("\nKILLED .")
		case "panic":
			os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
		}
	}
	fail("the console has ended")
}

// core reads the trace of a program out of its core file.
func core() {
	if err := os.WriteFile("/proc/sys/kernel/core_pattern", []byte("/tmp/core"), 0); err != nil {
		fail("%v", err)
	}
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unlimited); err != nil {
		fail("%v", err)
	}
	program := exec.Command("/proc/self/exe", "count")
	program.Env = append(os.Environ(), mirador.Variable+"=memory:,size=1MB", "GOTRACEBACK=crash")
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		fail("%v", err)
	}
	var known count.Known
	lines := 0
	for s := bufio.NewScanner(out); s.Scan(); {
		if k, ok := count.Parse(s.Text()); ok {
			known = k
			if lines++; lines == 5 {
				program.Process.Signal(syscall.SIGABRT)
			}
		}
	}
	program.Wait()
	info, err := os.Stat("/tmp/core")
	if err != nil {
		fail("core: %v (%v)", err, program.ProcessState)
	}
	save := exec.Command("/mirador", "save", "-o", "OUT", "core")
	save.Dir = "/tmp"
	if out, err := save.CombinedOutput(); err != nil {
		fail("core: %v: %s", err, out)
	}
	said, err := count.Check(os.DirFS("/tmp/OUT"), known)
	if err != nil {
		fail("core: %v", err)
	}
	fmt.Printf("\nPASS core: of %d MB, %s\n", info.Size()>>20, said)
}

// vsock records a program that sends its trace to another process of the same
// machine.
func vsock() {
	var known count.Known
	saver := exec.Command("/mirador", "save", "-o", "/tmp/out", "vsock:5005")
	says, err := saver.StderrPipe()
	if err == nil {
		err = saver.Start()
	}
	if err != nil {
		fail("%v", err)
	}
	lines := bufio.NewScanner(says)
	lines.Scan() // it is waiting
	program := exec.Command("/proc/self/exe", "send", "vsock:1:5005")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		fail("%v", err)
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		if k, ok := count.Parse(s.Text()); ok {
			known = k
		}
	}
	if err := program.Wait(); err != nil {
		fail("%v", err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if err := saver.Wait(); err != nil {
		fail("save: %v: %s", err, last)
	}
	said, err := count.Check(os.DirFS("/tmp/out"), known)
	if err != nil {
		info, _ := exec.Command("/mirador", "info", "/tmp/out").CombinedOutput()
		fail("vsock: %v\n%s\n%s", err, last, info)
	}
	r, err := native.NewReader(os.DirFS("/tmp/out"))
	if err != nil || r.Lost() > 0 {
		fail("vsock: %d packets lost, %v", r.Lost(), err)
	}
	fmt.Printf("\nPASS vsock: %s; %s\n", said, last)
}
