package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/memtrace"
)

func memCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mem",
		Short: "Read traces of memory: where it was allocated, and what stays",
		Long: `Read traces of memory: where it was allocated, what is alive and what never
dies. They come from OCaml's memtrace and memtrace-mirage, or from a Go program.
A FILE may be packed with gzip or zstd, and is standard input when it is "-".`,
		Example: `  mirador mem info service.ctf
  mirador mem hotspots service.ctf
  mirador mem leaks service.ctf
  mirador mem flame -o flame.html service.ctf`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unknown command %q", args[0]), cmd}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{memInfoCommand(), memDumpCommand(), memHotspotsCommand(), memFlameCommand(),
		memLiveCommand(), memLeaksCommand(), memDiffCommand(), memCopyCommand(), memStripCommand(),
		memSampleCommand(), memConvertCommand()} {
		cmd.AddCommand(interruptible(c))
	}
	cmd.AddCommand(memCollectCommand(), memFetchCommand())
	return cmd
}

// memFile is an opened file that holds a trace of memory or a pprof profile.
type memFile struct {
	path   string
	data   []byte        // all of it
	stream *input.Stream // instead of data, when it is read once
	watch  heap.Watch
	cmd    *cobra.Command
}

// readMem opens a file and gives it to fn; afterwards it says what was wrong
// with the trace.
func readMem(cmd *cobra.Command, path string, fn func(*memFile) error) error {
	file, err := input.Open(path, cmd.InOrStdin())
	if err != nil {
		return explainMem(err, path)
	}
	defer file.Close()
	warnCut(cmd, path, file.Cut)
	f, done := newMemFile(cmd, path)
	defer done()
	f.data = file.Data
	return explainMem(file.Read(func() error { return fn(f) }), path)
}

func newMemFile(cmd *cobra.Command, path string) (f *memFile, done func()) {
	p := newProgress(cmd.ErrOrStderr(), path)
	return &memFile{path: path, cmd: cmd, watch: func(n int64) error {
		p.events(int(n))
		return cmd.Context().Err()
	}}, p.done
}

func warnCut(cmd *cobra.Command, path string, cut error) {
	if cut != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %s: unpack: %v\n", path, cut)
	}
}

// readMemOnce is readMem for an fn that reads the events once: an input that
// would be held in memory is read as a stream. With ordered, fn needs the events
// in the order of their times, which is that of a stream of one domain.
func readMemOnce(cmd *cobra.Command, path string, ordered bool, fn func(*memFile) error) error {
	s, err := input.OpenStream(path, cmd.InOrStdin())
	if err != nil {
		return explainMem(err, path)
	}
	if s == nil {
		return readMem(cmd, path, fn)
	}
	defer s.Close()
	f, done := newMemFile(cmd, path)
	defer done()
	if start := s.Peek(32 << 10); heap.LooksLikePprof(start) || ordered && !oneDomain(start) {
		file, err := s.All()
		if err != nil {
			return explainMem(err, path)
		}
		f.data = file.Data
	} else {
		f.stream = s
	}
	err = fn(f)
	warnCut(cmd, path, s.Cut)
	return explainMem(err, path)
}

// oneDomain reports whether what begins so is a trace of a version in which
// there is one domain.
func oneDomain(start []byte) bool {
	r, err := memtrace.NewReaderBytes(start)
	return err == nil && r.Info().Version < 3
}

// size returns how many bytes it has, unpacked; of a stream, how many have been
// read.
func (f *memFile) size() int64 {
	if f.stream != nil {
		return f.stream.Size
	}
	return int64(len(f.data))
}

// trace returns a reader of the file's trace.
func (f *memFile) trace() (*memtrace.Reader, error) {
	if f.stream != nil {
		r, err := memtrace.NewReader(f.stream)
		if _, ok := errors.AsType[*input.Error](err); err != nil && !ok {
			err = &input.Error{Path: f.path, Offset: -1, Err: err}
		}
		return r, err
	}
	if f.pprof() {
		err := &input.Error{Path: f.path, Offset: -1, Err: errors.New("is a pprof profile, which has no events")}
		return nil, withHint(err, "'mirador mem hotspots', flame, live and diff read it")
	}
	r, err := memtrace.NewReaderBytes(f.data)
	if err != nil {
		return nil, &input.Error{Path: f.path, Offset: -1, Err: err}
	}
	return r, nil
}

// pprof reports whether the file is a pprof profile.
func (f *memFile) pprof() bool { return f.stream == nil && heap.LooksLikePprof(f.data) }

// profile returns what was allocated: of a trace, or of a pprof profile the
// named sample type.
func (f *memFile) profile(kind string) (*heap.Profile, error) {
	if f.pprof() {
		p, err := heap.ReadPprof(f.data, heap.NewStacks(), kind)
		if err != nil {
			return nil, &input.Error{Path: f.path, Offset: -1, Err: err}
		}
		return p, nil
	}
	r, err := f.trace()
	if err != nil {
		return nil, err
	}
	p, err := heap.Allocated(r, heap.NewStacks(), f.watch)
	f.warn(r)
	return p, err
}

// warn says what of the trace was passed over.
func (f *memFile) warn(r *memtrace.Reader) {
	const most = 10
	stderr := f.cmd.ErrOrStderr()
	damage := r.Damage()
	for i, d := range damage {
		if i == most {
			fmt.Fprintf(stderr, "mirador: warning: %s: and %s more places\n", f.path, grouped(int64(len(damage)-most)))
			break
		}
		fmt.Fprintf(stderr, "mirador: warning: %s: %v\n", f.path, d)
	}
	if n := r.Stats().Uncertain; n > 0 {
		fmt.Fprintf(stderr, "mirador: warning: %s: the call stacks of %s allocations may be wrong\n", f.path, grouped(n))
	}
}

// explainMem adds to an error about a trace of memory what its reader may do.
func explainMem(err error, path string) error {
	switch {
	case errors.Is(err, memtrace.ErrVersion):
		return withHint(err, "it was made by a newer memtrace, or one before its first release")
	case errors.Is(err, memtrace.ErrNoTrace):
		return withHint(err, "try 'mirador info %s', which reads traces of threads", path)
	case errors.Is(err, heap.ErrNoMemory):
		return withHint(err, "take one with 'go tool pprof -proto http://HOST/debug/pprof/heap'")
	case errors.Is(err, input.ErrDirectory):
		return withHint(err, "name a trace file")
	case errors.Is(err, input.ErrEmpty):
		return withHint(err, "the program that made it may not have started to record yet")
	case errors.Is(err, fs.ErrNotExist):
		return withHint(err, "name a trace file, or - for standard input")
	}
	return err
}

// writeOut gives fn the output that -o names: a file that is there whole or not
// at all, or standard output for "-" unless somebody would watch it.
func writeOut(cmd *cobra.Command, out string, fn func(io.Writer) error) error {
	if out != "-" {
		return create(cmd.Context(), out, fn)
	}
	if isTerminal(cmd.OutOrStdout()) {
		return withHint(errors.New("not writing binary data to the terminal"), "name a file with -o, or pipe the output on")
	}
	return buffered(cmd.OutOrStdout(), fn)
}

// buffered gives fn a buffer of w.
func buffered(w io.Writer, fn func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := fn(b); err != nil {
		return err
	}
	return b.Flush()
}

// needOut wants -o to be there.
func needOut(cmd *cobra.Command, out string) error {
	if out == "" {
		return &usageError{errors.New("missing -o OUT"), cmd}
	}
	return nil
}

// share writes a part of a whole as a percentage.
func share(part, whole float64) string {
	if whole == 0 {
		return "0.0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

// place writes a location's file and line.
func place(l memtrace.Location) string {
	switch {
	case l.File == "":
		return "?"
	case l.Start == 0 && l.End == 0:
		return fmt.Sprintf("%s:%d", printable(l.File), l.Line)
	}
	return fmt.Sprintf("%s:%d:%d-%d", printable(l.File), l.Line, l.Start, l.End)
}

// title names a file in a report.
func title(path string) string {
	if path == "-" {
		return "standard input"
	}
	return filepath.Base(path)
}

// micros writes a time in µs with the unit that suits it.
func micros(us int64) string { return seconds(float64(us) / 1e6) }

// amount writes samples in bytes, or as samples when the rate is not known.
func amount(unit float64, samples int64) string {
	if unit == 0 {
		return grouped(samples) + " samples"
	}
	return heap.FormatBytes(unit * float64(samples))
}
