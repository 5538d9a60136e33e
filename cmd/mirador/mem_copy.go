package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/memtrace"
)

func memCopyCommand() *cobra.Command {
	var out string
	var two, three bool
	cmd := &cobra.Command{
		Use:   "copy [--v2|--v3] -o OUT FILE",
		Short: "Write a trace of memory anew, in another version of the format",
		Long: `Write a trace of memory anew: without what was damaged, and in version 2 or 3 of
the format, else in its own; version 1 becomes 2. A trace of several domains needs
version 3. The result is, byte for byte, what memtrace itself would write.`,
		Example: `  mirador mem copy --v2 -o old.ctf service.ctf`,
		Args:    between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if two && three {
				return &usageError{errors.New("--v2 and --v3 at once"), cmd}
			}
			return rewrite(cmd, args[0], out, func(f *memFile, r *memtrace.Reader, w io.Writer) error {
				info := r.Info()
				info.Version = max(2, info.Version)
				if two {
					info.Version = 2
				} else if three {
					info.Version = 3
				}
				return copyTrace(f, r, w, info, nil)
			})
		},
	}
	copyFlags(cmd, &out)
	cmd.Flags().BoolVar(&two, "v2", false, "write version 2")
	cmd.Flags().BoolVar(&three, "v3", false, "write version 3")
	return cmd
}

func copyFlags(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "output", "o", "", "write to `OUT`, - for standard output")
	cmd.MarkFlagFilename("output", "ctf")
}

// rewrite gives fn a trace and what to write a new one to.
func rewrite(cmd *cobra.Command, path, out string, fn func(*memFile, *memtrace.Reader, io.Writer) error) error {
	if err := needOut(cmd, out); err != nil {
		return err
	}
	return readMemOnce(cmd, path, true, func(f *memFile) error {
		r, err := f.trace()
		if err != nil {
			return err
		}
		err = writeOut(cmd, out, func(w io.Writer) error { return fn(f, r, w) })
		f.warn(r)
		return err
	})
}

func copyTrace(f *memFile, r *memtrace.Reader, to io.Writer, info memtrace.Info, edit func(*memtrace.Event)) error {
	return copyLocated(f, r, to, info, edit, r.Locate)
}

// errDomains is that of a copy which cannot hold what it is to be a copy of.
var errDomains = errors.New("it has several domains, and version 2 of the format has one")

func copyLocated(f *memFile, r *memtrace.Reader, to io.Writer, info memtrace.Info, edit func(*memtrace.Event), locate func(uint64) []memtrace.Location) error {
	w, err := memtrace.NewWriter(to, info, locate)
	if err != nil {
		return err
	}
	n := int64(0)
	err = memtrace.Copy(w, r, func(ev *memtrace.Event) error {
		if n++; n&0xffff == 0 {
			if err := f.watch(n); err != nil {
				return err
			}
		}
		if ev.Domain != 0 && info.Version < 3 {
			return withHint(errDomains, "write version 3 with --v3")
		}
		if edit != nil {
			edit(ev)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func memStripCommand() *cobra.Command {
	var out string
	var stacks bool
	cmd := &cobra.Command{
		Use:   "strip -o OUT FILE",
		Short: "Write a trace of memory without names, to show it to others",
		Long: `Write a trace of memory without what tells whose it is: program, host, process,
context, the time it was made, and the call stacks. With --keep-stacks they stay,
and the names of functions and files become numbers.`,
		Example: `  mirador mem strip -o public.ctf service.ctf
  mirador mem strip --keep-stacks -o public.ctf service.ctf`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return rewrite(cmd, args[0], out, func(f *memFile, r *memtrace.Reader, w io.Writer) error {
				start := r.Info().Start
				info := r.Info().Anonymous()
				info.Version = max(2, info.Version)
				locate := r.Locate
				if stacks {
					locate = anonymous(r)
				}
				return copyLocated(f, r, w, info, func(ev *memtrace.Event) {
					ev.Time -= start
					if !stacks {
						ev.Stack, ev.Prefix = nil, 0
					}
				}, locate)
			})
		},
	}
	copyFlags(cmd, &out)
	cmd.Flags().BoolVar(&stacks, "keep-stacks", false, "keep the call stacks, their names replaced with numbers")
	return cmd
}

// anonymous returns the locations of r with numbers instead of names.
func anonymous(r *memtrace.Reader) func(uint64) []memtrace.Location {
	funcs, files := map[string]string{}, map[string]string{}
	number := func(names map[string]string, name, prefix string) string {
		if names[name] == "" {
			names[name] = fmt.Sprint(prefix, len(names)+1)
		}
		return names[name]
	}
	return func(code uint64) []memtrace.Location {
		list := r.Locate(code)
		for i := range list {
			list[i].Func = number(funcs, list[i].Func, "f")
			list[i].File = number(files, list[i].File, "file")
		}
		return list
	}
}

func memSampleCommand() *cobra.Command {
	var out string
	var factor float64
	var seed uint64
	cmd := &cobra.Command{
		Use:   "sample --factor F -o OUT FILE",
		Short: "Write a part of a trace of memory, as if it was sampled less often",
		Long: `Write a part of a trace of memory, as if it had been sampled at a lower rate: each
sample is kept with the probability F, and the trace's rate becomes F times what it
was, so that the reports estimate the same bytes from less.`,
		Example: `  mirador mem sample --factor 0.1 -o small.ctf service.ctf`,
		Args:    between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(factor > 0 && factor <= 1) {
				return &usageError{errors.New("--factor must be above 0 and at most 1"), cmd}
			}
			return rewrite(cmd, args[0], out, func(f *memFile, r *memtrace.Reader, w io.Writer) error {
				return subsample(f, r, w, factor, rand.New(rand.NewPCG(seed, 0)))
			})
		},
	}
	copyFlags(cmd, &out)
	cmd.Flags().Float64Var(&factor, "factor", 0.1, "keep a sample with the probability `F`")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "start the choice at `N`: the same gives the same trace")
	return cmd
}

// subsample copies the samples that chance chooses. The blocks get new ids.
func subsample(f *memFile, r *memtrace.Reader, to io.Writer, factor float64, chance *rand.Rand) error {
	info := r.Info()
	info.Version = max(2, info.Version)
	info.SampleRate *= factor
	w, err := memtrace.NewWriter(to, info, r.Locate)
	if err != nil {
		return err
	}
	ids := map[uint64]uint64{} // of blocks that are kept
	kept := map[uint16]int{}   // by domain: how much of its last written stack still holds
	var codes []uint64
	var failed error
	err = heap.Each(r, f.watch, func(ev *memtrace.Event) bool {
		var d *memtrace.Domain
		if d, failed = w.Domain(ev.Domain); failed != nil {
			return false
		}
		id, known := ids[ev.ID]
		switch {
		case ev.Kind == memtrace.Alloc:
			prefix := min(kept[ev.Domain], ev.Prefix)
			kept[ev.Domain] = prefix
			delete(ids, ev.ID)
			samples := draw(ev.Samples, factor, chance)
			if samples == 0 {
				return true
			}
			codes = r.Codes(codes[:0], ev.Stack[prefix:])
			ids[ev.ID], failed = d.Alloc(&memtrace.Allocation{Time: ev.Time, Length: ev.Length, Samples: samples,
				Source: ev.Source, Prefix: prefix, Codes: codes})
			kept[ev.Domain] = len(ev.Stack)
		case !known:
		case ev.Kind == memtrace.Promote:
			failed = d.Promote(ev.Time, id)
		default:
			failed = d.Collect(ev.Time, id)
			delete(ids, ev.ID)
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// draw returns how many of n samples are kept, each with probability p.
func draw(n int64, p float64, chance *rand.Rand) (kept int64) {
	if n > 1000 { // the normal approximation
		mean := float64(n) * p
		v := mean + chance.NormFloat64()*math.Sqrt(mean*(1-p))
		return min(n, max(0, int64(v+0.5)))
	}
	for range n {
		if chance.Float64() < p {
			kept++
		}
	}
	return kept
}
