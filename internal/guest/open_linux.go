package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/region"
)

// Open makes or finds memory of size bytes; 0 is as much as there is, or a
// good size. The error says in one line what is wrong.
func Open(destination string, size int64) (*Memory, error) {
	kind, rest, _ := strings.Cut(destination, ":")
	if size != 0 && size < region.Page {
		return nil, describe(destination, fmt.Errorf("%d bytes: %w", size, region.ErrSmall))
	}
	var m *Memory
	var err error
	switch kind {
	case "file":
		m, err = openFile(rest, size)
	case "ivshmem":
		m, err = openIvshmem(rest, size)
	case "xen":
		m, err = openXen(rest, size)
	case "vsock":
		m, err = openVsock(rest, size)
	case "memory":
		m, err = openMemory(rest, size)
	default:
		err = errUnsupported
	}
	if err != nil {
		return nil, describe(destination, err)
	}
	return m, nil
}

// openFile maps a file, which is made if there is none. It must be empty, all
// zeros at its start, or have an older trace.
func openFile(path string, size int64) (*Memory, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, inner(err)
	}
	m, err := mapFile(f, path, size)
	if err != nil {
		f.Close()
	}
	return m, err
}

func mapFile(f *os.File, path string, size int64) (*Memory, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, inner(err)
	case info.Mode()&fs.ModeDevice != 0 && info.Mode()&fs.ModeCharDevice == 0:
		return nil, errors.New("is a block device, whose memory goes through the page cache: name a file on a DAX file system")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.New("another process is recording there")
	}
	start := make([]byte, 16)
	n, _ := f.ReadAt(start, 0)
	if start = start[:n]; !region.Is(start) && strings.Trim(string(start), "\x00") != "" {
		return nil, errors.New("has something other than a trace in it")
	}
	if have := pages(info.Size()); size == 0 && have > 0 {
		size = have
	} else if size == 0 {
		size = defaultSize
	}
	size = pages(size)
	if err := fill(f, info.Size(), size); err != nil {
		return nil, inner(err)
	}
	b, err := mapShared(int(f.Fd()), 0, size)
	if err != nil {
		return nil, err
	}
	return &Memory{Bytes: b, Note: path, release: func() error { return errors.Join(unix.Munmap(b), f.Close()) }}, nil
}

// fill writes zeros to a file from its end up to a size and waits until the
// device has them: on a DAX file system the blocks are in their place then,
// and what is written to them later stays without any more help.
func fill(f *os.File, from, to int64) error {
	if from >= to {
		return nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && uint64(to) > limit.Cur {
		return unix.EFBIG
	}
	if err := unix.Fallocate(int(f.Fd()), 0, from, to-from); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	zeros := make([]byte, 1<<20)
	for from < to {
		n, err := f.WriteAt(zeros[:min(to-from, int64(len(zeros)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return f.Sync()
}

// mapShared maps memory and makes sure that no write to it faults.
func mapShared(fd int, offset, size int64) ([]byte, error) {
	if size <= 0 || size != int64(int(size)) {
		return nil, fmt.Errorf("a size of %d bytes", size)
	}
	b, err := unix.Mmap(fd, offset, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	if unix.Madvise(b, unix.MADV_POPULATE_WRITE) != nil {
		for i := 0; i < len(b); i += 4096 { // before Linux 5.14, and for devices
			atomic.AddUint32((*uint32)(unsafe.Pointer(&b[i])), 0)
		}
	}
	return b, nil
}

const devices = "/sys/bus/pci/devices"

// openIvshmem maps the memory of an ivshmem device, whose other side is a file
// of the host.
func openIvshmem(address string, size int64) (*Memory, error) {
	address, err := findIvshmem(devices, address)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(devices, address)
	if err := os.WriteFile(filepath.Join(dir, "enable"), []byte("1"), 0); err != nil {
		return nil, locked(inner(err))
	}
	var f *os.File
	for _, name := range []string{"resource2_wc", "resource2"} {
		if f, err = os.OpenFile(filepath.Join(dir, name), os.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
			break
		}
	}
	if err != nil {
		return nil, locked(inner(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, inner(err)
	}
	if size == 0 || size > info.Size() {
		size = info.Size()
	}
	b, err := mapShared(int(f.Fd()), 0, pages(size))
	if err != nil {
		return nil, locked(err)
	}
	return &Memory{Bytes: b, Note: "ivshmem " + address, release: func() error { return unix.Munmap(b) }}, nil
}

// findIvshmem returns the address of the only ivshmem device, or checks that
// the device at an address is one.
func findIvshmem(devices, address string) (string, error) {
	var found []string
	entries, err := os.ReadDir(devices)
	if err != nil {
		return "", inner(err)
	}
	for _, e := range entries {
		if read(devices, e.Name(), "vendor") == "0x1af4" && read(devices, e.Name(), "device") == "0x1110" {
			if e.Name() == address {
				return address, nil
			}
			found = append(found, e.Name())
		}
	}
	switch {
	case len(found) == 0:
		return "", errors.New("this machine has no ivshmem device")
	case address != "":
		return "", fmt.Errorf("is no ivshmem device; there is %s", strings.Join(found, ", "))
	case len(found) > 1:
		return "", fmt.Errorf("this machine has several, say which one: %s", strings.Join(found, ", "))
	}
	return found[0], nil
}

func read(path ...string) string {
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// locked says more of an error that a locked-down kernel gives to root.
func locked(err error) error {
	if errors.Is(err, unix.EPERM) && os.Geteuid() == 0 {
		return fmt.Errorf("%w: the kernel is locked down", err)
	}
	return err
}

// openMemory makes memory that is found in a core file, in an image of the
// machine's memory, or through the process that has it open.
func openMemory(rest string, size int64) (*Memory, error) {
	if rest != "" {
		return nil, errors.New("nothing comes after the colon")
	}
	if m, err := takeHeld(); m != nil || err != nil {
		return m, err
	}
	f, err := MakeMemory(size)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, inner(err)
	}
	b, err := mapShared(int(f.Fd()), 0, info.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	note := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
	return &Memory{Bytes: b, Note: note, release: func() error { return errors.Join(unix.Munmap(b), f.Close()) }}, nil
}

// MakeMemory makes a file without a name that only lives in memory.
func MakeMemory(size int64) (*os.File, error) {
	if size == 0 {
		size = defaultSize
	}
	fd, err := unix.MemfdCreate("mirador", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), "mirador")
	if err := unix.Fallocate(fd, 0, 0, pages(size)); err != nil {
		f.Close()
		return nil, fmt.Errorf("allocate %d bytes: %w", pages(size), err)
	}
	// Who maps it can rely on its size.
	unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	return f, nil
}

// takeHeld maps the memory that a holder has passed on, if one has.
func takeHeld() (*Memory, error) {
	held := os.Getenv(HeldVariable)
	if held == "" {
		return nil, nil
	}
	os.Unsetenv(HeldVariable) // it is not for the processes that we start
	var fd int
	var offset, size int64
	if _, err := fmt.Sscanf(held, "%d:%d:%d", &fd, &offset, &size); err != nil || fd < 3 {
		return nil, fmt.Errorf("%s=%s: not DESCRIPTOR:OFFSET:SIZE", HeldVariable, held)
	}
	unix.CloseOnExec(fd)
	b, err := mapShared(fd, offset, size)
	if err != nil {
		return nil, fmt.Errorf("the memory that is held by process %d: %w", os.Getppid(), err)
	}
	return &Memory{Bytes: b, Note: fmt.Sprintf("held by process %d", os.Getppid()), release: func() error {
		return errors.Join(unix.Munmap(b), unix.Close(fd))
	}}, nil
}

// inner returns what an error says beyond the path, which stands before it
// already.
func inner(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
