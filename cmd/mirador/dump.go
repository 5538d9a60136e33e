package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

func dumpCommand() *cobra.Command {
	var asJSON, stacks bool
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print every event of a trace",
		Long: `Print every event of a trace in the order in which they happened, a line each:
its time in ns, its name and its fields. A line for each packet stands before
the packet's events. With --json, each line is a JSON object. With --stacks, the
calls that the thread was in follow, innermost first, where the trace tells.`,
		Example: `  mirador dump net.ctf | less
  mirador dump --json net.ctf | jq 'select(.name == "fails")'`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := inputFor(cmd, args[0])
			if err != nil {
				return err
			}
			file, err := format.Open(args[0], in)
			if err != nil {
				return explain(err)
			}
			defer file.Close()
			warnOthers(cmd, args[0], offsets(file.Regions))
			var damage []event.Damage
			err = file.Read(func(events format.Events) error {
				d := &dumper{w: cmd.OutOrStdout(), json: asJSON}
				if r, ok := events.(*gotrace.Reader); ok && stacks {
					d.stacks = r.Stacks()
				}
				if err := d.dump(cmd.Context(), events); err != nil {
					return err
				}
				damage = file.Damage(events)
				return d.damage(damage)
			})
			if err != nil {
				return explain(err)
			}
			warn(cmd, args[0], damage, 0)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON objects")
	cmd.Flags().BoolVar(&stacks, "stacks", false, "print where threads were")
	return cmd
}

// dumper writes events as lines, many at once.
type dumper struct {
	w      io.Writer
	json   bool
	stacks *event.Stacks // nil if they are not wanted
	b      []byte
}

const dumpBlock = 1 << 16

func (d *dumper) dump(ctx context.Context, events format.Events) error {
	var e event.Event
	packets, _ := events.(*mirage.Reader)
	shown := 0
	for events.Next(&e) {
		if packets != nil && shown <= packets.Current() {
			shown = d.packets(packets, shown, packets.Current()+1)
		}
		if d.json {
			d.b = e.AppendJSON(d.b)
		} else {
			d.b = e.AppendText(d.b)
		}
		d.stack(e.Stack)
		d.b = append(d.b, '\n')
		if len(d.b) >= dumpBlock {
			if err := d.flush(); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return interrupted
			}
		}
	}
	if packets != nil {
		d.packets(packets, shown, len(packets.Packets()))
	}
	return d.flush()
}

// stack writes the calls of an event just written.
func (d *dumper) stack(n uint32) {
	if d.stacks == nil || n == 0 {
		return
	}
	if d.json {
		d.b = append(d.b[:len(d.b)-1], `,"stack":[`...) // instead of the object's end
	}
	for i, f := range d.stacks.Frames(n) {
		if !d.json {
			d.b = fmt.Appendf(d.b, "\n\t%s %s:%d", printable(f.Func), printable(f.File), f.Line)
			continue
		}
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = event.AppendJSONString(append(d.b, `{"func":`...), f.Func)
		d.b = event.AppendJSONString(append(d.b, `,"file":`...), f.File)
		d.b = append(strconv.AppendInt(append(d.b, `,"line":`...), int64(f.Line), 10), '}')
	}
	if d.json {
		d.b = append(d.b, "]}"...)
	}
}

// packets writes the lines of the packets from..to-1 and returns to.
func (d *dumper) packets(r *mirage.Reader, from, to int) int {
	open, seq, end, shut := "packet offset=", " seq=", " end=", "\n"
	if d.json {
		open, seq, end, shut = `{"packet":`, `,"seq_rel":`, `,"content_end":`, "}\n"
	}
	for _, p := range r.Packets()[from:to] {
		d.b = strconv.AppendInt(append(d.b, open...), p.Offset, 10)
		d.b = strconv.AppendInt(append(d.b, seq...), int64(p.Seq), 10)
		d.b = strconv.AppendInt(append(d.b, end...), p.End, 10)
		d.b = append(d.b, shut...)
	}
	return to
}

// damage writes what could not be read, if anything, as the last line.
func (d *dumper) damage(damage []event.Damage) error {
	if len(damage) == 0 {
		return nil
	}
	if !d.json {
		for _, place := range damage {
			d.b = append(d.b, "damage "+place.String()+"\n"...)
		}
		return d.flush()
	}
	line, err := json.Marshal(map[string]any{"damage": damage})
	if err != nil {
		return err
	}
	d.b = append(append(d.b, line...), '\n')
	return d.flush()
}

func (d *dumper) flush() error {
	_, err := d.w.Write(d.b)
	d.b = d.b[:0]
	return err
}
