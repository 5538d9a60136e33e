// Package window shows mirador's page in a window of its own, with menus, a
// dialog to open files and a place to drop them.
//
// There are few types: a [Config] says which page, [Show] shows it until the
// window is closed, and [Unavailable] says why there can be no window here.
//
// The window is GTK 3 around WebKitGTK 4.1, found when it is wanted. What calls
// these libraries is linked to C's, so it is a program of its own, in folder gtk,
// and mirador stays one that needs no libraries at all. It is embedded, packed,
// and started from memory; the page's URL, which has the token in it, goes
// through a pipe, where nobody else sees it. It is known for linux/amd64 and
// linux/arm64.
//
// WebKit's sandbox is on wherever it can run: a page shows what a trace says,
// and anybody may have made the trace.
package window

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mirador-trace/mirador/internal/window/talk"
)

//go:generate go run ./build

// Packages are Debian's names of what a window needs.
const Packages = "libgtk-3-0 libwebkit2gtk-4.1-0"

// Config says what to show.
type Config struct {
	URL   string            // the page
	State string            // the file that remembers where the window was; "" means the user's own, see [StateFile]
	Open  func(path string) // a file was chosen or dropped; called for one after the other, and may be at work when Show returns; nil ignores them
	Warn  func(what string) // told what is not as it should be; nil if nobody cares
}

// Unavailable is the error when no window can be shown here.
type Unavailable struct {
	Why     string
	Missing bool // libraries are, those of [Packages] or what these need
}

func (e *Unavailable) Error() string { return "no window: " + e.Why }

// patience is how long a window may take to close.
const patience = 3 * time.Second

// Show shows a page in a window and returns nil once it has been closed, by its
// user or because ctx is done. The error is an [*Unavailable] when there never
// was a window.
func Show(ctx context.Context, c Config) error {
	if c.State == "" {
		c.State = StateFile()
	}
	if c.Open == nil {
		c.Open = func(string) {}
	}
	cmd, done, err := program()
	if err != nil {
		return err
	}
	defer done()
	var complaints tail
	cmd.Stderr, cmd.WaitDelay = &complaints, time.Second // WebKit's own processes may hold it a little longer
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return notStarted(err)
	}
	w := &shown{Config: c, guarded: sandboxRuns()}
	ended := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		in.Close() // it closes the window
		select {
		case <-ended:
		case <-time.After(patience):
			cmd.Process.Kill()
		}
	})()
	err = json.NewEncoder(in).Encode(talk.Show{URL: c.URL, Place: readPlace(c.State), Unguarded: !w.guarded})
	if err == nil {
		err = w.listen(json.NewDecoder(out))
	}
	if err != nil {
		cmd.Process.Kill() // it does not speak our language
	}
	status := cmd.Wait()
	close(ended)
	return w.judge(ctx, err, status, complaints.String())
}

// shown is a window from its beginning to its end.
type shown struct {
	Config
	guarded    bool // by WebKit's sandbox
	up, closed bool
	none       *Unavailable

	mu      sync.Mutex
	queue   []string // files to be opened
	opening sync.WaitGroup
	busy    bool // with opening them
}

// listen takes what the program says, until it ends.
func (w *shown) listen(d *json.Decoder) error {
	for {
		var n talk.News
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case n.Shown:
			w.up = true
			if !w.guarded {
				w.warn("WebKit's sandbox does not run on this system (does 'bwrap' work?): the page is shown without it")
			}
		case n.Missing != "":
			w.none = &Unavailable{Why: n.Missing, Missing: true}
		case n.Failed != "":
			w.none = &Unavailable{Why: n.Failed}
		case n.Closed != nil:
			w.closed = true
			if err := writePlace(w.State, n.Closed); err != nil {
				w.warn(fmt.Sprintf("where the window was is not remembered: %v", err))
			}
			return nil
		case n.Open != nil:
			w.open(n.Open)
		}
	}
}

// open has files opened, one after the other, and does not wait for it.
func (w *shown) open(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, paths...)
	if !w.busy {
		w.busy = true
		w.opening.Go(w.openQueued)
	}
}

func (w *shown) openQueued() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.busy = false
			w.mu.Unlock()
			return
		}
		path := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		w.Open(path)
	}
}

func (w *shown) warn(what string) {
	if w.Warn != nil {
		w.Warn(what)
	}
}

// judge says how it went: err is what went wrong in talking to the program,
// status how it ended, complaints what it wrote last.
func (w *shown) judge(ctx context.Context, err, status error, complaints string) error {
	switch {
	case w.none != nil:
		return w.none
	case w.closed || ctx.Err() != nil:
		return nil
	}
	why := "it ended by itself"
	var exit *exec.ExitError
	if errors.As(status, &exit) {
		why = exit.String()
	} else if err != nil {
		why = err.Error()
	}
	if complaints != "" {
		why += ": " + complaints
	}
	if !w.up {
		return &Unavailable{Why: why}
	}
	return fmt.Errorf("the window is gone: %s", why)
}

// tail keeps the last line that was written to it, which says of what a program
// died.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4 << 10
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-most):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.last), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
