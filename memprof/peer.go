package memprof

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	peerQueue  = 4 << 20          // bytes that wait for a peer at most
	peerMargin = 384 << 10        // what may be written between two looks at the room
	peerStall  = 30 * time.Second // a peer that takes nothing for so long is gone
	peerSpan   = 64 << 10         // bytes sent at once
)

// peer is a connection, and what waits to be sent over it.
type peer struct {
	conn net.Conn
	eof  atomic.Bool   // it says nothing more, and may have gone
	gone chan struct{} // closed when nothing more is sent

	mu         sync.Mutex
	more       sync.Cond
	queue      []byte // outside the heap; a ring
	head, used int
	closing    bool
	err        error
}

func newPeer(conn net.Conn) (*peer, error) {
	queue, err := mapMemory(peerQueue)
	if err != nil {
		return nil, err
	}
	p := &peer{conn: conn, gone: make(chan struct{}), queue: queue}
	p.more.L = &p.mu
	go p.listen()
	go p.send()
	return p, nil
}

// listen waits for the peer to go. What it says is not of interest.
func (p *peer) listen() {
	if _, err := io.Copy(io.Discard, io.LimitReader(p.conn, 1<<62)); err != nil {
		p.fail(err)
		return
	}
	p.eof.Store(true)
}

func (p *peer) fail(err error) {
	p.mu.Lock()
	if p.err == nil && p.queue != nil { // else all has been sent
		p.err = fmt.Errorf("send the trace: %w", err)
	}
	p.more.Broadcast()
	p.mu.Unlock()
	p.conn.Close()
}

// send sends what waits, until the connection fails or all is sent and it is
// being closed.
func (p *peer) send() {
	defer close(p.gone)
	p.mu.Lock()
	for {
		for p.used == 0 && !p.closing && p.err == nil {
			p.more.Wait()
		}
		if p.err != nil || p.used == 0 {
			break
		}
		span := p.queue[p.head:min(p.head+p.used, p.head+peerSpan, len(p.queue))]
		p.mu.Unlock()
		p.conn.SetWriteDeadline(time.Now().Add(peerStall))
		n, err := p.conn.Write(span)
		if err != nil {
			p.fail(err)
		}
		p.mu.Lock()
		p.head = (p.head + n) % len(p.queue)
		p.used -= n
	}
	unmapMemory(p.queue)
	p.queue = nil
	p.mu.Unlock()
	p.conn.Close()
}

// Write puts a packet into the queue.
func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil:
		return 0, p.err
	case p.queue == nil:
		return 0, net.ErrClosed
	case len(b) > len(p.queue)-p.used:
		p.err = fmt.Errorf("send the trace: more than %d bytes wait", peerQueue)
		p.more.Broadcast()
		return 0, p.err
	}
	tail := (p.head + p.used) % len(p.queue)
	n := copy(p.queue[tail:], b)
	copy(p.queue, b[n:])
	p.used += len(b)
	p.more.Signal()
	return len(b), nil
}

func (p *peer) room() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err == nil && len(p.queue)-p.used >= peerMargin
}

// close sends what waits, for so long at most.
func (p *peer) close(wait time.Duration) error {
	p.mu.Lock()
	p.closing = true
	p.more.Signal()
	p.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C:
		p.fail(fmt.Errorf("%d bytes were not taken in %v", p.waiting(), wait))
		<-p.gone
	}
	return p.failure()
}

func (p *peer) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

func (p *peer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
