package web

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mirador-trace/mirador/internal/engine"
)

// ask sends a GET with a Host of its own.
func ask(t *testing.T, s *Server, method, path, host string, header http.Header) *http.Response {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+u.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = strings.ReplaceAll(host, "PORT", u.Port())
	}
	for k, v := range header {
		r.Header[k] = v
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestWhoIsAnswered(t *testing.T) {
	s := sample(t)
	token := "/?token=" + s.token
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"GET", token, "", 200},
		{"HEAD", token, "", 200},
		{"GET", token, "localhost:PORT", 200},
		{"GET", token, "[::1]:PORT", 200},
		{"GET", token, "192.168.1.7:PORT", 200}, // an address cannot be pointed elsewhere
		{"GET", token, "evil.example:PORT", 421},
		{"GET", token, "127.0.0.1.evil.example:PORT", 421},
		{"GET", token, "127.0.0.1:1", 421},
		{"GET", token, "127.0.0.1", 421},
		{"GET", "/", "", 403},
		{"GET", "/?token=", "", 403},
		{"GET", "/?token=" + strings.ToLower(s.token), "", 403},
		{"GET", "/socket", "", 403},
		{"POST", token, "", 405},
		{"GET", "/app.js", "", 200},
		{"GET", "/app.js", "evil.example:PORT", 421},
		{"GET", "/index.html", "", 404},
		{"GET", "/nothing?token=" + s.token, "", 404},
		{"GET", "/..%2f..%2fetc/passwd?token=" + s.token, "", 404},
	} {
		if res := ask(t, s, c.method, c.path, c.host, nil); res.StatusCode != c.status {
			t.Errorf("%s %s with Host %q: %d, want %d", c.method, strings.ReplaceAll(c.path, s.token, "TOKEN"), c.host, res.StatusCode, c.status)
		}
	}
}

func TestHeaders(t *testing.T) {
	s := sample(t)
	for _, path := range []string{"/?token=" + s.token, "/app.js", "/worker.js", "/go-regular.ttf", "/nothing"} {
		h := ask(t, s, "GET", path, "", nil).Header
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%s: a lax policy: %s", path, csp)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestAssetsAreKeptButAskedFor(t *testing.T) {
	s := sample(t)
	res := ask(t, s, "GET", "/app.js", "", nil)
	if c := res.Header.Get("Cache-Control"); c != "no-cache" {
		t.Errorf("Cache-Control is %q", c)
	}
	again := ask(t, s, "GET", "/app.js", "", http.Header{"If-None-Match": {res.Header.Get("ETag")}})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("the same file again: %d", again.StatusCode)
	}
	if c := ask(t, s, "GET", "/?token="+s.token, "", nil).Header.Get("Cache-Control"); c != "no-store" {
		t.Errorf("the page's Cache-Control is %q", c)
	}
}

// dial opens a socket as a page of some origin would.
func dial(t *testing.T, s *Server, token, origin string) (*websocket.Conn, error) {
	t.Helper()
	u, _ := url.Parse(s.URL())
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", strings.ReplaceAll(origin, "HOST", u.Host))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, res, err := websocket.Dial(ctx, "ws://"+u.Host+"/socket?token="+token, &websocket.DialOptions{HTTPHeader: header})
	if res != nil && res.Body != nil {
		res.Body.Close()
	}
	if err == nil {
		c.SetReadLimit(64 << 20)
		t.Cleanup(func() { c.CloseNow() })
	}
	return c, err
}

func TestSocketOrigin(t *testing.T) {
	s := sample(t)
	for _, c := range []struct {
		token, origin string
		ok            bool
	}{
		{s.token, "http://HOST", true},
		{s.token, "", true}, // not a browser
		{s.token, "http://evil.example", false},
		{s.token, "null", false},
		{s.token, "http://127.0.0.1:1", false},
		{"guess", "http://HOST", false},
	} {
		if _, err := dial(t, s, c.token, c.origin); (err == nil) != c.ok {
			t.Errorf("token %v, origin %q: %v", c.token == s.token, c.origin, err)
		}
	}
}

// exchange asks one question and returns the answer.
func exchange(t *testing.T, c *websocket.Conn, question string) (engine.Kind, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(question)); err != nil {
		t.Fatal(err)
	}
	_, b, err := c.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 16 {
		t.Fatalf("an answer of %d bytes", len(b))
	}
	return engine.Kind(b[6]) | engine.Kind(b[7])<<8, b[16:]
}

func TestQuestions(t *testing.T) {
	s := sample(t)
	c, err := dial(t, s, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	if kind, body := exchange(t, c, `{"v":1,"id":1,"ask":"hello"}`); kind != engine.JSON || !json.Valid(body) {
		t.Errorf("hello: kind %d, %.100s", kind, body)
	}
	if kind, body := exchange(t, c, `{"v":1,"id":2,"ask":"frame","view":{"from":0,"to":0.1,"width":800,"height":600}}`); kind != engine.Picture || string(body[:4]) != "MDL1" {
		t.Errorf("frame: kind %d, %.20q", kind, body)
	}
	for _, bad := range []string{`{"v":1,"id":3,"ask":"dance"}`, `[]`, `{"v":99,"ask":"hello"}`, `{"v":1,"ask":"reload","trace":7}`, `{"v":1,"ask":"frame","trace":-1}`} {
		if kind, body := exchange(t, c, bad); kind != engine.Refusal || !json.Valid(body) {
			t.Errorf("%s: kind %d, %.100s", bad, kind, body)
		}
	}
}

func TestTooLongAQuestionEndsTheSocket(t *testing.T) {
	s := sample(t)
	c, err := dial(t, s, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c.Write(ctx, websocket.MessageText, []byte(strings.Repeat(" ", engine.MaxRequest+1)))
	_, _, err = c.Read(ctx)
	if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("the socket said %v", err)
	}
}

func TestTooManySockets(t *testing.T) {
	s := sample(t)
	for range maxSockets {
		c, err := dial(t, s, s.token, "")
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, c, `{"v":1,"ask":"hello"}`)
	}
	c, err := dial(t, s, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
		t.Errorf("socket %d: %v", maxSockets+1, err)
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.ctf")
	writeSample(t, path, 0)
	s := serve(t, path)
	c, err := dial(t, s, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, `{"v":1,"ask":"hello"}`)
	writeSample(t, path, 30)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, b, err := c.Read(ctx)
	if err != nil || !strings.Contains(string(b[16:]), `"what":"changed"`) {
		t.Fatalf("no notice of the change: %q, %v", b, err)
	}
	c.Write(ctx, websocket.MessageText, []byte(`{"v":1,"id":9,"ask":"reload"}`))
	answered, told := false, false
	for !answered || !told {
		_, b, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		answered = answered || b[0] == 9 && strings.Contains(string(b[16:]), `"generation":2`)
		told = told || b[0] == 0 && strings.Contains(string(b[16:]), `"what":"reloaded"`)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		kind, body := exchange(t, c, `{"v":1,"id":10,"ask":"reload"}`)
		if kind == engine.Notice {
			continue
		}
		if kind != engine.Refusal {
			t.Errorf("an empty file was loaded: %s", body)
		}
		break
	}
}

// The program can open more while it serves; the pages are told, and who was
// not let in cannot.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	s := sample(t)
	c, err := dial(t, s, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, `{"v":1,"ask":"hello"}`)
	notice := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, b, err := c.Read(ctx); err != nil || !strings.Contains(string(b[16:]), want) {
			t.Fatalf("no notice with %s: %q, %v", want, b, err)
		}
	}
	second := filepath.Join(dir, "second.ctf")
	writeSample(t, second, 5)
	if err := s.Add(fileSource(second)); err != nil {
		t.Fatal(err)
	}
	notice(`"what":"added"`)
	if _, body := exchange(t, c, `{"v":1,"ask":"hello"}`); !strings.Contains(string(body), `"second.ctf"`) {
		t.Errorf("hello after one more: %.200s", body)
	}
	if kind, body := exchange(t, c, `{"v":1,"ask":"frame","trace":1,"view":{"from":0,"to":0.1,"width":800,"height":600}}`); kind != engine.Picture {
		t.Errorf("a frame of the new one: kind %d, %.100s", kind, body)
	}
	writeSample(t, second, 9) // it is watched as the others are
	notice(`"what":"changed","trace":1`)

	if err := s.Add(fileSource(filepath.Join(dir, "absent.ctf"))); err == nil {
		t.Error("a file that is not there was added")
	}
	notice(`"what":"refused"`)
	for range maxSources - 2 {
		if err := s.Add(fileSource(second)); err != nil {
			t.Fatal(err)
		}
		notice(`"what":"added"`)
	}
	if err := s.Add(fileSource(second)); err == nil {
		t.Errorf("%d files were opened", maxSources+1)
	}
	notice(`"what":"refused"`)
	for _, bad := range []string{"add", "added", "open"} {
		if kind, body := exchange(t, c, `{"v":1,"id":4,"ask":"`+bad+`","path":"/etc/hostname"}`); kind != engine.Refusal {
			t.Errorf("a page can ask %q: %s", bad, body)
		}
	}
}

func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, addr := range []string{taken.Addr().String(), "nonsense", "127.0.0.1:99999"} {
		_, err := Listen(Config{Addr: addr})
		var bind *BindError
		if !errors.As(err, &bind) || bind.Addr != addr {
			t.Errorf("listen at %s: %v", addr, err)
		}
	}
	broken := errors.New("broken")
	if _, err := Listen(Config{Sources: []Source{{Load: func() (*engine.Trace, error) { return nil, broken }}}}); err != broken {
		t.Errorf("a source that cannot be loaded: %v", err)
	}
	for addr, loopback := range map[string]bool{"": true, "127.0.0.1:0": true, "0.0.0.0:0": false, ":0": false} {
		s, err := Listen(Config{Addr: addr})
		if err != nil {
			t.Fatal(err)
		}
		if s.Loopback() != loopback || !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
			t.Errorf("at %q: loopback %v, %s", addr, s.Loopback(), s.URL())
		}
		s.listener.Close()
	}
}

func TestServeEnds(t *testing.T) {
	s, err := Listen(Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	c, err := dial(t, s, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, `{"v":1,"ask":"hello"}`)
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the server does not end while a page is open")
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("the server answers after its end")
	}
}

// The page is small: 80 kB packed, besides the fonts.
func TestSize(t *testing.T) {
	n := 0
	for name, a := range assets() {
		if !strings.HasSuffix(name, ".ttf") {
			n += len(a.small)
		}
	}
	if n > 80_000 {
		t.Errorf("the page takes %d bytes packed; want at most 80,000", n)
	}
	t.Logf("the page takes %d bytes packed", n)
}

// Nothing of the page is fetched from elsewhere.
func TestSelfContained(t *testing.T) {
	for name, a := range assets() {
		text := string(a.plain)
		for _, bad := range []string{"https://", "//cdn", "http://"} {
			if i := strings.Index(text, bad); i >= 0 && !strings.HasSuffix(name, ".ttf") && !strings.Contains(text[i:min(len(text), i+40)], "www.w3.org") {
				t.Errorf("%s mentions %.60q", name, text[i:])
			}
		}
	}
}
