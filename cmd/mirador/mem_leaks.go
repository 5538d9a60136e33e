package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memLeaksCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:   "leaks FILE",
		Short: "List the places whose memory grows or was never freed",
		Long: `List the places whose memory is alive at the end of the trace: first those that
grow steadily, then those of whose blocks none was freed, then the others by size,
with the age of the oldest block and the usual lifetime of those that died.`,
		Example: `  mirador mem leaks service.ctf`,
		Args:    between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readMem(cmd, args[0], func(f *memFile) error {
				r, err := f.trace()
				if err != nil {
					return err
				}
				l, err := heap.FindLeaks(r, heap.NewStacks(), f.watch)
				f.warn(r)
				if err != nil {
					return err
				}
				out := &printer{w: cmd.OutOrStdout()}
				out.leaks(title(args[0]), l, max(0, n))
				return out.err
			})
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 10, "list `N` places of each kind")
	return cmd
}

func (p *printer) leaks(name string, l *heap.Leaks, n int) {
	long := l.End - l.Begin
	p.linef("%s: %s alive at the end, after %s", name, amount(l.Unit, l.Live), micros(long))
	var growing, kept, others []*heap.LeakPlace
	for i := range l.Places {
		at := &l.Places[i]
		switch {
		case at.Live <= 0:
		case at.Growing(float64(long) / 1e6):
			growing = append(growing, at)
		case at.NeverFreed():
			kept = append(kept, at)
		default:
			others = append(others, at)
		}
	}
	for _, kind := range []struct {
		heading string
		list    []*heap.LeakPlace
	}{
		{"growing steadily", growing}, {"never freed", kept}, {"alive", others},
	} {
		if len(kind.list) == 0 {
			continue
		}
		p.linef("\n%s:", kind.heading)
		for i, at := range kind.list {
			if i == n {
				p.linef("  and %s more places", grouped(int64(len(kind.list)-n)))
				break
			}
			p.leak(l, at, long)
		}
	}
	if len(growing)+len(kept)+len(others) == 0 {
		p.linef("everything that was sampled has died")
	}
}

func (p *printer) leak(l *heap.Leaks, at *heap.LeakPlace, long int64) {
	p.linef("%10s  %s  %s", amount(l.Unit, at.Live), printable(at.Location.Func), place(at.Location))
	died := "none has died"
	if n := at.Blocks - at.LiveCount; n > 0 {
		died = fmt.Sprintf("%s died, mostly after %s", grouped(n), micros(at.Typical))
	}
	grows := ""
	if at.Growing(float64(long) / 1e6) {
		grows = "; grows by " + growth(l.Unit, at.Slope)
	}
	p.linef("%10s  %s of %s sampled blocks, the oldest %s old; %s%s", "", grouped(at.LiveCount), grouped(at.Blocks), micros(at.Oldest), died, grows)
	stack := l.Stacks.Stack(nil, l.Stacks.Node(at.Site))
	if len(stack) > 1 {
		from := max(0, len(stack)-4)
		line := ""
		for i, f := range stack[from : len(stack)-1] {
			if i > 0 {
				line += " > "
			}
			line += printable(f)
		}
		if from > 0 {
			line = "… > " + line
		}
		p.linef("%10s  called by %s", "", line)
	}
}

// growth writes samples a second in bytes, or as samples when the rate is not
// known. A place may grow by less than one sample a second.
func growth(unit, slope float64) string {
	if unit == 0 {
		return fmt.Sprintf("%.3g samples/s", slope)
	}
	return heap.FormatBytes(unit*slope) + "/s"
}
