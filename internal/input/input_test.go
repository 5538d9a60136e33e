package input

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestOpen(t *testing.T) {
	text := []byte(strings.Repeat("the same bytes, however they are packed\n", 1000))
	var gz, zst bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(text)
	w.Close()
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(text)
	z.Close()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"plain": text, "gz": gz.Bytes(), "zst": zst.Bytes()} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			f, err := Open(from, bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s as %s: %v", name, from, err)
			}
			err = f.Read(func() error {
				if !bytes.Equal(f.Data, text) {
					t.Errorf("%s as %s: other bytes", name, from)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestOpenCutGzip(t *testing.T) {
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(bytes.Repeat([]byte("0123456789"), 100_000))
	w.Close()
	f, err := Open("-", bytes.NewReader(gz.Bytes()[:gz.Len()-20]))
	if err != nil {
		t.Fatal(err)
	}
	if f.Cut == nil || len(f.Data) == 0 {
		t.Errorf("got %d bytes and cut %v", len(f.Data), f.Cut)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{dir: ErrDirectory, empty: ErrEmpty, "-": ErrEmpty,
		filepath.Join(dir, "absent"): os.ErrNotExist} {
		_, err := Open(path, strings.NewReader(""))
		var typed *Error
		if !errors.Is(err, want) || !errors.As(err, &typed) || typed.Path != path {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}

// A process may truncate the file that we have mapped; the kernel answers the
// next touch with SIGBUS, which must not end us.
func TestFileShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shrinks")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.unmap == nil {
		t.Skip("files are not mapped here")
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = f.Read(func() error {
		for _, c := range f.Data {
			sum += int(c)
		}
		return nil
	})
	var typed *Error
	if !errors.Is(err, ErrShrank) || !errors.As(err, &typed) || typed.Offset < 100 {
		t.Errorf("got %v", err)
	}
}

// Compressed files are mapped and may shrink too. The zstd decoder used to read
// in goroutines of its own, where the fault ended the process.
func TestCompressedFileShrinks(t *testing.T) {
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	var gz, zst bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(noise)
	w.Close()
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(noise)
	z.Close()
	for name, data := range map[string][]byte{"gz": gz.Bytes(), "zst": zst.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		mapped, unmap, err := mapFile(file, int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		if unmap == nil {
			t.Skip("files are not mapped here")
		}
		if err := os.Truncate(path, 10_000); err != nil {
			t.Fatal(err)
		}
		_, err = unpack(&File{Path: path, Data: mapped, unmap: unmap})
		var typed *Error
		if !errors.Is(err, ErrShrank) || !errors.As(err, &typed) || typed.Offset < 10_000 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
