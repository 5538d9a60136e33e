package thread

import (
	"strings"

	"github.com/mirador-trace/mirador/internal/event"
)

// column holds one list per thread, all in one slice: thread t's is
// items[from[t]:from[t+1]].
type column[T any] struct {
	items []T
	from  []uint32
}

func (c *column[T]) of(t ID) []T {
	if len(c.from) == 0 {
		return nil
	}
	i, j := c.from[t], c.from[t+1]
	return c.items[i:j:j]
}

// inflow collects items for a column in the order in which they come, in
// chunks, so that growing copies nothing and leaves no garbage.
type inflow[T any] struct {
	chunks []*chunk[T]
	n      int
}

const chunkSize = 1 << 13

type chunk[T any] struct {
	owners [chunkSize]ID
	items  [chunkSize]T
}

// add returns the item's index, for [inflow.at].
func (f *inflow[T]) add(owner ID, item T) int {
	i := f.n % chunkSize
	if i == 0 {
		f.chunks = append(f.chunks, new(chunk[T]))
	}
	c := f.chunks[len(f.chunks)-1]
	c.owners[i], c.items[i] = owner, item
	f.n++
	return f.n - 1
}

func (f *inflow[T]) at(i int) *T { return &f.chunks[i/chunkSize].items[i%chunkSize] }

// gather sorts the items by owner, keeping their order, and empties f.
func (f *inflow[T]) gather(threads int) column[T] {
	// from[t+1] counts t's items, then says where t's next item goes.
	from := make([]uint32, threads+2)
	for k, c := range f.chunks {
		for _, owner := range c.owners[:min(chunkSize, f.n-k*chunkSize)] {
			from[owner+2]++
		}
	}
	for t := range threads {
		from[t+2] += from[t+1]
	}
	items := make([]T, f.n)
	for k, c := range f.chunks {
		for i, owner := range c.owners[:min(chunkSize, f.n-k*chunkSize)] {
			items[from[owner+1]] = c.items[i]
			from[owner+1]++
		}
		f.chunks[k] = nil
	}
	*f = inflow[T]{}
	return column[T]{items, from[:threads+1]}
}

// texts keeps each string once. Text 0 is [NoText].
type texts struct {
	all   []string
	known map[string]TextID
}

func newTexts() texts {
	return texts{all: []string{""}, known: make(map[string]TextID)}
}

func (x *texts) get(id TextID) string { return x.all[id] }

func (x *texts) add(b []byte) TextID {
	if id, ok := x.known[string(b)]; ok {
		return id
	}
	id, s := TextID(len(x.all)), string(b)
	x.all = append(x.all, s)
	x.known[s] = id
	return id
}

var typeNames = func() (names [256]string) {
	for i := range names {
		names[i] = strings.ToLower(event.ThreadType(i).String())
	}
	return names
}()
