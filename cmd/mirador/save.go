package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/ring/harvest"
)

func saveCommand() *cobra.Command {
	var out string
	var follow bool
	cmd := &cobra.Command{
		Use:   "save -o OUT [--follow] DIR|PID|FILE|xen:DOMAIN|vsock:PORT",
		Short: "Copy the trace of a program that runs, hangs or is dead",
		Long: `Save copies a trace that a program records, or has recorded, into a new
directory: everything up to this moment that its rings still have. The program
does not notice. It is named by its directory, or by the number of the process.

What a program in a virtual machine shares is named by the file on the host that
has it (an ivshmem device's, a virtio-pmem device's, an image of the machine's
memory, a core file), or as xen:DOMAIN by the number or name of a domain. With
--follow it is copied as it changes, until Ctrl-C or the domain is gone.
vsock:PORT waits for a program that sends its trace. See doc/guests.md.`,
		Example: "  mirador save -o before.trace server.trace\n  mirador save -o hung.trace 4711\n  mirador save -o OUT xen:web",
		Args:    between(1, 1, "a trace directory, or what else has the trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return &usageError{errors.New("missing -o, the directory to save into"), cmd}
			}
			if save := saverOf(args[0]); save != nil {
				return save(cmd, out, follow)
			}
			if follow {
				return &usageError{errors.New("--follow is for guests; a directory is followed by 'mirador stream'"), cmd}
			}
			dir, err := harvest.Find(args[0])
			if err != nil {
				return explainHarvest(err)
			}
			report, err := harvest.Save(out, dir)
			if err != nil {
				return explainHarvest(err)
			}
			sayReport(cmd, report)
			return nil
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until Ctrl-C or the guest is gone")
	cmd.Flags().StringVarP(&out, "output", "o", "", "the new `directory`")
	return cmd
}

// sayReport says what was copied.
func sayReport(cmd *cobra.Command, report harvest.Report) {
	w := cmd.ErrOrStderr()
	fmt.Fprintf(w, "mirador: %s packets, %s bytes\n", grouped(int64(report.Packets)), grouped(report.Bytes))
	if report.Overwritten > 0 {
		fmt.Fprintf(w, "mirador: warning: %s packets were overwritten before they could be copied\n", grouped(int64(report.Overwritten)))
	}
}

// explainHarvest adds to an error of package harvest what may be done about it.
func explainHarvest(err error) error {
	switch {
	case errors.Is(err, harvest.ErrNotEmpty), errors.Is(err, fs.ErrExist):
		return withHint(err, "name a directory that is not there yet")
	case errors.Is(err, harvest.ErrNoProcess):
		return withHint(err, "name the trace directory instead; the process was started with it in MIRADOR")
	case errors.Is(err, native.ErrNoTrace):
		return withHint(err, "name the directory that a program records into, which has a file named metadata")
	}
	return err
}
