// Package httptask records HTTP requests as tasks: those that a server handles
// and those that a client makes.
//
// There are few types: [Handler] makes a handler that records, and a
// [Transport] is an http.RoundTripper that does.
//
//	http.ListenAndServe(addr, httptask.Handler(mux))
//	client := &http.Client{Transport: &httptask.Transport{}}
//
// A request is a task under the one in its context (see mirador.TaskOf), which
// its own context then has in its place: goroutines started by
// mirador.GoContext, requests made and tasks started there lie under it. It is
// resolved when the handler returns, or the response's headers are there, and
// fails when the status is 500 or above, the handler panics or the request
// could not be made.
//
// # Messages
//
// A request carries an id from client to server in its header traceparent (W3C
// Trace Context); one that is there already is kept. The client's task sends
// the message with that id and receives the one with " response" after it, and
// the server's does the reverse. So the traces of both can be joined.
//
// When nothing is recorded, requests pass as they are.
package httptask

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/mirador-trace/mirador"
)

// header is the field that carries the id of a request.
const header = "Traceparent"

const response = " response"

// Handler returns a handler that records the requests that h handles.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, task := mirador.StartTask(r.Context(), r.Method+" "+r.URL.Path)
		if task.ID() == 0 {
			h.ServeHTTP(w, r)
			return
		}
		id := r.Header.Get(header)
		if id != "" {
			task.Receive(id)
		}
		seen := &writer{ResponseWriter: w}
		returned := false
		defer func() {
			if id != "" {
				task.Send(id + response)
			}
			if !returned {
				v := recover()
				task.Fail(fmt.Errorf("panic: %v", v))
				panic(v)
			}
			task.Fail(failure(seen.status))
		}()
		h.ServeHTTP(seen, r.WithContext(ctx))
		returned = true
	})
}

// failure is what is wrong with a status, if it is the server's fault.
func failure(status int) error {
	if status < 500 {
		return nil
	}
	return fmt.Errorf("%d %s", status, http.StatusText(status))
}

// writer sees the status that a handler writes.
type writer struct {
	http.ResponseWriter
	status int
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the rest.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush is for those who look for an http.Flusher themselves.
func (w *writer) Flush() { http.NewResponseController(w.ResponseWriter).Flush() }

// Transport makes requests and records them. The zero Transport is one over
// http.DefaultTransport.
type Transport struct {
	Base http.RoundTripper // what makes the requests; nil is http.DefaultTransport
}

// RoundTrip makes a request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	ctx, task := mirador.StartTask(r.Context(), r.Method+" "+r.URL.Host+r.URL.Path)
	if task.ID() == 0 {
		return base.RoundTrip(r)
	}
	r = r.Clone(ctx) // a RoundTripper must not change its request
	id := r.Header.Get(header)
	if id == "" {
		id = newID()
		r.Header.Set(header, id)
	}
	task.Send(id)
	resp, err := base.RoundTrip(r)
	if err != nil {
		task.Fail(err)
		return resp, err
	}
	task.Receive(id + response)
	task.Fail(failure(resp.StatusCode))
	return resp, nil
}

// newID returns a new traceparent: version 00, a trace and a span at random,
// and the flag that says that it is recorded.
func newID() string {
	var b [24]byte
	rand.Read(b[:])
	return "00-" + hex.EncodeToString(b[:16]) + "-" + hex.EncodeToString(b[16:]) + "-01"
}
