package heap

import (
	"cmp"
	"slices"
	"strings"
)

// Function is what a selection has of a function, in samples.
type Function struct {
	Name   string
	Self   int64 // allocated by the function itself
	Blocks int64 // by itself
	Total  int64 // by it and everything that it called
	Live   int64 // of Self, what is alive at the end
}

// Functions returns the functions that are on the stacks of the selection, by
// name.
func (s *Selection) Functions() []Function {
	st := s.Blocks.Stacks
	_, sum := s.sums()
	all := make([]Function, len(st.names))
	for n := 1; n < len(sum); n++ {
		all[st.nodes[n].key].Total += sum[n] // once per stack: a function is in it once
	}
	key := make([]uint32, len(st.sites))
	for i, site := range st.sites {
		key[i] = st.nodes[site.node].key
		if site.node == 0 {
			continue
		}
		all[key[i]].Self += s.Profile.Samples[i]
		all[key[i]].Blocks += s.Profile.Blocks[i]
	}
	for i, live := range s.liveBySite() {
		if st.sites[i].node != 0 {
			all[key[i]].Live += live
		}
	}
	list := all[:0]
	for i, f := range all {
		if f.Total > 0 {
			f.Name = st.names[i]
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// liveBySite returns the samples of each site that are alive at the end.
func (s *Selection) liveBySite() []int64 {
	b := s.Blocks
	live := make([]int64, len(b.Stacks.sites))
	s.each(func(i int) {
		if b.death[i] == never {
			live[b.site[i]] += int64(b.samples[i])
		}
	})
	return live
}

// Neighbor is a function that calls another one, or is called by it, and how
// much went through the two: samples.
type Neighbor struct {
	Name    string
	Samples int64
}

// Neighbors returns what calls a function and what it calls, the most first.
func (s *Selection) Neighbors(name string) (callers, callees []Neighbor) {
	st := s.Blocks.Stacks
	key, ok := st.byName[name]
	if !ok {
		return nil, nil
	}
	_, sum := s.sums()
	up, down := map[uint32]int64{}, map[uint32]int64{}
	for n := 1; n < len(sum); n++ {
		if sum[n] == 0 {
			continue
		}
		node := &st.nodes[n]
		if node.key == key && node.parent != 0 {
			up[st.nodes[node.parent].key] += sum[n]
		}
		if node.parent != 0 && st.nodes[node.parent].key == key {
			down[node.key] += sum[n]
		}
	}
	return st.neighbors(up), st.neighbors(down)
}

func (s *Stacks) neighbors(amounts map[uint32]int64) []Neighbor {
	list := make([]Neighbor, 0, len(amounts))
	for key, samples := range amounts {
		list = append(list, Neighbor{s.names[key], samples})
	}
	slices.SortFunc(list, func(a, b Neighbor) int { return most(a.Samples, b.Samples, a.Name, b.Name) })
	return list
}

// Way is a call stack that much of a selection goes through.
type Way struct {
	Stack   []string // the outermost function first
	Samples int64    // allocated at its end and below
	Self    int64    // at its end
}

// Ways returns the hot paths of a selection: the longest call stacks that have
// at least a share of it, so that none of them is the beginning of another.
// There are at most 1/share of them, the most first.
func (s *Selection) Ways(share float64) []Way {
	st := s.Blocks.Stacks
	own, sum := s.sums()
	least := max(1, int64(share*float64(s.Samples)))
	goesOn := make([]bool, len(sum))
	var list []Way
	for n := len(sum) - 1; n > 0; n-- {
		if sum[n] < least {
			continue
		}
		goesOn[st.nodes[n].parent] = true
		if !goesOn[n] {
			list = append(list, Way{st.Stack(nil, Node(n)), sum[n], own[n]})
		}
	}
	slices.SortStableFunc(list, func(a, b Way) int { return cmp.Compare(b.Samples, a.Samples) })
	return list
}

// Found is what a search finds in a selection.
type Found struct {
	Functions int   // that match
	Samples   int64 // of the stacks that one of them is on
}

// Find searches the functions: for a text that their name has anywhere in it,
// whatever the case, or as a [Clause] does it for a /regular expression/.
func (s *Selection) Find(query string) (Found, error) {
	match, err := Finder(query)
	if err != nil {
		return Found{}, err
	}
	st := s.Blocks.Stacks
	_, sum := s.sums()
	keys := make([]bool, len(st.names))
	for i, name := range st.names {
		keys[i] = match(name)
	}
	in, used := make([]bool, len(sum)), make([]bool, len(keys))
	var f Found
	for n := 1; n < len(sum); n++ {
		node := &st.nodes[n]
		in[n] = in[node.parent]
		if !keys[node.key] || sum[n] == 0 {
			continue
		}
		if !used[node.key] {
			used[node.key] = true
			f.Functions++
		}
		if !in[n] {
			f.Samples += sum[n]
			in[n] = true
		}
	}
	return f, nil
}

// Finder returns what decides whether a search finds a function.
func Finder(query string) (func(name string) bool, error) {
	if strings.HasPrefix(query, "/") && len(query) > 1 {
		return namer(query)
	}
	text := strings.ToLower(query)
	return func(name string) bool { return text != "" && strings.Contains(strings.ToLower(name), text) }, nil
}
