package memprof

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Serve gives a trace to whoever connects to l, one at a time: sampling begins
// when a client connects, and ends when it has gone. A second client gets one
// line that begins with "busy", and so does any while [Start] traces. It
// returns when l is closed, with the error of l.Accept. File, Dir, Addr and
// Retry of c are not used.
//
// A client need not prove who it is, and the trace tells the names and lines
// of the program's functions: let l be on the loopback interface, or behind
// something that asks.
func Serve(l net.Listener, c Config) error {
	c.File, c.Dir, c.Addr = "", "", ""
	var clients sync.WaitGroup
	closed := make(chan struct{})
	defer func() {
		close(closed)
		clients.Wait()
	}()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond) // too many open files, say
			continue
		}
		p, out, err := begin(conn, c)
		if err != nil {
			conn.SetDeadline(time.Now().Add(time.Second))
			conn.Write([]byte("busy: " + err.Error() + "\n"))
			conn.Close()
			continue
		}
		clients.Add(1)
		go func() {
			defer clients.Done()
			select {
			case <-out.peer.gone:
			case <-closed:
			}
			p.stop()
		}()
	}
}

// begin starts a trace for a client.
func begin(conn net.Conn, c Config) (*profiler, *guest, error) {
	active.mu.Lock()
	before := active.p
	active.mu.Unlock()
	if before != nil {
		if !before.stopped.Load() {
			return nil, nil, ErrActive
		}
		<-before.done // its client has just gone
	}
	peer, err := newPeer(conn)
	if err != nil {
		return nil, nil, err
	}
	out := &guest{peer: peer}
	p, err := start(c, out)
	if err != nil {
		peer.close(closeTimeout) // somebody was quicker: no time for a line
		return nil, nil, err
	}
	return p, out, nil
}

// guest is an outlet to a client of Serve.
type guest struct {
	peer  *peer
	begun bool
}

func (g *guest) turn(int) (begin, end bool) {
	select {
	case <-g.peer.gone:
		return false, true
	default:
	}
	begin = !g.begun
	g.begun = true
	return begin, false
}

func (g *guest) Write(p []byte) (int, error) { return g.peer.Write(p) }
func (g *guest) room() bool                  { return g.peer.room() }
func (g *guest) complete()                   {}
func (g *guest) doubtful() bool              { return g.peer.eof.Load() }
func (g *guest) close() error                { return g.peer.close(closeTimeout) }
