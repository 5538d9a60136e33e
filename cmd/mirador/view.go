package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/fetch"
	"github.com/mirador-trace/mirador/internal/story"
	"github.com/mirador-trace/mirador/internal/trace"
	"github.com/mirador-trace/mirador/internal/web"
)

// viewFlags are the flags of commands that open the viewer.
type viewFlags struct {
	addr   string
	noOpen bool
	window bool
	follow bool         // the page loads what is new as it comes
	story  *story.Story // what the page tells of the traces, if anything
}

func (f *viewFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.addr, "http", "", "serve at this `address` (default: a free port of 127.0.0.1)")
	cmd.Flags().BoolVar(&f.noOpen, "no-open", false, "do not open a browser")
	cmd.Flags().BoolVar(&f.window, "window", false, "show the page in a window of its own, whose end is the command's")
}

func viewCommand() *cobra.Command {
	var flags viewFlags
	var told string
	cmd := &cobra.Command{
		Use:   "view FILE...",
		Short: "Look at traces in the browser",
		Long: `View serves a page that shows the traces, a tab for each, and opens it in the
browser. They may be traces of threads and of memory. Ctrl-C ends it. When a file changes, the page says so and loads it
again with F5.

The URL of a running program that imports net/http/pprof will do, too: it is
asked for an execution trace, anew with each F5. Ctrl-C ends the recording, and
what came until then is shown.

With --story the page tells a story beside the traces: a Markdown file whose
headings ## are steps, each with what one is to look at. 'mirador report --help'
says how it is written, and report makes one file of it all.

With --window the page has a window of its own, with menus: more files can be
opened from it or dropped on it, and when it is closed the command ends. It wants
GTK 3 and WebKitGTK 4.1; without these it is a window of Chromium or Chrome, or
the browser after all.

Only programs of this machine can reach the page, and only those that know the
token in its URL are answered.`,
		Example: "  mirador view net.ctf\n  mirador view --http 127.0.0.1:8080 --no-open good.ctf bad.ctf\n  mirador view --window net.ctf\n  mirador view --story lost.md good.trace bad.trace\n" +
			"  mirador view http://127.0.0.1:6060/debug/pprof/trace?seconds=5",
		Args: between(1, -1, "trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sources := make([]web.Source, len(args))
			for i, path := range args {
				sources[i] = fileSource(cmd, path)
			}
			if told != "" {
				var err error
				if flags.story, err = locate(cmd, told, sources); err != nil {
					return err
				}
			}
			return serve(cmd, &flags, sources)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&told, "story", "", "tell the story of this Markdown `file` beside the traces")
	cmd.MarkFlagFilename("story", "md")
	return cmd
}

// locate reads a story and finds its places in the traces, which are loaded for
// it and not once more before they are shown.
func locate(cmd *cobra.Command, path string, sources []web.Source) (*story.Story, error) {
	draft, err := readStory(cmd, path)
	if err != nil {
		return nil, err
	}
	var told []story.Trace
	for i := range sources {
		load := sources[i].Load
		first, err := load()
		if err != nil {
			return nil, err
		}
		told = append(told, story.Trace{Name: first.Name(), Model: first.Model()})
		sources[i].Load = func() (*engine.Trace, error) {
			if t := first; t != nil {
				first = nil
				return t, nil
			}
			return load()
		}
	}
	return located(draft, told)
}

// fileSource is a trace in a file, or on standard input, which can be read
// only once.
func fileSource(cmd *cobra.Command, path string) web.Source {
	name, watched, read := filepath.Base(path), path, false
	if path == "-" {
		name, watched = "standard input", ""
	} else if fetch.Is(path) {
		name, watched = path, ""
	}
	return web.Source{Path: watched, Load: func() (*engine.Trace, error) {
		if path == "-" && read {
			return nil, errors.New("standard input can be read only once")
		}
		read = true
		return loadViewed(cmd, path, name)
	}}
}

// viewed makes a trace ready to be looked at.
func viewed(name string, t *trace.Trace) *engine.Trace {
	return engine.NewTrace(engine.About{
		Name: name, Format: t.Format, Packets: t.Packets, LostPackets: t.Lost, Damage: t.Damage,
		Start: float64(t.Start) / 1e9,
	}, t.Model)
}

// serve shows the sources until it is told to end.
func serve(cmd *cobra.Command, flags *viewFlags, sources []web.Source) error {
	if flags.window && flags.noOpen {
		return &usageError{errors.New("--window and --no-open contradict each other"), cmd}
	}
	var server *web.Server
	err := orInterrupted(cmd.Context(), func() (err error) {
		server, err = web.Listen(web.Config{Addr: flags.addr, Sources: sources, Story: flags.story})
		return err
	})
	var bind *web.BindError
	if errors.As(err, &bind) {
		return withHint(err, "leave --http out to use a free port of this machine")
	}
	if err != nil {
		return err
	}
	if !server.Loopback() {
		fmt.Fprintln(cmd.ErrOrStderr(), "mirador: warning: other machines can reach this page, and nothing is encrypted: "+
			"whoever sees its URL can see the trace")
	}
	url := server.URL()
	if flags.follow {
		url += "#follow=1"
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "mirador: serving %s\n", url); err != nil {
		return err
	}
	if flags.window {
		return serveWindow(cmd, server, url)
	}
	if !flags.noOpen {
		openOrSay(cmd, url)
	}
	return server.Serve(cmd.Context())
}

// display reports whether there is a screen, as far as can be known.
func display() bool {
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// openOrSay opens the browser; where there is none it says so.
func openOrSay(cmd *cobra.Command, url string) {
	if err := openBrowser(url); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: no browser could be opened (%v): open the URL yourself\n", err)
	}
}

// openBrowser opens a URL with what the system has for it, and does not wait
// for its end.
func openBrowser(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		if !display() {
			return errors.New("there is no display")
		}
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // lest it stay as a zombie
	return nil
}
