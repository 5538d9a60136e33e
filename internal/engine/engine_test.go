package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// script is events, one a millisecond, as a source of a model.
type script []event.Event

func (s *script) Next(e *event.Event) bool {
	if len(*s) == 0 {
		return false
	}
	*e, *s = (*s)[0], (*s)[1:]
	return true
}

func opened1(t testing.TB, events ...event.Event) *Engine {
	t.Helper()
	for i := range events {
		if events[i].Time == 0 {
			events[i].Time = int64(i+1) * 1e6
		}
	}
	s := script(events)
	m := thread.Build(&s, thread.Options{})
	layout.Arrange(m)
	var e Engine
	e.Add(NewTrace(About{Name: "script.ctf", Format: "mirage"}, m))
	return &e
}

// story is a trace in which 3 signals 2, which 4 resolves; 5 became 6 became
// 7; 8 fails and 9 is never resolved.
func story(t testing.TB) *Engine {
	create := func(id int64, typ event.ThreadType) event.Event {
		return event.Event{Kind: event.Creates, Thread: 1, Other: id, Type: typ}
	}
	label := func(id int64, text string) event.Event {
		return event.Event{Kind: event.Label, Thread: id, Text: []byte(text)}
	}
	return opened1(t,
		event.Event{Kind: event.Creates, Thread: -1, Other: 1, Type: event.Task},
		event.Event{Kind: event.Switch, Thread: 1}, // 2 ms
		create(2, event.Condition), label(2, "Waiter"),
		create(3, event.Task), label(3, "signaller"),
		create(4, event.Task), label(4, "resolver <i>"),
		create(5, event.Task), create(6, event.Task), create(7, event.Task), // 9, 10, 11
		create(8, event.Task), create(9, event.Task),
		event.Event{Kind: event.Switch, Thread: 3},             // 14
		event.Event{Kind: event.Signal, Thread: 2, Other: 3},   // 15: 2 runs
		event.Event{Kind: event.Switch, Thread: 4},             // 16
		event.Event{Kind: event.Fulfills, Thread: 4, Other: 2}, // 17
		event.Event{Kind: event.Becomes, Thread: 5, Other: 6},
		event.Event{Kind: event.Becomes, Thread: 6, Other: 7},
		event.Event{Kind: event.Fails, Thread: 8, Other: 8, Text: []byte("Boom")}, // 20
		event.Event{Kind: event.Counter, Thread: 4, Value: 10, Text: []byte("queue")},
		event.Event{Kind: event.Counter, Thread: 4, Value: 20, Text: []byte("queue")}, // 22
		event.Event{Kind: event.GC, Value: 1e6},
		event.Event{Kind: event.Switch, Thread: -1, Time: 25e6},
		event.Event{Kind: event.Switch, Thread: 1, Time: 75e6},
		event.Event{Kind: event.Fulfills, Thread: 1, Other: 7, Time: 100e6},
		event.Event{Kind: event.Switch, Thread: -1, Time: 101e6},
	)
}

// answer asks and takes the envelope off.
func answer(t testing.TB, e *Engine, question string) (Kind, []byte) {
	t.Helper()
	b := e.Handle(nil, []byte(question))
	if len(b) < envelope {
		t.Fatalf("%s: an answer of %d bytes", question, len(b))
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != Version {
		t.Fatalf("%s: version %d", question, v)
	}
	return Kind(binary.LittleEndian.Uint16(b[6:])), b[envelope:]
}

func ask[T any](t testing.TB, e *Engine, question string) T {
	t.Helper()
	kind, body := answer(t, e, question)
	var v T
	if kind != JSON {
		t.Fatalf("%s: kind %d: %s", question, kind, body)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v: %s", question, err, body)
	}
	return v
}

func titles(l Links) string {
	var all []string
	for _, i := range l.Items {
		all = append(all, i.Title)
	}
	return strings.Join(all, " ")
}

func TestThread(t *testing.T) {
	e := story(t)
	d := ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"2"}`)
	if d.Title != "Waiter" || d.Type != "condition" || !d.Resolved || d.Failed || d.Runs != 1 {
		t.Errorf("thread 2 is %+v", d)
	}
	if got := titles(d.WokenBy); got != "signaller" {
		t.Errorf("woken by %q", got)
	}
	if got := titles(d.ResolvedBy); got != "resolver <i>" {
		t.Errorf("resolved by %q", got)
	}
	if d.Parent == nil || d.Parent.TID != "1" {
		t.Errorf("created by %+v", d.Parent)
	}
	d = ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"3"}`)
	if got := titles(d.Wakes); got != "Waiter" {
		t.Errorf("3 woke %q", got)
	}
	d = ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"5"}`)
	if got := titles(d.Becomes); got != "6 7" {
		t.Errorf("5 became %q", got)
	}
	d = ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"8"}`)
	if d.Failure != "Boom" || !d.Failed {
		t.Errorf("8 failed with %q", d.Failure)
	}
	for _, bad := range []string{`"tid":"77"`, `"tid":"x"`, `"thread":-1`, `"thread":1000`, `"thread":1e9`} {
		if kind, body := answer(t, e, `{"v":1,"ask":"thread",`+bad+`}`); kind != Refusal {
			t.Errorf("%s: kind %d: %s", bad, kind, body)
		}
	}
}

func TestChain(t *testing.T) {
	e := story(t)
	for _, from := range []string{"5", "6", "7"} {
		d := ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"`+from+`"}`)
		c := ask[Chain](t, e, fmt.Sprintf(`{"v":1,"ask":"chain","thread":%d}`, d.Thread))
		if c.Total != 3 {
			t.Errorf("from %s: %d threads: %v", from, c.Total, c.Threads)
		}
	}
}

func TestFollow(t *testing.T) {
	e := story(t)
	d := ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"2"}`)
	l := ask[*Link](t, e, fmt.Sprintf(`{"v":1,"ask":"follow","thread":%d,"time":0.0145,"back":true}`, d.Thread))
	if l == nil || l.Title != "signaller" || l.How != "signal" {
		t.Fatalf("the cause at 14.5 ms is %+v", l)
	}
	there := ask[*Link](t, e, fmt.Sprintf(`{"v":1,"ask":"follow","thread":%d,"time":%v}`, l.Thread, *l.Time))
	if there == nil || there.Thread != d.Thread {
		t.Errorf("its effect is %+v", there)
	}
	if none := ask[*Link](t, e, fmt.Sprintf(`{"v":1,"ask":"follow","thread":%d,"time":0.001,"back":true}`, d.Thread)); none != nil {
		t.Errorf("before anything happened the cause is %+v", none)
	}
}

func TestSearch(t *testing.T) {
	e := story(t)
	for query, want := range map[string]int{
		"waiter": 1, "WAIT": 1, "r": 3, "condition": 1, "8": 1, "boom": 1, "resolver <i>": 1, "queue": 1,
		"/^(signaller|waiter)$/": 2, "/^wait": 1, "/^[67]$/": 2, "/": 0, "nothing": 0, "": 0, "i": 3,
	} {
		q, _ := json.Marshal(query)
		h := ask[Hits](t, e, fmt.Sprintf(`{"v":1,"ask":"search","query":%s}`, q))
		if h.Total != want || len(h.Items) != want {
			t.Errorf("%q finds %d: %+v; want %d", query, h.Total, h.Items, want)
		}
		if !slices.IsSortedFunc(h.Items, func(a, b Hit) int { return int((*a.Time - *b.Time) * 1e9) }) {
			t.Errorf("%q: the hits are out of order", query)
		}
	}
	for _, bad := range []string{"/(", "/[", strings.Repeat("x", 2000)} {
		q, _ := json.Marshal(bad)
		if kind, _ := answer(t, e, fmt.Sprintf(`{"v":1,"ask":"search","query":%s}`, q)); kind != Refusal {
			t.Errorf("%.20q was searched for: kind %d", bad, kind)
		}
	}
}

func TestFindings(t *testing.T) {
	f := ask[Findings](t, story(t), `{"v":1,"ask":"findings"}`)
	if f.Failed.Total != 1 || !strings.HasPrefix(f.Failed.Items[0].Title, "Boom") {
		t.Errorf("failed: %+v", f.Failed)
	}
	if f.Unresolved.Total == 0 || !slices.ContainsFunc(f.Unresolved.Items, func(l Link) bool { return l.TID == "9" }) {
		t.Errorf("never resolved: %+v", f.Unresolved)
	}
	if f.GC.Total != 1 || f.Gaps.Total != 1 || f.Gaps.Longest[0].From != 0.024 || f.Gaps.Longest[0].To != 0.074 {
		t.Errorf("GC %+v, gaps %+v", f.GC, f.Gaps)
	}
}

func TestNext(t *testing.T) {
	e := story(t)
	for _, c := range []struct {
		ask  string
		want string
	}{
		{`"what":"failure","time":0`, "8"},
		{`"what":"failure","time":1`, ""},
		{`"what":"failure","time":1,"back":true`, "8"},
		{`"what":"gc","time":0`, "span"},
		{`"what":"idle","time":0`, "span"},
		{`"what":"idle","time":0.024`, ""},
	} {
		n := ask[*Next](t, e, `{"v":1,"ask":"next",`+c.ask+`}`)
		got := ""
		switch {
		case n != nil && n.Thread != nil:
			got = n.Thread.TID
		case n != nil:
			got = "span"
		}
		if got != c.want {
			t.Errorf("next %s is %q (%+v), want %q", c.ask, got, n, c.want)
		}
	}
}

func TestRange(t *testing.T) {
	e := story(t)
	s := ask[Summary](t, e, `{"v":1,"ask":"range","from":-1,"to":5}`)
	if got, want := s.Busy+s.Idle+s.GC, s.To-s.From; got < want*0.999 || got > want*1.001 {
		t.Errorf("busy, idle and GC are %g s of %g s", got, want)
	}
	if s.Idle < 0.0499 || s.GC < 0.0009 || s.GC > 0.0011 {
		t.Errorf("idle %g s, GC %g s", s.Idle, s.GC)
	}
	if len(s.Counters) != 1 || s.Counters[0].Min != 10 || s.Counters[0].Max != 20 || s.Counters[0].Last != 20 {
		t.Errorf("counters: %+v", s.Counters)
	}
	s = ask[Summary](t, e, `{"v":1,"ask":"range","from":0.03,"to":0.04}`)
	if s.Counters[0].Min != 20 || s.Counters[0].Mean != 20 {
		t.Errorf("a counter keeps its value: %+v", s.Counters)
	}
	ask[Summary](t, e, `{"v":1,"ask":"range","from":7,"to":-7}`)
}

func TestTable(t *testing.T) {
	e := story(t)
	all := ask[Table](t, e, `{"v":1,"ask":"table","limit":1000}`)
	if all.Total != 9 || len(all.Rows) != 9 {
		t.Fatalf("%d threads, %d rows", all.Total, len(all.Rows))
	}
	for column := range columns {
		up := ask[Table](t, e, `{"v":1,"ask":"table","limit":4,"offset":3,"sort":"`+column+`"}`)
		down := ask[Table](t, e, `{"v":1,"ask":"table","limit":4,"offset":2,"desc":true,"sort":"`+column+`"}`)
		slices.Reverse(down.Rows)
		for i := range up.Rows {
			if up.Rows[i].TID != down.Rows[i].TID {
				t.Errorf("by %s: row %d is %s upwards and %s downwards", column, i, up.Rows[i].TID, down.Rows[i].TID)
			}
		}
	}
	some := ask[Table](t, e, `{"v":1,"ask":"table","query":"/^(Waiter|signaller)$/"}`)
	if some.Total != 2 {
		t.Errorf("filtered: %+v", some)
	}
	if past := ask[Table](t, e, `{"v":1,"ask":"table","offset":1000}`); len(past.Rows) != 0 {
		t.Errorf("past the end: %+v", past)
	}
}

func TestOverview(t *testing.T) {
	o := ask[Overview](t, story(t), `{"v":1,"ask":"overview","width":100,"query":"waiter"}`)
	hits, failures := 0, 0
	for i := range o.Alive {
		hits += o.Hits[i]
		failures += o.Failures[i]
		if o.Alive[i] < 0 || o.Alive[i] > 1 || o.Busy[i] < 0 || o.Busy[i] > 1.0001 || o.GC[i] < 0 || o.GC[i] > 1.0001 {
			t.Fatalf("column %d: alive %g, busy %g, GC %g", i, o.Alive[i], o.Busy[i], o.GC[i])
		}
	}
	if len(o.Alive) != 100 || hits != 1 || failures != 1 || len(o.Counters) != 1 {
		t.Errorf("%d columns, %d hits, %d failures, %d counters", len(o.Alive), hits, failures, len(o.Counters))
	}
	if o.Busy[50] != 0 || o.Busy[10] < 0.9 {
		t.Errorf("busy %g while idle, %g while busy", o.Busy[50], o.Busy[10])
	}
}

func TestFrameAndPick(t *testing.T) {
	e := story(t)
	const view = `"view":{"from":0,"to":0.1,"width":800,"height":600,"query":"waiter","chain":5,"selected":2}`
	kind, body := answer(t, e, `{"v":1,"id":5,"ask":"frame",`+view+`}`)
	if kind != Picture {
		t.Fatalf("kind %d: %s", kind, body)
	}
	l, err := scene.Decode(body)
	if err != nil || l.Primitives() == 0 {
		t.Fatalf("%v: %d primitives", err, l.Primitives())
	}
	kind, file := answer(t, e, `{"v":1,"ask":"export","theme":"light",`+view+`}`)
	if kind != File || !strings.Contains(string(file[:min(len(file), 200)]), "<svg") {
		t.Errorf("export: kind %d, %.80s", kind, file)
	}
	x := e.traces[0].trace.index
	v := scene.Viewport{To: 0.1, Width: 800, Height: 600}
	p := x.Projection(v)
	at := x.Place(&p, 2)
	picked := ask[Picked](t, e, fmt.Sprintf(`{"v":1,"ask":"pick","x":%g,"y":%g,%s}`, (at.X0+at.X1)/2, at.Y, view))
	if picked.Thread == nil || picked.Thread.Thread != 2 {
		t.Errorf("picked %+v; want thread 2", picked.Thread)
	}
}

func TestHello(t *testing.T) {
	e := story(t)
	h := ask[struct {
		Traces []TraceInfo
		Light  []struct{ Name, Color string }
	}](t, e, `{"v":1,"ask":"hello"}`)
	if len(h.Traces) != 1 || h.Traces[0].Threads != 9 || h.Traces[0].Generation != 1 || len(h.Light) != int(scene.NumStyles) {
		t.Errorf("hello: %+v, %d styles", h.Traces, len(h.Light))
	}
	if len(h.Traces[0].Folds) != 1 || h.Traces[0].Folds[0].Kept >= 0.05 {
		t.Errorf("folds: %+v", h.Traces[0].Folds)
	}
	if g := e.Replace(0, e.traces[0].trace); g != 2 {
		t.Errorf("generation %d", g)
	}
}

// An empty trace, and one of a single event, answer every question.
func TestHardlyAnyTrace(t *testing.T) {
	for _, e := range []*Engine{opened1(t), opened1(t, event.Event{Kind: event.Switch, Thread: 4})} {
		for name := range asks {
			answer(t, e, `{"v":1,"ask":"`+name+`","width":10,"theme":"dark","what":"gc","query":"x","thread":0,"view":{"from":0,"to":1,"width":100,"height":100}}`)
			answer(t, e, `{"v":1,"ask":"`+name+`"}`)
		}
	}
}

// Texts of any size and bytes are answered with texts that JavaScript reads.
func TestHostileLabels(t *testing.T) {
	e := opened1(t,
		event.Event{Kind: event.Creates, Thread: -1, Other: 1, Type: event.Task},
		event.Event{Kind: event.Label, Thread: 1, Text: []byte(strings.Repeat("é", 1<<19))},
		event.Event{Kind: event.Creates, Thread: 1, Other: 2, Type: event.Task},
		event.Event{Kind: event.Label, Thread: 2, Text: []byte("\xff</script>\x00\u202e\u2028")},
		event.Event{Kind: event.Counter, Thread: 2, Value: 1, Text: []byte("\xfe\xff")},
	)
	d := ask[Detail](t, e, `{"v":1,"ask":"thread","tid":"1"}`)
	if len(d.Title) > maxText+4 || !strings.HasSuffix(d.Title, "é…") {
		t.Errorf("a title of %d bytes: %q", len(d.Title), d.Title[len(d.Title)-8:])
	}
	_, body := answer(t, e, `{"v":1,"ask":"thread","tid":"2"}`)
	if strings.Contains(string(body), "</script>") || !json.Valid(body) {
		t.Errorf("markup went through: %s", body)
	}
	hello := ask[Hello2](t, e, `{"v":1,"ask":"hello"}`)
	q, _ := json.Marshal(hello.Traces[0].Counters[0].Name)
	if kind, _ := answer(t, e, `{"v":1,"ask":"frame","view":{"from":0,"to":1,"width":9,"height":9,"hidden":[`+string(q)+`]}}`); kind != Picture {
		t.Error("no frame without the counter")
	}
}

// Hello2 is Hello without the palettes, which can only be written.
type Hello2 struct{ Traces []TraceInfo }

func TestBadViews(t *testing.T) {
	e := story(t)
	for _, bad := range []string{
		`{}`, `{"from":1,"to":1,"width":9,"height":9}`, `{"from":0,"to":1,"width":0,"height":9}`, `{"from":0,"to":1,"width":9,"height":1e9}`,
		`{"from":0,"to":1,"width":-9,"height":9}`, `{"from":0,"to":1,"width":9,"height":9,"query":"/("}`,
	} {
		if kind, _ := answer(t, e, `{"v":1,"ask":"frame","view":`+bad+`}`); kind != Refusal {
			t.Errorf("%s: kind %d", bad, kind)
		}
	}
}

func FuzzHandle(f *testing.F) {
	e := story(f)
	for name := range asks {
		f.Add(`{"v":1,"ask":"` + name + `","thread":3,"width":10,"query":"/a","theme":"dark","view":{"from":0,"to":0.1,"width":100,"height":100}}`)
	}
	f.Add(`{"v":1,"ask":"hello"}`)
	f.Add(`{"v":1,"ask":"frame","view":{"from":-1e300,"to":1e300,"width":1,"height":1,"focus":1e300,"scroll":-1e300}}`)
	f.Fuzz(func(t *testing.T, question string) {
		b := e.Handle(nil, []byte(question))
		kind := Kind(binary.LittleEndian.Uint16(b[6:]))
		switch {
		case len(b) < envelope || kind < JSON || kind > File:
			t.Fatalf("%q: %q", question, b)
		case (kind == JSON || kind == Refusal) && !json.Valid(b[envelope:]):
			t.Fatalf("%q: not JSON: %q", question, b[envelope:])
		}
	})
}

// The cover's sums are those of adding up, whatever the spans.
func TestCover(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var spans []thread.Span
		for range r.IntN(20) {
			start := float64(r.IntN(100))
			spans = append(spans, thread.Span{Start: start, End: start + float64(r.IntN(10))})
		}
		c := newCover(spans)
		for range 20 {
			from := float64(r.IntN(100))
			to := from + float64(r.IntN(30))
			want := 0.0
			for at := from; at < to; at++ {
				if slices.ContainsFunc(spans, func(s thread.Span) bool { return s.Start <= at && at < s.End }) {
					want++
				}
			}
			if got := c.in(from, to); got != want {
				t.Fatalf("%v from %g to %g: %g, want %g", spans, from, to, got, want)
			}
		}
	}
}
