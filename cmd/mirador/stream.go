package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/ring/harvest"
)

func streamCommand() *cobra.Command {
	var out string
	var follow bool
	cmd := &cobra.Command{
		Use:   "stream -o OUT [--follow] DIR|PID",
		Short: "Keep more of a trace than its ring does",
		Long: `Stream copies a trace's packets into files that only grow, one for each ring.
With --follow it copies each packet when it is complete, until the program ends
or Ctrl-C, so that what the ring overwrites later is kept; what it has
overwritten before is said. Without, it copies what is there now.`,
		Example: "  mirador stream -o day.trace --follow server.trace",
		Args:    between(1, 1, "a trace directory or the number of a process"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return &usageError{errors.New("missing -o, the directory to copy into"), cmd}
			}
			if save := saverOf(args[0]); save != nil {
				return save(cmd, out, follow)
			}
			dir, err := harvest.Find(args[0])
			if err != nil {
				return explainHarvest(err)
			}
			s, err := harvest.NewStream(out, dir)
			if err != nil {
				return explainHarvest(err)
			}
			s.Lost = func(ring uint64, packets int) {
				fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: ring %d: %s packets were overwritten before they could be copied\n",
					ring, grouped(int64(packets)))
			}
			var report harvest.Report
			if follow {
				report, err = s.Follow(cmd.Context())
			} else {
				report, err = s.Finish()
			}
			if err != nil {
				return err
			}
			report.Overwritten = 0 // which was said
			sayReport(cmd, report)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the new `directory`")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until the program ends")
	return cmd
}
