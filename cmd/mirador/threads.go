package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

func threadsCommand() *cobra.Command {
	var asJSON, keep bool
	cmd := &cobra.Command{
		Use:   "threads FILE",
		Short: "Print what each thread did",
		Long: `Print what each thread did, parents before their children: when it lived, how
long it ran, how it ended and what was said of it; where the trace tells of
waits, for how long it waited, and what a thread that goes on does at the
trace's end. With --json, print the whole model as one JSON object: labels,
interactions, running parts and rows too.`,
		Example: `  mirador threads net.ctf | grep failed
  mirador threads --json net.ctf | jq '.threads[] | select(.failure)'`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTrace(cmd, args[0], trace.Options{KeepBinds: keep, NoRows: !asJSON})
			if err != nil {
				return err
			}
			if asJSON {
				return t.Model.WriteJSON(cmd.OutOrStdout())
			}
			w := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			printThreads(w, t.Model)
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole model as one JSON object")
	cmd.Flags().BoolVar(&keep, "no-simplify", false, "leave binds, maps and the like where they were created")
	return cmd
}

func printThreads(w *bufio.Writer, m *thread.Model) {
	waits := m.HasWaits()
	number, end := 10, 9
	if waits {
		end = 22
	}
	for id := range m.Descend(thread.Top) {
		number = max(number, len(strconv.FormatInt(m.Threads[id].TID, 10)))
		end = max(end, utf8.RuneCountInString(ending(m, id)))
	}
	end = min(end, 40)
	row := func(cells ...string) {
		fmt.Fprintf(w, "%*s  %-14s %12s %12s %12s", number, cells[0], cells[1], cells[2], cells[3], cells[4])
		if waits {
			fmt.Fprintf(w, " %12s", cells[5])
		}
		fmt.Fprintf(w, "  %-*s %s\n", end, cells[6], cells[7])
	}
	row("thread", "type", "start", "lived", "ran", "waited", "end", "label")
	for id := range m.Descend(thread.Top) {
		if id == thread.Top {
			continue
		}
		t := &m.Threads[id]
		row(strconv.FormatInt(t.TID, 10), t.Type.String(), seconds(t.Start), seconds(t.End-t.Start), seconds(total(m.Activations(id))),
			seconds(waited(m, id)), ending(m, id), printable(m.Title(id)))
	}
}

// total returns how long spans last, in seconds.
func total(spans []thread.Span) (sum float64) {
	for _, s := range spans {
		sum += s.End - s.Start
	}
	return sum
}

// waited returns for how long a thread waited, in seconds.
func waited(m *thread.Model, id thread.ID) (sum float64) {
	for _, w := range m.Waits(id) {
		sum += w.End - w.Start
	}
	return sum
}

// ending says how a thread ended or, of one that goes on and that the trace
// tells the waits of, what it does at the trace's end.
func ending(m *thread.Model, id thread.ID) string {
	t := &m.Threads[id]
	switch {
	case t.Becomes != thread.None:
		return fmt.Sprintf("became %d", m.Threads[t.Becomes].TID)
	case t.Failed():
		return "failed"
	case t.Resolved && t.Type == thread.Type(event.Goroutine):
		return "ended"
	case t.Resolved:
		return "resolved"
	}
	if waits := m.Waits(id); len(waits) > 0 && waits[len(waits)-1].End >= m.Duration() {
		return strings.TrimSuffix("waits: "+printable(m.Text(waits[len(waits)-1].Reason)), ": ")
	}
	if ran := m.Activations(id); m.HasWaits() && len(ran) > 0 && ran[len(ran)-1].End >= m.Duration() {
		return "runs"
	}
	return "never"
}
