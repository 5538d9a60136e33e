// Leak is a service with a leak that grows slowly: it answers requests, and
// remembers each session that it has ever seen, as the one who wrote it forgot
// that clients go away. The cache beside it is bounded, and larger for a long
// time: a heap profile shows the cache.
//
//	mirador go build -o leak ./examples/leak
//	MEMTRACE=leak.mem MEMTRACE_RATE=64KiB ./leak -for 20s
//	mirador mem leaks leak.mem
//
// The growing site is main.(*sessions).open.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/mirador-trace/mirador/memprof"
)

// session is what a client has while he is there.
type session struct {
	client  string
	opened  time.Time
	history []string
}

// sessions are those of all clients. Nothing is ever deleted from them: that
// is the leak.
type sessions struct {
	mu   sync.Mutex
	byID map[int]*session
}

func (s *sessions) open(id int) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &session{client: fmt.Sprint("client ", id), opened: time.Now(), history: make([]string, 0, 16)}
	s.byID[id] = one
	return one
}

// cache keeps the pages that were made last, and never more.
type cache struct {
	mu    sync.Mutex
	pages [2000]string
}

func (c *cache) page(n int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages[n] == "" || rand.IntN(10) == 0 {
		c.pages[n] = render(n)
	}
	return c.pages[n]
}

// render makes a page, and garbage.
func render(n int) string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "<p>line %d of page %d</p>\n", i, n)
	}
	return b.String()
}

func main() {
	length := flag.Duration("for", 20*time.Second, "how long to serve")
	rate := flag.Int("rate", 500, "requests per second")
	flag.Parse()
	if _, err := memprof.StartIfRequested(memprof.Config{Context: "examples/leak"}); err != nil {
		log.Print(err)
	}
	defer memprof.Stop()

	all := &sessions{byID: map[int]*session{}}
	pages := &cache{}
	tick := time.NewTicker(time.Second / time.Duration(max(1, *rate)))
	defer tick.Stop()
	var requests sync.WaitGroup
	for id, end := 0, time.After(*length); ; id++ {
		select {
		case <-end:
			requests.Wait()
			fmt.Printf("%d requests; %d sessions are open\n", id, len(all.byID))
			return
		case <-tick.C:
			requests.Add(1)
			go func() {
				defer requests.Done()
				serve(all, pages, id)
			}()
		}
	}
}

// serve answers a client's requests.
func serve(all *sessions, pages *cache, id int) {
	s := all.open(id)
	for range 3 {
		n := rand.IntN(len(pages.pages))
		s.history = append(s.history, fmt.Sprint("page ", n))
		_ = pages.page(n)
	}
}
