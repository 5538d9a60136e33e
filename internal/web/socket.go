package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/mirador-trace/mirador/internal/engine"
)

// writeFor is how long a page may take to receive an answer.
const writeFor = 30 * time.Second

// socket is one page's connection.
type socket struct {
	conn *websocket.Conn
	work chan struct{} // holds a token for each question being answered
}

// news is a notice to all pages.
type news struct {
	What       string `json:"what"` // "changed", "reloaded", "added" or "refused"
	Trace      int    `json:"trace"`
	Generation uint32 `json:"generation,omitempty"`
	Why        string `json:"why,omitempty"` // nothing was added
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	// Accept compares Origin with Host, which guard has checked.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	k := &socket{conn, make(chan struct{}, maxWorking)}
	if !s.enter(k) {
		conn.Close(websocket.StatusTryAgainLater, "too many pages are open")
		return
	}
	defer s.leave(k)
	conn.SetReadLimit(engine.MaxRequest)
	s.converse(r.Context(), k)
}

func (s *Server) enter(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sockets) == maxSockets {
		return false
	}
	s.sockets[k] = struct{}{}
	for _, src := range s.sources {
		src.retell.Store(true)
	}
	return true
}

func (s *Server) leave(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, k)
}

// converse answers a page until it goes. Frames are answered at once and in
// order, other questions beside them, so that a long search does not make the
// picture wait.
func (s *Server) converse(ctx context.Context, k *socket) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var buf []byte
	for {
		kind, message, err := k.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			k.conn.Close(websocket.StatusUnsupportedData, "questions are text")
			return
		}
		r, err := engine.Parse(message)
		switch {
		case err != nil:
			buf = engine.AppendError(buf[:0], &r, err)
		case r.Ask == "frame":
			buf = s.engine.Answer(buf[:0], &r)
		default:
			select {
			case k.work <- struct{}{}:
			case <-ctx.Done():
				return
			}
			wg.Go(func() {
				defer func() { <-k.work }()
				k.send(ctx, s.answer(&r))
			})
			continue
		}
		if !k.send(ctx, buf) {
			return
		}
	}
}

func (s *Server) answer(r *engine.Request) []byte {
	if r.Ask == "reload" {
		return s.reload(r)
	}
	return s.engine.Answer(nil, r)
}

func (k *socket) send(ctx context.Context, message []byte) bool {
	ctx, done := context.WithTimeout(ctx, writeFor)
	defer done()
	return k.conn.Write(ctx, websocket.MessageBinary, message) == nil
}

// tell sends a notice to all pages.
func (s *Server) tell(ctx context.Context, n news) {
	r := engine.Request{Trace: n.Trace}
	message := engine.AppendJSON(nil, &r, engine.Notice, n.Generation, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		go k.send(ctx, message) // ends with the page, or with writeFor
	}
}

// closeSockets says good-bye to all pages.
func (s *Server) closeSockets() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		go k.conn.Close(websocket.StatusGoingAway, "mirador has ended")
	}
}
