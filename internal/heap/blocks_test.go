package heap

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/memprof/note"
	"github.com/mirador-trace/mirador/memtrace"
)

// plain is a block as a trace tells it, with nothing computed.
type plain struct {
	birth, death int64 // never
	bornAt       int   // the number of the event, of allocations and deaths
	diedAt       int
	bytes        int64
	samples      int64
	stack        []string // functions, recursion folded
	domain       int64
	source       memtrace.Source
	promoted     bool
}

// plainly reads a trace the simple way.
func plainly(t testing.TB, name string) (all []*plain, end int64, events int) {
	t.Helper()
	r := open(t, name)
	info := r.Info()
	ids := map[uint64]*plain{}
	now := int64(math.MinInt64)
	var ev memtrace.Event
	die := func(id uint64) {
		if p := ids[id]; p != nil {
			p.death, p.diedAt = now, events
			events++
			delete(ids, id)
		}
	}
	for r.Next(&ev) == nil {
		now = max(now, ev.Time)
		switch ev.Kind {
		case memtrace.Alloc:
			die(ev.ID)
			p := &plain{birth: now, death: never, bornAt: events, diedAt: math.MaxInt, samples: ev.Samples,
				bytes: ev.Length * int64(info.WordSize) / 8, domain: int64(ev.Domain), source: ev.Source}
			events++
			for _, f := range ev.Stack {
				for _, l := range r.Locations(nil, f) {
					if !slices.Contains(p.stack, l.Func) {
						p.stack = append(p.stack, l.Func)
					}
				}
			}
			ids[ev.ID] = p
			all = append(all, p)
		case memtrace.Promote:
			if p := ids[ev.ID]; p != nil {
				p.promoted = true
			}
		case memtrace.Collect:
			die(ev.ID)
		}
	}
	return all, now, events
}

func blocks(t testing.TB, name string) *Blocks {
	t.Helper()
	b, err := ReadBlocks(open(t, name), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// curve is what is alive after each event, by simple counting.
func curve(all []*plain, events int) []int64 {
	change := make([]int64, events)
	for _, p := range all {
		change[p.bornAt] += p.samples
		if p.death != never {
			change[p.diedAt] -= p.samples
		}
	}
	live := int64(0)
	for i, c := range change {
		live += c
		change[i] = live
	}
	return change
}

// obeys says whether a clause holds for a block, by the words of its
// documentation.
func obeys(p *plain, c *Clause, end int64, peak int) bool {
	within := func(v int64) bool { return v >= c.From && v <= c.To }
	inside := func() bool {
		match, err := namer(c.Text)
		if err != nil {
			panic(err)
		}
		return slices.ContainsFunc(p.stack, match)
	}
	switch c.What {
	case AllocatedIn:
		return within(p.birth)
	case AliveIn:
		return p.birth <= c.To && p.death > c.From
	case CollectedIn:
		return p.death != never && within(p.death)
	case NeverCollected, AliveAtEnd:
		return p.death == never
	case AliveAtPeak:
		return p.bornAt <= peak && p.diedAt > peak
	case OfSize:
		return within(p.bytes)
	case OfLifetime:
		if p.death == never {
			return c.To == never && end-p.birth >= c.From
		}
		return within(p.death - p.birth)
	case Survived:
		return p.promoted
	case Young:
		return !p.promoted
	case Inside:
		return inside()
	case Outside:
		return !inside()
	case OfSource:
		return p.source.String() == c.Text
	case OfDomain:
		return p.domain == c.From
	}
	panic(c.What)
}

// clauses makes clauses up that fit a trace.
func clauses(rnd *rand.Rand, all []*plain, b *Blocks) []Clause {
	some := func() *plain { return all[rnd.IntN(len(all))] }
	list := make([]Clause, 1+rnd.IntN(3))
	for i := range list {
		c := &list[i]
		c.What = What(rnd.IntN(int(OfGoroutine)))
		p, q := some(), some()
		switch c.What {
		case AllocatedIn, AliveIn, CollectedIn:
			c.From, c.To = min(p.birth, q.birth), max(p.birth, q.birth)
			if rnd.IntN(4) == 0 {
				c.From = c.To
			}
		case OfSize:
			c.From, c.To = min(p.bytes, q.bytes), max(p.bytes, q.bytes)
		case OfLifetime:
			c.From, c.To = rnd.Int64N(b.End-b.Begin+2)/int64(1+rnd.IntN(1000)), never
			if rnd.IntN(2) == 0 {
				c.To = c.From + rnd.Int64N(b.End-b.Begin+2)
			}
		case Inside, Outside:
			c.Text = "main"
			if len(p.stack) > 0 {
				c.Text = p.stack[rnd.IntN(len(p.stack))]
			}
			switch rnd.IntN(3) {
			case 0:
				c.Text = Module(c.Text) + ".*"
			case 1:
				c.Text = "/^" + strings.ToUpper(c.Text[:1]) + "/"
			}
			if _, err := namer(c.Text); err != nil { // a name that is no regular expression
				c.Text = "main"
			}
		case OfSource:
			c.Text = p.source.String()
		case OfDomain:
			c.From = p.domain
		}
	}
	return list
}

// TestSelect compares selections with what simple counting over the trace
// gives: their size, their peak, and what is alive at any time.
func TestSelect(t *testing.T) {
	for _, name := range []string{"leak_v3_1e-5", "json_v2_1e-3", "ext_v3_1e-2", "domains5_v3", "viewer_test"} {
		t.Run(name, func(t *testing.T) {
			all, end, events := plainly(t, name)
			b := blocks(t, name)
			if len(all) != b.Len() || end != b.End {
				t.Fatalf("%d blocks up to %d; want %d up to %d", b.Len(), b.End, len(all), end)
			}
			peak, most := 0, int64(0)
			for i, live := range curve(all, events) {
				if live > most {
					peak, most = i, live
				}
			}
			rnd := rand.New(rand.NewPCG(1, uint64(len(all))))
			for try := range 60 {
				list := clauses(rnd, all, b)
				if try == 0 {
					list = nil
				}
				s, err := b.Select(list)
				if err != nil {
					t.Fatalf("%v: %v", list, err)
				}
				var some []*plain
				samples := int64(0)
				for _, p := range all {
					if !slices.ContainsFunc(list, func(c Clause) bool { return !obeys(p, &c, end, peak) }) {
						some = append(some, p)
						samples += p.samples
					}
				}
				if s.Count != int64(len(some)) || s.Samples != samples {
					t.Fatalf("%v: %d blocks of %d samples; want %d of %d", list, s.Count, s.Samples, len(some), samples)
				}
				checkCourse(t, fmt.Sprint(list), rnd, s, some, events)
			}
		})
	}
}

func checkCourse(t *testing.T, of string, rnd *rand.Rand, s *Selection, some []*plain, events int) {
	t.Helper()
	b, c := s.Blocks, s.Course()
	live := curve(some, events)
	if most := max(0, slices.Max(live)); c.Peak.Live != most || most > 0 && live[c.Peak.Events-1] != most {
		t.Fatalf("%s: a peak of %+v; want %d", of, c.Peak, most)
	}
	if last := live[len(live)-1]; c.End != last {
		t.Fatalf("%s: %d samples alive at the end; want %d", of, c.End, last)
	}
	from := b.Begin + rnd.Int64N(b.End-b.Begin+1)
	to := from + 1 + rnd.Int64N(b.End-from+1)
	n := 1 + rnd.IntN(100)
	steps := c.Steps(from, to, n)
	at := 0
	last := int64(0)
	for ; at < events && b.at(at) < from; at++ {
		last = live[at]
	}
	for i, got := range steps {
		want := Step{last, last, last}
		end := from + int64(float64(to-from)*float64(i+1)/float64(n))
		for ; at < events && b.at(at) < end; at++ {
			last = live[at]
			want = Step{min(want.Low, last), max(want.High, last), last}
		}
		if got != want {
			t.Fatalf("%s: step %d of %d from %d to %d is %+v; want %+v", of, i, n, from, to, got, want)
		}
	}
}

// want is what a flame graph has at each path, by simple counting.
func wantBoxes(some []*plain, inverted bool, hidden string, add func(path string, samples int64, self bool)) {
	match := func(string) bool { return false }
	if hidden != "" {
		match, _ = namer(hidden)
	}
	for _, p := range some {
		stack := slices.DeleteFunc(slices.Clone(p.stack), match)
		if inverted {
			slices.Reverse(stack)
		}
		for i := range len(stack) + 1 {
			add(strings.Join(stack[:i], ";"), p.samples, i == len(stack))
		}
	}
}

// TestIcicle compares every box with what simple counting gives.
func TestIcicle(t *testing.T) {
	for _, name := range []string{"leak_v3_1e-5", "json_v2_1e-3", "domains5_v3", "viewer_test"} {
		all, end, _ := plainly(t, name)
		b := blocks(t, name)
		half := Clause{What: AllocatedIn, From: b.Begin, To: (b.Begin + b.End) / 2}
		s, err := b.Select([]Clause{half})
		if err != nil {
			t.Fatal(err)
		}
		var some []*plain
		for _, p := range all {
			if obeys(p, &half, end, 0) {
				some = append(some, p)
			}
		}
		hidden := ""
		for _, p := range some {
			if len(p.stack) > 2 {
				hidden = p.stack[len(p.stack)/2]
			}
		}
		for _, shape := range []Shape{{}, {Inverted: true}, {Hidden: []string{hidden}}, {Inverted: true, Hidden: []string{hidden}}} {
			shape.Least, shape.Most = 1e-12, 1<<30
			c, err := s.Icicle(shape)
			if err != nil {
				t.Fatal(err)
			}
			total, self := map[string]float64{}, map[string]float64{}
			wantBoxes(some, shape.Inverted, strings.Join(shape.Hidden, ""), func(path string, samples int64, leaf bool) {
				total[path] += float64(samples)
				if leaf {
					self[path] += float64(samples)
				}
			})
			if len(c.Boxes) != len(total) {
				t.Errorf("%s: %+v: %d boxes; want %d", name, shape, len(c.Boxes), len(total))
			}
			for i := range c.Boxes {
				box := &c.Boxes[i]
				path := strings.Join(c.Path(i), ";")
				if box.W != total[path] || box.Self != self[path] {
					t.Fatalf("%s: %+v: %q has %g, %g of its own; want %g, %g", name, shape, path, box.W, box.Self, total[path], self[path])
				}
				if p := box.Parent; p >= 0 && (box.X < c.Boxes[p].X || box.X+box.W > c.Boxes[p].X+c.Boxes[p].W) {
					t.Fatalf("%s: %q is not within its parent", name, path)
				}
			}
			checkFocus(t, s, shape, c, total)
		}
	}
}

// checkFocus zooms to some boxes, and compares what is below them.
func checkFocus(t *testing.T, s *Selection, shape Shape, whole *Icicle, total map[string]float64) {
	t.Helper()
	for i := 1; i < len(whole.Boxes); i += 1 + len(whole.Boxes)/20 {
		shape.Focus = whole.Path(i)
		c, err := s.Icicle(shape)
		if err != nil {
			t.Fatal(err)
		}
		f := &c.Boxes[c.Focus]
		if way, err := s.Blocks.Way(shape, whole.Boxes[i].Node, int(whole.Boxes[i].Depth)); err != nil || !slices.Equal(way, shape.Focus) {
			t.Fatalf("the way to %v is %v, %v", shape.Focus, way, err)
		}
		if f.W != whole.Boxes[i].W || f.X != 0 || f.Self != whole.Boxes[i].Self {
			t.Fatalf("focus on %v: %g wide; want %g", shape.Focus, f.W, whole.Boxes[i].W)
		}
		if c.Whole != float64(s.Samples) {
			t.Fatalf("focus on %v: the whole is %g; want %d", shape.Focus, c.Whole, s.Samples)
		}
		for k := c.Focus; k < len(c.Boxes); k++ {
			if path := strings.Join(c.Path(k), ";"); c.Boxes[k].W != total[path] {
				t.Fatalf("focus on %v: %q has %g; want %g", shape.Focus, path, c.Boxes[k].W, total[path])
			}
		}
	}
	shape.Focus = []string{"no such function", "nor this"}
	c, err := s.Icicle(shape)
	if err != nil || len(c.Boxes) != 3 || c.Boxes[c.Focus].W != 0 || c.Whole != float64(s.Samples) {
		t.Fatalf("focus on nothing: %+v, %v", c, err)
	}
}

// TestIcicleCut cuts what is narrow, and finds it again in the boxes for the
// rest: nothing is lost but what is narrower than they may be.
func TestIcicleCut(t *testing.T) {
	s := blocks(t, "json_v2_1e-3").All()
	c, err := s.Icicle(Shape{Least: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	rest := 0
	below := make([]float64, len(c.Boxes))
	for i := range c.Boxes {
		box := &c.Boxes[i]
		if box.W < 0.02*c.Whole {
			t.Fatalf("%v is %g wide", c.Path(i), box.W)
		}
		if box.Func == FuncRest {
			rest++
		}
		if box.Parent >= 0 {
			below[box.Parent] += box.W
		}
	}
	if rest == 0 {
		t.Error("nothing was cut")
	}
	for i, w := range below {
		if c.Boxes[i].Func == FuncRest {
			continue
		}
		if missing := c.Boxes[i].W - c.Boxes[i].Self - w; missing < -1e-6 || missing >= 0.02*c.Whole {
			t.Errorf("%v: %g of %g are missing below", c.Path(i), missing, c.Boxes[i].W)
		}
	}
	if few, _ := s.Icicle(Shape{Most: 10}); len(few.Boxes) > 20 || !few.Full {
		t.Errorf("%d boxes, at most 10 were wanted", len(few.Boxes))
	}
}

// TestCompare compares two traces, each with the other, and one with itself.
func TestCompare(t *testing.T) {
	a, b := blocks(t, "json_v2_1e-3").All(), blocks(t, "leak_v3_1e-5").All()
	for _, inverted := range []bool{false, true} {
		both, err := a.Icicle(Shape{Against: b, Inverted: inverted, Least: 1e-12})
		if err != nil {
			t.Fatal(err)
		}
		if !near(both.Whole, a.Bytes()+b.Bytes()) || !near(both.Base, b.Bytes()) {
			t.Errorf("the whole is %g, of which %g; want %g, %g", both.Whole, both.Base, a.Bytes()+b.Bytes(), b.Bytes())
		}
		alone := map[string]float64{}
		for k, s := range []*Selection{a, b} {
			c, err := s.Icicle(Shape{Inverted: inverted, Least: 1e-12})
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.Boxes {
				alone[fmt.Sprint(k, c.Path(i))] = c.Boxes[i].W * s.Blocks.Unit
			}
		}
		for i := range both.Boxes {
			box := &both.Boxes[i]
			ours, theirs := alone[fmt.Sprint(0, both.Path(i))], alone[fmt.Sprint(1, both.Path(i))]
			if !near(box.W-box.Base, ours) || !near(box.Base, theirs) {
				t.Fatalf("%v: %g and %g; want %g and %g", both.Path(i), box.W-box.Base, box.Base, ours, theirs)
			}
		}
		same, _ := a.Icicle(Shape{Against: a, Inverted: inverted})
		for i := range same.Boxes {
			if box := &same.Boxes[i]; !near(2*box.Base, box.W) {
				t.Fatalf("%v differs from itself", same.Path(i))
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// TestTables compares functions, their neighbors, hot paths, searches and
// groups with simple counting.
func TestTables(t *testing.T) {
	for _, name := range []string{"json_v2_1e-3", "domains5_v3", "ext_v3_1e-2"} {
		all, _, _ := plainly(t, name)
		s := blocks(t, name).All()
		want := map[string]*Function{}
		of := func(name string) *Function {
			if want[name] == nil {
				want[name] = &Function{Name: name}
			}
			return want[name]
		}
		pairs := map[[2]string]int64{}
		domains, found := map[int64]int64{}, int64(0)
		for _, p := range all {
			domains[p.domain] += p.samples
			if slices.ContainsFunc(p.stack, func(f string) bool { return strings.Contains(strings.ToLower(f), "ar") }) {
				found += p.samples
			}
			for i, f := range p.stack {
				of(f).Total += p.samples
				if i > 0 {
					pairs[[2]string{p.stack[i-1], f}] += p.samples
				}
			}
			if n := len(p.stack); n > 0 {
				leaf := of(p.stack[n-1])
				leaf.Self += p.samples
				leaf.Blocks++
				if p.death == never {
					leaf.Live += p.samples
				}
			}
		}
		list := s.Functions()
		if len(list) != len(want) {
			t.Errorf("%s: %d functions; want %d", name, len(list), len(want))
		}
		for _, f := range list {
			if f != *want[f.Name] {
				t.Errorf("%s: %+v; want %+v", name, f, *want[f.Name])
			}
			callers, callees := s.Neighbors(f.Name)
			for _, c := range callers {
				if key := [2]string{c.Name, f.Name}; pairs[key] != c.Samples {
					t.Errorf("%s: %v has %d; want %d", name, key, c.Samples, pairs[key])
				}
			}
			for _, c := range callees {
				if key := [2]string{f.Name, c.Name}; pairs[key] != c.Samples {
					t.Errorf("%s: %v has %d; want %d", name, key, c.Samples, pairs[key])
				}
			}
		}
		for _, g := range s.By(OfDomain) {
			if domains[g.Number] != g.Samples {
				t.Errorf("%s: domain %d has %d; want %d", name, g.Number, g.Samples, domains[g.Number])
			}
		}
		if f, err := s.Find("ar"); err != nil || f.Samples != found {
			t.Errorf("%s: found %+v, %v; want %d samples", name, f, err, found)
		}
		checkWays(t, s, all)
	}
}

func checkWays(t *testing.T, s *Selection, all []*plain) {
	t.Helper()
	ways := s.Ways(0.05)
	if len(ways) == 0 || len(ways) > 20 {
		t.Errorf("%d hot paths", len(ways))
	}
	for _, w := range ways {
		samples := int64(0)
		for _, p := range all {
			if len(p.stack) >= len(w.Stack) && slices.Equal(p.stack[:len(w.Stack)], w.Stack) {
				samples += p.samples
			}
		}
		if samples != w.Samples || float64(samples) < 0.05*float64(s.Samples)-1 {
			t.Errorf("%v has %d; want %d of %d", w.Stack, w.Samples, samples, s.Samples)
		}
	}
}

// TestSpots compares what became of each place's blocks with what FindLeaks
// finds while it reads.
func TestSpots(t *testing.T) {
	for _, name := range []string{"leak_v3_1e-5", "json_v2_1e-3", "viewer_test"} {
		b := blocks(t, name)
		l, err := FindLeaks(open(t, name), NewStacks(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[memtrace.Location]LeakPlace{}
		for _, p := range l.Places {
			want[p.Location] = p
		}
		for _, p := range b.All().Spots() {
			w := want[p.Location]
			if p.Blocks != w.Blocks || p.Samples != w.Samples || p.Live != w.Live || p.LiveCount != w.LiveCount || p.Oldest != w.Oldest || p.Typical != w.Typical {
				t.Errorf("%s: %+v; want %+v", name, p.LeakPlace, w)
			}
		}
		sizes, lifetimes := b.All().Histograms()
		if *lifetimes != l.Lifetimes {
			t.Errorf("%s: other lifetimes", name)
		}
		if n, _ := sizes.Total(); n != int64(b.Len()) {
			t.Errorf("%s: %d sizes of %d blocks", name, n, b.Len())
		}
	}
}

// TestDeep shapes stacks of 20,000 functions, none of which is like another.
func TestDeep(t *testing.T) {
	const deep = 20_000
	s := NewStacks()
	n := Node(0)
	for i := range deep {
		n = s.step(n, s.name(fmt.Sprintf("f%05d", i)))
	}
	site := s.site(n, 0)
	b := &Blocks{Stacks: s, End: 10, Events: 1, birth: []int64{1}, death: []int64{never}, words: []uint32{2},
		samples: []uint32{3}, site: []Site{site}, domain: []uint16{0}, flags: []uint8{0}, order: []uint32{0}, tree: s.tree()}
	for _, inverted := range []bool{false, true} {
		c, err := b.All().Icicle(Shape{Inverted: inverted})
		if err != nil || len(c.Boxes) != deep+1 || c.Full {
			t.Fatalf("%d boxes, %v", len(c.Boxes), err)
		}
		if p := c.Path(deep); len(p) != deep {
			t.Fatalf("a path of %d", len(p))
		}
		if c, err = b.All().Icicle(Shape{Inverted: inverted, Focus: c.Path(deep / 2)}); err != nil || c.Boxes[deep].W != 3 {
			t.Fatalf("with a focus: %v", err)
		}
	}
}

func TestModule(t *testing.T) {
	for name, want := range map[string]string{
		"Stdlib.List.map":                "Stdlib.List",
		"Dune__exe.Main.run.(fun)":       "Dune__exe.Main",
		"Stdlib__Printf.kbprintf.(fun)":  "Stdlib__Printf",
		"main":                           "main",
		"net/http.(*Server).Serve":       "net/http",
		"main.main":                      "main",
		"main.main.func1":                "main",
		"github.com/a/b.F[go.shape.int]": "github.com/a/b",
		"encoding/json.Marshal":          "encoding/json",
		"List":                           "List",
		"":                               "",
	} {
		if got := Module(name); got != want {
			t.Errorf("Module(%q) = %q; want %q", name, got, want)
		}
	}
}

func TestBadClauses(t *testing.T) {
	b := blocks(t, "viewer_test")
	for _, c := range []Clause{{What: Inside, Text: "/(/"}, {What: Outside}, {What: OfSource, Text: "moon"}, {What: 99}} {
		if _, err := b.Select([]Clause{c}); err == nil {
			t.Errorf("%+v is taken for a clause", c)
		}
	}
}

// BenchmarkReadBlocks opens the largest of the reference traces: 5.2 million
// events with stacks of up to 19,613 frames.
func BenchmarkReadBlocks(b *testing.B) {
	data := load(b, filepath.Join(dir(b), "big", "big.ctf"))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := memtrace.NewReaderBytes(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ReadBlocks(r, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFilter asks of that trace what a page asks when a filter changes:
// the selection, its course, a chart, the flame graph and the functions.
func BenchmarkFilter(b *testing.B) {
	all := blocks(b, "big")
	all.whole()
	middle, length := (all.Begin+all.End)/2, all.End-all.Begin
	name := all.Stacks.names[len(all.Stacks.names)/2]
	for _, c := range []Clause{
		{What: AllocatedIn, From: middle, To: middle + length/10},
		{What: AliveIn, From: middle, To: middle},
		{What: CollectedIn, From: middle, To: all.End},
		{What: OfLifetime, From: 1000, To: never},
		{What: OfSize, From: 16, To: 64},
		{What: AliveAtPeak},
		{What: Outside, Text: name},
	} {
		b.Run(c.What.String(), func(b *testing.B) {
			for b.Loop() {
				s, err := all.Select([]Clause{c})
				if err != nil {
					b.Fatal(err)
				}
				s.Course().Steps(all.Begin, all.End, 1600)
				if _, err := s.Icicle(Shape{}); err != nil {
					b.Fatal(err)
				}
				s.Functions()
			}
		})
	}
	b.Run("inverted", func(b *testing.B) {
		for b.Loop() {
			if _, err := all.All().Icicle(Shape{Inverted: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("spots", func(b *testing.B) {
		for b.Loop() {
			all.All().Spots()
		}
	})
}

// TestNotes writes a trace with notes between its packets, as a Go program
// does, and looks for them.
func TestNotes(t *testing.T) {
	var file bytes.Buffer
	w, err := memtrace.NewWriter(&file, memtrace.Info{Version: 2, SampleRate: 0.1, WordSize: 64, Start: 1000}, func(code uint64) []memtrace.Location {
		return []memtrace.Location{{Func: "main.main", File: "main.go", Line: int(code)}}
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Domain(0)
	if err != nil {
		t.Fatal(err)
	}
	var notes note.Builder
	for i := range 30 {
		id, err := d.Alloc(&memtrace.Allocation{Time: 1000 + int64(i), Length: 4, Samples: 1, Codes: []uint64{7}})
		if err != nil {
			t.Fatal(err)
		}
		if i != 5 {
			notes.Alloc(id, uint64(1+i/10))
		}
	}
	notes.Cycle(1012, 1)
	notes.Cycle(1025, 2)
	notes.Lost(1026, 3, 4)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	notes.AppendPackets(nil, 1040, func(p []byte) { file.Write(p) })
	n := ReadNotes(file.Bytes())
	if !slices.Equal(n.Cycles, []int64{1012, 1025}) || n.Lost != 7 {
		t.Errorf("cycles %v, %d lost", n.Cycles, n.Lost)
	}
	r, err := memtrace.NewReaderBytes(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadBlocks(r, n, nil)
	if err != nil || !b.Goroutines() {
		t.Fatalf("goroutines: %v, %v", b.Goroutines(), err)
	}
	for goroutine, want := range []int64{1, 9, 10, 10, 0} {
		s, err := b.Select([]Clause{{What: OfGoroutine, From: int64(goroutine)}})
		if err != nil || s.Count != want {
			t.Errorf("goroutine %d has %d blocks; want %d; %v", goroutine, s.Count, want, err)
		}
	}
	if g := b.All().By(OfGoroutine); len(g) != 4 || g[0].Number != 2 {
		t.Errorf("groups %+v", g)
	}
	data := file.Bytes()
	for cut := range data { // damage of any kind costs notes, nothing else
		ReadNotes(data[:cut])
		ReadNotes(data[cut:])
	}
}
