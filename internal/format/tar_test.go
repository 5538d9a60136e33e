package format

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"
	"testing/fstest"
)

// What is packed is what any tar reads, and a file system of the same files.
func TestTar(t *testing.T) {
	dir := fstest.MapFS{
		"metadata":    {Data: []byte("text")},
		"ring-0":      {Data: bytes.Repeat([]byte("x"), 5000)},
		"empty":       {},
		".run/go-1":   {Data: bytes.Repeat([]byte("y"), tarBlock)},
		".run/go-002": {Data: []byte("z")},
	}
	var b bytes.Buffer
	if err := packTar(&b, dir); err != nil {
		t.Fatal(err)
	}
	r, n := tar.NewReader(bytes.NewReader(b.Bytes())), 0
	for ; ; n++ {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || dir[h.Name] == nil || !bytes.Equal(data, dir[h.Name].Data) {
			t.Errorf("%s: %d bytes, %v", h.Name, len(data), err)
		}
	}
	files := tarFiles(b.Bytes())
	if n != len(dir) || len(files) != len(dir) {
		t.Errorf("%d files, %d of them found; want %d", n, len(files), len(dir))
	}
	if err := fstest.TestFS(files, "metadata", "ring-0", "empty", ".run/go-1", ".run/go-002"); err != nil {
		t.Error(err)
	}
	for cut := range b.Len() {
		tarTrace(b.Bytes()[:cut]) // it must end, and not panic
	}
}

func FuzzTar(f *testing.F) {
	var b bytes.Buffer
	if err := packTar(&b, fstest.MapFS{"a/metadata": {Data: []byte("text")}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if !isTar(data) {
			return
		}
		tarTrace(data)
		total := 0
		for _, file := range tarFiles(data) {
			total += len(file)
		}
		if total > len(data) {
			t.Errorf("%d bytes out of %d", total, len(data))
		}
	})
}
