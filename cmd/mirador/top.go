package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring/harvest"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/top"
	"github.com/mirador-trace/mirador/internal/trace"
)

func topCommand() *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top DIR|PID|REGION",
		Short: "Watch what the threads of a recording program do now",
		Long: `Watch what the threads of a program that records do now: which run, which wait,
on what and since when. The program's help is not needed: it may hang, be
stopped, or be dead; it may run in a guest, and record into a region of memory
that is a file here. Press ? for the keys.`,
		Example: `  mirador top 4711
  mirador top app.trace
  mirador top /dev/shm/guest`,
		Args: between(1, 1, "a trace directory, a region or the number of a process"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if info, err := os.Stat(dir); err != nil || !info.Mode().IsRegular() { // a file may have a region
				if dir, err = harvest.Find(dir); err != nil {
					return withHint(err, "name a directory or a region that a program records into, or a program that 'mirador run' started")
				}
			}
			if !isTerminal(cmd.OutOrStdout()) || !isTerminal(cmd.InOrStdin()) {
				return withHint(errors.New("this is no terminal"), "for text, run 'mirador threads %s'", dir)
			}
			screen := &top.Screen{
				Name:  dir,
				Every: every,
				Plain: os.Getenv("NO_COLOR") != "",
				Load: func() (*thread.Model, error) {
					t, err := trace.Load(dir, nil, trace.Options{NoRows: true, KeepBinds: true})
					if err != nil {
						return nil, err
					}
					return t.Model, nil
				},
			}
			err := screen.Show(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
			if errors.Is(err, native.ErrNoTrace) {
				return withHint(err, "'mirador run -- PROGRAM' makes one")
			}
			return explain(err)
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "`time` between looks")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if every < 50*time.Millisecond {
			return &usageError{fmt.Errorf("--every %v is too often: at least 50ms", every), cmd}
		}
		return nil
	}
	return cmd
}
