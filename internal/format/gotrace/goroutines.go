package gotrace

// state is what a goroutine does.
type state uint8

const (
	free   state = iota // never heard of
	absent              // it has ended
	running
	runnable
	waiting
	syscall
	numStates
)

// goroutine is what is known of one while the trace is read. (Sizes: 16 bytes)
type goroutine struct {
	since int64  // when it came into its state, in ns
	entry uint32 // the stack it was created with
	state state
	named bool // whether it is labelled with its function
}

// goroutines is a table of goroutines by number. The runtime gives a P sixteen
// numbers at a time, so those that work together lie together: in blocks, which
// a hash table finds, open addressed and at most half full.
type goroutines struct {
	slots  []uint32 // indices in blocks plus one; 0 is a free slot
	shift  uint8    // of a 64-bit hash, to be an index in slots
	blocks []block
	last   *block // that was found
	n      int
	spent  [numStates]int64 // time in each state, in ns
}

const blockSize = 16

// block holds goroutines with consecutive numbers.
type block struct {
	number int64 // of its first goroutine, divided by blockSize
	of     [blockSize]goroutine
}

// find returns a goroutine, which is added if it is new. The pointer is good
// until the next call.
func (t *goroutines) find(id int64) *goroutine {
	number := id >> 4
	if t.last == nil || t.last.number != number {
		t.last = t.block(number)
	}
	g := &t.last.of[id&(blockSize-1)]
	if g.state == free {
		g.state = absent
		t.n++
	}
	return g
}

// block returns a block, which is added if it is new.
func (t *goroutines) block(number int64) *block {
	if 2*len(t.blocks) >= len(t.slots) {
		t.grow()
	}
	i := t.home(number)
	for ; t.slots[i] != 0; i = t.after(i) {
		if b := &t.blocks[t.slots[i]-1]; b.number == number {
			return b
		}
	}
	t.blocks = append(t.blocks, block{number: number})
	t.slots[i] = uint32(len(t.blocks))
	return &t.blocks[len(t.blocks)-1]
}

// home returns the slot where the search for a block begins: the high bits of
// its number times the golden ratio.
func (t *goroutines) home(number int64) int {
	return int(uint64(number) * 0x9E3779B97F4A7C15 >> t.shift)
}

func (t *goroutines) after(i int) int { return (i + 1) & (len(t.slots) - 1) }

func (t *goroutines) grow() {
	size := max(2*len(t.slots), 1<<6)
	t.slots, t.shift = make([]uint32, size), 64
	for n := size; n > 1; n /= 2 {
		t.shift--
	}
	for k := range t.blocks {
		i := t.home(t.blocks[k].number)
		for t.slots[i] != 0 {
			i = t.after(i)
		}
		t.slots[i] = uint32(k + 1)
	}
}

// enter lets a goroutine come into a state.
func (t *goroutines) enter(g *goroutine, to state, time int64) {
	t.spent[g.state] += time - g.since
	g.state, g.since = to, time
}

// each calls f for every goroutine.
func (t *goroutines) each(f func(id int64, g *goroutine)) {
	for k := range t.blocks {
		b := &t.blocks[k]
		for i := range b.of {
			if b.of[i].state != free {
				f(b.number*blockSize+int64(i), &b.of[i])
			}
		}
	}
}

// totals returns how long each state lasted when the last event was at a time.
func (t *goroutines) totals(last int64) Totals {
	spent := t.spent
	t.each(func(_ int64, g *goroutine) { spent[g.state] += last - g.since })
	return Totals{Goroutines: t.n, Running: spent[running], Runnable: spent[runnable],
		Waiting: spent[waiting], Syscall: spent[syscall]}
}
