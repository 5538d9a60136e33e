//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// Issue 3: a running program's execution trace is read by URL. Ctrl-C ends the
// recording: what came until then is shown, and the status is that of success;
// when nothing came it is 130, as everywhere.
func TestURL(t *testing.T) {
	small, err := os.ReadFile("../../internal/format/gotrace/testdata/small.trace")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan bool, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/whole", func(w http.ResponseWriter, _ *http.Request) { w.Write(small) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Write(small)
		w.(http.Flusher).Flush()
		came <- true
		<-r.Context().Done()
	})
	mux.HandleFunc("/silent", func(w http.ResponseWriter, r *http.Request) {
		came <- true
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	info := func(path string) (*process, *bytes.Buffer) {
		out := new(bytes.Buffer)
		return start(t, t.TempDir(), []string{"info", server.URL + path}, out), out
	}
	p, out := info("/whole")
	if err := p.wait(t); err != nil || !strings.Contains(out.String(), "events    190\n") || p.errs.Len() > 0 {
		t.Errorf("%v: %s%s", err, out, &p.errs)
	}
	p, out = info("/endless")
	<-came
	time.Sleep(200 * time.Millisecond) // it reads what came
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t); err != nil || !strings.Contains(out.String(), "events    190\n") ||
		!strings.Contains(p.errs.String(), "interrupted: going on with the 5,043 bytes that came") {
		t.Errorf("%v: %s%s", err, out, &p.errs)
	}
	p, _ = info("/silent")
	<-came
	p.interrupt(t)
	p, _ = info("/absent")
	if err := p.wait(t); err == nil || !strings.Contains(p.errs.String(), "mirador: hint: ") {
		t.Errorf("%v: %s", err, &p.errs)
	}
}
