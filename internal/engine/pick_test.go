package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// With only what is found, frame, file and pick show nothing else, and a query
// that finds nothing shows nothing; without a query everything is there.
func TestOnly(t *testing.T) {
	e := story(t)
	x := e.traces[0].trace.index
	p := x.Projection(scene.Viewport{To: 0.1, Width: 800, Height: 600})
	for _, c := range []struct {
		query          string
		there, missing []string
	}{
		{"waiter", []string{"Waiter"}, []string{"signaller", "resolver", "Boom"}},
		{"/signaller|Boom/", []string{"signaller", "Boom"}, []string{"Waiter", "resolver"}},
		{"nobody", nil, []string{"Waiter", "signaller", "resolver", "Boom"}},
		{"", []string{"Waiter", "signaller", "resolver", "Boom"}, nil},
	} {
		view := fmt.Sprintf(`"view":{"from":0,"to":0.1,"width":800,"height":600,"query":%q,"only":true}`, c.query)
		_, body := answer(t, e, `{"v":1,"ask":"frame",`+view+`}`)
		l, err := scene.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		_, file := answer(t, e, `{"v":1,"ask":"export","theme":"dark",`+view+`}`)
		for _, s := range c.there {
			if !strings.Contains(l.String(), s) || !strings.Contains(string(file), s) {
				t.Errorf("only %q: there is no %q", c.query, s)
			}
		}
		for _, s := range c.missing {
			if strings.Contains(l.String(), s) || strings.Contains(string(file), s) {
				t.Errorf("only %q: there is %q", c.query, s)
			}
		}
		at := x.Place(&p, 4) // the resolver
		picked := ask[Picked](t, e, fmt.Sprintf(`{"v":1,"ask":"pick","x":%g,"y":%g,%s}`, (at.X0+at.X1)/2, at.Y, view))
		if isIt := picked.Thread != nil && picked.Thread.Thread == 4; isIt != (c.query == "") {
			t.Errorf("only %q: where the resolver was, %+v is picked", c.query, picked.Thread)
		}
	}
	if n := len(e.traces[0].trace.onlys); n != keptOnlys {
		t.Errorf("%d indices are kept, not %d", n, keptOnlys)
	}
}

// Each arrow of a trace is found where it is drawn, by its threads' numbers, and
// as what is selected.
func TestArrows(t *testing.T) {
	e := story(t)
	x := e.traces[0].trace.index
	const view = `"from":0,"to":0.03,"width":800,"height":600`
	p := x.Projection(scene.Viewport{To: 0.03, Width: 800, Height: 600})
	for _, want := range []struct {
		how      string
		from, to thread.ID
		time     float64
	}{{"signal", 3, 2, 0.014}, {"resolve", 4, 2, 0.016}} {
		from, to := x.Place(&p, want.from), x.Place(&p, want.to)
		question := fmt.Sprintf(`{"v":1,"ask":"pick","x":%g,"y":%g,"view":{%s}}`, p.X(want.time)+1, (from.Y+to.Y)/2+7, view)
		picked := ask[Picked](t, e, question)
		a := picked.Arrow
		if a == nil || a.How != want.how || a.From.Thread != want.from || a.To.Thread != want.to || math.Abs(a.Time-want.time) > 1e-12 {
			t.Fatalf("%s: picked %+v; want %+v", question, a, want)
		}
		if a.From.Time == nil || *a.From.Time != a.Time || a.To.Time == nil || *a.To.Time != a.Time {
			t.Errorf("%s: the ends lie at %v and %v", want.how, a.From.Time, a.To.Time)
		}
		byNumber := ask[Arrow](t, e, fmt.Sprintf(`{"v":1,"ask":"arrow","how":%q,"tid":%q,"toTid":%q,"time":%g}`, a.How, a.From.TID, a.To.TID, a.Time))
		if byNumber.From.Title != a.From.Title || byNumber.To.Title != a.To.Title || byNumber.Time != a.Time {
			t.Errorf("by number it is %+v; by place %+v", byNumber, *a)
		}
		frame := func(arrow string) string {
			kind, body := answer(t, e, fmt.Sprintf(`{"v":1,"ask":"frame","view":{%s%s}}`, view, arrow))
			if kind != Picture {
				t.Fatalf("kind %d: %s", kind, body)
			}
			l, err := scene.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			return l.String()
		}
		named := fmt.Sprintf(`,"arrow":{"how":%q,"from":%d,"to":%d,"time":%g}`, a.How, want.from, want.to, a.Time)
		if !strings.Contains(frame(named), "selection") {
			t.Errorf("%s: the selected arrow is not picked out", want.how)
		}
		// One that is not in the trace is passed over: the trace may have changed.
		other := strings.Replace(named, `"from":`, `"from":9`, 1)
		if frame(other) != frame("") {
			t.Errorf("%s: an arrow that there is not changes the picture", want.how)
		}
	}
	for question, code := range map[string]string{
		`"how":"signal","tid":"3","toTid":"2","time":0.5`:     "no-arrow",
		`"how":"signal","tid":"2","toTid":"3","time":0.014`:   "no-arrow",
		`"how":"becoming","tid":"3","toTid":"2","time":0.014`: "no-arrow",
		`"how":"signal","tid":"3","toTid":"77","time":0.014`:  "no-thread",
		`"how":"signal","tid":"3","time":0.014`:               "bad-request",
	} {
		if kind, body := answer(t, e, `{"v":1,"ask":"arrow",`+question+`}`); kind != Refusal || !strings.Contains(string(body), `"`+code+`"`) {
			t.Errorf("%s: kind %d, %s; want %s", question, kind, body, code)
		}
	}
}
