// Package engine answers the questions of a viewer about opened traces: the
// picture of a viewport, what lies under the pointer, what is known of a
// thread, where a text occurs.
//
// There are few types: an [Engine] holds the [Trace]s that are open, one per
// tab, and [Engine.Handle] turns a [Request] into an answer. [About] says
// where a trace came from. An [Error] is an answer that is a refusal.
//
// The package has no I/O of its own. The bytes that Handle takes and gives are
// the same over a WebSocket and inside of a page, where the package runs as
// WebAssembly.
//
// # The protocol
//
// A request is a JSON object: see [Request]. Its field ask names the question
// and id the answer: any number of requests may be under way. An answer is an
// envelope of 16 bytes and a body, little-endian:
//
//	offset  size
//	0       u32   the request's id; 0 for a notice that nobody asked for
//	4       u16   the protocol's version, 1
//	6       u16   what the body is: 1 JSON, 2 an Error as JSON, 3 a draw list
//	              (see package scene), 4 a file, 5 a notice as JSON
//	8       u32   the trace that was asked about
//	12      u32   its generation: it grows by one when a trace is reloaded
//
// Times are in seconds since the trace's first event. A thread is known by its
// index in the model, which is only good for one generation, or by its own
// number (tid), a decimal string because it does not fit JavaScript's numbers.
//
// An answer is limited: texts are cut at 256 bytes, lists at 1000 entries, and
// pictures are at most 16384 px wide and high. What is cut says how much there
// was.
package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Version is the protocol's.
const Version = 1

// MaxRequest is the size that a request may have, in bytes.
const MaxRequest = 64 << 10

// envelope is the size of what stands before an answer's body.
const envelope = 16

// Kind says what the body of an answer is.
type Kind uint16

// The kinds of answers.
const (
	JSON    Kind = 1
	Refusal Kind = 2
	Picture Kind = 3
	File    Kind = 4
	Notice  Kind = 5
)

// Engine holds opened traces. The zero Engine has none. All its methods may be
// called at the same time.
type Engine struct {
	mu     sync.RWMutex
	traces []opened
}

type opened struct {
	trace      *Trace
	generation uint32
}

// Add opens one more trace and returns its number, counted from 0.
func (e *Engine) Add(t *Trace) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.traces = append(e.traces, opened{t, 1})
	return len(e.traces) - 1
}

// Replace puts a newer state of a trace in the place of an older one and
// returns its generation. Answers under way are still about the older.
func (e *Engine) Replace(number int, t *Trace) uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &e.traces[number]
	o.trace = t
	o.generation++
	return o.generation
}

// Len returns how many traces are open.
func (e *Engine) Len() int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return len(e.traces)
}

func (e *Engine) get(number int) (opened, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if number < 0 || number >= len(e.traces) {
		return opened{}, refuse("no-trace", "there is no trace %d, only %d of them", number, len(e.traces))
	}
	return e.traces[number], nil
}

// Error is a refusal: an answer that says why there is none.
type Error struct {
	Code    string `json:"code"`    // for programs: "bad-request"
	Message string `json:"message"` // for people
}

func (e *Error) Error() string { return e.Message }

func refuse(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Parse reads a request; the error is an [*Error].
func Parse(request []byte) (Request, error) {
	var r Request
	if len(request) > MaxRequest {
		return r, refuse("too-big", "a request of %d bytes: at most %d", len(request), MaxRequest)
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return r, refuse("bad-request", "not a request: %v", err)
	}
	if r.Version != Version {
		return r, refuse("version", "this is protocol %d, not %d: reload the page", Version, r.Version)
	}
	return r, nil
}

// Handle answers one request by appending the answer to dst, which may be nil.
// It always answers, if only with a refusal.
func (e *Engine) Handle(dst, request []byte) []byte {
	r, err := Parse(request)
	if err != nil {
		return AppendError(dst, &r, err)
	}
	return e.Answer(dst, &r)
}

// Answer is [Engine.Handle] for a request that has been parsed.
func (e *Engine) Answer(dst []byte, r *Request) []byte {
	if r.Ask == "hello" {
		return AppendJSON(dst, r, JSON, 0, e.hello())
	}
	o, err := e.get(r.Trace)
	if err != nil {
		return AppendError(dst, r, err)
	}
	start := len(dst)
	answer, ok := asks[r.Ask]
	if !ok {
		answer, ok = memoryAsks[r.Ask]
		err = e.compared(r)
	}
	if err != nil {
		return AppendError(dst, r, err)
	}
	if !ok {
		return AppendError(dst, r, refuse("unknown-ask", "unknown question %q", clip(r.Ask)))
	}
	dst, err = answer(o.trace, appendEnvelope(dst, r, JSON, o.generation), r)
	if err != nil {
		return AppendError(dst[:start], r, err)
	}
	return dst
}

// asks are the questions about one trace. Each appends its answer's body to
// dst, whose last 16 bytes are the envelope of a JSON answer.
var asks = map[string]func(t *Trace, dst []byte, r *Request) ([]byte, error){
	"frame":    (*Trace).frame,
	"export":   (*Trace).export,
	"pick":     reply((*Trace).pick),
	"overview": reply((*Trace).overview),
	"arrow":    reply((*Trace).arrow),
	"thread":   reply((*Trace).thread),
	"follow":   reply((*Trace).follow),
	"chain":    reply((*Trace).chain),
	"search":   reply((*Trace).search),
	"findings": reply((*Trace).findings),
	"next":     reply((*Trace).next),
	"range":    reply((*Trace).summary),
	"table":    reply((*Trace).table),
}

// reply makes an answer of a function that returns what to write as JSON.
func reply[T any](f func(*Trace, *Request) (T, error)) func(*Trace, []byte, *Request) ([]byte, error) {
	return func(t *Trace, dst []byte, r *Request) ([]byte, error) {
		v, err := f(t, r)
		if err != nil {
			return dst, err
		}
		b, err := json.Marshal(v)
		return append(dst, b...), err
	}
}

func appendEnvelope(dst []byte, r *Request, kind Kind, generation uint32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.ID)
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(kind))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.Trace))
	return binary.LittleEndian.AppendUint32(dst, generation)
}

// setKind changes the kind of the answer whose body begins at from.
func setKind(dst []byte, from int, kind Kind) {
	binary.LittleEndian.PutUint16(dst[from-envelope+6:], uint16(kind))
}

// AppendJSON appends an answer, or a notice, that is JSON.
func AppendJSON(dst []byte, r *Request, kind Kind, generation uint32, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return AppendError(dst, r, err)
	}
	return append(appendEnvelope(dst, r, kind, generation), b...)
}

// AppendError appends a refusal.
func AppendError(dst []byte, r *Request, err error) []byte {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{"internal", err.Error()}
	}
	b, _ := json.Marshal(e) // two strings: it cannot fail
	return append(appendEnvelope(dst, r, Refusal, 0), b...)
}
