package heap

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/mirador-trace/mirador/memtrace"
)

// What says what a [Clause] is about.
type What uint8

// The kinds of clauses. From and To are in µs since the Unix epoch, in bytes
// for OfSize, in µs for OfLifetime, and both ends are within.
const (
	AllocatedIn    What = iota // when the block was allocated
	AliveIn                    // some time at which it was alive
	CollectedIn                // when it was collected
	NeverCollected             // it was not collected
	AliveAtPeak                // it was alive when the whole trace had the most
	AliveAtEnd                 // it was alive at the end: the same as NeverCollected
	OfSize                     // without its header
	OfLifetime                 // of one that was not collected only what is known: it fits From, but no To
	Survived                   // its first collection
	Young                      // it is not known to have survived a collection
	Inside                     // a function that Text names is on its stack
	Outside                    // none of them is
	OfSource                   // Text is minor, major or external
	OfDomain                   // From is the number of the domain that allocated it
	OfGoroutine                // From is the number of the goroutine that allocated it
	numWhat
)

var whatNames = [numWhat]string{
	AllocatedIn: "allocated", AliveIn: "alive", CollectedIn: "collected", NeverCollected: "never", AliveAtPeak: "peak", AliveAtEnd: "end",
	OfSize: "size", OfLifetime: "lifetime", Survived: "survived", Young: "young", Inside: "inside", Outside: "outside",
	OfSource: "source", OfDomain: "domain", OfGoroutine: "goroutine",
}

func (w What) String() string {
	if w < numWhat {
		return whatNames[w]
	}
	return fmt.Sprintf("what %d", uint8(w))
}

// WhatByName returns the kind that is called so.
func WhatByName(name string) (What, bool) {
	i := slices.Index(whatNames[:], name)
	return What(max(i, 0)), i >= 0
}

// Clause is a condition on blocks. A function is named in Text as it is, a
// module as "Module.*", which also has what is within it, and any of several
// as "/regular expression/".
type Clause struct {
	What     What
	From, To int64
	Text     string
}

// set is a set of blocks; nil is all of them.
type set []uint64

func (s set) has(i uint32) bool { return s == nil || s[i>>6]>>(i&63)&1 != 0 }

// full returns the set of the first n.
func full(n int) set {
	s := make(set, (n+63)/64)
	for i := range s {
		s[i] = ^uint64(0)
	}
	if n%64 != 0 {
		s[len(s)-1] = 1<<(n%64) - 1
	}
	return s
}

// keep takes away those that ok does not hold for.
func (s set) keep(ok func(i int) bool) {
	for k, w := range s {
		for rest := w; rest != 0; rest &= rest - 1 {
			bit := bits.TrailingZeros64(rest)
			if !ok(k<<6 + bit) {
				w &^= 1 << bit
			}
		}
		s[k] = w
	}
}

// each calls f for each of them, in order.
func (s set) each(f func(i int)) {
	for k, w := range s {
		for ; w != 0; w &= w - 1 {
			f(k<<6 + bits.TrailingZeros64(w))
		}
	}
}

// only keeps those from a first up to, but without, a last.
func (s set) only(from, to int) {
	for k := range s {
		low, high := k<<6, k<<6+64
		switch {
		case high <= from || low >= to:
			s[k] = 0
		case low < from || high > to:
			mask := ^uint64(0)
			if low < from {
				mask &= ^uint64(0) << (from - low)
			}
			if high > to {
				mask &= ^uint64(0) >> (high - to)
			}
			s[k] &= mask
		}
	}
}

// match returns the blocks that all clauses hold for.
func (b *Blocks) match(clauses []Clause) (set, error) {
	if len(clauses) == 0 {
		return nil, nil
	}
	s := full(b.Len())
	for i := range clauses {
		if err := b.restrict(s, &clauses[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (b *Blocks) restrict(s set, c *Clause) error {
	switch c.What {
	case AllocatedIn:
		from := sort.Search(len(b.birth), func(i int) bool { return b.birth[i] >= c.From })
		s.only(from, sort.Search(len(b.birth), func(i int) bool { return b.birth[i] > c.To }))
	case AliveIn:
		s.only(0, sort.Search(len(b.birth), func(i int) bool { return b.birth[i] > c.To }))
		s.keep(func(i int) bool { return b.death[i] > c.From })
	case CollectedIn:
		s.keep(func(i int) bool { return b.death[i] >= c.From && b.death[i] <= c.To && b.death[i] != never })
	case NeverCollected, AliveAtEnd:
		s.keep(func(i int) bool { return b.death[i] == never })
	case AliveAtPeak:
		b.intersect(s, b.aliveAfter(int(b.whole().Peak.Events)))
	case OfSize:
		s.keep(func(i int) bool { v := b.bytes(i); return v >= c.From && v <= c.To })
	case OfLifetime:
		s.keep(func(i int) bool {
			v := b.lived(i)
			return v >= c.From && v <= c.To && (b.death[i] != never || c.To == never)
		})
	case Survived:
		s.keep(func(i int) bool { return b.flags[i]&isPromoted != 0 })
	case Young:
		s.keep(func(i int) bool { return b.flags[i]&isPromoted == 0 })
	case Inside, Outside:
		return b.restrictStacks(s, c)
	case OfSource:
		return b.restrictSource(s, c.Text)
	case OfDomain:
		s.keep(func(i int) bool { return int64(b.domain[i]) == c.From })
	case OfGoroutine:
		s.keep(func(i int) bool { return b.goroutine != nil && int64(b.goroutine[i]) == c.From })
	default:
		return fmt.Errorf("unknown clause %v", c.What)
	}
	return nil
}

func (b *Blocks) intersect(s, other set) {
	for i := range s {
		s[i] &= other[i]
	}
}

// aliveAfter returns what is alive after so many events of the order.
func (b *Blocks) aliveAfter(events int) set {
	s := make(set, (b.Len()+63)/64)
	for _, e := range b.order[:events] {
		s[e>>7] ^= 1 << (e >> 1 & 63)
	}
	return s
}

func (b *Blocks) restrictSource(s set, name string) error {
	for _, source := range []memtrace.Source{memtrace.Minor, memtrace.Major, memtrace.External} {
		if source.String() == name {
			s.keep(func(i int) bool { return b.flags[i]&sourceBits == uint8(source) })
			return nil
		}
	}
	return fmt.Errorf("no source %q: minor, major or external", name)
}

// restrictStacks keeps what has, or has not, a function on its stack.
func (b *Blocks) restrictStacks(s set, c *Clause) error {
	keys, err := b.Stacks.functions(c.Text)
	if err != nil {
		return err
	}
	in := make([]bool, len(b.Stacks.nodes)) // a node comes after its parent
	for n := 1; n < len(in); n++ {
		node := &b.Stacks.nodes[n]
		in[n] = in[node.parent] || keys[node.key]
	}
	ok := make([]bool, len(b.Stacks.sites))
	for i := range ok {
		ok[i] = in[b.Stacks.sites[i].node] == (c.What == Inside)
	}
	s.keep(func(i int) bool { return ok[b.site[i]] })
	return nil
}

// errNoPattern is for a text that names no functions.
var errNoPattern = errors.New("the name of a function is missing")

// functions returns, by number, which functions a text names.
func (s *Stacks) functions(text string) ([]bool, error) {
	match, err := namer(text)
	if err != nil {
		return nil, err
	}
	keys := make([]bool, len(s.names))
	for i, name := range s.names {
		keys[i] = match(name)
	}
	return keys, nil
}

// namer returns what decides whether a function is named by a text.
func namer(text string) (func(name string) bool, error) {
	switch {
	case text == "":
		return nil, errNoPattern
	case len(text) > 1 && text[0] == '/':
		re, err := regexp.Compile("(?i)" + strings.TrimSuffix(text[1:], "/"))
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	case strings.HasSuffix(text, ".*"):
		module := strings.TrimSuffix(text, ".*")
		return func(name string) bool {
			m := Module(name)
			return m == module || strings.HasPrefix(m, module) && strings.ContainsRune("./", rune(m[len(module)]))
		}, nil
	}
	return func(name string) bool { return name == text }, nil
}

// Module returns the module or package that a function belongs to: for
// "Stdlib.List.map" it is "Stdlib.List", for "net/http.(*Server).Serve" it is
// "net/http". A name without one is its own module.
func Module(name string) string {
	slash := strings.LastIndexByte(name, '/')
	if paren := strings.IndexAny(name, "(["); paren >= 0 && slash > paren {
		slash = strings.LastIndexByte(name[:paren], '/')
	}
	rest := name[slash+1:]
	if slash >= 0 || goStyle(rest) { // Go: up to the first dot behind the path
		if dot := strings.IndexByte(rest, '.'); dot > 0 {
			return name[:slash+1+dot]
		}
		return name
	}
	// OCaml: as long as the parts begin with an upper-case letter.
	end := 0
	for end < len(name) {
		dot := strings.IndexByte(name[end:], '.')
		if dot <= 0 || name[end] < 'A' || name[end] > 'Z' {
			break
		}
		end += dot + 1
	}
	if end == 0 {
		return name
	}
	return name[:end-1]
}

// goStyle says that a name is one of Go: packages begin in lower case.
func goStyle(name string) bool { return len(name) > 0 && name[0] >= 'a' && name[0] <= 'z' }
