// Build makes the programs that package window carries along, one for each kind
// of machine, out of their sources: the same bytes wherever it is done with the
// same release of Go.
//
//	go run ./build [-o DIR]
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	out := flag.String("o", ".", "write to this `folder`")
	flag.Parse()
	for _, arch := range []string{"amd64", "arm64"} {
		if err := build(arch, filepath.Join(*out, "gtk-"+arch+".gz")); err != nil {
			fmt.Fprintf(os.Stderr, "build: %s: %v\n", arch, err)
			os.Exit(1)
		}
	}
}

// build makes the program for one kind of machine and packs it.
func build(arch, to string) error {
	dir, err := os.MkdirTemp("", "window-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "gtk")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-buildvcs=false", "-o", made,
		"github.com/mirador-trace/mirador/internal/window/gtk")
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return err
	}
	data, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // tells no time and no name
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, packed.Bytes(), 0o644)
}
