package generations

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"
)

// record traces a program that is busy for some generations.
func record(t *testing.T, w io.Writer, seconds float64) {
	if err := trace.Start(w); err != nil {
		t.Skip(err) // the test itself is traced
	}
	defer trace.Stop()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for start := time.Now(); time.Since(start).Seconds() < seconds; {
				c := make(chan int)
				go func() { c <- 1 }()
				<-c
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	group.Wait()
}

// count returns how many events a trace has, as the oracle reads it.
func count(t *testing.T, data []byte) int {
	r, err := xtrace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		if _, err := r.ReadEvent(); errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			t.Fatalf("event %d: %v", n, err)
		}
	}
}

// What fits is kept to the byte, in whatever portions it comes; and each file
// is a trace by itself.
func TestKeepsAll(t *testing.T) {
	var whole bytes.Buffer
	record(t, &whole, 2.5)
	for _, portion := range []int{1 << 20, 65536, 1000, 7} {
		dir := t.TempDir()
		k, err := NewKeeper(dir, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for data := whole.Bytes(); len(data) > 0; {
			n := min(portion, len(data))
			k.Write(data[:n])
			data = data[n:]
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Open(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, whole.Bytes()) {
			t.Errorf("portions of %d: %d bytes became others, %d", portion, whole.Len(), len(got))
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(files) < 2 {
			t.Errorf("%d generations in 2.5 s", len(files))
		}
		if portion > 1000 {
			sum := 0
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v", file, info.Mode())
				}
				sum += count(t, data)
			}
			if all := count(t, whole.Bytes()); sum < all {
				t.Errorf("%d events in the files, %d in the whole", sum, all)
			}
		}
	}
}

// In little space the newest whole generations stay, and open as one trace.
func TestKeepsTheNewest(t *testing.T) {
	var whole bytes.Buffer
	record(t, &whole, 3.5)
	dir := t.TempDir()
	k, err := NewKeeper(dir, int64(whole.Len())/2)
	if err != nil {
		t.Fatal(err)
	}
	k.Write(whole.Bytes())
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Open(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) == 0 || filepath.Base(files[0]) == "go-000001.trace" {
		t.Errorf("kept %v", files)
	}
	if len(got) > whole.Len()/2 || !bytes.HasSuffix(whole.Bytes(), got[headerSize:]) {
		t.Errorf("%d of %d bytes are not its end", len(got), whole.Len())
	}
	if count(t, got) == 0 {
		t.Error("no events")
	}
	if _, err := NewKeeper(dir, 1); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("a new keeper left %v", files)
	}
}

// Generations that are too large leave nothing behind.
func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	k, err := NewKeeper(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	record(t, k, 1.5)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("left %v", files)
	}
}

// A keeper whose directory is gone, or that is fed anything else, says so at
// the end and never before.
func TestFailsQuietly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := NewKeeper(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	record(t, k, 0.1)
	if err := k.Close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	k, err = NewKeeper(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := k.Write([]byte("something else, and a lot of it")); n != 31 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if k.Close() == nil {
		t.Error("no error for something else")
	}
}

func FuzzKeeper(f *testing.F) {
	f.Add([]byte("go 1.26 trace\x00\x00\x00\x01\x01\x01\x01\x03abc\x34\x31\x01\x02\x01\x01\x00"), 5)
	f.Fuzz(func(t *testing.T, data []byte, portion int) {
		dir := t.TempDir()
		k, err := NewKeeper(dir, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		portion = max(portion, 1)
		for rest := data; len(rest) > 0; {
			n := min(portion, len(rest))
			k.Write(rest[:n])
			rest = rest[n:]
		}
		k.Close()
		got, err := Open(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, got) {
			t.Errorf("kept %q of %q", got, data)
		}
	})
}
