package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	"github.com/mirador-trace/mirador/internal/scene/png"
	"github.com/mirador-trace/mirador/internal/scene/svg"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

func renderCommand() *cobra.Command {
	r := &renderer{}
	cmd := &cobra.Command{
		Use:   "render -o OUT.svg|OUT.png FILE",
		Short: "Draw a picture of a trace",
		Long: `Draw a picture of a trace, as the viewer shows it. Times count from the trace's
first event: 12ms, 3us, 1.5s, 800ns, or plain seconds.`,
		Example: `  mirador render -o net.svg net.ctf
  mirador render -o burst.png --from 50ms --to 100ms --focus 41 --theme dark net.ctf`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&r.out, "output", "o", "", "write to `OUT.svg` or OUT.png; - writes an SVG to standard output")
	f.Var(&r.from, "from", "start at this `time`")
	f.Var(&r.to, "to", "end at this `time`")
	f.StringVar(&r.focus, "focus", "", "magnify around this thread, by `number`, or around a y as 'threads --json' has it")
	f.IntVar(&r.width, "width", 1280, "width in `px`")
	f.IntVar(&r.height, "height", 800, "height in `px`")
	f.StringVar(&r.theme, "theme", "light", "`light` or dark")
	f.StringVar(&r.rows, "rows", "fisheye", "`fisheye` fits all rows, linear gives each the same height")
	cmd.MarkFlagFilename("output", "svg", "png")
	cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions([]string{"light", "dark"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("rows", cobra.FixedCompletions([]string{"fisheye", "linear"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// renderer is what the command line says of the picture.
type renderer struct {
	out, focus, theme, rows string
	from, to                moment
	width, height           int
}

func (r *renderer) run(cmd *cobra.Command, path string) error {
	colours, ok := palette.ByName(r.theme)
	switch {
	case r.out == "":
		return &usageError{fmt.Errorf("missing -o OUT"), cmd}
	case !ok:
		return &usageError{fmt.Errorf("unknown theme %q", r.theme), cmd}
	case r.rows != "fisheye" && r.rows != "linear":
		return &usageError{fmt.Errorf("unknown rows %q", r.rows), cmd}
	case r.width < 16 || r.height < 16 || r.width > 16384 || r.height > 16384:
		return &usageError{fmt.Errorf("a picture of %d x %d px: each side must be from 16 to 16384", r.width, r.height), cmd}
	}
	paint := svg.Write
	switch ext := filepath.Ext(r.out); {
	case ext == ".png":
		paint = png.Write
	case ext != ".svg" && r.out != "-":
		return withHint(fmt.Errorf("%s: cannot draw this kind of picture", r.out), "name it OUT.svg or OUT.png")
	}
	t, err := loadTrace(cmd, path, trace.Options{})
	if err != nil {
		return err
	}
	view, err := r.viewport(t.Model)
	if err != nil {
		return err
	}
	var list scene.List
	scene.NewIndex(t.Model).Frame(view, &list)
	if r.out == "-" {
		return paint(cmd.OutOrStdout(), &list, colours)
	}
	return create(cmd.Context(), r.out, func(w io.Writer) error { return paint(w, &list, colours) })
}

// viewport is the part of the trace that was asked for; all of it by default.
func (r *renderer) viewport(m *thread.Model) (scene.Viewport, error) {
	v := scene.Viewport{Width: float64(r.width), Height: float64(r.height)}
	if r.rows == "linear" {
		v.Rows = scene.Linear
	}
	if r.from.set || r.to.set {
		v.From, v.To = r.from.seconds, m.Duration()
		if r.to.set {
			v.To = r.to.seconds
		}
		if v.To <= v.From {
			return v, withHint(fmt.Errorf("nothing lies between %s and %s", seconds(v.From), seconds(v.To)),
				"the trace lasts %s", seconds(m.Duration()))
		}
	}
	if r.focus == "" {
		return v, nil
	}
	y, err := strconv.ParseFloat(r.focus, 64)
	if err != nil {
		return v, fmt.Errorf("--focus %q is neither a thread's number nor a y", r.focus)
	}
	v.Focus = y
	for id := range m.Threads {
		if t := &m.Threads[id]; float64(t.TID) == y && id != int(thread.Top) {
			v.Focus = t.Y()
			if v.Rows == scene.Linear {
				v.Scroll = v.Focus - v.Height/2
			}
		}
	}
	return v, nil
}

// moment is a time on the command line: 12ms.
type moment struct {
	seconds float64
	set     bool
}

func (t *moment) String() string {
	if !t.set {
		return ""
	}
	return seconds(t.seconds)
}

// Type names the value in the usage.
func (t *moment) Type() string { return "time" }

// Set reads a number with a unit; without one it is seconds.
func (t *moment) Set(s string) error {
	number, unit := s, 1.0
	for _, u := range []struct {
		name string
		size float64
	}{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"s", 1}} {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v-v != 0 {
		return fmt.Errorf("%q is not a time such as 12ms, 3us or 1.5s", s)
	}
	t.seconds, t.set = v*unit, true
	return nil
}
