package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/memtrace"
)

func memInfoCommand() *cobra.Command {
	var asJSON, histograms bool
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Say what is in a trace of memory",
		Example: `  mirador mem info service.ctf
  mirador mem info --histograms service.ctf
  mirador mem info --json service.ctf | jq .bytes`,
		Args: between(1, 1, "a trace file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readMemOnce(cmd, args[0], histograms && !asJSON, func(f *memFile) error {
				d, err := describeMem(f, histograms && !asJSON)
				if err != nil {
					return err
				}
				if asJSON {
					enc := json.NewEncoder(cmd.OutOrStdout())
					enc.SetIndent("", "  ")
					return enc.Encode(d)
				}
				return d.print(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	cmd.Flags().BoolVar(&histograms, "histograms", false, "also show the blocks' sizes and lifetimes")
	return cmd
}

// memDescription is what info says. Its JSON names are part of the command's
// interface.
type memDescription struct {
	File          string      `json:"file"`
	Size          int64       `json:"size"` // bytes, unpacked
	Version       int         `json:"version"`
	SampleRate    float64     `json:"sample_rate"` // per word
	WordSize      int         `json:"word_size"`   // bits
	Executable    string      `json:"executable"`
	Host          string      `json:"host"`
	RuntimeParams string      `json:"runtime_params"`
	PID           uint64      `json:"pid"`
	Context       string      `json:"context"`
	Start         int64       `json:"start_us"` // since the Unix epoch
	Duration      float64     `json:"duration"` // s
	Events        int64       `json:"events"`
	Allocs        int64       `json:"allocs"`
	Major         int64       `json:"allocs_major"`
	External      int64       `json:"allocs_external"`
	Promotes      int64       `json:"promotes"`
	Collects      int64       `json:"collects"`
	Samples       int64       `json:"samples"`
	Bytes         int64       `json:"bytes"` // allocated, an estimate
	Domains       int         `json:"domains"`
	Deepest       int         `json:"deepest_stack"`
	Places        int         `json:"places"` // in the program
	Uncertain     int64       `json:"uncertain"`
	Skipped       int64       `json:"skipped_bytes"`
	Damage        []memDamage `json:"damage"`

	sizes, lifetimes *heap.Histogram
}

type memDamage struct {
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
}

func describeMem(f *memFile, histograms bool) (*memDescription, error) {
	r, err := f.trace()
	if err != nil {
		return nil, err
	}
	d := &memDescription{File: f.path, Damage: []memDamage{}}
	births := map[uint64]int64{}
	if histograms {
		d.sizes, d.lifetimes = new(heap.Histogram), new(heap.Histogram)
	}
	var domains [1 << 16]bool
	last := r.Info().Start
	err = heap.Each(r, f.watch, func(ev *memtrace.Event) bool {
		d.Events++
		last = max(last, ev.Time)
		switch ev.Kind {
		case memtrace.Promote:
			d.Promotes++
		case memtrace.Collect:
			d.Collects++
			if histograms {
				if birth, ok := births[ev.ID]; ok {
					d.lifetimes.Add(ev.Time-birth, 1)
					delete(births, ev.ID)
				}
			}
		case memtrace.Alloc:
			d.Allocs++
			d.Samples += ev.Samples
			d.Deepest = max(d.Deepest, len(ev.Stack))
			switch ev.Source {
			case memtrace.Major:
				d.Major++
			case memtrace.External:
				d.External++
			}
			if !domains[ev.Domain] {
				domains[ev.Domain] = true
				d.Domains++
			}
			if histograms {
				d.sizes.Add(ev.Length, ev.Samples)
				births[ev.ID] = ev.Time
			}
		}
		return true
	})
	info := r.Info()
	d.Size = f.size()
	d.Version, d.SampleRate, d.WordSize = info.Version, info.SampleRate, info.WordSize
	d.Executable, d.Host, d.RuntimeParams = info.Executable, info.Host, info.RuntimeParams
	d.PID, d.Context, d.Start = info.PID, info.Context, info.Start
	d.Duration = float64(last-info.Start) / 1e6
	d.Bytes = int64(info.Bytes(d.Samples))
	d.Places = r.Frames() - 1
	stats := r.Stats()
	d.Uncertain, d.Skipped = stats.Uncertain, stats.SkippedBytes
	for _, x := range r.Damage() {
		d.Damage = append(d.Damage, memDamage{x.Offset, x.Length, x.Kind.String(), x.Detail})
	}
	return d, err
}

func (d *memDescription) print(w io.Writer) error {
	p := &printer{w: w}
	p.linef("%s: memtrace version %d, %s", printable(d.File), d.Version, heap.FormatBytes(float64(d.Size)))
	if d.Executable != "" {
		p.linef("  program   %s", printable(d.Executable))
	}
	if d.Host != "" {
		p.linef("  host      %s, process %s", printable(d.Host), pid(d.PID))
	}
	if d.Context != "" {
		p.linef("  context   %s", printable(d.Context))
	}
	if d.RuntimeParams != "" {
		p.linef("  runtime   %s", printable(d.RuntimeParams))
	}
	p.linef("  time      %s from %s on", seconds(d.Duration), time.UnixMicro(d.Start).UTC().Format("2006-01-02 15:04:05.000000 UTC"))
	switch {
	case d.SampleRate > 0:
		p.linef("  sampling  1 word of %.4g, of %d bits", 1/d.SampleRate, d.WordSize)
		p.linef("  allocated %s, from %s samples (±%.2g %%)", heap.FormatBytes(float64(d.Bytes)), grouped(d.Samples), deviation(d.Samples))
	default:
		p.linef("  sampling  not known; %s samples", grouped(d.Samples))
	}
	p.linef("  events    %s: %s allocations (%s major, %s external), %s promotions, %s collections",
		grouped(d.Events), grouped(d.Allocs), grouped(d.Major), grouped(d.External), grouped(d.Promotes), grouped(d.Collects))
	p.linef("  domains   %d; %s places in the program, call stacks up to %s frames deep", d.Domains, grouped(int64(d.Places)), grouped(int64(d.Deepest)))
	if d.sizes != nil {
		p.histogram("sizes of the sampled blocks", d.sizes, func(v int64) string {
			return heap.FormatBytes(float64(v) * float64(d.WordSize) / 8)
		})
		p.histogram("lifetimes of those that died", d.lifetimes, micros)
	}
	for i, x := range d.Damage {
		if i == 20 {
			p.linef("  damage    %s more places", grouped(int64(len(d.Damage)-i)))
			break
		}
		detail := ""
		if x.Detail != "" {
			detail = ": " + x.Detail
		}
		p.linef("  damage    offset %d: %s%s", x.Offset, x.Kind, detail)
	}
	if d.Uncertain > 0 {
		p.linef("  damage    the call stacks of %s allocations may be wrong", grouped(d.Uncertain))
	}
	return p.err
}

// pid writes a process id; unikernels have the largest.
func pid(id uint64) string {
	if id == 1<<64-1 {
		return "none"
	}
	return fmt.Sprint(id)
}

// deviation is the standard deviation of a number of samples, in percent.
func deviation(samples int64) float64 {
	if samples == 0 {
		return 100
	}
	return 100 / math.Sqrt(float64(samples))
}

// histogram draws one line per power of two.
func (p *printer) histogram(what string, h *heap.Histogram, unit func(int64) string) {
	first, last, ok := h.Bounds()
	if !ok {
		return
	}
	p.linef("\n%s:", what)
	var most int64
	for _, n := range h.Blocks {
		most = max(most, n)
	}
	for i := first; i <= last; i++ {
		from, _ := h.Range(i)
		n := h.Blocks[i]
		bar := strings.Repeat("#", int((n*40+most-1)/most))
		p.linef("  from %10s  %12s  %s", unit(from), grouped(n), bar)
	}
}
