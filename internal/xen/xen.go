// Package xen lets the domains of a Xen host share memory, in pure Go: it
// speaks to xenstore, grants pages to other domains and maps pages that other
// domains have granted.
//
// There are few types: a [Store] is a connection to xenstore, the tree of
// names and values that all domains see; [Grants] are pages of this domain
// that another may map; a [Mapping] is pages that another domain has granted.
//
// # Sharing memory
//
// The domain that has the memory allocates it and tells the other one the
// references of its pages, most often by xenstore:
//
//	g, err := xen.Allocate(0, 16) // 16 pages, for domain 0
//	…
//	err = store.Write("data/my/refs", xen.JoinRefs(g.Refs))
//
// The other domain reads them and maps the pages:
//
//	text, err := store.Read(path + "/data/my/refs")
//	…
//	refs, err := xen.ParseRefs(text)
//	…
//	m, err := xen.Map(domain, refs)
//
// Then Memory of both is the same memory. When the granting domain dies, what
// it wrote stays for as long as it is mapped. When only its process dies,
// Linux takes the grants back as the last descriptor is closed: from then on
// no new mapping can be made, but those that were made stay.
//
// # What is needed
//
// Linux, with the module xen-gntalloc to grant and xen-gntdev to map (which
// only the privileged domain may do for pages of any domain), and the right to
// open /dev/xen/gntalloc or /dev/xen/gntdev: root, most often. A Linux guest
// grants 1024 pages at most unless xen-gntalloc's parameter "limit" says
// otherwise. Elsewhere all functions return an error.
//
// The interfaces are those of Linux's include/uapi/xen/gntalloc.h and gntdev.h
// and of docs/misc/xenstore.txt and xen/include/public/io/xs_wire.h of Xen.
package xen

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Page is the size of what is granted, in bytes.
const Page = 4096

// RefsPerPage is how many references fit into a page, see [PutRefs].
const RefsPerPage = Page / 4

// Errors that a caller may want to tell apart.
var (
	ErrNotXen  = errors.New("this is not a Xen domain, or the kernel's Xen modules are not loaded")
	ErrTooLong = errors.New("too long for xenstore")
	ErrRevoked = errors.New("not granted, or no longer")
)

// JoinRefs writes references as mirage-profile does: with commas in between.
func JoinRefs(refs []uint32) string {
	var b strings.Builder
	for i, ref := range refs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(ref), 10))
	}
	return b.String()
}

// ParseRefs reads what [JoinRefs] has written.
func ParseRefs(text string) ([]uint32, error) {
	fields := strings.Split(strings.TrimRight(text, "\x00"), ",")
	refs := make([]uint32, len(fields))
	for i, f := range fields {
		ref, err := strconv.ParseUint(f, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of grant references", shortened(text))
		}
		refs[i] = uint32(ref)
	}
	return refs, nil
}

// PutRefs writes references to a page, which is granted then to whom should
// know them: little-endian and one after the other, 0 behind the last.
func PutRefs(page []byte, refs []uint32) {
	clear(page)
	for i, ref := range refs {
		for j := range 4 {
			page[4*i+j] = byte(ref >> (8 * j))
		}
	}
}

// ReadRefs reads the references that [PutRefs] has written to a page.
func ReadRefs(page []byte) []uint32 {
	var refs []uint32
	for i := 0; i+4 <= len(page); i += 4 {
		ref := uint32(page[i]) | uint32(page[i+1])<<8 | uint32(page[i+2])<<16 | uint32(page[i+3])<<24
		if ref == 0 {
			break
		}
		refs = append(refs, ref)
	}
	return refs
}

func shortened(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
