package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/examples/lostwakeup"
	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/example"
	"github.com/mirador-trace/mirador/internal/story"
	"github.com/mirador-trace/mirador/internal/trace"
	"github.com/mirador-trace/mirador/internal/web"
)

func demoCommand() *cobra.Command {
	var flags viewFlags
	cmd := &cobra.Command{
		Use:   "demo [mem]",
		Short: "Record a small program and look at it in the browser",
		Long: `Demo records a small program twice, now, and opens the viewer on both traces: a
producer puts letters into a box and a consumer takes them out. The bad one
loses its last wake-up, and the page tells why, step by step. With mem it opens
a recorded trace of a program that leaks memory. Ctrl-C ends it.`,
		Example:   "  mirador demo\n  mirador demo mem",
		ValidArgs: []string{"mem"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "mem" {
				args = args[1:]
			}
			return between(0, 0, "")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return serve(cmd, &flags, []web.Source{demoMemory()})
			}
			sources, told, err := recordDemo()
			flags.story = told
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: cannot record here (%v): showing a recorded trace\n", err)
				sources = []web.Source{{Load: func() (*engine.Trace, error) {
					t, err := trace.Load("-", bytes.NewReader(example.Trace), trace.Options{})
					if err != nil {
						return nil, err
					}
					return viewed(example.Name, t), nil
				}}}
			}
			return serve(cmd, &flags, sources)
		},
	}
	flags.add(cmd)
	return cmd
}

// recordDemo records the lost wake-up, good and bad, and loads both traces. The
// story is nil if it does not fit what happened: on a very busy machine the bad
// program goes wrong in other ways.
func recordDemo() (sources []web.Source, told *story.Story, err error) {
	dir, err := os.MkdirTemp("", "mirador-demo-*") // 0700
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	var traces []story.Trace
	for _, name := range []string{"good", "bad"} {
		path := filepath.Join(dir, name)
		if err := lostwakeup.Record(path, name == "good"); err != nil {
			return nil, nil, err
		}
		t, err := trace.Load(path, nil, trace.Options{})
		if err != nil {
			return nil, nil, err
		}
		traces = append(traces, story.Trace{Name: name, Model: t.Model})
		shown := viewed(name, t)
		sources = append(sources, web.Source{Load: func() (*engine.Trace, error) { return shown, nil }})
	}
	if draft, err := story.Parse("story.md", lostwakeup.Story); err == nil {
		told, _ = draft.Locate(traces)
	}
	return sources, told, nil
}
