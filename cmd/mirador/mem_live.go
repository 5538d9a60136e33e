package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memLiveCommand() *cobra.Command {
	var at string
	var n, via int
	cmd := &cobra.Command{
		Use:   "live [--at TIME|peak|end] FILE",
		Short: "List the functions whose allocations are alive at a moment",
		Long: `List the functions whose allocations are alive at a moment: a time since the
trace began, when most was alive (peak), or at the end. FILE may also be a pprof
heap profile, of which it shows what was in use.`,
		Example: `  mirador mem live service.ctf
  mirador mem live --at 12.5s service.ctf`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			when, err := parseInstant(at)
			if err != nil {
				return &usageError{err, cmd}
			}
			return readMem(cmd, args[0], func(f *memFile) error {
				out := &printer{w: cmd.OutOrStdout()}
				if f.pprof() {
					p, err := f.profile("inuse_space")
					if err != nil {
						return err
					}
					samples, _ := p.Total()
					out.linef("%s: %s in use", title(args[0]), amount(p.Unit, samples))
					out.functions(p, samples, n, via)
					return out.err
				}
				l, err := f.live(when, nil)
				if err != nil {
					return err
				}
				out.live(title(args[0]), l)
				out.functions(l.profile, l.at.Live, n, via)
				return out.err
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "peak", "`TIME` since the trace began, such as 12.5s, or peak or end")
	cmd.Flags().IntVarP(&n, "number", "n", 20, "list `N` functions")
	cmd.Flags().IntVar(&via, "callers", 5, "list `N` callers of each")
	return cmd
}

// instant is a moment that the command line names.
type instant struct {
	peak, end bool
	after     time.Duration // since the trace began
}

func parseInstant(s string) (instant, error) {
	switch s {
	case "peak":
		return instant{peak: true}, nil
	case "end":
		return instant{end: true}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return instant{}, fmt.Errorf("%q is neither a time such as 12.5s nor peak or end", s)
	}
	return instant{after: d}, nil
}

// living is what is alive at a moment.
type living struct {
	profile *heap.Profile
	at      heap.Moment
	start   int64
	curve   *heap.Curve // when it was needed
}

// live reads what is alive at an instant, into the given stacks or new ones.
func (f *memFile) live(when instant, s *heap.Stacks) (*living, error) {
	if s == nil {
		s = heap.NewStacks()
	}
	l := &living{}
	moment := heap.Moment{Time: 1<<63 - 1}
	if when.peak {
		r, err := f.trace()
		if err != nil {
			return nil, err
		}
		if l.curve, err = heap.LiveCurve(r, f.watch); err != nil {
			return nil, err
		}
		moment = l.curve.Peak
	}
	r, err := f.trace()
	if err != nil {
		return nil, err
	}
	l.start = r.Info().Start
	if !when.peak && !when.end {
		moment.Time = l.start + when.after.Microseconds()
	}
	l.profile, l.at, err = heap.LiveAt(r, s, moment, f.watch)
	f.warn(r)
	return l, err
}

func (p *printer) live(name string, l *living) {
	p.linef("%s: %s alive %s after its begin", name, amount(l.profile.Unit, l.at.Live), micros(max(0, l.at.Time-l.start)))
	if l.curve == nil || len(l.curve.Steps) < 2 || l.curve.Peak.Live <= 0 {
		return
	}
	const levels = "▁▂▃▄▅▆▇█"
	var bars strings.Builder
	for _, s := range l.curve.Steps {
		level := s.Live * 7 / l.curve.Peak.Live
		bars.WriteString(string([]rune(levels)[min(7, max(0, level))]))
	}
	p.linef("%s  a step is %s; %s at the end", bars.String(), micros(l.curve.Step), amount(l.profile.Unit, l.curve.End.Live))
}
