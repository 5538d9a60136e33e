package web

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a program stores into a mapped file changes no time and no size.
func TestStampOfContents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0.00")
	when := time.Unix(1_700_000_000, 0)
	write := func(at, value int) {
		t.Helper()
		b := make([]byte, 480<<10)
		b[at] = byte(value)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, dir} {
			if err := os.Chtimes(name, when, when); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		path    string
		at      int
		changes bool
	}{{dir, 40, true}, {path, 40, true}, {path, 5*4096 + 3, true}, {path, 5*4096 + 100, false}} {
		write(c.at, 1)
		one := stampOf(c.path)
		if again := stampOf(c.path); again != one {
			t.Errorf("%s is not what it was a moment ago", c.path)
		}
		write(c.at, 2)
		if changed := stampOf(c.path) != one; changed != c.changes {
			t.Errorf("byte %d of %s: %v", c.at, c.path, changed)
		}
	}
	if s := stampOf(filepath.Join(dir, "none")); s != (stamp{}) {
		t.Errorf("%+v", s)
	}
}
