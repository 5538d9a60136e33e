package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/trace"
)

func infoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Say what is in a trace: its format, events, threads, counters and damage",
		Example: `  mirador info net.ctf
  mirador info --json net.ctf.gz | jq .duration_ns`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTrace(cmd, args[0], trace.Options{NoRows: true})
			if err != nil {
				return err
			}
			about := describe(t)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(about)
			}
			return about.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// description is what info says of a trace.
type description struct {
	File     string         `json:"file"`
	Format   string         `json:"format"`
	Rings    int            `json:"rings,omitempty"`
	Packets  int            `json:"packets"`
	Lost     int            `json:"lost_packets"`
	Events   int            `json:"events"`
	Kinds    map[string]int `json:"kinds"`
	Threads  int            `json:"threads"` // the top thread included
	Failed   int            `json:"failed_threads"`
	Pending  int            `json:"unresolved_threads"`
	Counters []string       `json:"counters"`
	GCs      int            `json:"collections"`
	GCTime   float64        `json:"collections_s"`
	Start    int64          `json:"start_ns"`
	Duration int64          `json:"duration_ns"`
	Damage   []event.Damage `json:"damage"`
	Passed   int            `json:"passed_over"` // events that cannot be true

	*goDescription // what only Go execution traces have
}

func describe(t *trace.Trace) *description {
	m := t.Model
	d := &description{
		File: t.Path, Format: t.Format, Rings: t.Rings, Packets: t.Packets, Lost: t.Lost, Events: m.Events,
		Kinds: make(map[string]int), Threads: len(m.Threads), Counters: []string{}, GCs: len(m.GC),
		Start: m.OriginNS, Duration: m.LastNS - m.OriginNS, Damage: t.Damage, Passed: m.Passed,
	}
	if d.Damage == nil {
		d.Damage = []event.Damage{}
	}
	for k, n := range t.Kinds {
		if n > 0 {
			d.Kinds[event.Kind(k).String()] = n
		}
	}
	for _, c := range m.Counters {
		d.Counters = append(d.Counters, c.Name)
	}
	for _, gc := range m.GC {
		d.GCTime += gc.End - gc.Start
	}
	for _, thread := range m.Threads[1:] {
		if thread.Failed() {
			d.Failed++
		}
		if !thread.Resolved {
			d.Pending++
		}
	}
	if t.Go != nil {
		d.ofGo(t)
	}
	return d
}

func (d *description) print(w io.Writer) error {
	p := &printer{w: w}
	p.linef("%s: a trace of %s", d.File, formatNames[d.Format])
	p.linef("  time      %s, from %s on the trace's clock", seconds(float64(d.Duration)/1e9), seconds(float64(d.Start)/1e9))
	if d.Rings > 0 {
		p.linef("  rings     %s", grouped(int64(d.Rings)))
	}
	if d.goDescription != nil {
		d.goDescription.print(p)
	} else {
		p.linef("  packets   %s, %s lost", grouped(int64(d.Packets)), grouped(int64(d.Lost)))
	}
	p.linef("  events    %s", grouped(int64(d.Events)))
	for k := range event.NumKinds {
		if n := d.Kinds[k.String()]; n > 0 {
			p.linef("    %-12s %12s", k, grouped(int64(n)))
		}
	}
	p.linef("  threads   %s, of which %s failed and %s never resolved",
		grouped(int64(d.Threads)), grouped(int64(d.Failed)), grouped(int64(d.Pending)))
	if d.GCs > 0 {
		p.linef("  GC        %s collections, %s", grouped(int64(d.GCs)), seconds(d.GCTime))
	}
	for i, name := range d.Counters {
		title := ""
		if i == 0 {
			title = "counters"
		}
		p.linef("  %-9s %s", title, printable(name))
	}
	if d.Passed > 0 {
		p.linef("  passed    %s events that cannot be true", grouped(int64(d.Passed)))
	}
	if len(d.Damage) == 0 {
		p.linef("  damage    none")
	}
	for i, damage := range d.Damage {
		title := ""
		if i == 0 {
			title = "damage"
		}
		p.linef("  %-9s %v", title, damage)
	}
	return p.err
}

var formatNames = map[string]string{
	format.Mirage: "mirage-profile", format.Native: "mirador", format.Go: "the Go runtime",
}

// printer writes lines and remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// printable makes a string of a trace safe to show on a terminal.
func printable(s string) string {
	quoted := fmt.Sprintf("%q", s)
	if quoted[1:len(quoted)-1] == s {
		return s
	}
	return quoted
}
