package guest

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/xen"
)

// The keys below a domain's path in xenstore. RingKey is that of
// mirage-profile. IndexKey is there when a ring has more pages than fit into
// a value: it has the references of pages that have those of all pages, and
// RingKey only those of the first.
const (
	RingKey  = "data/mprof/ring-ref"
	IndexKey = "data/mprof/ring-index"
)

// openXen grants pages to a domain and tells it their references.
func openXen(domain string, size int64) (*Memory, error) {
	if m, err := takeHeld(); m != nil || err != nil {
		return m, err
	}
	s, err := ShareXen(domain, size)
	if err != nil {
		return nil, err
	}
	return &Memory{Bytes: s.Ring.Memory, Note: fmt.Sprintf("xen:%d", s.Own), release: s.Close}, nil
}

// XenShare is a ring that is shared with another domain.
type XenShare struct {
	Ring *xen.Grants
	Own  uint16 // this domain

	index *xen.Grants // nil if there is none
	store *xen.Store
}

// ShareXen grants as many bytes to a domain, which is a number or empty for
// domain 0, and tells it in xenstore where they are.
func ShareXen(domain string, size int64) (*XenShare, error) {
	reader := uint64(0)
	var err error
	if domain != "" {
		if reader, err = strconv.ParseUint(domain, 10, 15); err != nil {
			return nil, errors.New("after the colon comes the number of a domain")
		}
	}
	if size == 0 {
		size = defaultXenSize
	}
	store, err := xen.OpenStore()
	if err != nil {
		return nil, err
	}
	s := &XenShare{store: store}
	if err := s.grant(uint16(reader), int(pages(size)/xen.Page)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *XenShare) grant(reader uint16, count int) (err error) {
	if s.Own, err = s.store.Domain(); err != nil {
		return err
	}
	if count < 1 || count > xen.RefsPerPage*xen.RefsPerPage {
		return fmt.Errorf("%d pages: %w", count, region.ErrSmall)
	}
	if s.Ring, err = xen.Allocate(reader, count); err != nil {
		return err
	}
	if err := s.store.Remove(IndexKey); err != nil {
		return err
	}
	err = s.tell(RingKey, s.Ring.Refs, reader)
	if !errors.Is(err, xen.ErrTooLong) {
		return err
	}
	first, err := s.grantIndex(reader)
	if err != nil {
		return err
	}
	return s.tell(RingKey, first, reader)
}

// grantIndex shares the pages with the references, and returns as many of
// these as fit into a value.
func (s *XenShare) grantIndex(reader uint16) (first []uint32, err error) {
	refs := s.Ring.Refs
	n := (len(refs) + xen.RefsPerPage - 1) / xen.RefsPerPage
	if s.index, err = xen.Allocate(reader, n); err != nil {
		return nil, err
	}
	for i := range n {
		part := refs[i*xen.RefsPerPage : min((i+1)*xen.RefsPerPage, len(refs))]
		xen.PutRefs(s.index.Memory[i*xen.Page:][:xen.Page], part)
	}
	if err := s.tell(IndexKey, s.index.Refs, reader); err != nil {
		return nil, err
	}
	for len(xen.JoinRefs(refs)) > xen.MaxValue-128 { // the key's permissions count, too
		refs = refs[:len(refs)-1]
	}
	return refs, nil
}

// tell writes references to a key that the reader may read: domain 0 may read
// all there are.
func (s *XenShare) tell(key string, refs []uint32, reader uint16) error {
	if err := s.store.Write(key, xen.JoinRefs(refs)); err != nil {
		return err
	}
	if reader == 0 {
		return nil
	}
	return s.store.Share(key, s.Own, reader)
}

// Descriptor returns the open file that keeps the ring, and where in it that
// is.
func (s *XenShare) Descriptor() (*os.File, int64) { return s.Ring.Descriptor() }

// Size returns how many bytes the ring has.
func (s *XenShare) Size() int64 { return int64(len(s.Ring.Memory)) }

// Close takes the ring back.
func (s *XenShare) Close() error {
	var errs []error
	if s.Ring != nil {
		errs = append(errs, s.store.Remove(RingKey), s.Ring.Close())
	}
	if s.index != nil {
		errs = append(errs, s.store.Remove(IndexKey), s.index.Close())
	}
	return errors.Join(append(errs, s.store.Close())...)
}
