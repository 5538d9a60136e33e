package httptask

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
)

func handle(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/bad":
		w.WriteHeader(http.StatusBadGateway)
	case "/panic":
		panic(http.ErrAbortHandler)
	default:
		mirador.TaskOf(r.Context()).Label("handling")
		io.WriteString(w, "hello")
		w.(http.Flusher).Flush()
	}
}

func get(t *testing.T, client *http.Client, url, id string) error {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id != "" {
		r.Header.Set("traceparent", id)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if got := r.Header.Get("traceparent"); got != id {
		t.Errorf("the caller's request was changed: %s", got)
	}
	return nil
}

func TestRequests(t *testing.T) {
	server := httptest.NewUnstartedServer(Handler(http.HandlerFunc(handle)))
	server.Config.ErrorLog = nil
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: &Transport{}}
	if err := get(t, client, server.URL+"/off", ""); err != nil { // nothing is recorded
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "trace")
	rec, err := mirador.Start(mirador.Config{Path: dir, Size: 1 << 20, Sample: -1})
	if err != nil {
		t.Fatal(err)
	}
	const kept = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range [][2]string{{"/good", kept}, {"/bad", ""}} {
		if err := get(t, client, server.URL+c[0], c[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := get(t, client, server.URL+"/panic", ""); !errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
	server.Close()
	rec.Stop()

	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	names := make(map[int64]string)
	host := regexp.MustCompile(`127.0.0.1:\d+`)
	id := regexp.MustCompile(`00-[0-9a-f]{32}-[0-9a-f]{16}-01`)
	for e := (event.Event{}); r.Next(&e); {
		if event.Specs[e.Kind].Text == "" {
			e.Text = nil
		}
		text := host.ReplaceAllString(string(e.Text), "host")
		if !strings.Contains(text, kept) {
			text = id.ReplaceAllString(text, "ID")
		}
		who := e.Thread
		switch e.Kind {
		case event.Label:
			if names[who] == "" {
				names[who] = text
			}
		case event.Fulfills, event.Fails:
			who = e.Other
		}
		if names[who] != "" {
			lines = append(lines, strings.TrimSpace(names[who]+": "+e.Kind.String()+" "+text))
		}
	}
	const client_, server_ = "GET host/good: ", "GET /good: "
	at := -1
	for _, want := range []string{client_ + "send " + kept, server_ + "receive " + kept, server_ + "label handling", server_ + "send " + kept + " response"} {
		i := slices.Index(lines, want)
		if i <= at {
			t.Errorf("%q is at %d, after %d", want, i, at)
		}
		at = i
	}
	for _, want := range []string{client_ + "receive " + kept + " response", "GET host/good: fulfills", "GET /good: fulfills", "GET /bad: fails 502 Bad Gateway", "GET host/bad: fails 502 Bad Gateway",
		"GET /panic: fails panic: net/http: abort Handler", "GET host/panic: fails EOF", "GET host/bad: send ID", "GET /bad: receive ID"} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(lines, "\n"))
	}
}

// A task in the request's context is the parent of the request's.
func TestParent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	rec, err := mirador.Start(mirador.Config{Path: dir, Size: 1 << 20, Sample: -1})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(handle))
	defer server.Close()
	ctx, task := mirador.StartTask(context.Background(), "page")
	r, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	resp, err := (&http.Client{Transport: &Transport{}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	rec.Stop()
	reader, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	children := 0
	for e := (event.Event{}); reader.Next(&e); {
		if e.Kind == event.Creates && e.Thread == task.ID() {
			children++
		}
	}
	if children != 1 {
		t.Errorf("%d children", children)
	}
}
