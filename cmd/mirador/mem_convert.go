package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memConvertCommand() *cobra.Command {
	var out string
	var fold bool
	cmd := &cobra.Command{
		Use:   "convert -o OUT.pb.gz FILE",
		Short: "Write a trace of memory as a pprof profile",
		Long: `Write a trace of memory as a pprof profile: per call stack the objects and bytes
that were allocated, those alive at the end, and the sum of the objects' lifetimes.

A pprof profile has every stack in full. When that is too much, recursion is
folded: a function is in a stack once, and only the innermost has its line.`,
		Example: `  mirador mem convert -o service.pb.gz service.ctf
  go tool pprof -sample_index=inuse_space -top service.pb.gz`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needOut(cmd, out); err != nil {
				return err
			}
			if out != "-" && !strings.HasSuffix(out, ".pb.gz") {
				return withHint(fmt.Errorf("%s: cannot write this format", out), "name it OUT.pb.gz")
			}
			return readMem(cmd, args[0], func(f *memFile) error {
				l, err := f.lives(fold)
				if err != nil {
					return err
				}
				return writeOut(cmd, out, func(w io.Writer) error { return l.WritePprof(w) })
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `OUT.pb.gz`, - for standard output")
	cmd.Flags().BoolVar(&fold, "fold", false, "fold recursion")
	cmd.MarkFlagFilename("output", "pb.gz")
	return cmd
}

// lives reads what a pprof profile has: with every frame unless there are too
// many.
func (f *memFile) lives(fold bool) (*heap.Lives, error) {
	r, err := f.trace()
	if err != nil {
		return nil, err
	}
	s := heap.NewExactStacks()
	if fold {
		s = heap.NewStacks()
	}
	l, err := heap.ReadLives(r, s, f.watch)
	if errors.Is(err, heap.ErrTooManyFrames) {
		fmt.Fprintf(f.cmd.ErrOrStderr(), "mirador: note: its stacks have more than %s frames in all: recursion is folded\n", grouped(heap.MaxPprofFrames))
		return f.lives(true)
	}
	if err != nil {
		return nil, err
	}
	f.warn(r)
	return l, nil
}
