package main

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/trace"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mirador-trace/mirador"
)

const text = "0123456789abcdef"

// withMirador is a peer for each of mirador's words; on says whether anything
// is recorded.
func withMirador(name, note string, on bool, op func() func(n int)) peer {
	n := 2_000_000
	if !on {
		n = 20_000_000
	}
	return peer{name: name, note: note, n: n, open: func(dir string) (func(int), func(), error) {
		if !on {
			return op(), func() {}, nil
		}
		r, err := mirador.Start(mirador.Config{Path: filepath.Join(dir, "trace")})
		if err != nil {
			return nil, nil, err
		}
		return op(), func() { r.Stop() }, nil
	}}
}

func resolve() func(int) {
	t := mirador.NewTask("task")
	return func(n int) {
		for range n {
			t.Resolve()
		}
	}
}

func label() func(int) {
	return func(n int) {
		for range n {
			mirador.Label(text)
		}
	}
}

func recorders() []peer {
	return []peer{
		withMirador("mirador", "Task.Resolve", true, resolve),
		withMirador("mirador", "Label, 16 bytes", true, label),
		withMirador("mirador", "Counter.Set, 7 bytes of name", true, func() func(int) {
			return func(n int) {
				c := mirador.NewCounter("counter")
				for i := range n {
					c.Set(int64(i))
				}
			}
		}),
		withMirador("mirador", "StartRegion and End (2 events)", true, func() func(int) {
			return func(n int) {
				for range n {
					mirador.StartRegion("region").End()
				}
			}
		}),
		withMirador("mirador, off", "Label", false, label),
		{name: "an empty loop", n: 20_000_000, note: "nothing", open: func(string) (func(int), func(), error) {
			return func(n int) {
				for range n {
				}
			}, func() {}, nil
		}},
		goTrace("runtime/trace.Log", "16 bytes", true, func(ctx context.Context) { trace.Log(ctx, "", text) }),
		goTrace("runtime/trace.WithRegion", "2 events", true, func(ctx context.Context) { trace.WithRegion(ctx, "region", func() {}) }),
		goTrace("runtime/trace.Log, off", "16 bytes", false, func(ctx context.Context) { trace.Log(ctx, "", text) }),
		{name: "zerolog", n: 100_000, note: "a line to a file", open: func(dir string) (func(int), func(), error) {
			f, err := os.Create(filepath.Join(dir, "log"))
			if err != nil {
				return nil, nil, err
			}
			log := zerolog.New(f).With().Timestamp().Logger()
			return func(n int) {
				for range n {
					log.Info().Msg(text)
				}
			}, func() { f.Close() }, nil
		}},
		{name: "slog", n: 100_000, note: "a line to a file", open: func(dir string) (func(int), func(), error) {
			f, err := os.Create(filepath.Join(dir, "log"))
			if err != nil {
				return nil, nil, err
			}
			log := slog.New(slog.NewTextHandler(f, nil))
			return func(n int) {
				for range n {
					log.Info(text)
				}
			}, func() { f.Close() }, nil
		}},
		{name: "OpenTelemetry", n: 200_000, note: "a span, in batches that are dropped", open: func(string) (func(int), func(), error) {
			p := sdk.NewTracerProvider(sdk.WithBatcher(nowhere{}))
			tracer := p.Tracer("bench")
			ctx := context.Background()
			return func(n int) {
				for range n {
					_, span := tracer.Start(ctx, text)
					span.End()
				}
			}, func() { p.Shutdown(ctx) }, nil
		}},
		{name: "Prometheus", n: 2_000_000, note: "Counter.Inc, which keeps no history", open: func(string) (func(int), func(), error) {
			c := prometheus.NewCounter(prometheus.CounterOpts{Name: "c"})
			return func(n int) {
				for range n {
					c.Inc()
				}
			}, func() {}, nil
		}},
	}
}

// nowhere exports spans to nowhere.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                        { return nil }

func goTrace(name, note string, on bool, op func(context.Context)) peer {
	return peer{name: name, n: 500_000, note: note, open: func(dir string) (func(int), func(), error) {
		done := func() {}
		if on {
			f, err := os.Create(filepath.Join(dir, "trace"))
			if err != nil {
				return nil, nil, err
			}
			w := bufio.NewWriterSize(f, 1<<20)
			if err := trace.Start(w); err != nil {
				return nil, nil, err
			}
			done = func() {
				trace.Stop()
				f.Close()
			}
		}
		ctx := context.Background()
		return func(n int) {
			for range n {
				op(ctx)
			}
		}, done, nil
	}}
}
