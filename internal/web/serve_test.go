package web

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// serve serves files until the test ends.
func serve(t testing.TB, paths ...string) *Server {
	t.Helper()
	var sources []Source
	for _, p := range paths {
		sources = append(sources, fileSource(p))
	}
	return serveSources(t, sources...)
}

// serveSources serves sources until the test ends.
func serveSources(t testing.TB, sources ...Source) *Server {
	t.Helper()
	s, err := Listen(Config{Watch: 50 * time.Millisecond, Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// sample serves the sample trace.
func sample(t testing.TB) *Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.ctf")
	writeSample(t, path, 0)
	return serve(t, path)
}
