package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/example"
	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/memtrace"
)

// memoryOf makes a trace of a file's bytes, packed or not.
func memoryOf(t testing.TB, packed []byte) *Trace {
	t.Helper()
	file, err := input.Open("-", bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r, err := memtrace.NewReaderBytes(file.Data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := heap.ReadBlocks(r, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewMemory(About{Name: "test", Format: "memtrace"}, b)
}

// question asks an engine, and returns the kind of the answer and its body.
func question(t testing.TB, e *Engine, text string) (Kind, []byte) {
	t.Helper()
	answer := e.Handle(nil, []byte(`{"v":1,"id":7,`+text+`}`))
	if len(answer) < envelope || binary.LittleEndian.Uint32(answer) != 7 {
		t.Fatalf("%s: no answer: %q", text, answer)
	}
	return Kind(binary.LittleEndian.Uint16(answer[6:])), answer[envelope:]
}

// meta returns what a picture says about itself.
func meta[T any](t testing.TB, e *Engine, text string) (m T) {
	t.Helper()
	kind, body := question(t, e, text)
	if kind != Picture {
		t.Fatalf("%s: %s", text, body)
	}
	l, err := scene.Decode(body)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := json.Unmarshal(l.Meta(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func leaking(t testing.TB) *Engine {
	e := new(Engine)
	e.Add(memoryOf(t, example.Memory))
	return e
}

// Whatever the filter, the flame graph has as much as is said to be selected:
// from both ends, with functions hidden, and when it is zoomed.
func TestTotalsAgree(t *testing.T) {
	e := leaking(t)
	filters := []string{``, `{"what":"allocated","from":1,"to":2}`, `{"what":"alive","from":2.5,"to":2.5}`, `{"what":"peak"}`, `{"what":"never"}`,
		`{"what":"size","from":64}`, `{"what":"lifetime","to":0.001}`, `{"what":"inside","text":"Stdlib__Buffer.*"}`,
		`{"what":"outside","text":"/format/"},{"what":"collected","from":1,"to":3}`, `{"what":"source","text":"major"}`, `{"what":"domain","from":9}`}
	for _, filter := range filters {
		_, body := question(t, e, fmt.Sprintf(`"ask":"memory","memory":{"filter":[%s]}`, filter))
		var want Amounts
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%s: %v: %s", filter, err, body)
		}
		for _, shape := range []string{``, `,"inverted":true`, `,"hidden":["Dune__exe__Leak.handle","/Printf/"]`, `,"flipped":true`} {
			m := meta[FlameMeta](t, e, fmt.Sprintf(`"ask":"flame","view":{"width":800,"height":400},"memory":{"filter":[%s]%s}`, filter, shape))
			if m.Whole != float64(want.Samples) {
				t.Errorf("%s%s: the flame graph has %g; want %d", filter, shape, m.Whole, want.Samples)
			}
		}
		c := meta[ChartMeta](t, e, fmt.Sprintf(`"ask":"chart","view":{"from":0,"to":5,"width":800,"height":100},"memory":{"filter":[%s]}`, filter))
		if c.Whole != float64(want.Samples) {
			t.Errorf("%s: the chart is of %g; want %d", filter, c.Whole, want.Samples)
		}
	}
}

// What lies at a point is what is drawn there, and its focus leads to it.
func TestBox(t *testing.T) {
	e := leaking(t)
	for _, shape := range []string{``, `"inverted":true`, `"flipped":true`, `"inverted":true,"hidden":["Stdlib__Buffer.resize"]`} {
		for y := 5; y < 200; y += 20 {
			for x := 3; x < 800; x += 41 {
				_, body := question(t, e, fmt.Sprintf(`"ask":"box","x":%d,"y":%d,"view":{"width":800,"height":200},"memory":{%s}`, x, y, shape))
				var b *Box
				if err := json.Unmarshal(body, &b); err != nil {
					t.Fatalf("%v: %s", err, body)
				}
				if b == nil {
					continue
				}
				if float64(x) < b.X-1 || float64(x) > b.X+b.Width+1 || float64(y) < b.Y || float64(y) > b.Y+b.Height {
					t.Fatalf("%d, %d is in the box %+v", x, y, b)
				}
				if b.Kind != "function" {
					continue
				}
				focus, _ := json.Marshal(b.Focus)
				comma := ""
				if shape != "" {
					comma = ","
				}
				m := meta[FlameMeta](t, e, fmt.Sprintf(`"ask":"flame","view":{"width":800,"height":200},"memory":{%s%s"focus":%s}`, shape, comma, focus))
				if m.Shown != b.Amount || m.Focus != b.Deep {
					t.Fatalf("%s: a focus on %s shows %g in row %d; want %g in row %d", shape, focus, m.Shown, m.Focus, b.Amount, b.Deep)
				}
			}
		}
	}
}

// From hit to hit one comes to each box that is highlighted, and to no other,
// and back again; with nothing to find there is nowhere to go.
func TestNextHit(t *testing.T) {
	e := leaking(t)
	for _, shape := range []string{``, `"inverted":true`, `"flipped":true`} {
		ask := func(x, y float64, what, query string) (b *Box) {
			_, body := question(t, e, fmt.Sprintf(`"ask":"box","x":%g,"y":%g,"what":%q,"query":%q,"view":{"width":800,"height":2000},"memory":{%s}`, x, y, what, query, shape))
			if err := json.Unmarshal(body, &b); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			return b
		}
		y := 4.0
		if strings.Contains(shape, "flipped") {
			y = 1996
		}
		var names []string
		at := ask(1, y, "next", "Buffer")
		for first := at; at != nil; {
			names = append(names, at.Name)
			if !strings.Contains(at.Name, "Buffer") || len(names) > 100 {
				t.Fatalf("%s: hits are %q", shape, names)
			}
			before := at
			at = ask(at.X+at.Width/2, at.Y+3, "next", "Buffer")
			if back := ask(at.X+at.Width/2, at.Y+3, "previous", "Buffer"); back.X != before.X || back.Y != before.Y {
				t.Fatalf("%s: next and back again is another box than %+v: %+v", shape, before, back)
			}
			if at.X == first.X && at.Y == first.Y {
				break
			}
		}
		r := Request{View: View{Width: 800, Height: 2000}}
		if err := json.Unmarshal([]byte("{"+shape+"}"), &r.Memory); err != nil {
			t.Fatal(err)
		}
		opened, err := e.get(0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := opened.trace.flameOf(&r)
		if err != nil {
			t.Fatal(err)
		}
		boxes := 0
		for i := range f.Boxes {
			if strings.Contains(f.Name(&f.Boxes[i]), "Buffer") {
				boxes++
			}
		}
		if boxes == 0 || boxes != len(names) {
			t.Errorf("%s: %d hits, but %d boxes of that name: %q", shape, len(names), boxes, names)
		}
		if b := ask(1, y, "next", "nobody"); b != nil {
			t.Errorf("%s: nobody is %+v", shape, b)
		}
		if b := ask(1, y, "next", ""); b != nil {
			t.Errorf("%s: a search for nothing finds %+v", shape, b)
		}
	}
}

// Every question gets an answer of the kind that it should, also to nonsense.
func TestMemoryAnswers(t *testing.T) {
	e := leaking(t)
	e.Add(memoryOf(t, example.Memory))
	e.Add(NewTrace(About{}, memoryOf(t, example.Memory).model))
	for text, want := range map[string]Kind{
		`"ask":"memory"`: JSON,
		`"ask":"functions","sort":"amount","desc":true`:   JSON,
		`"ask":"functions","memory":{"base":{"trace":1}}`: JSON,
		`"ask":"function","query":"Stdlib__Bytes.sub"`:    JSON,
		`"ask":"function","query":"nobody"`:               JSON,
		`"ask":"spots","query":"buffer"`:                  JSON,
		`"ask":"ways"`:                                    JSON,
		`"ask":"histograms"`:                              JSON,
		`"ask":"groups"`:                                  JSON,
		`"ask":"hello"`:                                   JSON,
		`"ask":"table"`:                                   JSON,
		`"ask":"findings"`:                                JSON,
		`"ask":"draw","what":"flame","theme":"dark","view":{"width":300,"height":200}`:                              File,
		`"ask":"draw","what":"chart","theme":"light","view":{"to":5,"width":300,"height":200}`:                      File,
		`"ask":"flame","view":{"width":300,"height":200},"memory":{"base":{"trace":1}}`:                             Picture,
		`"ask":"flame","view":{"width":300,"height":200,"scroll":1e9}`:                                              Picture,
		`"ask":"flame","view":{"width":300,"height":200},"memory":{"focus":{"node":99999999,"depth":3,"func":"x"}}`: Picture,
		`"ask":"chart","view":{"from":-1e300,"to":1e300,"width":300,"height":200}`:                                  Picture,
		`"ask":"chart","view":{"from":1,"to":1,"width":300,"height":200}`:                                           Refusal,
		`"ask":"chart","view":{"to":5,"width":1e9,"height":200}`:                                                    Refusal,
		`"ask":"draw","what":"moon","theme":"dark","view":{"width":300,"height":200}`:                               Refusal,
		`"ask":"draw","what":"flame","theme":"pink","view":{"width":300,"height":200}`:                              Refusal,
		`"ask":"memory","memory":{"filter":[{"what":"moon"}]}`:                                                      Refusal,
		`"ask":"memory","memory":{"filter":[{"what":"inside","text":"/(/"}]}`:                                       Refusal,
		`"ask":"memory","memory":{"filter":[{"what":"inside","text":"` + strings.Repeat("x", 2000) + `"}]}`:         Refusal,
		`"ask":"memory","memory":{"filter":[` + strings.Repeat(`{"what":"never"},`, 40) + `{"what":"never"}]}`:      Refusal,
		`"ask":"functions","sort":"moon"`:                                                                           Refusal,
		`"ask":"functions","query":"/(/"`:                                                                           Refusal,
		`"ask":"flame","query":"/(/","view":{"width":300,"height":200}`:                                             Refusal,
		`"ask":"flame","view":{"width":300,"height":200},"memory":{"base":{"trace":9}}`:                             Refusal,
		`"ask":"flame","view":{"width":300,"height":200},"memory":{"base":{"trace":2}}`:                             Refusal,
		`"ask":"memory","trace":2`: Refusal,
		`"ask":"chart","trace":2,"view":{"to":5,"width":300,"height":200}`: Refusal,
	} {
		if kind, body := question(t, e, text); kind != want {
			t.Errorf("%.200s: an answer of kind %d; want %d: %.200s", text, kind, want, body)
		} else if len(body) > 1<<20 {
			t.Errorf("%.200s: %d bytes", text, len(body))
		}
	}
}

// The largest of the reference traces is asked what a page asks when a filter
// changes. The time is the processor's, which others may use as well: it is
// told, and only bounded far off.
func TestBigAnswersSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	packed, err := os.ReadFile(filepath.Join(reference.Dir(t), "memtrace", "big", "big.ctf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	e := new(Engine)
	e.Add(memoryOf(t, packed))
	for i, filter := range []string{`{"what":"allocated","from":5,"to":20}`, `{"what":"lifetime","from":0.01}`, `{"what":"outside","text":"Stdlib__List.*"}`, `{"what":"peak"}`} {
		start := time.Now()
		for _, text := range []string{
			`"ask":"memory","memory":{"filter":[%s]}`,
			`"ask":"chart","view":{"from":0,"to":47,"width":1600,"height":200},"memory":{"filter":[%s]}`,
			`"ask":"flame","view":{"width":1000,"height":600},"memory":{"filter":[%s]}`,
			`"ask":"functions","desc":true,"limit":100,"memory":{"filter":[%s]}`,
		} {
			if kind, body := question(t, e, fmt.Sprintf(text, filter)); kind == Refusal || len(body) > 128<<10 {
				t.Fatalf("%s: kind %d, %d bytes", text, kind, len(body))
			}
		}
		took := time.Since(start)
		t.Logf("filter %d: %v for its chart, flame graph and functions", i, took)
		if took > 10*time.Second {
			t.Errorf("filter %d took %v", i, took)
		}
	}
}
