package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/guest"
)

func xenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "xen",
		Short: "Look at the traces that Xen domains share",
		Args:  between(0, 0, ""),
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(xenListCommand())
	return cmd
}

func xenListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the domains that share a trace",
		Long: `List prints the domains that share a trace with this one: their number, their
name, and how many pages they say that it has, with a + where there are more
than fit into xenstore. "mirador save -o OUT xen:DOMAIN" copies one.`,
		Example: "  mirador xen list\n  mirador xen list --json",
		Args:    between(0, 0, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			domains, err := guest.XenDomains()
			if err != nil {
				return explainXen(err)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(append([]guest.Domain{}, domains...))
			}
			if len(domains) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "mirador: no domain shares a trace")
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "DOMAIN\tNAME\tPAGES")
			for _, d := range domains {
				more := ""
				if d.Index {
					more = "+"
				}
				fmt.Fprintf(w, "%d\t%s\t%d%s\n", d.ID, printable(d.Name), d.Pages, more)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}
