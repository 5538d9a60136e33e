package scene_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// program makes the events of a program of so many threads: each is created,
// labelled, looked at, runs twice and is resolved, and every 512th creates what
// comes next. Beside it a counter goes up and down, and memory is collected.
type program struct {
	threads int
	n, step int
	now     int64
	rnd     *rand.Rand
}

var labels = []string{"read", "ring.write", "take rx_data", "put queue", "accept", "tcp-to-ip"}

func (p *program) Next(e *event.Event) bool {
	if p.n >= p.threads {
		return false
	}
	p.now += 50 + int64(p.rnd.Uint32N(100))
	id, parent := int64(p.n+1), int64(p.n/512)
	*e = event.Event{Time: p.now, Thread: id, Other: id}
	switch p.step {
	case 0:
		e.Kind, e.Thread, e.Other, e.Type = event.Creates, parent, id, event.Task
	case 1:
		e.Kind, e.Text = event.Label, []byte(labels[p.n%len(labels)])
	case 2:
		e.Kind, e.Thread = event.TryRead, parent
	case 3:
		e.Kind = event.Switch
	case 4:
		// One that was created some time ago.
		e.Kind, e.Other = event.Fulfills, max(1, id-int64(p.rnd.Uint32N(200)))
	case 5:
		e.Kind, e.Thread = event.Read, parent
	case 6:
		switch {
		case p.n%1000 == 0:
			e.Kind, e.Value = event.GC, 1000
		case p.n%3 == 0:
			e.Kind, e.Value, e.Text = event.Counter, int64(p.rnd.Uint32N(1000)), []byte("queue")
		case p.n%200 == 1:
			e.Kind, e.Text = event.Fails, []byte("timeout")
		default:
			e.Kind, e.Thread = event.Switch, -1
		}
	}
	if p.step++; p.step == 7 {
		p.step = 0
		p.n++
	}
	return true
}

const million = 1_000_000

// million threads in some arrangement of rows. The model is made once.
var built = struct {
	sync.Mutex
	models map[string]*thread.Model
}{models: make(map[string]*thread.Model)}

func bigModel(arrangement string, threads int) *thread.Model {
	built.Lock()
	defer built.Unlock()
	key := fmt.Sprint(arrangement, " ", threads)
	if m := built.models[key]; m != nil {
		return m
	}
	m := thread.Build(&program{threads: threads, rnd: rand.New(rand.NewPCG(3, 4))}, thread.Options{})
	rnd := rand.New(rand.NewPCG(5, 6))
	duration := m.Duration()
	switch arrangement {
	case "flat": // all on 8 rows, by turns
		m.Rows = 8
		for i := 1; i < len(m.Threads); i++ {
			m.Threads[i].Row = int32(i % m.Rows)
			m.Threads[i].End = min(m.Threads[i].End, m.Threads[i].Start+duration/float64(threads)*6)
		}
	case "onerow": // one, overlapping
		m.Rows = 1
		for i := 1; i < len(m.Threads); i++ {
			m.Threads[i].Row = 0
		}
	case "rows100k": // ten each, at any time, some of them long
		m.Rows = 100_000
		for i := 1; i < len(m.Threads); i++ {
			t := &m.Threads[i]
			t.Row = int32(i % m.Rows)
			t.Start = (float64(i/m.Rows) + rnd.Float64()*0.2) * duration / 10
			t.End = t.Start + duration/15*rnd.Float64()
		}
	case "sparse100k": // ten short ones each
		m.Rows = 100_000
		for i := 1; i < len(m.Threads); i++ {
			t := &m.Threads[i]
			t.Row = int32(rnd.IntN(m.Rows))
			t.Start = rnd.Float64() * duration
			t.End = t.Start + duration*1e-4*rnd.Float64()
		}
	case "waiting100k": // each row one that waits all the time, and others
		m.Rows = 100_000
		for i := 1; i < len(m.Threads); i++ {
			t := &m.Threads[i]
			t.Row = int32(i % m.Rows)
			t.Start = float64(i/m.Rows) * duration / 10
			t.End = t.Start + duration*0.0999
		}
	case "rows2k":
		m.Rows = 2000
		for i := 1; i < len(m.Threads); i++ {
			t := &m.Threads[i]
			t.Row = int32(i % m.Rows)
			t.End = t.Start + 1800*duration/float64(threads)*rnd.Float64()
		}
	}
	built.models[key] = m
	return m
}

var arrangements = []string{"flat", "onerow", "rows2k", "rows100k", "sparse100k", "waiting100k"}

// viewports are what is seen of a trace: all of it, and deeper and deeper.
func viewports(m *thread.Model) map[string]scene.Viewport {
	d := m.Duration()
	all := make(map[string]scene.Viewport)
	for name, share := range map[string]float64{"whole": 1.04, "10%": 0.1, "1%": 0.01, "0.1%": 0.001, "deep": 1e-6} {
		v := scene.Viewport{From: d * 0.37, To: d * (0.37 + share), Width: 1600, Height: 900}
		if name == "whole" {
			v.From, v.To = -d*0.02, d*1.02
		}
		all[name] = v
		v.Focus = m.Height() / 2
		all[name+"/middle"] = v
		v.Rows, v.Scroll = scene.Linear, m.Height()/3
		all[name+"/linear"] = v
	}
	return all
}

// BenchmarkFrame moves over a million threads. It reports how much of a
// processor's time 95 % of the frames take at most, and the most primitives of
// a frame.
func BenchmarkFrame(b *testing.B) {
	for _, a := range arrangements {
		m := bigModel(a, million)
		x := scene.NewIndex(m)
		views := viewports(m)
		for _, name := range sortedKeys(views) {
			b.Run(a+"/"+name, func(b *testing.B) {
				var l scene.List
				var times []time.Duration
				most := 0
				v := views[name]
				step := (v.To - v.From) / 97
				x.Frame(v, &l)
				runtime.LockOSThread() // so that its time can be told
				defer runtime.UnlockOSThread()
				b.ReportAllocs()
				for b.Loop() {
					start := cpuTime()
					x.Frame(v, &l)
					times = append(times, cpuTime()-start)
					most = max(most, l.Primitives())
					v.From, v.To = v.From+step, v.To+step
					if len(times)%60 == 59 {
						step = -step
					}
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-cpu-ms")
				b.ReportMetric(float64(most), "primitives")
				b.ReportMetric(float64(len(l.Bytes())), "list-bytes")
			})
		}
	}
}

func sortedKeys(m map[string]scene.Viewport) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// BenchmarkNewIndex indexes a million threads. It reports what stays in memory
// for each, of which 16 bytes are for each arrow that is not left out.
func BenchmarkNewIndex(b *testing.B) {
	for _, a := range arrangements {
		b.Run(a, func(b *testing.B) {
			m := bigModel(a, million)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			x := scene.NewIndex(m)
			runtime.GC()
			runtime.ReadMemStats(&after)
			arrows := 0
			for id := range m.Threads {
				arrows += len(m.Interactions(thread.ID(id)))
			}
			for b.Loop() {
				scene.NewIndex(m)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(m.Threads)), "B/thread")
			b.ReportMetric(float64(arrows)/float64(len(m.Threads)), "arrows/thread")
			runtime.KeepAlive(x)
		})
	}
}

// A frame must not grow with the trace: whatever the rows are, it stays below
// 8,000 primitives, decodes, and takes no longer than a screen may wait. The
// time that is allowed here is generous, for machines that are busy; the
// benchmark has the figures.
func TestFramesStaySmall(t *testing.T) {
	threads := 200_000
	if testing.Short() {
		threads = 20_000
	}
	for _, a := range arrangements {
		m := bigModel(fmt.Sprint(a), threads)
		x := scene.NewIndex(m)
		var l scene.List
		for name, v := range viewports(m) {
			x.Frame(v, &l)
			start := time.Now()
			x.Frame(v, &l)
			took := time.Since(start)
			if l.Primitives() > 8000 {
				t.Errorf("%s %s: %d primitives", a, name, l.Primitives())
			}
			if took > 200*time.Millisecond {
				t.Errorf("%s %s: took %v", a, name, took)
			}
			if _, err := scene.Decode(l.Bytes()); err != nil {
				t.Errorf("%s %s: %v", a, name, err)
			}
			checkMeta(t, &l)
		}
	}
}
