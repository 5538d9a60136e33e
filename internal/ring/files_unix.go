//go:build (linux || darwin) && (amd64 || arm64 || riscv64 || loong64)

package ring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runDir has what no reader of the Common Trace Format should see.
const runDir = ".run"

// supported reports whether this system can record.
func supported() error { return nil }

// claim makes dir, or takes over the one with an older trace that nobody
// writes to any more, and locks it for as long as the file is open or, at
// most, this process lives.
func claim(dir string) (lock *os.File, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := ours(dir); err != nil {
		return nil, err
	}
	run := filepath.Join(dir, runDir)
	if err := os.Mkdir(run, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	lock, err = os.OpenFile(filepath.Join(run, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	// Who only looks whether there is a recording has the lock for a moment.
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for try := 0; try < 20 && errors.Is(err, unix.EWOULDBLOCK); try++ {
		time.Sleep(time.Millisecond)
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := empty(dir); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// ours returns an error unless dir is a directory of this user's that is
// empty or holds a trace: nothing else is ever overwritten.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", dir)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name.Name() == runDir {
			return nil
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%s is a directory with something other than a trace in it", dir)
	}
	return nil
}

// empty removes an older trace's files from dir. They are not truncated: a
// process may have them mapped yet.
func empty(dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		n := strings.TrimSuffix(strings.TrimPrefix(name.Name(), "."), hidden)
		if n != "metadata" && !isSlot(n) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name.Name())); err != nil {
			return err
		}
	}
	return nil
}

// isSlot reports whether name is one that makeRing gives.
func isSlot(name string) bool {
	ring, slot, ok := strings.Cut(name, ".")
	return ok && strings.Trim(ring, "0123456789s") == "" && strings.Trim(slot, "0123456789") == ""
}

// hidden ends the names of files that are being made; "." begins them.
const hidden = ".new"

// replace writes a file so that it is there whole or not at all.
func replace(path string, text []byte) error {
	dir, name := filepath.Split(path)
	made := filepath.Join(dir, "."+name+hidden)
	if err := fits(int64(len(text))); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	if err := os.WriteFile(made, text, 0o600); err != nil {
		os.Remove(made)
		return err
	}
	return os.Rename(made, path)
}

// mapping is memory that files are mapped to, side by side.
type mapping struct {
	addr unsafe.Pointer
	size uintptr
}

func (m mapping) memory() unsafe.Pointer { return m.addr }

func (m mapping) unmap() { unix.MunmapPtr(m.addr, m.size) }

// makeRing makes the files of a ring, each with an empty packet in it and all
// of its room allocated, maps them side by side, and makes them visible.
func makeRing(dir, name string, uuid [16]byte, id uint64, room slots, begin uint64) (m mapping, err error) {
	m.size = uintptr(room.count) * uintptr(room.size)
	m.addr, err = unix.MmapPtr(-1, 0, nil, m.size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return m, fmt.Errorf("reserve %d bytes of memory: %w", m.size, err)
	}
	var made []string
	defer func() {
		if err != nil {
			m.unmap()
			for _, path := range made {
				os.Remove(path)
			}
		}
	}()
	for i := range room.count {
		path := filepath.Join(dir, fmt.Sprintf(".%s.%02d%s", name, i, hidden))
		made = append(made, path)
		p := unsafe.Add(m.addr, i*room.size)
		if err := mapSlot(path, p, room.size); err != nil {
			return m, err
		}
		putSlot(unsafe.Slice((*byte)(p), room.size), i, room, uuid, id, begin)
	}
	for i, path := range made {
		visible := filepath.Join(dir, fmt.Sprintf("%s.%02d", name, i))
		if err := os.Rename(path, visible); err != nil {
			return m, err
		}
		made[i] = visible
	}
	return m, nil
}

// mapSlot makes a file of size bytes and maps it at p.
func mapSlot(path string, p unsafe.Pointer, size int) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := allocate(f, int64(size)); err != nil {
		return &fs.PathError{Op: "allocate", Path: path, Err: err}
	}
	_, err = unix.MmapPtr(int(f.Fd()), 0, p, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	populate(p, size)
	return nil
}

// fits returns an error if the process may not write files of so many bytes.
// It must not even try: the system would end it by a signal.
func fits(size int64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if uint64(size) > uint64(limit.Cur) {
		return unix.EFBIG
	}
	return nil
}

// fillWithZeros allocates a file's room where there is no system call to.
func fillWithZeros(f *os.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for size > 0 {
		n, err := f.Write(zeros[:min(size, int64(len(zeros)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// touch writes to every page of the size bytes at p, which are zeros.
func touch(p unsafe.Pointer, size int) {
	for off := 0; off < size; off += os.Getpagesize() {
		*(*byte)(unsafe.Add(p, off)) = 0
	}
}
