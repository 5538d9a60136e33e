package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memDiffCommand() *cobra.Command {
	var from, to string
	var n int
	var live bool
	cmd := &cobra.Command{
		Use:   "diff A B | diff --from TIME --to TIME FILE",
		Short: "Compare two traces of memory, or two moments of one",
		Long: `Compare what two traces allocated, or, with --live, what was alive at their end;
or what was alive at two moments of one trace. The functions that changed most
come first: what they allocated themselves, and what was allocated under them.
A and B may also be pprof heap profiles.`,
		Example: `  mirador mem diff before.ctf after.ctf
  mirador mem diff --from 10s --to end service.ctf`,
		Args: between(1, 2, "two trace files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			moments := from != "" || to != ""
			switch {
			case moments && len(args) == 2:
				return &usageError{errors.New("--from and --to are of one file"), cmd}
			case !moments && len(args) == 1:
				return &usageError{errors.New("missing the second file"), cmd}
			case moments:
				return diffMoments(cmd, args[0], from, to, n)
			}
			var profiles [2]*heap.Profile
			for i, path := range args {
				err := readMem(cmd, path, func(f *memFile) (err error) {
					switch {
					case live && f.pprof():
						profiles[i], err = f.profile("inuse_space")
					case live:
						var l *living
						if l, err = f.live(instant{end: true}, nil); err == nil {
							profiles[i] = l.profile
						}
					default:
						profiles[i], err = f.profile("")
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			what := "allocated"
			if live {
				what = "alive at the end"
			}
			p := &printer{w: cmd.OutOrStdout()}
			p.diff(profiles[0], profiles[1], what, title(args[0]), title(args[1]), n)
			return p.err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "compare from `TIME` since the trace began, or peak or end")
	cmd.Flags().StringVar(&to, "to", "", "compare to `TIME`")
	cmd.Flags().IntVarP(&n, "number", "n", 20, "list `N` functions")
	cmd.Flags().BoolVar(&live, "live", false, "compare what is alive at the end")
	return cmd
}

func diffMoments(cmd *cobra.Command, path, from, to string, n int) error {
	if from == "" {
		from = "0s"
	}
	if to == "" {
		to = "end"
	}
	a, err := parseInstant(from)
	if err != nil {
		return &usageError{err, cmd}
	}
	b, err := parseInstant(to)
	if err != nil {
		return &usageError{err, cmd}
	}
	return readMem(cmd, path, func(f *memFile) error {
		before, err := f.live(a, nil)
		if err != nil {
			return err
		}
		after, err := f.live(b, nil)
		if err != nil {
			return err
		}
		p := &printer{w: cmd.OutOrStdout()}
		p.diff(before.profile, after.profile, "alive", "at "+from, "at "+to, n)
		return p.err
	})
}

func (p *printer) diff(before, after *heap.Profile, what, a, b string, n int) {
	x, _ := before.Total()
	y, _ := after.Total()
	p.linef("%s: %s %s, %s %s (%s)", what, amount(before.Unit, x), a, amount(after.Unit, y), b,
		signed(after.Bytes(y)-before.Bytes(x)))
	if before.Unit == 0 || after.Unit == 0 {
		p.linef("the sampling rate of one of them is not known: nothing to compare")
		return
	}
	list := heap.Diff(before, after)
	p.linef("%12s %12s %12s   %12s", "change", "before", "after", "with callees")
	for i, c := range list {
		if i == max(0, n) {
			p.linef("and %s more functions", grouped(int64(len(list)-i)))
			break
		}
		p.linef("%12s %12s %12s   %12s   %s", signed(c.After-c.Before), heap.FormatBytes(c.Before), heap.FormatBytes(c.After),
			signed(c.UnderAfter-c.UnderBefore), printable(c.Name))
	}
}

// signed writes a difference of bytes with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + heap.FormatBytes(v)
	}
	return fmt.Sprint(heap.FormatBytes(v))
}
