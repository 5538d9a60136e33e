// Web is an HTTP server with its clients, in one process.
//
//	mirador run -- go run ./examples/web
//	mirador view web.trace
//
// What one sees: each client is a goroutine, each of its requests a thread
// under it, and each request that the server handles another; the messages
// between the two have the same id. Pages are in a cache behind the mutex
// "cache". A page that is not there is rendered once, however many ask for it:
// all of them wait for one promise, "rendering /3" say, and arrows go from it
// to each when it is resolved. /broken fails, in red, here and there. The
// counter "in flight" says how many requests there are at a time.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/mirador-trace/mirador"
	_ "github.com/mirador-trace/mirador/auto"
	"github.com/mirador-trace/mirador/httptask"
)

// site is what the server knows.
type site struct {
	mu       mirador.Mutex
	pages    map[string]*mirador.Promise[string]
	inFlight *mirador.Counter
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	page, err := s.page(r.Context(), r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	io.WriteString(w, page)
}

// page returns a page, which the first to ask for it has rendered.
func (s *site) page(ctx context.Context, path string) (string, error) {
	s.mu.Lock()
	page, ok := s.pages[path]
	if !ok {
		page = mirador.NewPromise[string]("rendering " + path)
		s.pages[path] = page
		mirador.GoContext(ctx, "render "+path, func(context.Context) { render(page, path) })
	}
	s.mu.Unlock()
	return page.Await(ctx)
}

func render(page *mirador.Promise[string], path string) {
	time.Sleep(time.Duration(5+rand.IntN(10)) * time.Millisecond)
	if path == "/broken" {
		page.Fail(errors.New("there is a hole in the template"))
		return
	}
	page.Resolve("this is page " + path)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := &site{pages: make(map[string]*mirador.Promise[string]), inFlight: mirador.NewCounter("in flight")}
	s.mu.Name = "cache"
	go http.Serve(listener, httptask.Handler(s))

	client := &http.Client{Transport: &httptask.Transport{}}
	paths := []string{"/1", "/2", "/3", "/broken", "/4"}
	clients := mirador.WaitGroup{Name: "clients"}
	for c := range 3 {
		clients.Go(fmt.Sprint("client ", c), func() {
			for range 10 {
				path := paths[rand.IntN(len(paths))]
				resp, err := client.Get("http://" + listener.Addr().String() + path)
				if err != nil {
					log.Print(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
			}
		})
	}
	clients.Wait()
	fmt.Println("30 requests")
}
