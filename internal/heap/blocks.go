package heap

import (
	"fmt"
	"math"
	"sort"
	"sync"

	"github.com/mirador-trace/mirador/memtrace"
)

// Blocks is every sampled block of a trace, in columns: what a viewer needs to
// answer any question about some of them at once. It does not change any more
// once it has been read, and may be used by several goroutines then.
//
// A block takes 39 bytes, and 4 more when it has died; a trace has at most
// [MaxBlocks]. Times are in µs since the Unix epoch and never go backwards: an
// event that claims to be earlier than the one before it counts as happening
// with that one.
type Blocks struct {
	Stacks *Stacks
	Info   memtrace.Info
	Unit   float64 // bytes that a sample stands for; 0 when the rate is not known
	Begin  int64   // of the trace
	End    int64   // the time of the last event
	Events int64   // of all kinds

	Promoted int64 // blocks that survived their first collection

	// By block, in the order of allocation.
	birth   []int64
	death   []int64  // never for those that live at the end
	words   []uint32 // at most 1<<32 - 1 of them are told
	samples []uint32
	site    []Site
	domain  []uint16
	flags   []uint8

	// In order of time: a block, twice its number when it was allocated, and
	// one more when it was collected.
	order []uint32

	goroutine []uint64 // by block; nil when the trace does not tell
	notes     *Notes

	tree tree // what questions about call stacks need
	once sync.Once
	all  *Selection
}

// MaxBlocks is how many blocks a Blocks holds.
const MaxBlocks = 1 << 30

// never is the death of a block that lives at the end of the trace.
const never = math.MaxInt64

const (
	sourceBits = 3
	isPromoted = 4
)

// Domains returns how many domains allocated something.
func (b *Blocks) Domains() int {
	var seen [1 << 10]uint64
	n := 0
	for _, d := range b.domain {
		if bit := uint64(1) << (d & 63); seen[d>>6]&bit == 0 {
			seen[d>>6] |= bit
			n++
		}
	}
	return n
}

// Notes returns what the trace tells besides its events.
func (b *Blocks) Notes() *Notes { return b.notes }

// Goroutines reports whether the trace tells which goroutine allocated.
func (b *Blocks) Goroutines() bool { return b.goroutine != nil }

// Len returns how many blocks there are.
func (b *Blocks) Len() int { return len(b.birth) }

// TooManyError is returned for a trace that has more than [MaxBlocks] blocks.
type TooManyError struct{ Events int64 }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("more than %d blocks after %d events", MaxBlocks, e.Events)
}

// ReadBlocks reads a trace. Its notes may be nil. The error is the reader's,
// the watch's or a [*TooManyError].
func ReadBlocks(r *memtrace.Reader, notes *Notes, watch Watch) (*Blocks, error) {
	if notes == nil {
		notes = new(Notes)
	}
	s := NewStacks()
	b := &Blocks{Stacks: s, Unit: unit(r), notes: notes}
	w := s.Walk(r)
	var ids paged
	now := int64(math.MinInt64)
	full := false
	err := Each(r, watch, func(ev *memtrace.Event) bool {
		if b.Events == 0 {
			b.Begin = ev.Time
		}
		b.Events++
		now = max(now, ev.Time)
		switch ev.Kind {
		case memtrace.Alloc:
			if len(b.birth) == MaxBlocks {
				full = true
				return false
			}
			i := uint32(len(b.birth))
			if old := ids.swap(ev.ID, i+1); old != 0 {
				b.die(old-1, now) // an id that comes again: what it was is gone
			}
			b.birth = append(b.birth, now)
			b.death = append(b.death, never)
			b.words = append(b.words, saturated(ev.Length))
			b.samples = append(b.samples, saturated(ev.Samples))
			b.site = append(b.site, w.Site(ev))
			b.domain = append(b.domain, ev.Domain)
			b.flags = append(b.flags, uint8(ev.Source)&sourceBits)
			if len(notes.runs) > 0 {
				b.goroutine = append(b.goroutine, notes.goroutine(ev.ID))
			}
			b.order = append(b.order, 2*i)
		case memtrace.Promote:
			if i := ids.get(ev.ID); i != 0 && b.flags[i-1]&isPromoted == 0 {
				b.flags[i-1] |= isPromoted
				b.Promoted++
			}
		case memtrace.Collect:
			if i := ids.swap(ev.ID, 0); i != 0 {
				b.die(i-1, now)
			}
		}
		return true
	})
	if full {
		err = &TooManyError{b.Events}
	}
	b.Info = r.Info()
	b.End = max(now, b.Begin)
	if start := b.Info.Start; start > 0 && start < b.Begin {
		b.Begin = start
	}
	b.tree = s.tree()
	return b, err
}

// die ends a block's life.
func (b *Blocks) die(i uint32, at int64) {
	b.death[i] = at
	b.order = append(b.order, 2*i+1)
}

func saturated(v int64) uint32 { return uint32(min(max(v, 0), math.MaxUint32)) }

// at returns when the event at a place of the order was.
func (b *Blocks) at(event int) int64 {
	e := b.order[event]
	if e&1 == 0 {
		return b.birth[e/2]
	}
	return b.death[e/2]
}

// before returns how many events of the order are before a time.
func (b *Blocks) before(time int64) int {
	return sort.Search(len(b.order), func(i int) bool { return b.at(i) >= time })
}

// bytes is how large a block was, without its header.
func (b *Blocks) bytes(i int) int64 { return int64(b.words[i]) * int64(max(8, b.Info.WordSize)/8) }

// lived is how long a block is known to have lived: up to the end of the trace
// when it has not died in it.
func (b *Blocks) lived(i int) int64 { return min(b.death[i], b.End) - b.birth[i] }

// paged finds blocks by their ids, which are dense but for gaps between
// domains: a page of them is a slice.
type paged struct {
	pages map[uint64]*[pageSize]uint32
	last  uint64
	page  *[pageSize]uint32
}

const pageSize = 1 << 12

func (p *paged) slot(id uint64) *uint32 {
	n := id / pageSize
	if p.page == nil || p.last != n {
		if p.pages == nil {
			p.pages = map[uint64]*[pageSize]uint32{}
		}
		if p.page = p.pages[n]; p.page == nil {
			p.page = new([pageSize]uint32)
			p.pages[n] = p.page
		}
		p.last = n
	}
	return &p.page[id%pageSize]
}

// get returns the number of an id, 0 when it has none.
func (p *paged) get(id uint64) uint32 {
	if p.page != nil && p.last == id/pageSize {
		return p.page[id%pageSize]
	}
	if page := p.pages[id/pageSize]; page != nil {
		p.last, p.page = id/pageSize, page
		return page[id%pageSize]
	}
	return 0
}

// swap gives an id a number, and returns the one that it had.
func (p *paged) swap(id uint64, number uint32) uint32 {
	if number == 0 && p.get(id) == 0 {
		return 0
	}
	s := p.slot(id)
	old := *s
	*s = number
	return old
}
