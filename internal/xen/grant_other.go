//go:build !linux

package xen

import "os"

// Grants are pages of this domain that another domain may map.
type Grants struct {
	Refs   []uint32 // the references of the pages, in order
	Memory []byte
}

// Allocate works on Linux only.
func Allocate(domain uint16, pages int) (*Grants, error) { return nil, ErrNotXen }

// Descriptor returns nothing here.
func (g *Grants) Descriptor() (f *os.File, offset int64) { return nil, 0 }

// Close does nothing here.
func (g *Grants) Close() error { return nil }

// Mapping is pages that another domain has granted.
type Mapping struct{ Memory []byte }

// Map works on Linux only.
func Map(domain uint16, refs []uint32) (*Mapping, error) { return nil, ErrNotXen }

// Close does nothing here.
func (m *Mapping) Close() error { return nil }

func dial(path string) (*os.File, error) { return nil, ErrNotXen }
