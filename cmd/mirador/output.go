package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// create writes a file that is there whole or not at all, for its owner's
// eyes. Once ctx is done, it stops.
func create(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return cannotWrite(path, err)
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriterSize(&output{ctx, f}, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return cannotWrite(path, err)
}

// output is a file that is no longer written to once ctx is done.
type output struct {
	ctx  context.Context
	file *os.File
}

func (o *output) Write(b []byte) (int, error) {
	if o.ctx.Err() != nil {
		return 0, interrupted
	}
	return o.file.Write(b)
}

// cannotWrite makes an error of the system, which may name a file of ours,
// one about the file that the user wants.
func cannotWrite(path string, err error) error {
	var onPath *os.PathError
	var onLink *os.LinkError
	switch {
	case errors.As(err, &onPath):
		err = onPath.Err
	case errors.As(err, &onLink):
		err = onLink.Err
	default:
		return err
	}
	text := fmt.Errorf("write %s: %v", path, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return withHint(text, "make the folder %s first", filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		return withHint(text, "give it a name that is not there yet")
	}
	return text
}

// interrupted is the status of a command that was stopped with Ctrl-C.
const interrupted = exitStatus(130)

// interruptible lets a command end at Ctrl-C even while it waits for its input
// or computes.
func interruptible(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return orInterrupted(cmd.Context(), func() error { return run(cmd, args) })
	}
	return cmd
}

// orInterrupted calls f and returns its error. Once ctx is done, f has a moment
// to clean up and is then left to itself: the program is about to end.
func orInterrupted(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(500 * time.Millisecond):
		return interrupted
	}
}
