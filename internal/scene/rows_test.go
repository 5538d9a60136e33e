package scene

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mirador-trace/mirador/internal/thread"
)

// Whatever is merged, and for whatever reason: each thread that is seen lies
// under a line, on its row and over its time. And unless the budget is used up
// there is a thread wherever there is a line.
func TestThreadsLieUnderLines(t *testing.T) {
	rnd, others := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(2, 2))
	var l List
	tried := make(map[string]int)
	for range 200 {
		m := randomModel(rnd, 1+rnd.IntN(10)*rnd.IntN(300), int(math.Pow(10, 1+3.8*math.Sqrt(rnd.Float64()))))
		x := NewIndex(m)
		v := Viewport{
			Width: 800, Height: 500, Focus: rnd.Float64() * m.Height(), Rows: Rows(rnd.IntN(2)),
			Scroll: rnd.Float64() * m.Height(), Zoom: math.Pow(10, -1.5*rnd.Float64()),
		}
		v.From = rnd.Float64()
		v.To = v.From + math.Pow(10, -3*rnd.Float64()*rnd.Float64())
		x.Frame(v, &l)
		_, enumerated := x.byStart.alive(nil, v.From, v.To, fewAlive)
		tried[fmt.Sprint(v.Rows, len(x.far) > 0, enumerated)]++
		checkLines(t, x, v, &l)

		// As well when only some of the threads are drawn.
		var ids []thread.ID
		for id, share := 1, others.Float64()*others.Float64(); id < len(m.Threads); id++ {
			if others.Float64() < share {
				ids = append(ids, thread.ID(id))
			}
		}
		some := x.Only(ids)
		some.Frame(v, &l)
		checkLines(t, some, v, &l)
	}
	if len(tried) < 5 || tried["0 true false"] < 5 || tried["1 true false"] < 5 {
		t.Errorf("not all ways were tried: %v", tried)
	}
}

func checkLines(t *testing.T, x *Index, v Viewport, l *List) {
	t.Helper()
	lines := make(map[int][][2]float64) // by y
	var drawn [][3]float64
	for op, err := range l.Ops() {
		if err != nil {
			t.Fatal(err)
		}
		if op.Kind != Lines || op.Style != ThreadLine && op.Style != Merged {
			continue
		}
		for i := 0; i < 4*op.N; i += 4 {
			line := [2]float64{op.Float(i), op.Float(i + 2)}
			y := int(op.Float(i + 1))
			lines[y] = append(lines[y], line)
			drawn = append(drawn, [3]float64{line[0], line[1], float64(y)})
		}
	}
	p := x.Projection(v)
	places := make(map[int][]Place)
	for id := 1; id < len(x.m.Threads); id++ {
		at := x.Place(&p, thread.ID(id))
		if x.only != nil && !x.only.has(thread.ID(id)) || at.Y < 0 || at.Y > v.Height || at.X1 < 1 || at.X0 > v.Width-1 {
			continue
		}
		places[int(math.Round(at.Y))] = append(places[int(math.Round(at.Y))], at)
		if !covered(lines, at) {
			t.Fatalf("%+v: thread %d at %+v lies under no line", v, id, at)
		}
	}
	if len(drawn) > 700 {
		return // some may be merged for want of room
	}
	for _, d := range drawn {
		for px := max(d[0], 1); px <= min(d[1], v.Width-1); px += 3 {
			if d[2] >= 0 && d[2] <= v.Height && !near3(places, px, d[2]) {
				t.Fatalf("%+v: no thread at %.1f, %v", v, px, d[2])
			}
		}
	}
}

func covered(lines map[int][][2]float64, at Place) bool {
	y := int(math.Round(at.Y))
	for _, l := range append(append(append([][2]float64{}, lines[y-1]...), lines[y]...), lines[y+1]...) {
		if l[0] <= max(at.X0, -20)+0.1 && l[1] >= min(at.X1, 820)-0.1 {
			return true
		}
	}
	return false
}

func near3(places map[int][]Place, px, y float64) bool {
	for dy := -1; dy <= 1; dy++ {
		for _, p := range places[int(y)+dy] {
			if p.X0 <= px+2 && p.X1 >= px-2 {
				return true
			}
		}
	}
	return false
}
