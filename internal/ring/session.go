package ring

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// Options say what to record where. Every field must be set.
type Options struct {
	Dir     string        // the trace directory; made, or emptied of an older trace
	Size    int64         // of all rings together, in bytes
	Program string        // the program's name
	Sample  time.Duration // how often heap counters are read; never if not positive

	// Memory is recorded into instead of a directory if it is not nil, and
	// Release is called when it is no longer needed; Size is its size then,
	// and Dir only a name for it.
	Memory  []byte
	Release func() error
}

// Session is a recording.
type Session struct {
	options Options
	trace   packet.Trace
	plan    plan
	lock    *os.File // held while the directory is ours

	mu       sync.Mutex // protects what follows, and every change of current
	mappings []mapping
	stopped  bool
	clocks   uint64 // how often the time was told to Memory; the background's

	discarded atomic.Uint64 // events for which the shared ring's lock could not be had
	growing   atomic.Bool   // whether rings are being made, or cannot be
	done      chan struct{} // closed to end the background goroutine
	ended     chan struct{} // closed when it has
}

// sessions is held while a recording starts or stops; recording is the one
// that is under way.
var (
	sessions  sync.Mutex
	recording *Session
)

// ErrRecording is the error for a second recording in the same process.
var ErrRecording = errors.New("already recording")

// ErrBusy is the error for a directory that another process records into.
var ErrBusy = errors.New("another process is recording there")

// Start begins a recording. It takes some milliseconds, and some more for
// every 16 MiB.
func Start(o Options) (*Session, error) {
	sessions.Lock()
	defer sessions.Unlock()
	if recording != nil {
		return nil, fmt.Errorf("%w into %s", ErrRecording, recording.options.Dir)
	}
	if err := supported(); err != nil {
		return nil, err
	}
	chooseClock()
	start := startDirectory
	if o.Memory != nil {
		start = startRegion
	}
	s, err := start(o)
	if err != nil {
		return nil, err
	}
	recording = s
	generation.Add(1)
	active.Store(true)
	go s.background()
	return s, nil
}

func startDirectory(o Options) (*Session, error) {
	plan, err := planFor(o.Size, runtime.GOMAXPROCS(0), os.Getpagesize())
	if err != nil {
		return nil, err
	}
	s := &Session{options: o, plan: plan, done: make(chan struct{}), ended: make(chan struct{})}
	if s.lock, err = claim(o.Dir); err != nil {
		return nil, err
	}
	if err := s.fill(); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// fill makes the rings and then the metadata, with which the directory becomes
// a trace.
func (s *Session) fill() error {
	s.trace = packet.Trace{Program: s.options.Program, PID: os.Getpid(), GoVersion: runtime.Version(),
		ClockName: clockName(), Start: readClock()}
	if _, err := rand.Read(s.trace.UUID[:]); err != nil {
		return err
	}
	r := &rings{session: s}
	var err error
	if r.shared, err = s.newRing(sharedRing, "s", s.plan.shared); err != nil {
		return err
	}
	r.shared.shared = true
	for p := range s.plan.writers {
		w, err := s.newRing(uint64(p), fmt.Sprint(p), s.plan.own)
		if err != nil {
			return err
		}
		r.writers = append(r.writers, w)
	}
	s.trace.Frequency = frequency(s.trace.Start)
	if err := s.writeProcess(); err != nil {
		return err
	}
	if err := replace(s.path("metadata"), s.trace.Metadata()); err != nil {
		return err
	}
	current.Store(r)
	return nil
}

// sharedRing is the stream_instance_id of the shared ring.
const sharedRing = 1 << 16

func (s *Session) newRing(id uint64, name string, room slots) (*Writer, error) {
	m, err := makeRing(s.options.Dir, name, s.trace.UUID, id, room, s.trace.Start.Cycles)
	if err != nil {
		return nil, err
	}
	s.mappings = append(s.mappings, m)
	return newWriter(m.memory(), room.size, room.count, s.trace.Start.Cycles), nil
}

// grow makes rings for as many Ps, or as many as it can. They share the size of
// the recording among them, so that it takes at most twice of that in all.
func (s *Session) grow(ps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := current.Load()
	if s.stopped || r == nil || s.options.Memory != nil {
		return
	}
	ps = max(ps, runtime.GOMAXPROCS(0))
	room, err := planFor(s.options.Size, ps, os.Getpagesize())
	if err != nil {
		return // for ever: growing stays true
	}
	for p := len(r.writers); p < ps; p++ {
		w, err := s.newRing(uint64(p), fmt.Sprint(p), room.own)
		if err != nil {
			return
		}
		r = &rings{append(slices.Clip(r.writers), w), r.shared, s}
		current.Store(r)
	}
	s.growing.Store(false)
}

// Dir returns the trace directory.
func (s *Session) Dir() string { return s.options.Dir }

// Stop ends the recording and gives its memory back. The trace stays. It
// stops the world for a moment. A second Stop does nothing.
func (s *Session) Stop() error {
	sessions.Lock()
	defer sessions.Unlock()
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return nil
	}
	s.stopped = true
	s.mu.Unlock()
	close(s.done)
	<-s.ended
	active.Store(false)
	emitClock()
	current.Store(nil)
	recording = nil
	awaitWriters()
	if s.options.Memory != nil {
		s.tellClock()
		return s.options.Release()
	}
	s.trace.Frequency = frequency(s.trace.Start)
	err := replace(s.path("metadata"), s.trace.Metadata())
	if err != nil {
		err = fmt.Errorf("the trace was removed while it was recorded: %w", err)
	}
	s.release()
	return err
}

// awaitWriters returns when every goroutine that was pinned has been unpinned
// in between: the world does not stop before.
func awaitWriters() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
}

func (s *Session) release() {
	for _, m := range s.mappings {
		m.unmap()
	}
	s.mappings = nil
	s.lock.Close()
}

// abandon leaves nothing behind of a recording that could not be started,
// beyond the directory.
func (s *Session) abandon() {
	s.release()
	empty(s.options.Dir)
}

func (s *Session) path(name ...string) string {
	return filepath.Join(append([]string{s.options.Dir}, name...)...)
}

// Process is what a trace says of the process, in .run/process.json.
type Process struct {
	Program    string    `json:"program"`
	PID        int       `json:"pid"`
	Host       string    `json:"host,omitempty"`
	Go         string    `json:"go"`
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	Start      time.Time `json:"start"`
}

func (s *Session) writeProcess() error {
	host, _ := os.Hostname()
	text, err := json.MarshalIndent(Process{
		Program: s.options.Program, PID: s.trace.PID, Host: host, Go: s.trace.GoVersion,
		OS: runtime.GOOS, Arch: runtime.GOARCH, GOMAXPROCS: s.plan.writers,
		Start: time.Unix(0, s.trace.Start.Realtime).UTC(),
	}, "", "\t")
	if err != nil {
		return err
	}
	return replace(s.path(runDir, "process.json"), append(text, '\n'))
}
