package xen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Store is a connection to xenstore. Its methods may be called from any
// goroutine. A path that does not start with "/" is relative to this domain's
// own, /local/domain/N.
type Store struct {
	mu   sync.Mutex
	conn io.ReadWriteCloser
	last uint32 // the number of the last request
}

// StoreError is xenstore's answer to a request that it refuses.
type StoreError struct {
	Op   string // "read", say
	Path string
	Code string // the name of an error number: "ENOENT", say
}

func (e *StoreError) Error() string {
	text := map[string]string{
		"ENOENT": "no such key", "EACCES": "permission denied", "EPERM": "permission denied",
		"ENOSPC": "the value is too long, or the domain has used up its keys", "E2BIG": "the value is too long",
		"EINVAL": "invalid request",
	}[e.Code]
	if text == "" {
		text = e.Code
	}
	return fmt.Sprintf("xenstore: %s %s: %s", e.Op, e.Path, text)
}

// Is makes errors.Is(err, fs.ErrNotExist), fs.ErrPermission and ErrTooLong work.
func (e *StoreError) Is(target error) bool {
	switch e.Code {
	case "ENOENT":
		return target == os.ErrNotExist
	case "EACCES", "EPERM":
		return target == os.ErrPermission
	case "E2BIG", "ENOSPC":
		return target == ErrTooLong
	}
	return false
}

// The requests, by their numbers in the protocol.
const (
	opDirectory = 1
	opRead      = 2
	opWrite     = 11
	opRemove    = 13
	opSetPerms  = 14
	opError     = 16
)

var opNames = map[uint32]string{opDirectory: "list", opRead: "read", opWrite: "write", opRemove: "remove",
	opSetPerms: "set the permissions of"}

// MaxValue is how many bytes a key that a guest may write has for its value,
// its permissions and some more.
const MaxValue = 2048

// maxPayload bounds what follows a message's header, in bytes.
const maxPayload = 4096

// sockets is where xenstored listens, and devices where the kernel passes
// requests on to it.
var (
	sockets = []string{"/run/xenstored/socket", "/var/run/xenstored/socket"}
	devices = []string{"/dev/xen/xenbus", "/proc/xen/xenbus"}
)

// OpenStore connects to xenstore: to its daemon if that runs in this domain,
// and else through the kernel.
func OpenStore() (*Store, error) {
	for _, path := range sockets {
		if conn, err := dial(path); err == nil {
			return NewStore(conn), nil
		}
	}
	var first error
	for _, path := range devices {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			return NewStore(f), nil
		}
		if first == nil || errors.Is(first, os.ErrNotExist) {
			first = err
		}
	}
	if errors.Is(first, os.ErrNotExist) {
		return nil, fmt.Errorf("xenstore: %w", ErrNotXen)
	}
	return nil, fmt.Errorf("xenstore: %w", first)
}

// NewStore speaks the protocol over a connection, which Close closes.
func NewStore(conn io.ReadWriteCloser) *Store { return &Store{conn: conn} }

// Close ends the connection.
func (s *Store) Close() error { return s.conn.Close() }

// Read returns a key's value. The error is a [*StoreError] if xenstore
// refuses, as it is of the other methods.
func (s *Store) Read(path string) (string, error) {
	b, err := s.request(opRead, path, path+"\x00")
	return string(b), err
}

// Write sets a key's value, and makes the key if there is none.
func (s *Store) Write(path, value string) error {
	_, err := s.request(opWrite, path, path+"\x00"+value)
	return err
}

// Remove removes a key and all below it. It is no error if there is none.
func (s *Store) Remove(path string) error {
	_, err := s.request(opRemove, path, path+"\x00")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// List returns the names of the keys below a path.
func (s *Store) List(path string) ([]string, error) {
	b, err := s.request(opDirectory, path, path+"\x00")
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

// Share lets one other domain read a key, which belongs to owner and is
// nobody else's business.
func (s *Store) Share(path string, owner, reader uint16) error {
	_, err := s.request(opSetPerms, path, fmt.Sprintf("%s\x00n%d\x00r%d\x00", path, owner, reader))
	return err
}

// Domain returns the number of this domain.
func (s *Store) Domain() (uint16, error) {
	text, err := s.Read("domid")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("xenstore: domid is %q", shortened(text))
	}
	return uint16(n), nil
}

// DomainPath returns the path of a domain's keys.
func DomainPath(domain uint16) string { return fmt.Sprintf("/local/domain/%d", domain) }

// request sends a message and returns the payload of the answer.
func (s *Store) request(op uint32, path, payload string) ([]byte, error) {
	if len(payload) > maxPayload || strings.Contains(path, "\x00") {
		return nil, &StoreError{opNames[op], path, "E2BIG"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	b := make([]byte, 16, 16+len(payload))
	le := binary.LittleEndian
	le.PutUint32(b, op)
	le.PutUint32(b[4:], s.last)
	le.PutUint32(b[12:], uint32(len(payload)))
	if _, err := s.conn.Write(append(b, payload...)); err != nil {
		return nil, fmt.Errorf("xenstore: %w", err)
	}
	for {
		if _, err := io.ReadFull(s.conn, b[:16]); err != nil {
			return nil, fmt.Errorf("xenstore: %w", err)
		}
		kind, number, length := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[12:])
		if length > maxPayload {
			return nil, fmt.Errorf("xenstore: an answer of %d bytes", length)
		}
		answer := make([]byte, length)
		if _, err := io.ReadFull(s.conn, answer); err != nil {
			return nil, fmt.Errorf("xenstore: %w", err)
		}
		switch {
		case number != s.last:
			continue // the answer to a request that was given up
		case kind == opError:
			return nil, &StoreError{opNames[op], path, strings.TrimRight(string(answer), "\x00")}
		case kind != op:
			return nil, fmt.Errorf("xenstore: an answer of kind %d to a request of kind %d", kind, op)
		}
		return answer, nil
	}
}
