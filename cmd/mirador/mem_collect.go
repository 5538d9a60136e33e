package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memCollectCommand() *cobra.Command {
	c := &collector{}
	var listen string
	var most int64
	cmd := &cobra.Command{
		Use:   "collect [--listen ADDRESS] -o DIR",
		Short: "Receive traces of memory from programs that send them",
		Long: `Receive traces of memory from programs that send them over TCP, many at once: each
stream becomes a file of its own in DIR, which only its owner can read. Whatever a
sender has sent is kept, also when it breaks off or when collect is stopped with
Ctrl-C. A stream that does not begin as a memtrace trace is refused. When the disk
is full, what came before is kept, and collect goes on.

Anybody who can reach the address can write into DIR: by default that is only this
machine.`,
		Example: `  mirador mem collect -o traces
  mirador mem collect --listen :1234 --max-size 512 -o traces`,
		Args: between(0, 0, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.dir == "" {
				return &usageError{errors.New("missing -o DIR"), cmd}
			}
			if err := os.MkdirAll(c.dir, 0o700); err != nil {
				return err
			}
			var config net.ListenConfig
			l, err := config.Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return withHint(err, "choose another address with --listen")
			}
			c.most = most << 20
			c.log = cmd.ErrOrStderr()
			return c.serve(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "localhost:1234", "listen at `ADDRESS`, host:port")
	cmd.Flags().StringVarP(&c.dir, "output", "o", "", "write the traces to `DIR`")
	cmd.Flags().Int64Var(&most, "max-size", 4096, "keep at most `N` MiB of a stream")
	cmd.Flags().IntVar(&c.senders, "max-senders", 256, "refuse more than `N` senders at once")
	cmd.Flags().IntVar(&c.streams, "streams", 0, "stop after `N` streams; 0 is never")
	cmd.MarkFlagDirname("output")
	return cmd
}

// collector receives streams.
type collector struct {
	dir     string
	most    int64 // bytes of a stream
	senders int   // at once
	streams int   // in all, 0 for no limit

	mu       sync.Mutex
	log      io.Writer
	open     map[net.Conn]bool
	stopping bool

	kept   atomic.Int64 // streams that gave a file
	failed atomic.Int64 // streams of which not all could be written
	bytes  atomic.Int64
}

func (c *collector) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear := ""
	if isTerminal(c.log) {
		clear = "\r\x1b[K"
	}
	fmt.Fprintf(c.log, clear+"mirador: "+format+"\n", args...)
}

// serve receives until ctx ends, or as many streams as it should.
func (c *collector) serve(ctx context.Context, l net.Listener) error {
	c.open = map[net.Conn]bool{}
	c.say("listening at %v; stop with Ctrl-C", l.Addr())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-ctx.Done()
		l.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopping = true
		for conn := range c.open {
			conn.SetReadDeadline(time.Unix(1, 0)) // what has arrived is still written
		}
	}()
	go c.progress(ctx)
	var wait sync.WaitGroup
	taken := 0
	for c.streams == 0 || taken < c.streams {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			c.say("error: %v", err)
			time.Sleep(100 * time.Millisecond) // out of file descriptors, as a rule
			continue
		}
		c.mu.Lock()
		full := len(c.open) >= c.senders
		if !full {
			c.open[conn] = true
		}
		c.mu.Unlock()
		if full {
			c.say("warning: %v refused: %d senders are connected already", conn.RemoteAddr(), c.senders)
			conn.Close()
			continue
		}
		taken++
		wait.Add(1)
		go func() {
			defer wait.Done()
			c.receive(conn)
			c.mu.Lock()
			delete(c.open, conn)
			c.mu.Unlock()
		}()
	}
	l.Close()
	wait.Wait()
	c.say("%s in %d files", heap.FormatBytes(float64(c.bytes.Load())), c.kept.Load())
	if n := c.failed.Load(); n > 0 {
		return withHint(fmt.Errorf("%d streams could not be written whole", n), "make room in %s", c.dir)
	}
	if c.kept.Load() == 0 {
		return withHint(errors.New("nothing was received"), "start a program with MEMTRACE=tcp://%v", l.Addr())
	}
	return nil
}

// progress shows on a terminal what has arrived.
func (c *collector) progress(ctx context.Context) {
	if !isTerminal(c.log) {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.mu.Lock()
			fmt.Fprintf(c.log, "\r\x1b[Kmirador: %d senders, %s received", len(c.open), heap.FormatBytes(float64(c.bytes.Load())))
			c.mu.Unlock()
		}
	}
}

// receive writes one stream to a file.
func (c *collector) receive(conn net.Conn) {
	defer conn.Close()
	from := conn.RemoteAddr()
	var start [4]byte
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(conn, start[:]); err != nil {
		c.say("warning: %v sent nothing", from)
		return
	}
	if binary.LittleEndian.Uint32(start[:]) != traceMagic {
		c.say("warning: %v refused: it sends no memtrace trace", from)
		return
	}
	c.mu.Lock()
	if !c.stopping {
		conn.SetReadDeadline(time.Time{})
	}
	c.mu.Unlock()
	f, err := c.file(from)
	if err != nil {
		c.failed.Add(1)
		c.say("error: %v: %v", from, err)
		return
	}
	c.say("%v: receiving into %s", from, f.Name())
	n, err := copyStream(f, start[:], conn, c.most, &c.bytes)
	if closeErr := f.Close(); closeErr != nil && !isPathError(err) {
		err = closeErr
	}
	if n == 0 {
		os.Remove(f.Name()) // not even its first bytes
	} else {
		c.kept.Add(1)
	}
	switch {
	case isPathError(err):
		c.failed.Add(1)
		c.say("error: %v: %v after %s", from, err, heap.FormatBytes(float64(n)))
	case errors.Is(err, errTooLong):
		c.say("warning: %v: cut at %s: see --max-size", from, heap.FormatBytes(float64(n)))
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		c.say("warning: %v: %v after %s", from, err, heap.FormatBytes(float64(n)))
	default:
		c.say("%v: %s in %s", from, heap.FormatBytes(float64(n)), f.Name())
	}
}

// isPathError reports whether it is a file that failed, and no connection.
func isPathError(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

// traceMagic is what a memtrace stream begins with.
const traceMagic = 0xC1FC1FC1

// file makes a new file for a sender.
func (c *collector) file(from net.Addr) (*os.File, error) {
	host, _, err := net.SplitHostPort(from.String())
	if err != nil {
		host = "sender"
	}
	name := []byte(host)
	for i, b := range name {
		if b == ':' || b == '%' || b == '/' {
			name[i] = '-'
		}
	}
	stamp := time.Now().UTC().Format("20060102-150405")
	for i := 1; ; i++ {
		path := filepath.Join(c.dir, fmt.Sprintf("%s-%s-%d.ctf", stamp, name, i))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

var errTooLong = errors.New("too long")

// copyStream writes what has been read and what follows to f, at most so many
// bytes. Each portion is in the file before the next is waited for.
func copyStream(f io.Writer, start []byte, from io.Reader, most int64, count *atomic.Int64) (n int64, err error) {
	buf := make([]byte, 64<<10)
	part := start
	for {
		if n+int64(len(part)) > most {
			part, err = part[:most-n], errTooLong
		}
		m, writeErr := f.Write(part)
		n += int64(m)
		if count != nil {
			count.Add(int64(m))
		}
		if writeErr != nil {
			return n, writeErr
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		m, err = from.Read(buf)
		part = buf[:m]
	}
}
