package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/trace"
)

// loadTrace loads a trace for a command: it shows how far it is on a terminal,
// and says on standard error what could not be read.
func loadTrace(cmd *cobra.Command, path string, opt trace.Options) (*trace.Trace, error) {
	in, err := inputFor(cmd, path)
	if err != nil {
		return nil, err
	}
	p := newProgress(cmd.ErrOrStderr(), path)
	opt.Progress = p.events
	t, err := trace.Load(path, in, opt)
	p.done()
	if err != nil {
		return nil, explain(err)
	}
	tell(cmd, path, t)
	return t, nil
}

// tell says what of a file was not read, or not as it stands there.
func tell(cmd *cobra.Command, path string, t *trace.Trace) {
	warnOthers(cmd, path, t.Regions)
	warn(cmd, path, t.Damage, 0)
	warn(cmd, path, t.Model.Notes, t.Model.Passed-len(t.Model.Notes))
}

// explain adds to an error about a trace what its reader may do about it.
func explain(err error) error {
	var unknown *format.Unknown
	var in *input.Error
	switch {
	case errors.As(err, &unknown) && unknown.Like != "":
		return withHint(err, "try 'mirador mem info %s'", unknown.Path)
	case errors.As(err, &unknown):
		return withHint(err, "mirador reads its own traces, those of mirage-profile and memtrace, and those of the Go runtime, as they are or packed with gzip or zstd")
	case errors.Is(err, input.ErrDirectory):
		return withHint(err, "name a trace file, or the directory that mirador recorded into")
	case errors.Is(err, input.ErrEmpty):
		return withHint(err, "the program that made it may not have started to record yet")
	case errors.As(err, &in) && errors.Is(err, fs.ErrNotExist):
		return withHint(err, "name a trace file, or - for standard input")
	case errors.Is(err, gotrace.ErrVersion):
		return withHint(err, "traces of Go 1.22 to 1.26 can be read; for older ones use that release's go tool trace")
	case errors.Is(err, gotrace.ErrNoGeneration):
		return withHint(err, "the runtime writes about a second at a time: was the program killed before?")
	case errors.Is(err, mirage.ErrNoPacket):
		return withHint(err, "the file has no events to show; was it cut or overwritten?")
	}
	return err
}

// warnOthers says that a file has several traces, of which one is read.
func warnOthers(cmd *cobra.Command, path string, offsets []int64) {
	if len(offsets) > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %s: there are %d traces; this is the newest, at offset %d\n", path, len(offsets), offsets[0])
	}
}

// offsets tells where regions begin.
func offsets(regions []*region.Region) (at []int64) {
	for _, r := range regions {
		at = append(at, r.Offset)
	}
	return at
}

// warn says what of a file was passed over; more is how many are not listed.
func warn(cmd *cobra.Command, path string, damage []event.Damage, more int) {
	const most = 10
	for i, d := range damage {
		if i == most {
			more += len(damage) - most
			break
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %s: %v\n", path, d)
	}
	if more > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %s: and %s more places\n", path, grouped(int64(more)))
	}
}

// progress shows on a terminal how far a long reading is.
type progress struct {
	w       io.Writer
	path    string
	started time.Time
	shown   time.Time
}

func newProgress(w io.Writer, path string) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w: w, path: path, started: time.Now()}
}

func (p *progress) events(n int) {
	now := time.Now()
	if p.w == nil || now.Sub(p.started) < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	fmt.Fprintf(p.w, "\rmirador: %s: %s events\x1b[K", p.path, grouped(int64(n)))
}

// waiting shows that nothing has come yet.
func (p *progress) waiting() {
	if p.w != nil {
		p.shown = time.Now()
		fmt.Fprintf(p.w, "\rmirador: %s: waiting; Ctrl-C ends it\x1b[K", p.path)
	}
}

// bytes shows how many bytes have come from elsewhere.
func (p *progress) bytes(n int64) {
	now := time.Now()
	if p.w == nil || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	fmt.Fprintf(p.w, "\rmirador: %s: %s bytes; Ctrl-C ends it\x1b[K", p.path, grouped(n))
}

func (p *progress) done() {
	if !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// isTerminal reports whether somebody watches what is written to w, or types
// what is read from it.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// grouped writes a number with a comma between its thousands: 1,234,567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// seconds writes a time in s with the unit that suits it: 12.3 ms.
func seconds(s float64) string {
	const rounded = 0.99995 // is written 1
	switch abs := max(s, -s); {
	case abs >= rounded || abs == 0:
		return fmt.Sprintf("%.4g s", s)
	case abs >= rounded*1e-3:
		return fmt.Sprintf("%.4g ms", s*1e3)
	case abs >= rounded*1e-6:
		return fmt.Sprintf("%.4g µs", s*1e6)
	default:
		return fmt.Sprintf("%.4g ns", s*1e9)
	}
}
