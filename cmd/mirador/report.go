package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/cut"
	"github.com/mirador-trace/mirador/internal/fetch"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/story"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
	"github.com/mirador-trace/mirador/internal/web"
)

func reportCommand() *cobra.Command {
	r := &reporter{}
	cmd := &cobra.Command{
		Use:   "report -o OUT.html FILE...",
		Short: "Write traces and their viewer as one HTML file",
		Long: `Report writes a file that shows the traces as 'mirador view' does, a tab for
each, in any browser and without mirador, a server or a network. All of each
trace is in it: who has the file can read what the program did.

With --from and --to, which count from the trace's first event (12ms, 3us, 1.5s),
a part of each is in it: the threads that live then, with what happens to them
until it ends. Nothing else that the trace contains is in the file. Times in the
report count from the part's start.

With --story it tells a story, too: a Markdown file whose headings ## are steps
that the reader goes through, each with what he is to look at:

  # Why the request is slow

  What stands before the first step is the introduction.

  ## It waits for the lock

  ` + "```view" + `
  from: "takes the lock" - 1ms
  to: "has the lock" + 1ms
  thread: "request 41"
  mark: "takes the lock": here it begins
  ` + "```" + `

  Its **holder** is [another request](#thread="request 7").

A view says from when to when one looks and what is selected and marked, or is
a link that was copied from the page. Several traces are told apart by a line
such as trace: good. Times are as 12.5ms after the start, what a thread said
("takes the lock", or "takes the lock"[2] for the second time), start "request 41",
end "request 41" and wait "request 41", with as much added or taken away as one
likes. The documentation of the package internal/story has all of it.`,
		Example: "  mirador report -o net.html net.ctf\n  mirador report -o burst.html --from 50ms --to 100ms net.ctf\n  mirador report -o lost.html --title 'A lost wake-up' good.trace bad.trace\n" +
			"  mirador report -o lost.html --story lost.md good.trace bad.trace",
		Args: between(1, -1, "trace file"),
		RunE: r.run,
	}
	f := cmd.Flags()
	f.StringVarP(&r.out, "output", "o", "", "write to `OUT.html`; - writes to standard output")
	f.StringVar(&r.title, "title", "", "the page's `title` (default: the name of the trace that is shown)")
	f.StringVar(&r.story, "story", "", "tell the story of this Markdown `file` beside the traces")
	f.Var(&r.from, "from", "leave out what happened before this `time`")
	f.Var(&r.to, "to", "leave out what happened after this `time`")
	f.Int64Var(&r.most, "max-size", 128, "write at most `N` MiB")
	cmd.MarkFlagFilename("output", "html")
	cmd.MarkFlagFilename("story", "md")
	return cmd
}

// reporter is what the command line says of a report.
type reporter struct {
	out, title, story string
	most              int64
	from, to          moment
}

func (r *reporter) run(cmd *cobra.Command, paths []string) error {
	switch {
	case r.out == "":
		return &usageError{errors.New("missing -o OUT.html"), cmd}
	case r.most < 1 || r.most > 1<<20:
		return &usageError{fmt.Errorf("--max-size %d: from 1 to %d MiB", r.most, 1<<20), cmd}
	}
	var draft *story.Draft
	if r.story != "" {
		var err error
		if draft, err = readStory(cmd, r.story); err != nil {
			return err
		}
	}
	report := web.Report{Title: r.title}
	var told []story.Trace
	for _, path := range paths {
		packed, model, err := r.open(cmd, path)
		if err != nil {
			return err
		}
		report.Traces = append(report.Traces, packed)
		if draft != nil {
			told = append(told, story.Trace{Name: packed.Name, Model: model})
		}
	}
	var err error
	if draft != nil {
		if report.Story, err = located(draft, told); err != nil {
			return err
		}
	}
	write := func(w io.Writer) error { return report.Write(&atMost{w, r.most << 20}) }
	if r.out == "-" {
		err = write(cmd.OutOrStdout())
	} else {
		err = create(cmd.Context(), r.out, write)
	}
	if errors.Is(err, errTooBig) {
		return withHint(fmt.Errorf("the report would be larger than %d MiB", r.most),
			"name fewer or shorter traces, use 'mirador view', or allow more with --max-size")
	}
	return err
}

// readStory reads a file that tells a story.
func readStory(cmd *cobra.Command, path string) (*story.Draft, error) {
	var in io.Reader = cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, withHint(err, "name a Markdown file; 'mirador report --help' shows one")
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, story.MaxSize+1))
	if err != nil {
		return nil, err
	}
	draft, err := story.Parse(path, text)
	if err != nil {
		return nil, withHint(err, "'mirador report --help' shows how a story is written")
	}
	return draft, nil
}

// located finds a story's places in the traces.
func located(draft *story.Draft, traces []story.Trace) (*story.Story, error) {
	s, err := draft.Locate(traces)
	if err != nil {
		return nil, withHint(err, "'mirador dump' and 'mirador threads' tell what is in a trace")
	}
	return s, nil
}

// open reads a trace, to see to it that it can be read, and says how it is
// packed. The model is nil for a trace of memory.
func (r *reporter) open(cmd *cobra.Command, path string) (web.Packed, *thread.Model, error) {
	packed := web.Packed{Name: filepath.Base(path)}
	in, err := inputFor(cmd, path)
	if err != nil {
		return packed, nil, err
	}
	again := func() {}
	if path == "-" {
		packed.Name = "standard input"
		data, err := io.ReadAll(io.LimitReader(in, input.MaxUnpacked))
		if err != nil {
			return packed, nil, &input.Error{Path: path, Offset: -1, Err: err}
		}
		again = func() { cmd.SetIn(bytes.NewReader(data)) } // each reader reads all of it
		in = bytes.NewReader(data)
	} else if fetch.Is(path) {
		packed.Name = path
	}
	file, err := format.Open(path, in)
	if unknown := new(format.Unknown); errors.As(err, &unknown) && unknown.Like != "" {
		if r.from.set || r.to.set {
			return packed, nil, withHint(fmt.Errorf("%s: --from and --to cut traces of threads, and this is one of memory", path),
				"leave them out")
		}
		again()
		if _, err := loadMemory(cmd, path, packed.Name, err); err != nil {
			return packed, nil, err
		}
		packed.Pack = func(w io.Writer) error {
			again()
			return readMem(cmd, path, func(f *memFile) error {
				_, err := w.Write(f.data)
				return err
			})
		}
		return packed, nil, nil
	}
	if err != nil {
		return packed, nil, explain(err)
	}
	p := newProgress(cmd.ErrOrStderr(), path)
	t, err := trace.Read(file, trace.Options{NoRows: true, Progress: p.events})
	p.done()
	if err != nil {
		file.Close()
		return packed, nil, explain(err)
	}
	tell(cmd, path, t)
	if r.from.set || r.to.set {
		defer file.Close()
		return r.cut(packed, file, t)
	}
	packed.Pack = func(w io.Writer) error {
		defer file.Close()
		return file.Pack(w)
	}
	return packed, t.Model, nil
}

// cut leaves of a trace what lies in the window.
func (r *reporter) cut(packed web.Packed, file *format.Trace, t *trace.Trace) (web.Packed, *thread.Model, error) {
	whole := t.Model.Duration()
	window := cut.Window{From: max(0, r.from.seconds), To: whole}
	if r.to.set {
		window.To = r.to.seconds
	}
	if window.From >= min(window.To, whole) {
		return packed, nil, withHint(fmt.Errorf("%s: nothing lies between %s and %s", file.Path, seconds(window.From), seconds(window.To)),
			"the trace lasts %s", seconds(whole))
	}
	window.To = min(window.To, whole)
	var part bytes.Buffer
	if err := cut.Write(&part, file, t.Model, t.Start, window); err != nil {
		return packed, nil, explain(err)
	}
	packed.Pack = func(w io.Writer) error {
		_, err := w.Write(part.Bytes())
		return err
	}
	opened, err := format.OpenBytes(file.Path, part.Bytes())
	if err != nil {
		return packed, nil, err
	}
	of, err := trace.Read(opened, trace.Options{NoRows: true})
	if err != nil {
		return packed, nil, err
	}
	return packed, of.Model, nil // times in a story are the part's
}

var errTooBig = errors.New("too big")

// atMost lets so many bytes pass.
type atMost struct {
	w    io.Writer
	left int64
}

func (a *atMost) Write(p []byte) (int, error) {
	if a.left -= int64(len(p)); a.left < 0 {
		return 0, errTooBig
	}
	return a.w.Write(p)
}
