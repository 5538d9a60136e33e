package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/fetch"
	"github.com/mirador-trace/mirador/internal/input"
)

// inputFor returns what is to be read for a path that is no file: the standard
// input or, for a URL, what its server answers. It says on a terminal how much
// has come. The first Ctrl-C ends the waiting, and what came is read; so is it
// when the connection breaks.
func inputFor(cmd *cobra.Command, path string) (io.Reader, error) {
	if !fetch.Is(path) {
		return cmd.InOrStdin(), nil
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	defer firstInterrupt(ctx, cancel)()
	p := newProgress(cmd.ErrOrStderr(), path)
	p.waiting()
	data, err := fetch.Get(ctx, path, p.bytes)
	p.done()
	if ctx.Err() != nil {
		err = errors.New("interrupted")
		if len(data) == 0 {
			return nil, interrupted
		}
	}
	switch {
	case err == nil:
	case len(data) > 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %s: %v: going on with the %s bytes that came\n",
			path, err, grouped(int64(len(data))))
	default:
		return nil, cannotGet(path, err)
	}
	return bytes.NewReader(data), nil
}

// cannotGet adds to an error about a URL what may be done about it.
func cannotGet(path string, err error) error {
	failed := &input.Error{Path: path, Offset: -1, Err: err}
	var status *fetch.StatusError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return withHint(failed, "the program has to run, to import net/http/pprof and to serve HTTP at this address")
	case errors.As(err, &status):
		return withHint(failed, "a Go program that imports net/http/pprof has traces at /debug/pprof/trace?seconds=5")
	case errors.Is(err, fetch.ErrRedirect):
		return withHint(failed, "name the URL where the trace is")
	}
	return failed
}

// interrupts is who wants to know of Ctrl-C before the program ends.
type interrupts struct {
	mu    sync.Mutex
	first func()
}

type interruptsKey struct{}

// withInterrupts returns a context that is done at Ctrl-C, or at SIGTERM, unless
// somebody else takes the Ctrl-C; see [firstInterrupt].
func withInterrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	who := new(interrupts)
	ctx, cancel := context.WithCancel(context.WithValue(ctx, interruptsKey{}, who))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for {
			select {
			case s := <-signals:
				if first := who.take(nil); first != nil && s == os.Interrupt {
					first()
				} else {
					cancel()
				}
			case <-ctx.Done():
				signal.Stop(signals)
				return
			}
		}
	}()
	return ctx, cancel
}

// take replaces who is first, and returns who was.
func (i *interrupts) take(next func()) func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := i.first
	i.first = next
	return first
}

// firstInterrupt lets f take the next Ctrl-C, until the function that it
// returns is called.
func firstInterrupt(ctx context.Context, f func()) (forget func()) {
	who, ok := ctx.Value(interruptsKey{}).(*interrupts)
	if !ok {
		return func() {}
	}
	who.take(f)
	return func() { who.take(nil) }
}
