package heap

import (
	"github.com/mirador-trace/mirador/memtrace"
)

// Node is a node of a [Stacks]: the functions on the way to it are those of a
// call stack, the outermost first. Node 0 is the empty stack.
type Node uint32

// Site is where something was allocated: a Node, and the place of the
// allocation itself. Sites are numbered from 0 on.
type Site uint32

// Stacks is a prefix tree of call stacks, by function. A function that comes
// again in the same stack is dropped, and its first place is kept, so that a
// recursion takes no room; an exact tree keeps every frame. The backtraces of
// traces are brought in through a [Walk] each; several may share a Stacks.
//
// A Node takes 24 bytes, a Site 12, and 8 each in a hash table.
type Stacks struct {
	exact bool // a node is a frame, not a function

	names  []string // of the functions
	byName map[string]uint32
	places []memtrace.Location // where things were allocated
	byLoc  map[memtrace.Location]uint32

	nodes    []node
	children index
	sites    []site
	bySite   index
}

type node struct {
	parent Node
	key    uint32 // a function, or a frame of an exact tree
	// The child that was asked for last.
	child    Node
	childKey uint32
}

type site struct {
	node  Node
	place uint32
}

// NewStacks returns an empty tree.
func NewStacks() *Stacks {
	s := &Stacks{byName: map[string]uint32{}, byLoc: map[memtrace.Location]uint32{}}
	s.nodes = []node{{}}
	s.name(unknown)
	s.place(memtrace.Location{Func: unknown})
	return s
}

// NewExactStacks returns an empty tree that keeps every frame. It takes the
// backtraces of one Walk.
func NewExactStacks() *Stacks {
	s := NewStacks()
	s.exact = true
	return s
}

// unknown names what the trace does not tell.
const unknown = "(unknown)"

// index is a hash table from a pair of numbers to a number.
type index struct {
	slots []uint32 // the number + 1
	n     int
}

func hash(a, b uint32) uint32 {
	h := (uint64(a)<<32 | uint64(b)) * 0x9e3779b97f4a7c15
	return uint32(h >> 32)
}

// Nodes returns how many nodes there are, the root included.
func (s *Stacks) Nodes() int { return len(s.nodes) }

// Sites returns how many sites there are.
func (s *Stacks) Sites() int { return len(s.sites) }

// Parent returns the node without its last function.
func (s *Stacks) Parent(n Node) Node { return s.nodes[n].parent }

// Func returns the last function of a node, "" for the root.
func (s *Stacks) Func(n Node) string {
	if n == 0 {
		return ""
	}
	return s.names[s.nodes[n].key]
}

// Stack appends the functions of a node to list, the outermost first.
func (s *Stacks) Stack(list []string, n Node) []string {
	start := len(list)
	for ; n != 0; n = s.nodes[n].parent {
		list = append(list, s.Func(n))
	}
	for i, j := start, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// Node returns the call stack of a site.
func (s *Stacks) Node(i Site) Node { return s.sites[i].node }

// Place returns the place in the program where a site allocates: the
// innermost that is known.
func (s *Stacks) Place(i Site) memtrace.Location { return s.places[s.sites[i].place] }

// name returns the number of a function.
func (s *Stacks) name(text string) uint32 {
	if i, ok := s.byName[text]; ok {
		return i
	}
	i := uint32(len(s.names))
	s.names = append(s.names, text)
	s.byName[text] = i
	return i
}

func (s *Stacks) place(l memtrace.Location) uint32 {
	if i, ok := s.byLoc[l]; ok {
		return i
	}
	i := uint32(len(s.places))
	s.places = append(s.places, l)
	s.byLoc[l] = i
	return i
}

// step returns the node for key below n.
func (s *Stacks) step(n Node, key uint32) Node {
	if p := &s.nodes[n]; p.childKey == key && p.child != 0 {
		return p.child
	}
	return s.find(n, key)
}

func (s *Stacks) find(n Node, key uint32) Node {
	x := &s.children
	if 2*x.n >= len(x.slots) {
		x.slots = make([]uint32, max(1024, 2*len(x.slots)))
		mask := uint32(len(x.slots) - 1)
		for c := 1; c < len(s.nodes); c++ {
			i := hash(uint32(s.nodes[c].parent), s.nodes[c].key) & mask
			for x.slots[i] != 0 {
				i = (i + 1) & mask
			}
			x.slots[i] = uint32(c) + 1
		}
	}
	mask := uint32(len(x.slots) - 1)
	i := hash(uint32(n), key) & mask
	for ; x.slots[i] != 0; i = (i + 1) & mask {
		c := Node(x.slots[i] - 1)
		if s.nodes[c].parent == n && s.nodes[c].key == key {
			s.nodes[n].child, s.nodes[n].childKey = c, key
			return c
		}
	}
	c := Node(len(s.nodes))
	x.slots[i] = uint32(c) + 1
	x.n++
	s.nodes = append(s.nodes, node{parent: n, key: key})
	s.nodes[n].child, s.nodes[n].childKey = c, key
	return c
}

// site returns the site at a place below n.
func (s *Stacks) site(n Node, place uint32) Site {
	x := &s.bySite
	if 2*x.n >= len(x.slots) {
		x.slots = make([]uint32, max(1024, 2*len(x.slots)))
		mask := uint32(len(x.slots) - 1)
		for c, t := range s.sites {
			i := hash(uint32(t.node), t.place) & mask
			for x.slots[i] != 0 {
				i = (i + 1) & mask
			}
			x.slots[i] = uint32(c) + 1
		}
	}
	mask := uint32(len(x.slots) - 1)
	i := hash(uint32(n), place) & mask
	for ; x.slots[i] != 0; i = (i + 1) & mask {
		if t := s.sites[x.slots[i]-1]; t.node == n && t.place == place {
			return Site(x.slots[i] - 1)
		}
	}
	c := Site(len(s.sites))
	x.slots[i] = uint32(c) + 1
	x.n++
	s.sites = append(s.sites, site{n, place})
	return c
}
