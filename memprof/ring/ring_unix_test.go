//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ring

import (
	"bytes"
	"encoding/binary"

	"os"
	"path/filepath"
	"testing"

	"github.com/mirador-trace/mirador/memprof/note"
)

// packet returns one of size bytes, as far as this package looks at it.
func packet(size int) []byte {
	p := bytes.Repeat([]byte{7}, size)
	binary.LittleEndian.PutUint32(p, magic)
	binary.LittleEndian.PutUint32(p[4:], uint32(size*8))
	return p
}

// notes returns packets with the notes that f makes.
func notes(f func(*note.Builder)) (list []byte) {
	var b note.Builder
	f(&b)
	b.AppendPackets(nil, 100, func(p []byte) { list = append(list, p...) })
	return list
}

func created(t *testing.T, size int) (*Writer, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	w, err := Create(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, dir
}

func find(t *testing.T, dir string) []File {
	t.Helper()
	files, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, w *Writer, p []byte) {
	t.Helper()
	if n, err := w.Write(p); err != nil || n != len(p) {
		t.Fatal(n, err)
	}
}

// TestFiles: what is written is there at once, and files before the last two
// go when the last has all that lives.
func TestFiles(t *testing.T) {
	w, dir := created(t, 0)
	var want []byte
	for i := range 5 {
		if err := w.Next(0); err != nil {
			t.Fatal(err)
		}
		want = nil
		p := notes(func(b *note.Builder) { b.Beginning(1, 5) })
		write(t, w, p)
		want = append(want, p...)
		for size := 66; size < 2000; size += 61 {
			write(t, w, packet(size))
			want = append(want, packet(size)...)
		}
		files := find(t, dir)
		last := files[len(files)-1]
		if last.Number != i+1 || last.Complete || last.Size != int64(len(want)) || last.PID != os.Getpid() {
			t.Errorf("%+v, want %d bytes", last, len(want))
		}
		p = notes(func(b *note.Builder) { b.Complete(2) })
		write(t, w, p)
		want = append(want, p...)
		w.Complete()
		if files = find(t, dir); len(files) != min(i+1, 2) || !files[len(files)-1].Complete {
			t.Errorf("file %d: %+v", i+1, files)
		}
	}
	files := find(t, dir)
	last := files[len(files)-1]
	if got, err := last.ReadFile(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if about, err := os.Stat(last.Path); err != nil || about.Size() != int64(len(want)) {
		t.Errorf("%d bytes after Close, %v, want %d", about.Size(), err, len(want))
	}
}

// TestTorn: a packet whose first bytes are not there yet is none.
func TestTorn(t *testing.T) {
	w, dir := created(t, 0)
	if err := w.Next(0); err != nil {
		t.Fatal(err)
	}
	write(t, w, packet(100))
	f, err := os.OpenFile(find(t, dir)[0].Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, b := range [][]byte{
		append(make([]byte, 4), packet(200)[4:]...), // killed before the magic number
		packet(60), // no header is so short
		{0xc1, 0x1f, 0xfc, 0xc1, 0xff, 0xff, 0xff, 0xff}, // nor a packet so long
	} {
		if _, err := f.WriteAt(append(b, make([]byte, 300)...), 100); err != nil {
			t.Fatal(err)
		}
		if got := find(t, dir)[0]; got.Size != 100 {
			t.Errorf("%x…: %d bytes", b[:8], got.Size)
		}
	}
}

func TestFull(t *testing.T) {
	w, _ := created(t, 1)
	if err := w.Next(0); err != nil {
		t.Fatal(err)
	}
	written := 0
	for !w.Full(20_000) {
		write(t, w, packet(20_000))
		written += 20_000
	}
	if written < leastSize-40_000 {
		t.Errorf("full with %d bytes", written)
	}
	write(t, w, packet(len(w.mem)-w.used))
	if _, err := w.Write(packet(66)); err == nil {
		t.Error("more fits than there is room for")
	}
	if err := w.Next(1_000_000); err != nil {
		t.Fatal(err)
	}
	if w.Full(1_000_000 * bytesOfObject) {
		t.Error("a million objects do not fit into the file that was made for them")
	}
	if err := w.Next(1 << 50); err == nil {
		t.Error("a file of 100 PiB can be made")
	}
}

func TestFindNothing(t *testing.T) {
	dir := t.TempDir()
	if files := find(t, dir); files != nil {
		t.Error(files)
	}
	os.MkdirAll(filepath.Join(dir, Folder, Name(1, 1)), 0o700)
	for _, name := range []string{"mem-1.memtrace", "mem-x-1.memtrace", "mem-1-x.memtrace", "lock"} {
		if err := os.WriteFile(filepath.Join(dir, Folder, name), packet(66), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files := find(t, dir); files != nil {
		t.Error(files)
	}
}
