package web

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The committed page is what its TypeScript and its Go make, and the types are
// right.
func TestBundle(t *testing.T) {
	if _, err := os.Stat("app/node_modules"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no app/node_modules, and CI is set: run npm ci in internal/web/app")
		}
		t.Skip("there is no app/node_modules: run npm ci in internal/web/app")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "-C", "app/bundle", "test", "-count=1", ".").CombinedOutput(); err != nil {
		t.Errorf("what makes it: %v: %s", err, out)
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(ctx, "go", "-C", "app/bundle", "run", ".", "-check-types", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadDir("app/dist")
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != len(kept) {
		t.Errorf("%d files are committed, %d are made", len(kept), len(made))
	}
	for _, f := range made {
		a, _ := os.ReadFile(filepath.Join(dir, f.Name()))
		b, err := os.ReadFile(filepath.Join("app/dist", f.Name()))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("app/dist/%s is not what the sources make (%v): run go generate ./internal/web", f.Name(), err)
		}
	}
}
