// Package region describes a trace that lies in one piece of memory, shared
// with whoever can see that memory: granted pages of a Xen guest, a device
// that a host backs with a file, a file on a DAX file system, a memfd. It
// writes such a region's header and reads whole regions, also those that a
// guest is writing to, was killed with, or has scattered over a memory image.
//
// There are few types: a [Header] says what a region is; a [Clock] is one of
// the moments that it keeps telling on several clocks; a [Region] is one that
// was found, and gives its packets; an [Error] says what is wrong where.
//
// # Bytes
//
// A region is a number of pages of 4096 bytes. All numbers are little-endian.
//
//	+--------+----------+-----------+--------+--------+-----+--------+
//	| header | metadata | 0 to fill | packet | packet |  …  | packet |
//	+--------+----------+-----------+--------+--------+-----+--------+
//	0        4096                   header size                      size
//
//	offset  size  header page
//	     0    16  magic 0x8A "mirador region" 0x0A
//	    16     4  version, 1
//	    20     4  CRC-32C of bytes 24 to 2048
//	    24    16  uuid, that of every packet
//	    40     8  size of the region in bytes
//	    48     4  header size: where the packets begin, in bytes
//	    52     4  packet size in bytes, a multiple of 4096
//	    56     4  number of rings, at most 100
//	    60     4  length of the metadata in bytes
//	    64     4  CRC-32C of the metadata
//	    68     4  process id
//	    72     8  start of the recording: cycles of the trace's clock
//	    80     8  the same moment on CLOCK_MONOTONIC in ns
//	    88     8  the same moment on CLOCK_REALTIME in ns
//	    96     8  cycles of the trace's clock in a second
//	   104    16  boot id of the kernel that the process runs on
//	   120     4  the trace's clock: 0 CLOCK_MONOTONIC, 1 the time stamp counter
//	   124     4  GOMAXPROCS
//	   128   128  program, filled with NUL
//	   256    64  Go version
//	   320    64  host name
//	   384     8  GOOS
//	   392     8  GOARCH
//	   400    16  a ring: its id, its first slot and number of slots (u64, u32, u32)
//	   416     …  more rings
//	  2048    64  a clock; more of them, 32 in all
//
// The magic is written last, so that a region is there whole or not at all.
// What the header page says does not change, except for its clocks:
//
//	offset  size  clock
//	     0     8  number n, from 1; the clock stands in place n modulo 32
//	     8     8  cycles of the trace's clock
//	    16     8  CLOCK_MONOTONIC in ns, read before the next
//	    24     8  CLOCK_REALTIME in ns
//	    32     8  CLOCK_MONOTONIC in ns, read after it
//	    40    20  0
//	    60     4  CRC-32C of bytes 0 to 60
//
// Two traces with the same boot id share CLOCK_MONOTONIC; others are laid on
// one time line by CLOCK_REALTIME, which is known to within the bracket.
//
// The metadata is the text, in the Trace Stream Description Language, that the
// packets are described by. Package packet tells what it and a packet are, and
// how a packet that is being written is copied. Ring r has its packets in the
// slots from its first one on: packet n is in slot (n-16) modulo their number.
// A slot that was not used yet has an empty packet with a number below 16.
//
// # Scattered regions
//
// In an image of a machine's memory the pages of a region lie anywhere. The
// header page is found by its magic and checksum; as this package writes
// packets of one page each, they are found by their uuid, and tested event by
// event, since copies of a header may lie on some stack. The metadata is
// written anew from the header page, if it was written by the same version.
//
// # Trust
//
// Whoever writes to a region may change any of its bytes at any time. A reader
// copies, checks the copy and uses the copy; nothing is read twice, except to
// see whether it has changed. A [Region] never allocates more than what the
// input's size allows for.
package region

import (
	"errors"
	"fmt"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

const (
	Page    = 4096 // bytes of a page, and of a packet that this package's users write
	Version = 1

	MaxRings    = 100
	NumClocks   = 32
	MaxProgram  = 127 // bytes of a program's name
	maxHeader   = 1 << 20
	maxPacket   = 1 << 20
	clockSize   = 64
	offClocks   = 2048
	offRings    = 400
	sizeOfRing  = 16
	offChecksum = 20
	offUUID     = 24
)

const magic = "\x8amirador region\n"

// Header says what a region is.
type Header struct {
	packet.Trace
	Size       int64 // of the region in bytes
	Packets    int64 // where in the region the packets begin, in bytes
	PacketSize int   // in bytes
	Rings      []Ring
	BootID     [16]byte // of the kernel that the process runs on
	Host       string
	OS, Arch   string
	GOMAXPROCS int
}

// Ring is where the packets of one ring lie.
type Ring struct {
	ID    uint64
	First int // slot
	Slots int
}

// Slots returns how many packets the region has room for.
func (h *Header) Slots() int { return int((h.Size - h.Packets) / int64(h.PacketSize)) }

// Clock is one moment, told by three clocks. CLOCK_REALTIME was read between
// the two readings of CLOCK_MONOTONIC.
type Clock struct {
	Cycles   uint64 `json:"cycles"` // of the trace's clock
	Before   int64  `json:"monotonic_before_ns"`
	Realtime int64  `json:"realtime_ns"`
	After    int64  `json:"monotonic_after_ns"`
}

// Error is something wrong with a region.
type Error struct {
	Offset int64 // where in the input, in bytes
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("offset %d: %v", e.Offset, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Errors that a caller may want to tell apart.
var (
	ErrNoRegion = errors.New("no region of a mirador trace")
	ErrDamaged  = errors.New("the header of a region, damaged")
	ErrSmall    = errors.New("too small for a trace")
)
