package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/mirador-trace/mirador/internal/xen"
)

// Domain is a Xen domain that shares a trace with this one.
type Domain struct {
	ID    uint16 `json:"domain"`
	Name  string `json:"name"`  // "" if it has none that we may read
	Pages int    `json:"pages"` // of the first value of references: all of them if there is no index
	Index bool   `json:"index"` // whether there are more, in an index
}

// ErrNoTrace says that a domain shares no trace.
var ErrNoTrace = errors.New("shares no trace")

// XenDomains returns the domains that share a trace, by their numbers.
func XenDomains() ([]Domain, error) {
	store, err := xen.OpenStore()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	ids, err := domainIDs(store)
	if err != nil {
		return nil, err
	}
	var domains []Domain
	for _, id := range ids {
		d := Domain{ID: id}
		d.Name, _ = store.Read(xen.DomainPath(id) + "/name")
		refs, err := store.Read(xen.DomainPath(id) + "/" + RingKey)
		if err != nil {
			continue // none, or not for us
		}
		if list, err := xen.ParseRefs(refs); err == nil {
			d.Pages = len(list)
		}
		_, err = store.Read(xen.DomainPath(id) + "/" + IndexKey)
		d.Index = err == nil
		domains = append(domains, d)
	}
	return domains, nil
}

func domainIDs(store *xen.Store) ([]uint16, error) {
	names, err := store.List("/local/domain")
	if err != nil {
		return nil, err
	}
	var ids []uint16
	for _, name := range names {
		if id, err := strconv.ParseUint(name, 10, 16); err == nil {
			ids = append(ids, uint16(id))
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// XenRing is the ring of another domain. It stays readable until it is closed,
// even when the domain is gone.
type XenRing struct {
	Domain uint16
	Memory []byte // changes as the domain writes to it

	mapping *xen.Mapping
	store   *xen.Store
}

// MapXen maps the ring that a domain, which is a number or a name, shares. The
// error wraps [ErrNoTrace] if it shares none, fs.ErrNotExist if there is no
// such domain, and [xen.ErrRevoked] if the ring was taken back.
func MapXen(domain string) (*XenRing, error) {
	store, err := xen.OpenStore()
	if err != nil {
		return nil, err
	}
	r := &XenRing{store: store}
	if r.Domain, err = findDomain(store, domain); err == nil {
		err = r.connect()
	}
	if err != nil {
		store.Close()
		return nil, err
	}
	return r, nil
}

// findDomain returns the number of a domain that is there.
func findDomain(store *xen.Store, domain string) (uint16, error) {
	ids, err := domainIDs(store)
	if err != nil {
		return 0, err
	}
	if n, err := strconv.ParseUint(domain, 10, 16); err == nil {
		if slices.Contains(ids, uint16(n)) {
			return uint16(n), nil
		}
		// A domain that may not list others can still read what it is shown.
		if _, err := store.Read(xen.DomainPath(uint16(n)) + "/" + RingKey); err == nil {
			return uint16(n), nil
		}
		return 0, fmt.Errorf("domain %d: %w", n, fs.ErrNotExist)
	}
	for _, id := range ids {
		if name, err := store.Read(xen.DomainPath(id) + "/name"); err == nil && name == domain {
			return id, nil
		}
	}
	return 0, fmt.Errorf("a domain named %s: %w", domain, fs.ErrNotExist)
}

// connect maps the pages that the domain's keys name.
func (r *XenRing) connect() error {
	refs, err := r.refs(RingKey)
	if err != nil {
		return err
	}
	index, err := r.refs(IndexKey)
	switch {
	case errors.Is(err, ErrNoTrace):
	case err != nil:
		return err
	default:
		if refs, err = r.readIndex(index); err != nil {
			return err
		}
	}
	if r.mapping, err = xen.Map(r.Domain, refs); err != nil {
		return fmt.Errorf("the trace of domain %d: %w", r.Domain, err)
	}
	r.Memory = r.mapping.Memory
	return nil
}

func (r *XenRing) refs(key string) ([]uint32, error) {
	text, err := r.store.Read(xen.DomainPath(r.Domain) + "/" + key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("domain %d %w", r.Domain, ErrNoTrace)
	} else if err != nil {
		return nil, err
	}
	refs, err := xen.ParseRefs(text)
	if err != nil {
		return nil, fmt.Errorf("domain %d, key %s: %w", r.Domain, key, err)
	}
	return refs, nil
}

// readIndex returns the references that stand in the pages of an index.
func (r *XenRing) readIndex(index []uint32) ([]uint32, error) {
	m, err := xen.Map(r.Domain, index)
	if err != nil {
		return nil, fmt.Errorf("the index of domain %d's trace: %w", r.Domain, err)
	}
	defer m.Close()
	refs := xen.ReadRefs(slices.Clone(m.Memory))
	if len(refs) == 0 {
		return nil, fmt.Errorf("domain %d: the index of its trace is empty", r.Domain)
	}
	return refs, nil
}

// Gone reports whether the domain is gone.
func (r *XenRing) Gone() bool {
	_, err := r.store.Read(xen.DomainPath(r.Domain) + "/domid")
	return errors.Is(err, fs.ErrNotExist)
}

// Close ends the mapping.
func (r *XenRing) Close() error { return errors.Join(r.mapping.Close(), r.store.Close()) }
