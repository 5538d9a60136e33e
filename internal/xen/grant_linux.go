package xen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioctl numbers: direction none, type 'G', the size of the request without its
// trailing references but for one.
const (
	gntallocAlloc = 'G'<<8 | 5 | 24<<16
	gntdevMap     = 'G'<<8 | 0 | 24<<16
)

// Grants are pages of this domain that another domain may map. The pages begin
// as zeros.
type Grants struct {
	Refs   []uint32 // the references of the pages, in order
	Memory []byte

	file  *os.File
	index uint64
}

// Allocate grants a domain the right to map, and to write to, as many new
// pages.
func Allocate(domain uint16, pages int) (*Grants, error) {
	f, err := openDevice("/dev/xen/gntalloc")
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	const writable = 1
	request := make([]byte, 16+4*max(pages, 2))
	le.PutUint16(request, domain)
	le.PutUint16(request[2:], writable)
	le.PutUint32(request[4:], uint32(pages))
	if err := ioctl(f, gntallocAlloc, request); err != nil {
		f.Close()
		if errors.Is(err, unix.ENOSPC) {
			return nil, fmt.Errorf("grant %d pages: more than the parameter 'limit' of the module xen-gntalloc allows", pages)
		}
		return nil, fmt.Errorf("grant %d pages: %w", pages, err)
	}
	g := &Grants{file: f, index: le.Uint64(request[8:])}
	for i := range pages {
		g.Refs = append(g.Refs, le.Uint32(request[16+4*i:]))
	}
	if g.Memory, err = mapPages(f, g.index, pages); err != nil {
		f.Close()
		return nil, fmt.Errorf("grant %d pages: %w", pages, err)
	}
	return g, nil
}

// Descriptor returns the open file that keeps the grants, and where in it the
// pages are: a process that is given both can map them and keeps them, too.
func (g *Grants) Descriptor() (f *os.File, offset int64) { return g.file, int64(g.index) }

// Close takes the grants back. The other domain's mappings stay until it ends
// them.
func (g *Grants) Close() error {
	err := unix.Munmap(g.Memory)
	g.Memory = nil
	return errors.Join(err, g.file.Close())
}

// Mapping is pages that another domain has granted.
type Mapping struct {
	Memory []byte // changes as the other domain writes to it

	file *os.File
}

// Map maps pages of another domain, in the order of their references. Nothing
// can be written to them. The error wraps [ErrRevoked] if one of them is not
// granted to this domain.
func Map(domain uint16, refs []uint32) (*Mapping, error) {
	f, err := openDevice("/dev/xen/gntdev")
	if err != nil {
		return nil, err
	}
	m, err := mapRefs(f, domain, refs)
	if err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}

func mapRefs(f *os.File, domain uint16, refs []uint32) (*Mapping, error) {
	if len(refs) == 0 {
		return nil, fmt.Errorf("map pages of domain %d: there are none", domain)
	}
	le := binary.LittleEndian
	request := make([]byte, 16+8*len(refs))
	le.PutUint32(request, uint32(len(refs)))
	for i, ref := range refs {
		le.PutUint32(request[16+8*i:], uint32(domain))
		le.PutUint32(request[20+8*i:], ref)
	}
	if err := ioctl(f, gntdevMap, request); err != nil {
		return nil, fmt.Errorf("map %d pages of domain %d: %w", len(refs), domain, err)
	}
	memory, err := unix.Mmap(int(f.Fd()), int64(le.Uint64(request[8:])), len(refs)*Page, unix.PROT_READ, unix.MAP_SHARED)
	switch {
	case errors.Is(err, unix.EINVAL):
		return nil, fmt.Errorf("map %d pages of domain %d: %w", len(refs), domain, ErrRevoked)
	case err != nil:
		return nil, fmt.Errorf("map %d pages of domain %d: %w", len(refs), domain, err)
	}
	return &Mapping{memory, f}, nil
}

// Close ends the mapping.
func (m *Mapping) Close() error {
	err := unix.Munmap(m.Memory)
	m.Memory = nil
	return errors.Join(err, m.file.Close())
}

func openDevice(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return nil, fmt.Errorf("%s: %w", path, ErrNotXen)
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// dial connects to a socket. It is not done by package net, which is large, and
// this package is in every program that records.
func dial(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func ioctl(f *os.File, number uintptr, request []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), number, uintptr(unsafe.Pointer(&request[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

// mapPages maps pages that are written to.
func mapPages(f *os.File, offset uint64, pages int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), int64(offset), pages*Page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}
