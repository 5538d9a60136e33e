// Package trace takes a trace all the way from its file to its rows.
//
// There is one type: a [Trace] is everything that is known of one file, in
// memory. [Load] makes it, and [Read] of what has been opened.
package trace

import (
	"errors"
	"io"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/gotrace"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Trace is a loaded trace. It does not need its file any longer.
type Trace struct {
	Path    string
	Format  string
	Model   *thread.Model
	Rings   int // 0 for a format without
	Packets int
	Lost    int            // packets missing between the oldest and the newest
	Damage  []event.Damage // what could not be read
	Kinds   [event.NumKinds]int
	Start   int64   // when the first event was, in ns since the Unix epoch; 0 when the trace does not tell
	Regions []int64 // where regions were found in the file, the newest first, which was read
	Go      *Go     // what only a Go execution trace tells; nil for others
}

// Go is what a Go execution trace tells besides its model.
type Go struct {
	gotrace.Totals
	Version string         // of the format, "1.26"
	Clock   *gotrace.Clock // what the clocks told when it began; nil if it does not say
}

// Options say how a trace is loaded. The zero value is what a viewer wants.
type Options struct {
	KeepBinds bool // see [thread.Options]
	NoRows    bool // leave the layout out: nothing will be drawn

	// Once gives the memory of the file back as soon as its events have been
	// read, while the model still needs more: nobody can read it again.
	Once bool

	// Progress is called now and then with the number of events that were
	// read. Nil means that nobody wants to know.
	Progress func(events int)
}

// Load opens a trace and reads it to its end; stdin is read when path is "-".
// The errors are those of [format.Open] and [format.Trace.Read]. When the file
// becomes shorter under the reader's hands, it is read once more as it is then.
func Load(path string, stdin io.Reader, opt Options) (*Trace, error) {
	t, err := load(path, stdin, opt)
	for try := 0; errors.Is(err, input.ErrShrank) && try < 3; try++ {
		t, err = load(path, stdin, opt)
	}
	return t, err
}

func load(path string, stdin io.Reader, opt Options) (*Trace, error) {
	file, err := format.Open(path, stdin)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(file, opt)
}

// Read is [Load] for a trace that has been opened, and which the caller closes.
// The errors are those of [format.Trace.Read].
func Read(file *format.Trace, opt Options) (*Trace, error) {
	t := &Trace{Path: file.Path, Format: file.Format}
	for _, r := range file.Regions {
		t.Regions = append(t.Regions, r.Offset)
	}
	err := file.Read(func(events format.Events) error {
		src := &source{events: events, kinds: &t.Kinds, progress: opt.Progress}
		if opt.Once {
			src.end = file.Close
		}
		how := thread.Options{KeepBinds: opt.KeepBinds}
		switch r := events.(type) {
		case *mirage.Reader:
			t.Packets, t.Lost = len(r.Packets()), r.Lost()
			how.Threads = r.Creates() + 16 // and some that were there before
		case *native.Reader:
			t.ofOwn(r)
		case *format.Joined:
			t.ofOwn(r.Own)
		case *gotrace.Reader:
			how.QuietCounters = true
		}
		t.Model = thread.Build(src, how)
		t.Damage = file.Damage(events)
		switch r := events.(type) {
		case *native.Reader:
			t.Start = r.Start().UnixNano() + t.Model.OriginNS
		case *gotrace.Reader:
			t.ofGo(r)
		case *format.Joined:
			t.Model.Stacks = r.Go.Stacks()
			t.Start = r.Own.Start().UnixNano() + t.Model.OriginNS
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !opt.NoRows {
		layout.Arrange(t.Model)
	}
	return t, nil
}

// ofOwn takes over what a reader knows of the recording's rings.
func (t *Trace) ofOwn(r *native.Reader) {
	t.Rings, t.Packets, t.Lost = len(r.Rings()), r.Packets(), r.Lost()
}

// ofGo takes over what a reader knows that has read all.
func (t *Trace) ofGo(r *gotrace.Reader) {
	t.Model.Stacks = r.Stacks()
	t.Go = &Go{Totals: r.Totals(), Version: r.Version()}
	if c, ok := r.Clock(); ok {
		t.Go.Clock = &c
		t.Start = c.Wall.UnixNano() + t.Model.OriginNS - c.Trace
	}
}

// source counts the events that pass.
type source struct {
	events   format.Events
	kinds    *[event.NumKinds]int
	n        int
	progress func(int)
	end      func() error // nil for nothing to be done; what it says is of no interest
}

func (s *source) Next(e *event.Event) bool {
	if !s.events.Next(e) {
		if s.end != nil {
			s.end()
		}
		return false
	}
	s.kinds[e.Kind]++
	if s.n++; s.progress != nil && s.n%(1<<16) == 0 {
		s.progress(s.n)
	}
	return true
}
