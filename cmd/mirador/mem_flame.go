package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memFlameCommand() *cobra.Command {
	var out, kind string
	cmd := &cobra.Command{
		Use:   "flame [-o OUT.svg|OUT.html] FILE",
		Short: "Show which functions allocated, as a flame graph or folded stacks",
		Long: `Show which functions allocated. Without -o the result is text, one folded stack
and its number of samples per line, for other flame graph tools. With -o it is a
picture to search and zoom, which needs nothing else: an SVG file or a page.

A function that calls itself, directly or not, is in a stack once, at its first
place. FILE may also be a pprof heap profile.`,
		Example: `  mirador mem flame -o flame.html service.ctf
  mirador mem flame service.ctf > service.folded`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			draw := (*heap.Profile).WriteSVG
			switch filepath.Ext(out) {
			case ".svg":
			case ".html":
				draw = (*heap.Profile).WriteHTML
			case "":
				if out == "" || out == "-" {
					break
				}
				fallthrough
			default:
				return withHint(fmt.Errorf("%s: cannot write this format", out), "name it OUT.svg or OUT.html, or leave -o away for folded stacks")
			}
			return readMemOnce(cmd, args[0], false, func(f *memFile) error {
				p, err := f.profile(kind)
				if err != nil {
					return err
				}
				if out == "" || out == "-" {
					return buffered(cmd.OutOrStdout(), func(w io.Writer) error { return p.Stacks.WriteFolded(w, p.Samples) })
				}
				samples, _ := p.Total()
				return create(cmd.Context(), out, func(w io.Writer) error {
					left, err := draw(p, w, fmt.Sprintf("%s: %s allocated", title(args[0]), amount(p.Unit, samples)))
					if left > 0 && err == nil {
						fmt.Fprintf(cmd.ErrOrStderr(), "mirador: note: %s stacks with less than 0.02 %% each are not drawn\n", grouped(int64(left)))
					}
					return err
				})
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "draw to `OUT`, a .svg or .html file")
	cmd.Flags().StringVar(&kind, "type", "", "of a pprof profile: the `sample` type, such as inuse_space")
	cmd.MarkFlagFilename("output", "svg", "html")
	return cmd
}
