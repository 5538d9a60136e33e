package ring

import "fmt"

// slots is the room of one ring.
type slots struct {
	count int // a power of two
	size  int // of each, in bytes; a multiple of the page size
}

// plan is how the room of a trace is shared out.
type plan struct {
	writers int
	own     slots // of each writer
	shared  slots // of the ring shared by the rest
}

const (
	leastSlots = 4  // of a ring: a quarter of what it holds is lost at a time
	mostSlots  = 16 // many more would be many files and no better
	smallSlot  = 16 << 10
	maxSlot    = 1 << 30
)

// planFor shares size bytes out. A sixteenth is for the shared ring.
func planFor(size int64, writers, page int) (plan, error) {
	p := plan{writers: writers}
	share := max(size/16, int64(leastSlots*page))
	p.shared = slotsIn(share, page)
	p.own = slotsIn((size-share)/int64(writers), page)
	if p.own.size < page || p.shared.size < page {
		return p, fmt.Errorf("a size of %d bytes is too small: with GOMAXPROCS=%d at least %d are needed",
			size, writers, (writers+1)*leastSlots*page)
	}
	if p.own.size > maxSlot {
		return p, fmt.Errorf("a size of %d bytes is too large: at most %d can be used",
			size, int64(writers)*mostSlots*maxSlot)
	}
	return p, nil
}

func slotsIn(size int64, page int) slots {
	count := leastSlots
	for count < mostSlots && size/int64(2*count) >= smallSlot {
		count *= 2
	}
	return slots{count, int(min(size/int64(count), 2*maxSlot)) / page * page}
}
