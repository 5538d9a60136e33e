package main

import (
	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/memtrace"
)

func memDumpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "dump FILE",
		Short: "Write every event of a trace of memory as a line of text",
		Long: `Write every event of a trace of memory as a line of text: the time in µs since
the trace began, the block's number, and what happened to it. An allocation has
its samples, its length in words, its domain, how many frames it shares with the
one before, and its call stack, the outermost frame first. The lines are those of
memtrace's dump_trace.`,
		Example: `  mirador mem dump service.ctf | head
  mirador mem dump service.ctf | grep alloc_major`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readMemOnce(cmd, args[0], true, func(f *memFile) error {
				r, err := f.trace()
				if err != nil {
					return err
				}
				d := memtrace.NewDumper(cmd.OutOrStdout(), r)
				var failed error
				err = heap.Each(r, f.watch, func(ev *memtrace.Event) bool {
					failed = d.Dump(ev)
					return failed == nil
				})
				if failed == nil {
					failed = d.Flush()
				}
				if err == nil {
					err = failed
				}
				f.warn(r)
				return err
			})
		},
	}
}
