package heap

import (
	"cmp"
	"slices"
)

// tree is what a Stacks looks like from above: made once, when it does not
// grow any more.
type tree struct {
	list  []Node // the nodes below each, by name: see [Stacks.ordered]
	first []uint32
	rank  []uint32 // of each function among the names
	deep  int      // the most functions in a stack
}

func (s *Stacks) tree() tree {
	t := tree{rank: s.ranks()}
	t.list, t.first = s.ordered()
	depth := make([]int32, len(s.nodes))
	for n := 1; n < len(depth); n++ {
		depth[n] = depth[s.nodes[n].parent] + 1
		t.deep = max(t.deep, int(depth[n]))
	}
	return t
}

// Box is a box of an [Icicle]: the same functions, called one by the other.
// Its amounts are samples, or bytes when two selections are compared.
type Box struct {
	X, W   float64 // where it begins, from the left, and how wide it is
	Base   float64 // the part of W that is the other selection's
	Self   float64 // what is in no box below
	Func   int32   // a number of the icicle's own for the function; FuncAll or FuncRest
	Depth  int32
	Parent int32 // a box; -1 for the first
	Node   Node  // one of those that it stands for, of the innermost function when inverted
	Theirs bool  // Node is one of the other selection's
}

// What Box.Func is for boxes that are no function.
const (
	FuncAll  = -1 // the first: everything
	FuncRest = -2 // what is too narrow to be drawn, of one parent
)

// Icicle is a selection as a flame graph: boxes within boxes, each as wide as
// what was allocated there. Boxes are in order of depth, and from left to
// right.
type Icicle struct {
	Boxes []Box
	Rows  []int   // the first box of each depth
	Focus int     // the box that is as wide as the graph and has nothing but ancestors above
	Whole float64 // what the first box has without a focus
	Base  float64 // the other selection's part of it
	Full  bool    // there would be more than fits

	names []string
}

// Name returns the function of a box.
func (c *Icicle) Name(b *Box) string {
	switch b.Func {
	case FuncAll:
		return "all"
	case FuncRest:
		return "…"
	}
	return c.names[b.Func]
}

// Path returns the functions of a box, the one nearest to the first box first.
func (c *Icicle) Path(box int) []string {
	var path []string
	for i := box; i > 0; i = int(c.Boxes[i].Parent) {
		if b := &c.Boxes[i]; b.Func >= 0 {
			path = append(path, c.names[b.Func])
		}
	}
	slices.Reverse(path)
	return path
}

// Shape says how an icicle is made. The zero value shows everything from the
// outermost functions inwards.
type Shape struct {
	Inverted bool       // from the innermost functions outwards
	Hidden   []string   // functions that are left out as if inlined, named as in a [Clause]
	Focus    []string   // the way to the box that is to be as wide as the graph
	Least    float64    // the share of the whole that a box has at least; 0 means 1/2000
	Most     int        // boxes; 0 means 200,000
	Against  *Selection // what to compare with: boxes are as wide as both together
}

const (
	leastShare = 1.0 / 2000
	mostBoxes  = 200_000
)

// member is a node that a box stands for.
type member struct {
	node   Node // where its way has come to
	end    Node // where it began, when inverted
	theirs bool
	key    int32 // the function
	weight float64
}

// side is one of the selections that an icicle shows.
type side struct {
	stacks   *Stacks
	tree     *tree
	own, sum []int64
	key      []int32 // of each function: its number in the icicle
	hidden   []bool
	scale    float64
}

type sculptor struct {
	Icicle
	inverted bool
	sides    [2]side
	rank     []int32 // of the icicle's functions, in order of their names
	stack    []Node
}

// Icicle shapes a selection. The error is about Hidden.
func (s *Selection) Icicle(shape Shape) (*Icicle, error) {
	c := &sculptor{inverted: shape.Inverted}
	if err := c.prepare(s, shape); err != nil {
		return nil, err
	}
	least, most := cmp.Or(shape.Least, leastShare), cmp.Or(shape.Most, mostBoxes)
	group := c.roots()
	for _, m := range group {
		c.Whole += m.weight
		if m.theirs {
			c.Base += m.weight
		}
	}
	c.Boxes = append(c.Boxes, Box{W: c.Whole, Base: c.Base, Func: FuncAll, Parent: -1})
	group = c.focus(group, shape.Focus)
	c.grow(group, least*c.Boxes[c.Focus].W, most)
	for i := range c.Boxes {
		for len(c.Rows) <= int(c.Boxes[i].Depth) {
			c.Rows = append(c.Rows, i)
		}
	}
	return &c.Icicle, nil
}

func (c *sculptor) prepare(s *Selection, shape Shape) error {
	all := []*Selection{s}
	if shape.Against != nil {
		all = append(all, shape.Against)
	}
	known := map[string]int32{}
	for i, s := range all {
		x := &c.sides[i]
		x.stacks, x.tree, x.scale = s.Blocks.Stacks, &s.Blocks.tree, 1
		x.own, x.sum = s.sums()
		if shape.Against != nil && s.Blocks.Unit > 0 {
			x.scale = s.Blocks.Unit
		}
		x.key = make([]int32, len(x.stacks.names))
		for k, name := range x.stacks.names {
			n, ok := known[name]
			if !ok {
				n = int32(len(c.names))
				known[name] = n
				c.names = append(c.names, name)
			}
			x.key[k] = n
		}
		var err error
		if x.hidden, err = x.stacks.any(shape.Hidden); err != nil {
			return err
		}
	}
	if shape.Against == nil {
		c.rank = make([]int32, len(c.names))
		for i, r := range c.sides[0].tree.rank {
			c.rank[i] = int32(r)
		}
		return nil
	}
	order := make([]int32, len(c.names))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(c.names[a], c.names[b]) })
	c.rank = make([]int32, len(order))
	for i, k := range order {
		c.rank[k] = int32(i)
	}
	return nil
}

// any returns which functions one of several texts names; nil for no text.
func (s *Stacks) any(texts []string) ([]bool, error) {
	var all []bool
	for _, text := range texts {
		keys, err := s.functions(text)
		if err != nil {
			return nil, err
		}
		for i := range all {
			keys[i] = keys[i] || all[i]
		}
		all = keys
	}
	return all, nil
}

// Way returns the functions that lead to a node, as far as a shape shows them:
// those on the way from the outermost one inwards, or when inverted so many on
// the way from the node outwards. A node that there is not has none.
func (b *Blocks) Way(shape Shape, n Node, depth int) ([]string, error) {
	st := b.Stacks
	hidden, err := st.any(shape.Hidden)
	if err != nil || int(n) >= len(st.nodes) {
		return nil, err
	}
	var way []string
	for ; n != 0 && !(shape.Inverted && len(way) == depth); n = st.nodes[n].parent {
		if hidden == nil || !hidden[st.nodes[n].key] {
			way = append(way, st.Func(n))
		}
	}
	if !shape.Inverted {
		slices.Reverse(way)
	}
	return way, nil
}

// roots returns what the first box stands for.
func (c *sculptor) roots() []member {
	var group []member
	for i := range c.sides {
		x := &c.sides[i]
		if x.stacks == nil {
			continue
		}
		if !c.inverted {
			group = append(group, member{theirs: i == 1, weight: float64(x.sum[0]) * x.scale})
			continue
		}
		for n, own := range x.own {
			if own > 0 {
				group = append(group, member{node: Node(n), end: Node(n), theirs: i == 1, weight: float64(own) * x.scale})
			}
		}
	}
	return group
}

// below appends what lies one function further.
func (c *sculptor) below(list []member, m *member, first bool) []member {
	x := &c.sides[0]
	if m.theirs {
		x = &c.sides[1]
	}
	if c.inverted {
		n := m.node
		if !first && n != 0 {
			n = x.stacks.nodes[n].parent
		}
		for n != 0 && x.hides(n) {
			n = x.stacks.nodes[n].parent
		}
		if n == 0 {
			return list
		}
		next := *m
		next.node, next.key = n, x.key[x.stacks.nodes[n].key]
		return append(list, next)
	}
	c.stack = append(c.stack[:0], m.node)
	for len(c.stack) > 0 {
		n := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		for _, child := range x.tree.list[x.tree.first[n]:x.tree.first[n+1]] {
			switch {
			case x.sum[child] == 0:
			case x.hides(child):
				c.stack = append(c.stack, child)
			default:
				list = append(list, member{node: child, theirs: m.theirs,
					key: x.key[x.stacks.nodes[child].key], weight: float64(x.sum[child]) * x.scale})
			}
		}
	}
	return list
}

func (x *side) hides(n Node) bool { return x.hidden != nil && x.hidden[x.stacks.nodes[n].key] }

// expand returns what lies below a group, in order of the functions' names.
func (c *sculptor) expand(into []member, group []member, first bool) []member {
	from := len(into)
	for i := range group {
		into = c.below(into, &group[i], first)
	}
	byName := func(a, b member) int { return cmp.Compare(c.rank[a.key], c.rank[b.key]) }
	if !slices.IsSortedFunc(into[from:], byName) {
		slices.SortStableFunc(into[from:], byName)
	}
	return into
}

// next cuts the members of the first function off a list in order.
func next(list []member) (group, rest []member) {
	n := 1
	for n < len(list) && list[n].key == list[0].key {
		n++
	}
	return list[:n], list[n:]
}

// focus goes down the way to the box that is as wide as the graph. Where the
// way leads to nothing any more its boxes are there, and empty.
func (c *sculptor) focus(group []member, way []string) []member {
	number := map[string]int32{}
	if len(way) > 0 {
		for i, name := range c.names {
			number[name] = int32(i)
		}
	}
	for depth, name := range way {
		key, ok := number[name]
		if !ok {
			key = int32(len(c.names))
			c.names = append(c.names, name)
			number[name] = key
		}
		var found []member
		for rest := c.expand(nil, group, depth == 0); len(rest) > 0; {
			var g []member
			if g, rest = next(rest); g[0].key == key {
				found = g
				break
			}
		}
		b := Box{Func: key, Depth: int32(depth + 1), Parent: int32(depth)}
		b.sum(found)
		c.Boxes = append(c.Boxes, b)
		group = found
	}
	c.Focus = len(way)
	for i := range c.Boxes[:c.Focus] {
		b := &c.Boxes[i]
		b.Self = 0
		b.W, b.Base = c.Boxes[c.Focus].W, c.Boxes[c.Focus].Base
	}
	return group
}

// sum makes a box as wide as what it stands for.
func (b *Box) sum(group []member) {
	for i := range group {
		b.W += group[i].weight
		if group[i].theirs {
			b.Base += group[i].weight
		}
	}
	if len(group) > 0 {
		b.Node, b.Theirs = group[0].node, group[0].theirs
		if group[0].end != 0 {
			b.Node = group[0].end
		}
	}
}

// grow makes the boxes below the focus, row by row.
func (c *sculptor) grow(group []member, least float64, most int) {
	type open struct {
		box      int32
		from, to int // in members
	}
	members := group
	row := []open{{int32(c.Focus), 0, len(group)}}
	for len(row) > 0 {
		var lower []member
		var below []open
		for _, o := range row {
			parent := c.Boxes[o.box]
			x, left := parent.X, parent.W
			from := len(lower)
			lower = c.expand(lower, members[o.from:o.to], parent.Func == FuncAll)
			rest := Box{Func: FuncRest, Depth: parent.Depth + 1, Parent: o.box}
			for list := lower[from:]; len(list) > 0; {
				var g []member
				g, list = next(list)
				b := Box{X: x, Func: g[0].key, Depth: parent.Depth + 1, Parent: o.box}
				b.sum(g)
				left -= b.W
				if b.W < least || len(c.Boxes) >= most {
					rest.W += b.W
					rest.Base += b.Base
					c.Full = c.Full || b.W >= least
					continue
				}
				x += b.W
				at := len(lower) - len(list) - len(g)
				below = append(below, open{int32(len(c.Boxes)), at, at + len(g)})
				c.Boxes = append(c.Boxes, b)
			}
			c.Boxes[o.box].Self = max(0, left)
			if rest.W >= least && rest.W > 0 {
				rest.X = x
				c.Boxes = append(c.Boxes, rest)
			}
		}
		row, members = below, lower
	}
}
