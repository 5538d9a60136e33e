// Package reference finds the reference traces that tests compare with: what
// the original software recorded, and what it made of it. They lie beside the
// repository, in shared/data, and are no part of it.
package reference

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Dir returns the folder of the reference data. Without it the test is
// skipped, but fails where CI runs it: there the data has to be.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		data := filepath.Join(dir, "shared", "data")
		if _, err := os.Stat(data); err == nil {
			return data
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			if os.Getenv("CI") != "" {
				t.Fatal("no folder shared/data above this one: the reference data is missing")
			}
			t.Skip("no folder shared/data above this one: nothing to compare with")
		}
		dir = parent
	}
}

// Glob returns the files that match a pattern below the folder.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(t), pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference data matches %s (%v)", pattern, err)
	}
	return files
}

// Read returns a file's bytes, unpacked if its name ends in ".gz".
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	data, err = io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Repair turns the strings in parsed JSON, which hold one byte per character
// in the reference data, into UTF-8, with U+FFFD for what is not.
func Repair(v any) any {
	switch v := v.(type) {
	case string:
		return utf8(v)
	case []any:
		for i := range v {
			v[i] = Repair(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = Repair(v[k])
		}
	}
	return v
}

func utf8(latin1 string) string {
	b := make([]byte, 0, len(latin1))
	for _, r := range latin1 {
		b = append(b, byte(r))
	}
	var out strings.Builder
	for _, r := range string(b) {
		out.WriteRune(r)
	}
	return out.String()
}
