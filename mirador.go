// Package mirador records what the threads of a program do, who waits for whom
// and who wakes whom, into a trace that anyone can read at any time: while the
// program runs, when it hangs, and after it was killed.
//
// A program records itself by
//
//	import _ "github.com/mirador-trace/mirador/auto"
//
// when the environment has MIRADOR=path, and always by [Start]. Then look:
//
//	mirador run -- ./program
//	mirador view program.trace
//
// There are few types. A [Recording] is a trace being written. A thread is a
// goroutine, or something with a life of its own that goroutines work on: a
// [Task], or a [Promise] that others wait for. A [Counter] is a number that
// goes up and down, a [Region] a stretch of a goroutine's time. [Mutex],
// [RWMutex], [Cond], [WaitGroup], [Semaphore] and [Chan] are what their names
// say, and record who waited for them and who ended the wait.
//
// The words are those of mirage-profile, in which OCaml programs have told
// such stories for years; each says which one it is.
//
// # Cost
//
// An event costs about 10 ns, most of which is reading the clock; a text as
// long again costs 2 ns more. Nothing is allocated, locked or waited for: the
// processors of the Go scheduler each write to a ring of their own, the oldest
// part of which is overwritten when it is full. When nothing is recorded a
// call is a load, a test and a branch; with the build tag mirador_off it is
// not there at all.
//
// # What a trace is
//
// A directory in the Common Trace Format, which babeltrace2 opens as it lies,
// too. Whatever was recorded before the process died is in it, but for at most
// the event in flight on each processor. Linux is where recording is tested;
// macOS is built for; elsewhere Start returns an error, and a program that
// calls everything else goes on as if nothing was recorded.
//
// # Errors
//
// Recording never makes a program fail. [StartIfRequested] says on standard
// error why it cannot record, and the program goes on; Start returns it.
package mirador

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mirador-trace/mirador/internal/guest"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Config says how to record. The zero Config is a good one.
type Config struct {
	// Path is the trace directory; every %p in it becomes the process's
	// number. A directory that has an older trace is overwritten unless a
	// process still records into it. The empty path is one named after the
	// program in the directory for temporary files.
	//
	// In a virtual machine it may be memory that its host sees: "xen:",
	// "ivshmem:", "file:PATH" or "vsock:CID:PORT", which doc/guests.md tells
	// more of. Size is then as much as that has if it is 0, and there is no
	// execution trace.
	Path string

	// Size is the room of the trace in bytes, which is allocated on disk and
	// in memory at the start. 0 is 16 MiB: 400,000 events or so for each of
	// the processors, whatever their number.
	Size int64

	// Sample is how often the heap's size and the number of goroutines are
	// recorded. 0 is every 100 ms; if it is negative they are not.
	Sample time.Duration

	// GoTrace is the room in bytes for the execution trace of the Go runtime,
	// which tells when each goroutine ran and what it waited for, without a
	// line of code. It is recorded, too, unless GoTrace is negative; 0 is 16
	// MiB. The newest seconds that fit are kept, in whole generations of
	// about a second; when a process ends without Stop, or is killed, the last
	// one is lost. GODEBUG=traceadvanceperiod=100000000, which "mirador run"
	// sets, makes them a tenth of a second. While it is recorded
	// runtime/trace.Start fails, and so do those who use it ("go test -trace",
	// net/http/pprof's trace); if they were first, there is none in this
	// trace.
	GoTrace int64
}

// DefaultSize and DefaultGoTrace are the sizes of the zero Config, in bytes.
const (
	DefaultSize    = 16 << 20
	DefaultGoTrace = 16 << 20
)

// Recording is a trace being written. There is at most one in a process at a
// time. Its methods may be called from any goroutine.
type Recording struct {
	session *ring.Session
	runtime *runtimeTrace // nil if there is none
}

// Errors that a caller may want to tell apart.
var (
	ErrRecording = ring.ErrRecording // this process records already
	ErrBusy      = ring.ErrBusy      // another process records into that directory
)

// Start begins to record. It takes 10 ms, and 1 or 2 ms for every MiB where the
// directory is on a disk. In a program built with the tag mirador_off it fails.
func Start(c Config) (*Recording, error) {
	if !ring.Built {
		return nil, fmt.Errorf("mirador: the program was built with the tag mirador_off")
	}
	if guest.Is(c.Path) {
		return startShared(c)
	}
	if c.Path == "" {
		c.Path = filepath.Join(os.TempDir(), program()+".trace")
	}
	if c.Size == 0 {
		c.Size = DefaultSize
	}
	if c.Sample == 0 {
		c.Sample = 100 * time.Millisecond
	}
	path, err := filepath.Abs(strings.ReplaceAll(c.Path, "%p", strconv.Itoa(os.Getpid())))
	if err != nil {
		return nil, fmt.Errorf("mirador: %w", err)
	}
	s, err := ring.Start(ring.Options{Dir: path, Size: c.Size, Program: program(), Sample: c.Sample})
	if err != nil {
		return nil, fmt.Errorf("mirador: %w", err)
	}
	return &Recording{s, startRuntimeTrace(path, c.GoTrace)}, nil
}

// Path returns the trace directory.
func (r *Recording) Path() string { return r.session.Dir() }

// Stop ends the recording. It stops the world for a moment, as a collection
// does. The trace stays as it is; to Start again makes another one. A program
// that ends need not call it. The error is that of a trace that was removed.
func (r *Recording) Stop() error {
	err := r.runtime.stop()
	if sessionErr := r.session.Stop(); sessionErr != nil {
		err = sessionErr
	}
	if err != nil {
		return fmt.Errorf("mirador: %w", err)
	}
	return nil
}

// program is the program's name, fit to be a file's.
func program() string {
	name := "program"
	if path, err := os.Executable(); err == nil {
		name = filepath.Base(path)
	}
	return strings.TrimSuffix(name, ".exe")
}

// recorded is the constant false in programs built with the tag mirador_off.
// It stands in every condition, where the compiler sees it before it asks
// whether a function is small enough to be inlined.
const recorded = ring.Built
