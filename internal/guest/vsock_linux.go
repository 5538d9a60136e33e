package guest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/region"
)

// sendInterval is how long an event waits at most before it is sent.
const sendInterval = 50 * time.Millisecond

// openVsock makes memory whose packets are sent to another machine: CID:PORT,
// where CID 2 is the host.
func openVsock(address string, size int64) (*Memory, error) {
	cidText, portText, _ := strings.Cut(address, ":")
	cid, err1 := strconv.ParseUint(cidText, 10, 32)
	port, err2 := strconv.ParseUint(portText, 10, 32)
	if err1 != nil || err2 != nil {
		return nil, errors.New("after the colon comes CID:PORT, of which the host's CID is 2")
	}
	conn, err := dialVsock(uint32(cid), uint32(port))
	if err != nil {
		return nil, err
	}
	if size == 0 {
		size = defaultSize
	}
	b, err := unix.Mmap(-1, 0, int(pages(size)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	s := &sender{conn: conn, mem: b, done: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return &Memory{Bytes: b, Note: "vsock:" + address, release: s.release}, nil
}

func dialVsock(cid, port uint32) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, noVsock(err)
	}
	// The system gives up a connection after two seconds.
	if err := unix.Connect(fd, &unix.SockaddrVM{CID: cid, Port: port}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect: %w", err)
	}
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "vsock"), nil
}

func noVsock(err error) error {
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return errors.New("this system has no vsock: the kernel's module vsock is not loaded")
	}
	return err
}

// sender sends what is recorded, in the background.
type sender struct {
	conn  *os.File
	mem   []byte
	done  chan struct{} // closed to end it
	ended chan struct{} // closed when it has
}

// run sends until the connection is gone: the program goes on without.
func (s *sender) run() {
	defer close(s.ended)
	defer s.conn.Close()
	tick := time.NewTicker(sendInterval)
	defer tick.Stop()
	var out *region.Sender
	for n := 0; ; n++ {
		last := false
		select {
		case <-tick.C:
		case <-s.done:
			last = true
			s.conn.SetWriteDeadline(time.Now().Add(time.Second))
		}
		var err error
		if out == nil && region.Is(s.mem) {
			out, err = region.NewSender(s.conn, s.mem)
		}
		if out != nil && err == nil {
			err = out.Send()
		}
		if out != nil && err == nil && (last || n%20 == 0) {
			err = out.SendClocks()
		}
		if last || err != nil {
			return
		}
	}
}

// release sends what there is and ends the stream.
func (s *sender) release() error {
	close(s.done)
	<-s.ended
	return unix.Munmap(s.mem)
}

// ListenVsock waits for one stream to come to a port of this machine, until
// ctx is done. Ready is called as soon as one can come.
func ListenVsock(ctx context.Context, port uint32, ready func()) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, noVsock(err)
	}
	l := os.NewFile(uintptr(fd), "vsock")
	defer l.Close()
	if err := unix.Bind(fd, &unix.SockaddrVM{CID: math.MaxUint32, Port: port}); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	ready()
	stop := context.AfterFunc(ctx, func() { l.SetReadDeadline(time.Now()) })
	defer stop()
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, err
	}
	got := -1
	waited := raw.Read(func(fd uintptr) bool {
		got, _, err = unix.Accept4(int(fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return !errors.Is(err, unix.EAGAIN)
	})
	if err := errors.Join(ctx.Err(), waited, err); err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	return os.NewFile(uintptr(got), "vsock"), nil
}
