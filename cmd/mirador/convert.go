package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/chrome"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/trace"
)

func convertCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "convert -o OUT FILE",
		Short: "Write a trace in another format",
		Long: `Write a trace in another format, which the name of OUT decides:

  OUT.ctf    a mirage-profile trace, its packets in the order of writing, without
             what was damaged; of other formats what it has words for
  OUT        a directory that CTF tools such as babeltrace2 open
  OUT.json   the Chrome trace event format, for ui.perfetto.dev`,
		Example: `  mirador convert -o net.json net.ctf
  mirador convert -o net net.ctf && babeltrace2 net`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return &usageError{fmt.Errorf("missing -o OUT"), cmd}
			}
			switch ext := filepath.Ext(out); {
			case out == "-":
				return withHint(fmt.Errorf("cannot write a trace to standard output"), "name a file or directory")
			case ext == ".json":
				return convertToChrome(cmd, args[0], out)
			case ext == ".ctf":
				return convertToMirage(cmd, args[0], func(events format.Events) error {
					return create(cmd.Context(), out, func(w io.Writer) error { return writeMirage(cmd.Context(), w, events) })
				})
			case ext == "":
				return convertToMirage(cmd, args[0], func(events format.Events) error {
					return writeDirectory(cmd.Context(), out, args[0], events)
				})
			}
			return withHint(fmt.Errorf("%s: cannot write this format", out), "name it OUT.ctf, OUT.json, or OUT for a CTF directory")
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `OUT`")
	cmd.MarkFlagFilename("output", "ctf", "json")
	return cmd
}

func convertToChrome(cmd *cobra.Command, path, out string) error {
	t, err := loadTrace(cmd, path, trace.Options{})
	if err != nil {
		return err
	}
	return create(cmd.Context(), out, func(w io.Writer) error { return chrome.Write(w, t.Model, filepath.Base(path)) })
}

func convertToMirage(cmd *cobra.Command, path string, write func(format.Events) error) error {
	in, err := inputFor(cmd, path)
	if err != nil {
		return err
	}
	file, err := format.Open(path, in)
	if err != nil {
		return explain(err)
	}
	defer file.Close()
	warnOthers(cmd, path, offsets(file.Regions))
	var damage []event.Damage
	err = file.Read(func(events format.Events) error {
		if err := write(narrow(events)); err != nil {
			return err
		}
		damage = file.Damage(events)
		return nil
	})
	if err != nil {
		return explain(err)
	}
	warn(cmd, path, damage, 0)
	return nil
}

// writeDirectory makes a CTF trace: the metadata, and all packets in one file.
func writeDirectory(ctx context.Context, dir, source string, events format.Events) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return cannotWrite(dir, err)
	}
	err := create(ctx, filepath.Join(dir, "metadata"), func(w io.Writer) error {
		return mirage.WriteMetadata(w, filepath.Base(source))
	})
	if err == nil {
		err = create(ctx, filepath.Join(dir, "stream"), func(w io.Writer) error {
			return writeMirage(ctx, w, inOrder(events))
		})
	}
	if err != nil {
		os.RemoveAll(dir) // it is ours, and not whole
	}
	return err
}

// writeMirage writes events as a mirage-profile trace, in the packets that
// they came in, if they did.
func writeMirage(ctx context.Context, w io.Writer, events format.Events) error {
	out := mirage.NewWriter(w)
	packets, _ := events.(*mirage.Reader)
	begun := 0
	begin := func(to int) error {
		for ; begun < to; begun++ {
			if err := out.Begin(packets.Packets()[begun].Count); err != nil {
				return err
			}
		}
		return nil
	}
	var e event.Event
	for n := 0; events.Next(&e); n++ {
		if packets != nil && begun <= packets.Current() {
			if err := begin(packets.Current() + 1); err != nil {
				return err
			}
		}
		if err := out.Write(&e); err != nil {
			return err
		}
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return interrupted
		}
	}
	if packets != nil {
		if err := begin(len(packets.Packets())); err != nil {
			return err
		}
	}
	return out.Close()
}

// inOrder gives the events sorted by time if they are not: CTF tools refuse a
// clock that goes backwards. Only then they are held in memory.
func inOrder(events format.Events) format.Events {
	r, ok := events.(*mirage.Reader)
	if !ok {
		return events
	}
	look := *r
	var e event.Event
	last, sorted := int64(-1<<63), true
	for sorted && look.Next(&e) {
		sorted, last = e.Time >= last, e.Time
	}
	if sorted {
		return events
	}
	var s sortedEvents
	for r.Next(&e) {
		e.Text = bytes.Clone(e.Text)
		s.events = append(s.events, e)
	}
	slices.SortStableFunc(s.events, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
	s.damage = r.Damage()
	return &s
}

// sortedEvents are events that had to be sorted.
type sortedEvents struct {
	events []event.Event
	damage []event.Damage
}

func (s *sortedEvents) Next(e *event.Event) bool {
	if len(s.events) == 0 {
		return false
	}
	*e, s.events = s.events[0], s.events[1:]
	return true
}

func (s *sortedEvents) Damage() []event.Damage { return s.damage }
