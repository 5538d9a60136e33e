package main

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/example"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/trace"
	"github.com/mirador-trace/mirador/internal/web"
	"github.com/mirador-trace/mirador/memtrace"
)

// loadViewed loads a trace of threads, or one of memory, to be looked at.
func loadViewed(cmd *cobra.Command, path, name string) (*engine.Trace, error) {
	if path == "-" { // to be read by who knows its format
		data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), input.MaxUnpacked))
		if err != nil {
			return nil, &input.Error{Path: path, Offset: -1, Err: err}
		}
		stdin := cmd.InOrStdin()
		defer cmd.SetIn(stdin)
		cmd.SetIn(bytes.NewReader(data))
		t, err := loadTrace(cmd, path, trace.Options{})
		if err == nil {
			return viewed(name, t), nil
		}
		cmd.SetIn(bytes.NewReader(data))
		return loadMemory(cmd, path, name, err)
	}
	t, err := loadTrace(cmd, path, trace.Options{})
	if err != nil {
		return loadMemory(cmd, path, name, err)
	}
	return viewed(name, t), nil
}

// loadMemory loads a trace of memory when that is why it was no trace of
// threads; otherwise the error stands.
func loadMemory(cmd *cobra.Command, path, name string, no error) (*engine.Trace, error) {
	var unknown *format.Unknown
	if !errors.As(no, &unknown) || unknown.Like == "" {
		return nil, no
	}
	var t *engine.Trace
	err := readMem(cmd, path, func(f *memFile) error {
		r, err := f.trace()
		if err != nil {
			return err
		}
		t, err = engine.ReadMemory(name, r, heap.ReadNotes(f.data), f.watch)
		f.warn(r)
		return err
	})
	return t, err
}

// demoMemory is the example trace of memory.
func demoMemory() web.Source {
	return web.Source{Load: func() (*engine.Trace, error) {
		data, err := input.Open("-", bytes.NewReader(example.Memory))
		if err != nil {
			return nil, err
		}
		r, err := memtrace.NewReaderBytes(data.Data)
		if err != nil {
			return nil, err
		}
		return engine.ReadMemory(example.MemoryName, r, nil, nil)
	}}
}
