package memprof

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	firstRetry   = time.Second
	longestRetry = 30 * time.Second
	dialTimeout  = 5 * time.Second
	closeTimeout = 2 * time.Second
)

// client is an outlet to a collector. It connects, and connects again when
// that fails; each connection begins a stream.
type client struct {
	addr   string
	retry  time.Duration // negative: do not
	cancel context.CancelFunc
	done   chan struct{} // the connecting has ended

	mu    sync.Mutex
	fresh *peer // connected, and not yet in use
	err   error // of the last attempt

	peer *peer // in use
}

func dial(addr string, retry time.Duration) *client {
	if retry == 0 {
		retry = firstRetry
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{addr: addr, retry: retry, cancel: cancel, done: make(chan struct{})}
	go c.connect(ctx)
	return c
}

// connect keeps a connection.
func (c *client) connect(ctx context.Context) {
	defer close(c.done)
	dialer := net.Dialer{Timeout: dialTimeout}
	pause := c.retry
	for ctx.Err() == nil {
		conn, err := dialer.DialContext(ctx, "tcp", c.addr)
		var p *peer
		if err == nil {
			if p, err = newPeer(conn); err != nil {
				conn.Close()
			}
		}
		c.mu.Lock()
		c.fresh, c.err = p, err
		c.mu.Unlock()
		if p != nil {
			begun := time.Now()
			select {
			case <-p.gone:
			case <-ctx.Done():
				return
			}
			if time.Since(begun) > longestRetry {
				pause = c.retry
			}
		}
		if c.retry < 0 {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestRetry)
	}
}

func (c *client) turn(int) (begin, end bool) {
	if c.peer != nil {
		select {
		case <-c.peer.gone:
			c.lost(c.peer.failure())
			c.peer, end = nil, true
		default:
			return false, false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == nil {
		return false, end
	}
	c.peer, c.fresh = c.fresh, nil
	return true, end
}

func (c *client) lost(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
}

func (c *client) Write(p []byte) (int, error) {
	if c.peer == nil {
		return 0, net.ErrClosed
	}
	return c.peer.Write(p)
}

func (c *client) room() bool     { return c.peer != nil && c.peer.room() }
func (c *client) complete()      {}
func (c *client) doubtful() bool { return c.peer != nil && c.peer.eof.Load() }

func (c *client) close() error {
	c.cancel()
	<-c.done
	c.turn(0) // whoever was connected last must be let go
	if c.peer != nil {
		return c.peer.close(closeTimeout)
	}
	if c.err != nil {
		return fmt.Errorf("reach the collector: %w", c.err)
	}
	return nil
}
