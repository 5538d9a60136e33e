//go:build !linux

package guest

import (
	"context"
	"errors"
	"os"
)

// Open works on Linux only.
func Open(destination string, size int64) (*Memory, error) {
	return nil, describe(destination, errUnsupported)
}

// MakeMemory works on Linux only.
func MakeMemory(size int64) (*os.File, error) { return nil, errUnsupported }

// XenShare is a ring that is shared with another domain.
type XenShare struct{}

// ShareXen works on Linux only.
func ShareXen(domain string, size int64) (*XenShare, error) { return nil, errUnsupported }

// Descriptor returns nothing here.
func (s *XenShare) Descriptor() (*os.File, int64) { return nil, 0 }

// Size returns 0 here.
func (s *XenShare) Size() int64 { return 0 }

// Close does nothing here.
func (s *XenShare) Close() error { return nil }

// ErrNoTrace says that a domain shares no trace.
var ErrNoTrace = errors.New("shares no trace")

// Domain is a Xen domain that shares a trace with this one.
type Domain struct {
	ID    uint16 `json:"domain"`
	Name  string `json:"name"`
	Pages int    `json:"pages"`
	Index bool   `json:"index"`
}

// XenDomains works on Linux only.
func XenDomains() ([]Domain, error) { return nil, errUnsupported }

// XenRing is the ring of another domain.
type XenRing struct {
	Domain uint16
	Memory []byte
}

// MapXen works on Linux only.
func MapXen(domain string) (*XenRing, error) { return nil, errUnsupported }

// Gone reports true here.
func (r *XenRing) Gone() bool { return true }

// Close does nothing here.
func (r *XenRing) Close() error { return nil }

// ListenVsock works on Linux only.
func ListenVsock(ctx context.Context, port uint32, ready func()) (*os.File, error) {
	return nil, errUnsupported
}
