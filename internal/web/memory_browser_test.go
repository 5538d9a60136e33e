package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/example"
	"github.com/mirador-trace/mirador/memtrace"
)

// The tests of this file do with a trace of memory what a person does.

// leak writes the example trace of memory to a file.
func leak(t testing.TB, name string) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(example.Memory))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// browseMemory is browse for a trace of memory.
func browseMemory(t testing.TB, s *Server, l look) *page {
	t.Helper()
	p := open(t, s, l)
	p.until(`document.querySelector('.chart canvas')?.dataset.frame >= 1 && (document.querySelector('.flame canvas')?.dataset.frame >= 1 || !document.querySelector('.flame')?.clientWidth) && document.querySelector('.selected strong')`)
	return p
}

// leaking opens the example.
func leaking(t testing.TB, fragment string) *page {
	t.Helper()
	return browseMemory(t, serve(t, leak(t, "leak.ctf")), look{fragment: fragment})
}

// at is where a share of an element's width and height lies.
func (p *page) at(selector string, x, y float64) (float64, float64) {
	p.Helper()
	v := get[[]float64](p, fmt.Sprintf(`(r => [r.x, r.y, r.width, r.height])(document.querySelector(%q).getBoundingClientRect())`, selector))
	return v[0] + v[2]*x, v[1] + v[3]*y
}

func (p *page) mouseAt(typ input.DispatchMouseEventType, x, y float64, options ...chromedp.MouseOption) {
	p.Helper()
	p.do(chromedp.MouseEvent(typ, x, y, options...))
}

func (p *page) clickAt(x, y float64, options ...chromedp.MouseOption) {
	p.Helper()
	options = append([]chromedp.MouseOption{chromedp.ButtonLeft, chromedp.ClickCount(1)}, options...)
	p.mouseAt(chromedp.MousePressed, x, y, options...)
	p.mouseAt(chromedp.MouseReleased, x, y, options...)
}

// brush drags over shares of the chart's width.
func (p *page) brush(from, to float64) {
	p.Helper()
	x0, y := p.at(".chart-box", from, 0.5)
	x1, _ := p.at(".chart-box", to, 0.5)
	p.mouseAt(chromedp.MousePressed, x0, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	for i := 1.0; i <= 5; i++ {
		p.mouseAt(chromedp.MouseMoved, x0+(x1-x0)*i/5, y, chromedp.ButtonLeft)
	}
	p.mouseAt(chromedp.MouseReleased, x1, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// agree waits until the filter's total is told, and checks that the flame
// graph has the same one.
func (p *page) agree() string {
	p.Helper()
	p.until(`!document.querySelector('.memory [aria-busy=true]') && document.querySelector('[data-total]')?.dataset.total === document.querySelector('[data-flame-total]')?.dataset.flameTotal`)
	return p.text(".selected strong")
}

// param returns a part of the URL's fragment.
func (p *page) param(name string) string {
	p.Helper()
	p.wait(320) // the URL follows a little behind
	return get[string](p, fmt.Sprintf("new URLSearchParams(location.hash.slice(1)).getAll(%q).join(' ')", name))
}

// paints waits until an element has so many pixels of a style: pictures follow
// a little behind what is said of them.
func (p *page) paints(selector, style string, slack, least int) {
	p.Helper()
	n := 0
	for range 60 {
		if n = pixels(p.shot(selector), p.styled(style), slack); n >= least {
			return
		}
		p.wait(50)
	}
	p.Errorf("%d pixels of %s in %s; want %d", n, style, selector, least)
}

// box is where a function's first box lies in the flame graph: its row, from
// the top, and a share of the width in which it is.
func (p *page) box(x float64, row int) (float64, float64) {
	p.Helper()
	left, top := p.at(".flame-scroll", x, 0)
	return left, top + float64(row)*20 + 8
}

func TestMemoryFirstPicture(t *testing.T) {
	p := leaking(t, "")
	if total := p.agree(); total != "7.4 GiB" {
		t.Errorf("%s were allocated", total)
	}
	p.paints(".chart", "chart-area", 3, 20000)
	p.paints(".chart", "chart-peak", 40, 30)
	p.paints(".flame", "frame-all", 2, 5000)
	if all := p.text(".tables"); !strings.Contains(all, "Stdlib__Buffer.create") {
		t.Errorf("the table says %s", all)
	}
}

// A filter by time, brushed over the chart, changes what is selected and
// nothing of where one looks.
func TestMemoryBrush(t *testing.T) {
	p := leaking(t, "")
	p.clickAt(p.box(0.2, 3)) // zooms
	p.until(`document.querySelector('.crumb')?.textContent === 'Dune__exe__Leak.render'`)
	x, y := p.at(".chart-box", 0.5, 0.5)
	p.mouseAt(input.DispatchMouseEventTypeMouseWheel, x, y, func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = 0.001, -300 })
	p.until(`document.querySelector('.chart-whole')`)
	focus, from, to := p.param("focus"), p.param("from"), p.param("to")
	before := p.agree()
	p.brush(0.3, 0.6)
	p.until(`document.querySelector('.chip-text')?.textContent.startsWith('allocated')`)
	p.until(fmt.Sprintf(`document.querySelector('.selected strong').textContent !== %q`, before))
	p.agree()
	p.paints(".chart", "chart-part-line", 20, 100)
	if f, a, b := p.param("focus"), p.param("from"), p.param("to"); f != focus || a != from || b != to {
		t.Errorf("the filter changed where one looks: %s %s–%s, was %s %s–%s", f, a, b, focus, from, to)
	}
	first := p.param("only")
	p.press(`[role=radio]:nth-child(2)`)
	p.until(`document.querySelector('.chip-text')?.textContent.startsWith('alive')`)
	if now := p.param("only"); strings.TrimPrefix(now, "alive") != strings.TrimPrefix(first, "allocated") {
		t.Errorf("another kind of brush changed the time from %s to %s", first, now)
	}
	p.agree()
	p.press(".chip-remove")
	p.until(fmt.Sprintf(`document.querySelector('.selected strong').textContent === %q && !document.querySelector('.chip')`, before))
	p.do(chromedp.KeyEvent("z", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.until(`document.querySelector('.chip-text')`)
}

func TestMemoryBrushGrip(t *testing.T) {
	p := leaking(t, "only=allocated:1~2")
	before := p.agree()
	x, y := p.at(".brush-grip.right", 0.5, 0.5)
	p.mouseAt(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.mouseAt(chromedp.MouseMoved, x+100, y, chromedp.ButtonLeft)
	p.mouseAt(chromedp.MouseMoved, x+200, y, chromedp.ButtonLeft)
	p.mouseAt(chromedp.MouseReleased, x+200, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.until(fmt.Sprintf(`document.querySelector('.selected strong').textContent !== %q`, before))
	p.agree()
	if only := p.param("only"); !strings.HasPrefix(only, "allocated:1~3.") {
		t.Errorf("the right end was dragged from 2 s by 200 px: %s", only)
	}
}

func TestMemoryFlame(t *testing.T) {
	p := leaking(t, "")
	x, y := p.box(0.2, 2)
	p.mouseAt(chromedp.MouseMoved, x, y)
	p.until(`document.querySelector('.flame-tip')?.textContent.includes('Dune__exe__Leak.handle')`)
	p.clickAt(x, y)
	p.until(`document.querySelector('.crumb')?.textContent === 'Dune__exe__Leak.handle'`)
	p.clickAt(p.box(0.2, 1)) // a caller: zooms out
	p.until(`document.querySelector('.crumb')?.textContent === 'Dune__exe__Leak'`)
	p.clickAt(p.box(0.2, 0))
	p.until(`!document.querySelector('.crumb')`)
	// The same with keys.
	p.do(chromedp.Focus(chromedp.ID("flame")))
	p.key(kb.ArrowDown)
	p.until(`document.getElementById('flame-at').textContent.startsWith('all')`)
	for _, name := range []string{"Dune__exe__Leak,", "Dune__exe__Leak.handle,", "Dune__exe__Leak.render,"} {
		p.key(kb.ArrowDown)
		p.until(fmt.Sprintf(`document.getElementById('flame-at').textContent.startsWith(%q)`, name))
	}
	p.key("\r")
	p.until(`document.querySelector('.crumb')?.textContent === 'Dune__exe__Leak.render'`)
	p.key(kb.Backspace)
	p.until(`!document.querySelector('.crumb')`)
	p.press(".flame-bar .action:nth-of-type(1)") // inverted
	p.until(`document.querySelector('.flame-bar .action').getAttribute('aria-pressed') === 'true'`)
	p.agree()
	p.key("f")
	p.until(`location.hash.includes('flipped=1')`)
	img := p.shot(".flame")
	c := img.At(img.Bounds().Dx()/2, img.Bounds().Dy()-10)
	r, g, b, _ := c.RGBA()
	if want := p.styled("frame-all"); !near(uint8(r>>8), want.R, 3) || !near(uint8(g>>8), want.G, 3) || !near(uint8(b>>8), want.B, 3) {
		t.Errorf("flipped, the first box is not at the bottom: %v", c)
	}
}

func TestMemoryMenu(t *testing.T) {
	p := leaking(t, "")
	before := p.agree()
	x, y := p.box(0.5, 4)
	p.clickAt(x, y, chromedp.ButtonRight)
	p.until(`document.querySelector('.menu [role=menuitem]') === document.activeElement`)
	name := get[string](p, `document.querySelector('.menu').getAttribute('aria-label')`)
	p.key(kb.ArrowDown)
	p.key(kb.ArrowDown)
	p.key("\r")
	p.until(fmt.Sprintf(`document.querySelector('.chip-text')?.textContent === 'inside ' + %q`, name))
	p.until(fmt.Sprintf(`document.querySelector('.selected strong').textContent !== %q`, before)) // less than everything
	p.agree()
	p.press(".chip-remove")
	p.until(`!document.querySelector('.chip')`)
	// The picture without the filter may still be on its way.
	for try := 0; try < 20 && !get[bool](p, `!!document.querySelector('.menu')`); try++ {
		p.clickAt(x, y, chromedp.ButtonRight)
		p.wait(200)
	}
	p.until(`document.querySelector('.menu')`)
	get[bool](p, `([...document.querySelectorAll('.menu button')].find(b => b.textContent.startsWith('Hide')).click(), true)`)
	p.until(`document.querySelector('.chip.plain')?.textContent.includes('is hidden')`)
	if after := p.agree(); after != before {
		t.Errorf("hiding a function changed the total from %s to %s", before, after)
	}
}

func TestMemorySearch(t *testing.T) {
	p := leaking(t, "")
	hit := p.styled("frame-hit")
	if n := pixels(p.shot(".flame"), hit, 3); n > 0 {
		t.Errorf("%d pixels of hits before a search", n)
	}
	p.key("/")
	p.key("buffer")
	p.until(`document.querySelector('.search-count')?.textContent === '4' && document.querySelectorAll('.amounts tbody tr').length === 4`)
	p.paints(".flame", "frame-hit", 3, 2000)
	// Enter goes from hit to hit, and around.
	at := func() string { return get[string](p, `document.getElementById('flame-at').textContent`) }
	p.key("\r")
	p.until(`document.getElementById('flame-at').textContent.startsWith('Stdlib__Buffer.')`)
	first := at()
	p.key("\r")
	p.until(fmt.Sprintf(`document.getElementById('flame-at').textContent !== %q`, first))
	if now := at(); !strings.Contains(now, "Buffer") {
		t.Errorf("the second hit is %s", now)
	}
	p.do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.until(fmt.Sprintf(`document.getElementById('flame-at').textContent === %q`, first))
	get[bool](p, `(document.getElementById('search').select(), true)`)
	p.key("/buf(/")
	p.until(`document.querySelector('.search-count')?.textContent === 'not a regexp'`)
	p.key(kb.Escape)
	p.until(`document.getElementById('search').value === ''`)
}

func TestMemoryTables(t *testing.T) {
	p := leaking(t, "")
	first := `document.querySelector('.amounts tbody .link')?.textContent`
	p.until(first + ` === 'Stdlib__Buffer.create'`)
	p.press(".amounts thead th:nth-child(3) button") // with callees
	p.until(first + ` === 'Dune__exe__Leak'`)
	p.press(".amounts thead th:nth-child(1) button") // by name
	p.until(first + `.startsWith('Caml')`)
	get[bool](p, `([...document.querySelectorAll('.amounts .link')].find(b => b.textContent === 'Stdlib__Buffer.resize').click(), true)`)
	p.until(`document.querySelector('.detail h2')?.textContent === 'Stdlib__Buffer.resize' && document.querySelector('.detail .link')?.textContent.includes('add_string')`)
	p.press(".detail .link")
	p.until(`document.querySelector('.detail h2')?.textContent === 'Stdlib__Buffer.add_string'`)
	p.paints(".flame", "frame-hit", 3, 500)
	p.key(kb.Escape)
	p.until(`!document.querySelector('.detail')`)
	p.key("l")
	p.until(`document.querySelectorAll('.spot').length > 5 && document.querySelector('.tables').textContent.includes('.ml:')`)
	p.key("h")
	p.until(`document.querySelectorAll('.way').length > 2 && document.querySelector('.way[open] li')`)
	p.key("o")
	p.until(`document.querySelector('.tables').textContent.includes('domain 0')`)
}

func TestMemoryHistograms(t *testing.T) {
	p := leaking(t, "show=histograms")
	p.until(`document.querySelectorAll('.histogram li').length > 10`)
	p.press(".histogram li:last-child button")
	p.until(`document.querySelector('.chip-text')?.textContent.startsWith('lifetime')`)
	p.agree()
	if n := get[int](p, `document.querySelectorAll('.histogram li').length`); n < 10 {
		t.Errorf("the whole trace's bars went: %d are left", n)
	}
}

func TestMemoryClauses(t *testing.T) {
	p := leaking(t, "")
	p.key("x")
	p.until(`document.activeElement?.tagName === 'SELECT' && document.querySelector('.editor')`)
	get[bool](p, `(e => { e.value = 'size'; e.dispatchEvent(new Event('change', { bubbles: true })); return true })(document.querySelector('.editor select'))`)
	p.until(`document.querySelector('.editor input[name=from]')`)
	p.do(chromedp.Focus(chromedp.CSS(".editor input[name=from]")))
	p.key("1 KiB\r")
	p.until(`document.querySelector('.chip-text')?.textContent === 'size ≥ 1.0 KiB'`)
	one := p.agree()
	p.press("button.chip-text")
	p.until(`document.querySelector('.editor input[name=from]')?.value === '1 KiB'`)
	p.do(chromedp.Focus(chromedp.CSS(".editor input[name=to]")))
	p.key("nonsense\r")
	p.until(`document.querySelector('.editor .bad')`)
	p.key(kb.Escape)
	p.until(`!document.querySelector('.editor')`)
	p.key("n")
	p.until(`document.querySelectorAll('.chip').length === 2`)
	p.until(fmt.Sprintf(`document.querySelector('.selected strong').textContent !== %q`, one))
	p.agree()
	p.do(chromedp.KeyEvent("X", chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.until(`!document.querySelector('.chip')`)
	p.agree()
}

func TestMemoryURL(t *testing.T) {
	const fragment = "from=1&to=4&only=allocated:0.5~3&only=inside:Stdlib__Buffer.*&hide=Dune__exe__Leak.handle&brush=alive" +
		"&inverted=1&flipped=1&search=Bytes&function=Stdlib__Bytes.sub&at=2&show=functions"
	p := leaking(t, fragment)
	p.until(`document.querySelector('.detail h2')?.textContent === 'Stdlib__Bytes.sub' && document.querySelectorAll('.chip').length === 3 && document.querySelector('.moment')`)
	p.key("0") // something that changes the URL
	p.until(`!location.hash.includes('from=')`)
	for _, part := range strings.Split(fragment, "&")[2:] {
		if !strings.Contains(get[string](p, "decodeURIComponent(location.hash)"), part) {
			t.Errorf("%s is not in %s", part, get[string](p, "location.hash"))
		}
	}
	total := p.agree()
	q := browseMemory(t, serve(t, leak(t, "leak.ctf")), look{fragment: get[string](p, "location.hash.slice(1)")})
	q.until(`document.querySelectorAll('.chip').length === 3`)
	if again := q.agree(); again != total {
		t.Errorf("the link shows %s; it was made of %s", again, total)
	}
}

func TestMemoryCompare(t *testing.T) {
	s := serve(t, leak(t, "a.ctf"), leak(t, "b.ctf"))
	p := browseMemory(t, s, look{})
	p.press(".compare-place .action")
	p.press(".compare-menu li:first-child button")
	p.until(`document.querySelector('.compare')?.textContent.includes('b.ctf')`)
	p.until(`document.querySelector('.flame-total').textContent.startsWith('7.4 GiB → 7.4 GiB')`)
	if n := pixels(p.shot(".flame"), p.styled("frame-grew"), 30) + pixels(p.shot(".flame"), p.styled("frame-shrank"), 30); n > 300 {
		t.Errorf("a trace compared with itself has %d pixels of change", n)
	}
	p.key("n") // what was never collected, against all of the other one
	p.until(`document.querySelector('.flame-total').textContent.startsWith('7.4 GiB → 133.5 MiB')`)
	p.paints(".flame", "frame-shrank", 30, 5000)
	p.until(`document.querySelector('.change.shrank')`)
	if a := p.param("against"); a != "2" {
		t.Errorf("against=%s", a)
	}
}

func TestMemoryExport(t *testing.T) {
	p := leaking(t, "")
	get[bool](p, `(window.made = [], window.create = URL.createObjectURL, URL.createObjectURL = b => { made.push(b); return create(b) }, true)`)
	for i, want := range []string{"flame graph of memory", "", "memory over time", ""} {
		p.key("e")
		p.press(fmt.Sprintf("dialog.export .choice:nth-child(%d)", i+1))
		p.until(fmt.Sprintf("made.length === %d", i+1))
		if want == "" {
			if size := get[[]int](p, fmt.Sprintf("createImageBitmap(made[%d]).then(b => [b.width, b.height])", i)); size[0] < 400 || size[1] < 100 {
				t.Errorf("a PNG of %v", size)
			}
			continue
		}
		if svg := get[string](p, fmt.Sprintf("made[%d].text()", i)); !strings.Contains(svg, want) || !strings.Contains(svg, "MiB") && !strings.Contains(svg, "GiB") {
			t.Errorf("this is no SVG of the picture: %.100q", svg)
		}
	}
}

func TestMemoryNewData(t *testing.T) {
	path := leak(t, "live.ctf")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:90_000], 0o600); err != nil {
		t.Fatal(err)
	}
	p := browseMemory(t, serve(t, path), look{fragment: "only=inside:Dune__exe__Leak.handle"})
	p.clickAt(p.box(0.2, 3))
	p.until(`document.querySelector('.crumb')`)
	before := p.agree()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector('.fresh')`)
	p.key(kb.F5)
	p.until(fmt.Sprintf(`!document.querySelector('.fresh') && document.querySelector('.selected strong').textContent !== %q`, before))
	p.agree()
	if chips, crumb := p.text(".chip-text"), p.text(".crumb"); chips != "inside Dune__exe__Leak.handle" || crumb != "Dune__exe__Leak.render" {
		t.Errorf("after F5 one looks at %s, %s", chips, crumb)
	}
}

// A moment of a trace of memory leads to what the threads did then, when both
// know what time it was.
func TestMemoryMoment(t *testing.T) {
	memory, threads := leak(t, "leak.ctf"), filepath.Join(t.TempDir(), "threads.ctf")
	writeSample(t, threads, 0)
	begin := 0.0
	source := func(start func() float64) Source {
		src := fileSource(threads)
		return Source{Load: func() (*engine.Trace, error) { return loadThreads(threads, start()) }, Path: src.Path}
	}
	first := Source{Load: func() (*engine.Trace, error) {
		m, err := loadMemory(memory)
		if err == nil {
			begin = m.About().Start
		}
		return m, err
	}}
	s := serveSources(t, first, source(func() float64 { return begin + 1 }), source(func() float64 { return 0 }))
	p := browseMemory(t, s, look{})
	x, y := p.at(".chart-box", (0.01*5.142+1.05)/(1.02*5.142), 0.5) // 1.05 s
	p.clickAt(x, y)
	p.until(`document.querySelector('.moment')?.textContent.includes('does not say what time it was') && document.querySelectorAll('.moment .action').length === 2`)
	if all := p.text(".moment"); !strings.Contains(all, "alive") {
		t.Errorf("the moment says %s", all)
	}
	p.press(".moment .action:nth-of-type(2)")
	p.until(`document.querySelector('.mark-flag')?.textContent === 'memory' && document.title.startsWith('threads.ctf')`)
	from, to := p.view()
	if at := (from + to) / 2; !about(at, 0.05, 0.01) {
		t.Errorf("50 ms after the threads' begin is shown as %g to %g s", from, to)
	}
	p.press("[role=tab]:first-child")
	p.until(`document.querySelector('.moment')`)
	p.press(".moment .action.primary")
	p.until(`document.querySelector('.chip-text')?.textContent.startsWith('alive at') && !document.querySelector('.moment')`)
	p.agree()
}

func TestMemoryNarrow(t *testing.T) {
	p := browseMemory(t, serve(t, leak(t, "leak.ctf")), look{width: 400, height: 800, dark: true})
	p.press(".only-narrow")
	p.until(`document.querySelector('.flame canvas')?.dataset.frame >= 1 && document.querySelector('.flame').clientHeight > 200`)
	if n := get[float64](p, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		t.Errorf("the page is %g px wider than the window", n)
	}
	p.clickAt(p.box(0.2, 3))
	p.until(`document.querySelector('.crumb')`)
}

// A call stack of 12,000 functions is shown to its end.
func TestMemoryDeep(t *testing.T) {
	const deep, step = 12_000, 300 // what a packet has room for at once
	var b bytes.Buffer
	locate := func(code uint64) []memtrace.Location {
		return []memtrace.Location{{File: "deep.go", Line: int(code), Func: fmt.Sprintf("deep.f%05d", code)}}
	}
	w, err := memtrace.NewWriter(&b, memtrace.Info{SampleRate: 0.001, WordSize: 64, Start: 1e15}, locate)
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Domain(0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []uint64
	for i := range deep {
		codes = append(codes, uint64(i)+1)
		if len(codes) == step {
			if _, err := d.Alloc(&memtrace.Allocation{Time: 1e15 + int64(i), Length: 10, Samples: 10, Prefix: i + 1 - step, Codes: codes}); err != nil {
				t.Fatal(err)
			}
			codes = codes[:0]
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "deep.ctf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := browseMemory(t, serve(t, path), look{})
	p.until(`document.querySelector('.flame-scroll').scrollHeight > 20 * 12000`)
	get[bool](p, `((e => e.scrollTop = e.scrollHeight)(document.querySelector('.flame-scroll')), true)`)
	p.wait(300)
	x, y := p.at(".flame-scroll", 0.001, 1)
	p.mouseAt(chromedp.MouseMoved, x+2, y-36)
	p.until(`/deep.f1199\d|deep.f12000/.test(document.querySelector('.flame-tip')?.textContent)`)
	p.clickAt(x+2, y-36)
	p.until(`document.querySelector('.crumb')`)
	p.agree()
	p.key(kb.Escape)
	p.until(`!document.querySelector('.crumb')`)
	// By keyboard one gets there, too, and farther.
	get[bool](p, `(document.querySelector('.flame-scroll').scrollTop = 0, true)`)
	p.do(chromedp.Focus(chromedp.ID("search")))
	p.key("f07000\r")
	p.until(`document.getElementById('flame-at').textContent.startsWith('deep.f07000')`)
	p.until(`document.querySelector('.flame-scroll').scrollTop > 20 * 6900`)
	p.do(chromedp.Focus(chromedp.ID("flame")))
	for i := range 40 { // out of what is seen
		p.key(kb.ArrowDown)
		p.until(fmt.Sprintf(`document.getElementById('flame-at').textContent.startsWith('deep.f%05d')`, 7001+i))
	}
}

// The tab has no serious fault that a machine can find, whatever it shows.
func TestMemoryAccessible(t *testing.T) {
	s := serve(t, leak(t, "leak.ctf"), leak(t, "other.ctf"))
	states := []accessState{
		{"functions", "", nil, "document.querySelectorAll('.amounts tbody tr').length > 5"},
		{"filter", "only=allocated:1~2&only=never&hide=Stdlib__Bytes.sub", nil, "document.querySelectorAll('.chip').length === 3"},
		{"flame", "show=flame&inverted=1", nil, "true"},
		{"function", "function=Stdlib__Bytes.sub", nil, "document.querySelector('.detail .link')"},
		{"places", "show=spots", nil, "document.querySelector('.spot')"},
		{"paths", "show=ways", nil, "document.querySelector('.way')"},
		{"histograms", "show=histograms", nil, "document.querySelector('.histogram li')"},
		{"groups", "show=groups", nil, "document.querySelector('.tables .link')"},
		{"moment", "at=2", nil, "document.querySelector('.moment')"},
		{"search", "search=Bytes", nil, "document.querySelector('.search-count')"},
		{"compare", "against=2&only=never", nil, "document.querySelector('.compare')"},
		{"editor", "", does("document.getElementById('add-clause').click()"), "document.querySelector('.editor')"},
		{"help", "", does("document.querySelector('button[aria-label=Help]').click()"), "document.querySelector('dialog.help')"},
	}
	checkStates(t, states, func(t *testing.T, l look) *page { return browseMemory(t, s, l) }, func(*page) {})
}
