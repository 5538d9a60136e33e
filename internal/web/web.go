// Package web serves mirador's page, and answers its questions over a
// WebSocket.
//
// There are few types: a [Server] serves the [Source]s that a [Config] names,
// each of which becomes a tab of the page. The questions and answers are those
// of package engine, byte for byte. The server adds one question of its own,
// "reload", which loads a source again, and notices: "changed" says that a
// source's file is not any more what was loaded, "added" that there is one more
// source. No page can add one: only the program that serves, with
// [Server.Add].
//
// A [Report] is the same page as one file, without a server: it brings along
// the engine, as WebAssembly, and [Packed] traces. Both may tell a [story.Story]
// beside the traces.
//
// # Who may ask
//
// A trace tells what a program did, so the server gives it to nobody but the
// person who started it:
//
//   - It listens on the loopback interface only, unless told otherwise.
//   - The page and its socket want a random token of 128 bits. It stays in the
//     URL and there is no cookie: browsers send a cookie to every port of a
//     host, that is to whatever else somebody serves on this machine.
//     Referrer-Policy keeps the URL from leaving with a link.
//   - The request's Host must be an address, localhost or the name that was
//     asked for, with the right port. A name that an attacker points at this
//     machine (DNS rebinding) is refused.
//   - The socket's Origin must be the page's own.
//   - A strict Content-Security-Policy: scripts, styles and fonts come from
//     the program, and nothing that a trace contains is ever markup.
package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/story"
)

// Source is a trace that can be loaded, and loaded again. Load is not called
// while it runs.
type Source struct {
	Path string // the file to watch; "" when there is none
	Load func() (*engine.Trace, error)
}

// Config says what to serve. The zero value serves nothing on a port of
// loopback that the system chooses.
type Config struct {
	Addr    string // host:port; "" means 127.0.0.1:0
	Sources []Source
	Watch   time.Duration // how often files are looked at; 0 means each second
	Story   *story.Story  // what the page tells of them; nil for nothing
}

// Limits of what the server takes on at once.
const (
	maxSockets  = 32
	maxWorking  = 4 // questions of one socket, besides its frames
	maxHeader   = 16 << 10
	maxSources  = 64
	shutdownFor = 2 * time.Second
)

// Server serves a page. Make one with [Listen].
type Server struct {
	engine   engine.Engine
	listener net.Listener
	hosts    map[string]bool // names that may stand in Host, besides addresses
	port     string
	token    string
	watch    time.Duration
	index    []byte // the page

	adding sync.Mutex // held while a source gets its number

	mu      sync.Mutex
	sources []*source // by number, as the engine has them
	sockets map[*socket]struct{}
}

type source struct {
	Source
	mu     sync.Mutex  // held while loading
	loaded stamp       // of the file when it was loaded
	seen   stamp       // of the file when it was last said that it changed
	retell atomic.Bool // somebody has come who was not told
}

// BindError is the error for an address that cannot be served at.
type BindError struct {
	Addr string
	Err  error
}

func (e *BindError) Error() string { return fmt.Sprintf("cannot serve at %s: %v", e.Addr, e.Err) }

func (e *BindError) Unwrap() error { return e.Err }

// Listen loads all sources, one after the other, and binds the address. Each
// source that cannot be loaded is an error, and an address that cannot be
// served at is a [*BindError].
func Listen(c Config) (*Server, error) {
	if len(c.Sources) > maxSources {
		return nil, tooMany(len(c.Sources))
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.Watch == 0 {
		c.Watch = time.Second
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, &BindError{c.Addr, err}
	}
	s := &Server{
		hosts: map[string]bool{"localhost": true}, token: rand.Text(), watch: c.Watch,
		sockets: make(map[*socket]struct{}),
	}
	if host != "" {
		s.hosts[host] = true
	}
	told, err := storyElement(c.Story)
	if err != nil {
		return nil, err
	}
	s.index = bytes.Replace(assets()["/index.html"].plain, []byte("<body>\n"), []byte("<body>\n"+told), 1)
	for _, from := range c.Sources {
		if err := s.load(from); err != nil {
			return nil, err
		}
	}
	if s.listener, err = net.Listen("tcp", c.Addr); err != nil {
		return nil, &BindError{c.Addr, err}
	}
	_, s.port, _ = net.SplitHostPort(s.listener.Addr().String())
	return s, nil
}

func tooMany(n int) error { return fmt.Errorf("%d files: at most %d at once", n, maxSources) }

// load loads a source and gives it the next number.
func (s *Server) load(from Source) error {
	src := &source{Source: from, loaded: stampOf(from.Path)}
	src.seen = src.loaded
	t, err := from.Load()
	if err != nil {
		return err
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	if n := s.engine.Len() + 1; n > maxSources {
		return tooMany(n)
	}
	s.engine.Add(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources = append(s.sources, src)
	return nil
}

// Add loads one more source while the server serves; all pages show it in a tab
// of its own. When it cannot be loaded the pages say why, what is there stays,
// and the error is returned, too. It may be called at any time.
func (s *Server) Add(from Source) error {
	if err := s.load(from); err != nil {
		s.tell(context.Background(), news{What: "refused", Why: err.Error()})
		return err
	}
	s.tell(context.Background(), news{What: "added"})
	return nil
}

// loaded returns the sources that there are.
func (s *Server) loaded() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources[:len(s.sources):len(s.sources)]
}

// URL returns the address to open, which has the token in it.
func (s *Server) URL() string {
	host, _, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, s.port), Path: "/"}
	u.RawQuery = url.Values{"token": {s.token}}.Encode()
	return u.String()
}

// Loopback reports whether only this machine can reach the server.
func (s *Server) Loopback() bool {
	a, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// Serve answers until ctx is done, then lets go of all sockets and returns
// nil.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler:           s.guard(s.routes()),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.watchFiles(ctx) })
	wg.Go(func() {
		<-ctx.Done()
		s.closeSockets()
		patience, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownFor)
		defer done()
		if server.Shutdown(patience) != nil {
			server.Close()
		}
	})
	err := server.Serve(s.listener)
	stop()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
