package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	gotrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/trace"
)

// reportOf writes a report of trace files, and returns an engine with the same
// traces and the report's address.
func reportOf(t testing.TB, title string, paths ...string) (e *engine.Engine, url string) {
	t.Helper()
	e = new(engine.Engine)
	r := &Report{Title: title}
	for _, path := range paths {
		file, err := format.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		loaded, err := trace.Read(file, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		e.Add(engine.NewTrace(engine.About{
			Name: name, Format: loaded.Format, Packets: loaded.Packets, LostPackets: loaded.Lost, Damage: loaded.Damage,
			Start: float64(loaded.Start) / 1e9,
		}, loaded.Model))
		r.Traces = append(r.Traces, Packed{name, file.Pack})
	}
	return e, writeReport(t, r)
}

// writeReport writes a report and returns its address.
func writeReport(t testing.TB, r *Report) (url string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := r.Write(f); err != nil {
		t.Fatal(err)
	}
	return "file://" + to
}

// A report opens from a file, and its engine gives the server's very bytes for
// whatever is asked.
func TestReport(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first.ctf"), filepath.Join(t.TempDir(), "second.ctf")
	writeSample(t, first, 0)
	writeSample(t, second, 40)
	e, url := reportOf(t, "Two samples", first, second)
	p := browseAt(t, url, look{})
	if n := get[int](p, `document.querySelectorAll('[role=tab]').length`); n != 2 {
		t.Errorf("%d tabs", n)
	}
	if n := pixels(p.shot("#picture"), p.styled("thread-line"), 4); n < 1000 {
		t.Errorf("%d pixels of thread lines", n)
	}

	others := []map[string]any{
		{"ask": "findings"}, {"ask": "overview", "width": 300}, {"ask": "search", "query": "job"},
		{"ask": "table", "limit": 100}, {"ask": "thread", "tid": "5"}, {"ask": "range", "from": 0.01, "to": 0.09},
	}
	for i, r := range others {
		r["v"], r["trace"] = engine.Version, i%2
	}
	same(p, e, append(viewports(1000, 2, 0.12), others...))
	if title := get[string](p, "document.title"); title != "Two samples" {
		t.Errorf("title %q", title)
	}
	p.press(`[role=tab]:last-of-type`)
	p.fragment("tab=2")
}

// viewports are questions for n pictures of some traces that last so many s.
func viewports(n, traces int, duration float64) []map[string]any {
	random := rand.New(rand.NewPCG(6, 1))
	asked := make([]map[string]any, n)
	for i := range asked {
		from := random.Float64()*duration - 0.01
		v := map[string]any{
			"from": from, "to": from + 1e-6 + duration*random.Float64()*random.Float64(),
			"width": float64(100 + random.IntN(1800)), "height": float64(100 + random.IntN(1000)),
			"focus": 2000 * random.Float64(), "scroll": 500 * random.Float64(), "fold": random.IntN(3) == 0,
			"rows": []string{"fisheye", "linear"}[random.IntN(2)], "query": []string{"", "job 5"}[random.IntN(2)],
			"selected": []any{nil, 5}[random.IntN(2)],
		}
		asked[i] = map[string]any{"view": v, "trace": random.IntN(traces), "v": engine.Version, "ask": "frame"}
	}
	return asked
}

// same fails unless the page's engine answers as e does.
func same(p *page, e *engine.Engine, requests []map[string]any) {
	p.Helper()
	for i, r := range requests {
		request, err := json.Marshal(r)
		if err != nil {
			p.Fatal(err)
		}
		want := e.Handle(nil, request)[envelopeSize:]
		got := get[string](p, fmt.Sprintf(`(async r => {
			const a = await window.mirador.ask(r.ask, r.trace, r)
			if (!(a instanceof ArrayBuffer)) return JSON.stringify(a)
			return btoa(new Uint8Array(a).reduce((s, b) => s + String.fromCharCode(b), ''))
		})(%s)`, request))
		if ask := r["ask"]; ask == "frame" || ask == "chart" || ask == "flame" {
			data, err := base64.StdEncoding.DecodeString(got)
			if err != nil || len(data) < envelopeSize || !bytes.Equal(data[envelopeSize:], want) {
				p.Fatalf("viewport %d, %s: %d bytes, and %d from the engine here", i, request, len(data), len(want))
			}
			continue
		}
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal(want, &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			p.Errorf("%s: %.300s; the engine here says %.300s", request, got, want)
		}
	}
}

// A recording of ours is a directory, and has the runtime's trace in it.
func TestReportOfRecording(t *testing.T) {
	if gotrace.IsEnabled() {
		t.Skip("the test itself is traced")
	}
	dir := filepath.Join(t.TempDir(), "t.trace")
	r, err := mirador.Start(mirador.Config{Path: dir, Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Add(1)
		mirador.Go(fmt.Sprint("worker ", i), func() {
			defer group.Done()
			mirador.Label("begins")
			time.Sleep(time.Duration(i) * time.Millisecond)
		})
	}
	group.Wait()
	time.Sleep(1100 * time.Millisecond) // the runtime ends a generation
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	e, url := reportOf(t, "", dir)
	p := browseAt(t, url, look{})
	same(p, e, viewports(50, 1, 1.2))
	if title := get[string](p, "document.title"); title != "t.trace – mirador" {
		t.Errorf("title %q", title)
	}
}

const envelopeSize = 16 // of an answer, before its body

// What a trace contains never runs, whatever it looks like.
func TestReportOfHostileTrace(t *testing.T) {
	attack := `</script><script>window.attacked=1</script><img src=x onerror=window.attacked=1>`
	texts := []string{attack, "<!--<script>", "\u202Eright to left", "line\u2028separator", "'\"`${window.attacked=1}",
		"\xff\xfe", strings.Repeat("long ", 200), strings.Repeat("1 MB label\u202E", 80_000), strings.Repeat("a\u0301", 500_000)}
	dir := t.TempDir()
	path := filepath.Join(dir, "<img src=x onerror=attacked=1>\u2028.ctf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := mirage.NewWriter(f)
	for i, text := range texts {
		id, at := int64(i+1), int64(i+1)*1e6
		for _, ev := range []event.Event{
			{Kind: event.Creates, Time: at, Thread: -1, Other: id, Type: event.Task},
			{Kind: event.Label, Time: at, Thread: id, Text: []byte(text)},
			{Kind: event.Counter, Time: at, Thread: id, Value: id, Text: []byte(text)},
			{Kind: event.Fails, Time: at + 5e5, Thread: id, Other: id, Text: []byte(text)},
		} {
			if err := w.Write(&ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, url := reportOf(t, attack, path)
	page, err := os.ReadFile(strings.TrimPrefix(url, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(page, []byte("window.attacked")) && bytes.Contains(page, []byte("<script>window.attacked")) {
		t.Error("the title stands in the report as it is")
	}
	p := browseAt(t, url, look{})
	p.key("i")
	p.until(`document.body.textContent.includes('window.attacked=1')`)
	// The page stays usable: one can look closer, search, see the table and a
	// thread whose label is as long as a book.
	p.key("i")
	p.wheel(400, 300, 0, -300)
	if from, to := p.view(); !(to-from < 0.008) {
		t.Errorf("the wheel leads to %g–%g s", from, to)
	}
	p.key("0")
	p.key("/")
	p.key("MB label\r")
	p.until(`document.querySelector('.panel h2')?.textContent.startsWith('1 MB label')`)
	p.do(chromedp.Focus(chromedp.ID("picture")))
	p.key("t")
	p.until(`document.querySelectorAll('.threads tbody tr').length > 0`)
	if n := get[float64](p, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		t.Errorf("the page is %g px wider than the window", n)
	}
	if get[bool](p, `'attacked' in window`) {
		t.Error("what stands in the trace ran")
	}
}

// A trace that cannot be packed is the report's error.
func TestReportFails(t *testing.T) {
	r := &Report{Traces: []Packed{{"bad", func(io.Writer) error { return os.ErrClosed }}}}
	if err := r.Write(io.Discard); err != os.ErrClosed {
		t.Errorf("error %v", err)
	}
}
