package main

import (
	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memHotspotsCommand() *cobra.Command {
	var n, via int
	var kind string
	cmd := &cobra.Command{
		Use:   "hotspots FILE",
		Short: "List the functions that allocated most, and their callers",
		Long: `List the functions that allocated most, each with the places in it and with the
functions that it was called through: how much of its allocations came through
them, and how much that is of all that was allocated under them. FILE may also
be a pprof heap profile.`,
		Example: `  mirador mem hotspots service.ctf
  mirador mem hotspots -n 5 --callers 0 service.ctf`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readMemOnce(cmd, args[0], false, func(f *memFile) error {
				p, err := f.profile(kind)
				if err != nil {
					return err
				}
				out := &printer{w: cmd.OutOrStdout()}
				samples, _ := p.Total()
				out.linef("%s: %s allocated", title(args[0]), amount(p.Unit, samples))
				out.functions(p, samples, n, via)
				return out.err
			})
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 20, "list `N` functions")
	cmd.Flags().IntVar(&via, "callers", 10, "list `N` callers of each")
	cmd.Flags().StringVar(&kind, "type", "", "of a pprof profile: the `sample` type, such as inuse_space")
	return cmd
}

// functions lists the functions that have the most of a profile.
func (p *printer) functions(profile *heap.Profile, whole int64, n, via int) {
	list := profile.Hotspots(max(0, n), max(0, via))
	for _, f := range list {
		p.linef("")
		p.linef("%10s  %6s  %s", amount(profile.Unit, f.Samples), share(float64(f.Samples), float64(whole)), printable(f.Name))
		for i, at := range f.Places {
			if i == 3 && len(f.Places) > 4 {
				p.linef("%20s  and %d more places", "", len(f.Places)-i)
				break
			}
			if at.Location.File != "" {
				p.linef("%20s  at %s, %s", "", place(at.Location), amount(profile.Unit, at.Samples))
			}
		}
		for _, v := range f.Via {
			p.linef("%20s  %s through %s, %s of what is under it", "", amount(profile.Unit, v.Samples), printable(v.Name), share(float64(v.Samples), float64(v.Under)))
		}
	}
	if len(list) == 0 {
		p.linef("nothing was allocated")
	}
}
