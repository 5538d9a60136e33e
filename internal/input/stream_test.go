//go:build !js

package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestOpenStream(t *testing.T) {
	text := []byte(strings.Repeat("the same bytes, however they are packed\n", 10_000))
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
			s, err := OpenStream(from, bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s as %s: %v", name, from, err)
			}
			if from == path && name == "plain" {
				if s != nil {
					t.Error("a file that is mapped is a stream")
				}
				continue
			}
			if head := s.Peek(100); !bytes.Equal(head, text[:100]) {
				t.Errorf("%s as %s begins with %q", name, from, head)
			}
			got, err := io.ReadAll(s)
			if err != nil || !bytes.Equal(got, text) || s.Size != int64(len(text)) || s.Cut != nil {
				t.Errorf("%s as %s: %d other bytes, %v, %d, %v", name, from, len(got), err, s.Size, s.Cut)
			}
			s.Close()
		}
	}
}

// What is cut short is read as far as it goes, as Open does.
func TestStreamCut(t *testing.T) {
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(bytes.Repeat([]byte("0123456789"), 100_000))
	w.Close()
	cut := gz.Bytes()[:gz.Len()-20]
	s, err := OpenStream("-", bytes.NewReader(cut))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	f, openErr := Open("-", bytes.NewReader(cut))
	if err != nil || openErr != nil || s.Cut == nil || !bytes.Equal(got, f.Data) {
		t.Errorf("%d bytes, %v, cut %v; Open has %d, %v", len(got), err, s.Cut, len(f.Data), openErr)
	}
	if s, err = OpenStream("-", bytes.NewReader(cut)); err != nil {
		t.Fatal(err)
	}
	if all, err := s.All(); err != nil || all.Cut == nil || !bytes.Equal(all.Data, f.Data) {
		t.Errorf("%v", err)
	}
}

// breaks is a source that fails.
type breaks struct{ left int }

func (b *breaks) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrClosedPipe
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

func TestStreamErrors(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{dir: ErrDirectory, empty: ErrEmpty, "-": ErrEmpty,
		filepath.Join(dir, "absent"): os.ErrNotExist} {
		_, err := OpenStream(path, strings.NewReader(""))
		var typed *Error
		if !errors.Is(err, want) || !errors.As(err, &typed) || typed.Path != path {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
	for _, head := range []string{"\x1f\x8b\x08", "\x1f\x8b\x08\x00\x00\x00", "\x28\xb5\x2f\xfd", "\x28\xb5\x2f\xfd\xff\xff\xff"} {
		var typed *Error
		if _, err := OpenStream("-", strings.NewReader(head)); !errors.As(err, &typed) || !strings.Contains(err.Error(), "unpack: ") {
			t.Errorf("%q: %v", head, err)
		}
	}
	s, err := OpenStream("-", &breaks{200_000})
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, s)
	var typed *Error
	if n != 200_000 || !errors.Is(err, io.ErrClosedPipe) || !errors.As(err, &typed) || typed.Offset != n {
		t.Errorf("%d bytes, %v", n, err)
	}
}
