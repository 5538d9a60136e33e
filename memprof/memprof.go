package memprof

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mirador-trace/mirador/memprof/note"
	"github.com/mirador-trace/mirador/memtrace"
)

// Config says what is traced, and where to. One of File, Dir and Addr must be
// given to [Start].
type Config struct {
	// File is the name of the trace file. One that is there is replaced.
	File string

	// Dir is a trace directory. The trace is in memory that is mapped from
	// a file in its hidden folder .run, and there when the program has been
	// killed: see package memprof/ring.
	Dir string

	// Addr is the host and port of a collector, which the trace is sent to
	// over TCP.
	Addr string

	// Rate is the number of allocated bytes to one sample, on average. 0 is
	// 512 KiB. 1 samples every object, which slows a program down much. It
	// is limited to 112 MiB, as is the runtime's.
	Rate int

	// Context is a text for whoever reads the trace: a version, a request.
	Context string

	// Flush is how long an event waits at most before it is written. 0 is
	// 1 s, and 100 ms for Dir.
	Flush time.Duration

	// Retry is how long after a lost connection to Addr the next is tried.
	// It doubles up to 30 s with each that fails. 0 is 1 s; with a negative
	// one, the first loss ends the trace.
	Retry time.Duration

	// Objects is how many sampled objects are kept track of at the same
	// time. When so many live, others are lost. 0 is 1 Mi. Each takes 100
	// bytes outside the Go heap.
	Objects int

	// Ring is how many bytes a file of Dir has. 0 is 16 MiB. There are two
	// or three of them, and they are larger when the living objects need
	// that.
	Ring int
}

// DefaultRate is the Rate of a Config that has none.
const DefaultRate = 512 << 10

const maxRate = 0x7000000 // of the runtime

// ErrActive is returned when something is being traced already.
var ErrActive = errors.New("memory is being traced already")

// active is the present trace.
var active struct {
	mu sync.Mutex
	p  *profiler
}

// Start begins a trace. It returns an error when there is one already, when c
// is impossible, or when the file cannot be created. A collector that cannot
// be reached is no error: the next attempt is made as c.Retry says.
func Start(c Config) error {
	out, err := c.outlet()
	if err != nil {
		return err
	}
	if _, err := start(c, out); err != nil {
		out.close()
		return err
	}
	return nil
}

// Stop ends the trace, and writes what is left of it. It returns the error
// that ended the trace before, if there was one. Without a trace it does
// nothing.
func Stop() error {
	active.mu.Lock()
	p := active.p
	active.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.stop()
}

// StartIfRequested starts a trace when the environment asks for it, with c
// for what the environment does not say:
//
//	MEMTRACE=FILE               a file
//	MEMTRACE=DIR/               a trace directory, also without the slash when it is there
//	MEMTRACE=tcp://HOST:PORT    a collector
//	MEMTRACE_RATE=1e-6          samples per word, up to 1
//	MEMTRACE_RATE=65536         bytes per sample, from 1 on; also 64KiB, 1MiB
//
// It reports whether MEMTRACE is set.
func StartIfRequested(c Config) (requested bool, err error) {
	to := os.Getenv("MEMTRACE")
	if to == "" {
		return false, nil
	}
	c.File, c.Dir, c.Addr = "", "", ""
	if addr, ok := strings.CutPrefix(to, "tcp://"); ok {
		c.Addr = addr
	} else if about, err := os.Stat(to); strings.HasSuffix(to, "/") || err == nil && about.IsDir() {
		c.Dir = to
	} else {
		c.File = to
	}
	if rate := os.Getenv("MEMTRACE_RATE"); rate != "" {
		if c.Rate, err = ParseRate(rate); err != nil {
			return true, fmt.Errorf("MEMTRACE_RATE: %w", err)
		}
	}
	return true, Start(c)
}

// ParseRate reads a rate as it is written in MEMTRACE_RATE, and returns bytes
// per sample.
func ParseRate(s string) (int, error) {
	number, unit := s, 1.0
	for suffix, n := range map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "kB": 1e3, "MB": 1e6} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = strings.TrimSpace(rest), n
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= unit
	switch {
	case err != nil || !(v > 0):
		return 0, fmt.Errorf("%q is neither samples per word (1e-6) nor bytes per sample (512KiB)", s)
	case v < 1:
		v = float64(wordSize) / v
	}
	return int(min(v, maxRate)), nil
}

// outlet opens what c names.
func (c *Config) outlet() (outlet, error) {
	given := 0
	for _, to := range []string{c.File, c.Dir, c.Addr} {
		if to != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, errors.New("memprof: one of File, Dir and Addr must be given")
	case c.Rate < 0:
		return nil, fmt.Errorf("memprof: rate %d is negative", c.Rate)
	case c.File != "":
		return createFile(c.File)
	case c.Dir != "":
		return createRing(c.Dir, c.Ring)
	}
	return dial(c.Addr, c.Retry), nil
}

// source is where the events come from. Its methods but kick are called by
// the drainer.
type source interface {
	start(interval time.Duration) error // sets the tracer's time to one before all events
	wait(d time.Duration)               // until there may be something to drain
	kick()                              // ends wait
	drain()
	stop(rate int)
	release()
}

// profiler is a trace while it is made.
type profiler struct {
	t       *tracer
	src     source
	queue   *externalQueue
	clock   func() int64
	flush   time.Duration
	rate    int // of the runtime, before
	stopped atomic.Bool
	started chan error
	done    chan struct{}
	err     error // when done
}

// start begins a trace to an outlet.
func start(c Config, out outlet) (*profiler, error) {
	active.mu.Lock()
	defer active.mu.Unlock()
	if active.p != nil {
		return nil, ErrActive
	}
	p := newProfiler(c, out)
	go p.run()
	if err := <-p.started; err != nil {
		<-p.done
		return nil, err
	}
	active.p = p
	return p, nil
}

func newProfiler(c Config, out outlet) *profiler {
	rate := c.Rate
	if rate == 0 {
		rate = DefaultRate
	}
	rate = min(rate, maxRate)
	p := &profiler{
		flush: c.Flush, rate: runtime.MemProfileRate,
		started: make(chan error, 1), done: make(chan struct{}),
	}
	if p.flush <= 0 {
		p.flush = time.Second
		if c.Dir != "" {
			p.flush = 100 * time.Millisecond
		}
	}
	most := c.Objects
	if most <= 0 {
		most = 1 << 20
	}
	p.t = &tracer{info: describe(c.Context, rate), out: out, most: most}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	if Exact() {
		e := &exact{t: p.t, rate: float64(rate), rand: random}
		p.src, p.clock = e, e.clock
	} else {
		a := &aggregate{t: p.t, rate: float64(rate), rand: random, clock: since(time.Now())}
		p.src, p.clock = a, a.clock
	}
	p.queue = newExternalQueue(float64(rate), p.clock)
	switch s := p.src.(type) {
	case *exact:
		s.queue = p.queue
	case *aggregate:
		s.queue = p.queue
	}
	return p
}

// describe returns what the trace says about itself.
func describe(context string, rate int) memtrace.Info {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name, err := os.Executable()
	if err != nil {
		name = filepath.Base(os.Args[0])
	}
	how := note.AggregateContext
	if Exact() {
		how = note.ExactContext
	}
	if context != "" {
		how = context + "; " + how
	}
	return memtrace.Info{
		Version:    2, // one domain: the goroutines are in the notes
		SampleRate: min(1, float64(wordSize)/float64(rate)), WordSize: 8 * wordSize,
		Executable: name, Host: host,
		RuntimeParams: fmt.Sprintf("%s %s/%s GOMAXPROCS=%d", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0)),
		PID:           uint64(os.Getpid()), Context: how,
	}
}

// run drains the source until the trace is stopped.
func (p *profiler) run() {
	defer close(p.done)
	t := p.t
	err := p.src.start(min(p.flush, 50*time.Millisecond))
	if err == nil {
		err = t.turn()
	}
	if err != nil {
		p.src.stop(p.rate)
		p.src.release()
		t.release()
		p.started <- err
		return
	}
	p.queue.start()
	t.count()
	p.started <- nil
	step := p.flush.Microseconds()
	for !p.stopped.Load() {
		p.src.wait(p.flush)
		t.turn()
		p.src.drain()
		if t.now-t.flushed >= step || t.notes.Len() > 16<<10 {
			t.flush()
		} else {
			t.catchUp()
		}
		t.count()
	}
	p.queue.stop()
	p.src.stop(p.rate)
	p.src.drain()
	t.flush()
	t.count()
	p.err = t.out.close()
	p.src.release()
	t.release()
	// Only now may another begin: it is the runtime's only rate, and log.
	active.mu.Lock()
	if active.p == p {
		active.p = nil
	}
	active.mu.Unlock()
}

// stop ends the trace and waits until that is done. It may be called again.
func (p *profiler) stop() error {
	p.stopped.Store(true)
	p.src.kick()
	<-p.done
	return p.err
}
