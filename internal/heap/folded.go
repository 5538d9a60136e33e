package heap

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

// own returns the sum of the amounts of each node's own sites.
func (s *Stacks) own(amounts []int64) []int64 {
	own := make([]int64, len(s.nodes))
	for i, n := range amounts {
		own[s.sites[i].node] += n
	}
	return own
}

// totals adds to each node what the nodes below it have. A node comes after
// its parent.
func (s *Stacks) totals(own []int64) []int64 {
	sum := slices.Clone(own)
	for n := len(sum) - 1; n > 0; n-- {
		sum[s.nodes[n].parent] += sum[n]
	}
	return sum
}

// ordered returns the nodes below each node, sorted by name: those of n are
// list[first[n]:first[n+1]].
func (s *Stacks) ordered() (list []Node, first []uint32) {
	rank := s.ranks()
	first = make([]uint32, len(s.nodes)+1)
	for n := 1; n < len(s.nodes); n++ {
		first[s.nodes[n].parent+1]++
	}
	for n := range s.nodes {
		first[n+1] += first[n]
	}
	list = make([]Node, len(s.nodes)-1)
	next := slices.Clone(first)
	for n := 1; n < len(s.nodes); n++ {
		p := s.nodes[n].parent
		list[next[p]] = Node(n)
		next[p]++
	}
	for n := range s.nodes {
		if c := list[first[n]:first[n+1]]; len(c) > 1 {
			slices.SortFunc(c, func(a, b Node) int { return int(rank[s.nodes[a].key]) - int(rank[s.nodes[b].key]) })
		}
	}
	return list, first
}

// ranks returns the place of each function in the order of the names.
func (s *Stacks) ranks() []uint32 {
	order := make([]uint32, len(s.names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(s.names[a], s.names[b]) })
	rank := make([]uint32, len(order))
	for i, f := range order {
		rank[f] = uint32(i)
	}
	return rank
}

// WriteFolded writes the amounts of the sites as folded stacks: one line
// "outer;…;inner amount" per call stack that has an amount of its own and at
// least two functions. The lines are those of the original's flamegraph.
func (s *Stacks) WriteFolded(w io.Writer, amounts []int64) error {
	b := bufio.NewWriterSize(w, 1<<16)
	own := s.own(amounts)
	list, first := s.ordered()
	type open struct {
		next uint32 // in list: the child to go to
		end  uint32
		text int // length of the line without the node
	}
	var line []byte
	var amount []byte
	stack := []open{{first[0], first[1], 0}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == top.end {
			line = line[:top.text]
			stack = stack[:len(stack)-1]
			continue
		}
		n := list[top.next]
		top.next++
		text := len(line)
		if len(stack) > 1 {
			line = append(line, ';')
		}
		line = append(line, s.Func(n)...)
		if own[n] > 0 && len(stack) > 1 {
			amount = append(strconv.AppendInt(append(amount[:0], ' '), own[n], 10), '\n')
			b.Write(line)
			b.Write(amount)
		}
		stack = append(stack, open{first[n], first[n+1], text})
	}
	return b.Flush()
}
