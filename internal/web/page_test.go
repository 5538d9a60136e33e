package web

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	scenepng "github.com/mirador-trace/mirador/internal/scene/png"
)

// The tests of this file do with the page what a person does, and look at what
// a person sees: one test for each interaction.

func about(a, b, slack float64) bool { return math.Abs(a-b) <= slack }

func TestFirstPicture(t *testing.T) {
	p := browse(t, sample(t), look{})
	from, to := p.view()
	if from >= 0 || to <= 0.1 || to-from > 0.12 {
		t.Errorf("the first view is %g to %g s; want a bit more than 0 to 0.1", from, to)
	}
	img := p.shot("#picture")
	if n := pixels(img, p.styled("thread-line"), 4); n < 1000 {
		t.Errorf("%d pixels of thread lines", n)
	}
	if n := pixels(img, p.styled("thread-label"), 40); n < 200 {
		t.Errorf("%d pixels of labels", n)
	}
	if n := pixels(img, p.styled("idle"), 2); n < 10000 {
		t.Errorf("%d pixels of the band in which the process sleeps", n)
	}
	if n := pixels(img, p.styled("gc"), 2); n < 2000 {
		t.Errorf("%d pixels of the collection's band", n)
	}
}

func TestArrows(t *testing.T) {
	p := browse(t, sample(t), look{fragment: "from=0.031&to=0.038&rows=linear&scroll=9999"})
	p.view()
	img := p.shot("#picture")
	for _, style := range []string{"try-read-arrow", "signal-arrow", "resolve-arrow", "read-arrow"} {
		if n := pixels(img, p.styled(style), 60); n < 20 {
			t.Errorf("%d pixels of the %s", n, style)
		}
	}
}

// bothWays runs a test on the sample's page as the server has it, and as a report
// from a file.
func bothWays(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("served", func(t *testing.T) { test(t, sample(t).URL()) })
	t.Run("report", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "sample.ctf")
		writeSample(t, path, 0)
		_, url := reportOf(t, "", path)
		test(t, url)
	})
}

func TestPan(t *testing.T) { bothWays(t, testPan) }

func testPan(t *testing.T, url string) {
	p := browseAt(t, url, look{fragment: "from=0.02&to=0.04"})
	from, to := p.view()
	p.drag(500, 300, 400, 300)
	f, u := p.view()
	if want := (to - from) / 10; !about(f-from, want, want/20) || !about(u-to, want, want/20) {
		t.Errorf("dragging a tenth of the width moved %g to %g s from %g to %g s", f, u, from, to)
	}
	p.wheel(500, 300, 0, 100, chromedp.ButtonModifiers(chromedp.ModifierShift))
	if g, _ := p.view(); g <= f {
		t.Errorf("Shift and the wheel moved the left edge from %g to %g s; want later", f, g)
	}
	p.key("a")
	if _, v := p.view(); v >= u+(u-f)/10 {
		t.Errorf("A did not move to earlier times: right edge %g s", v)
	}
}

func TestZoomAboutThePointer(t *testing.T) { bothWays(t, testZoomAboutThePointer) }

func testZoomAboutThePointer(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	from, to := p.view()
	_, _, width, _ := p.origin()
	const x = 700.0
	at := from + (to-from)*x/width
	p.wheel(x, 300, 0, -400)
	f, u := p.view()
	if u-f >= (to-from)*0.7 {
		t.Errorf("the wheel zoomed from %g s to %g s only", to-from, u-f)
	}
	if now := f + (u-f)*x/width; !about(now, at, (u-f)/1000) {
		t.Errorf("under the pointer was %g s, and is %g s", at, now)
	}
	p.key("w")
	if g, v := p.view(); v-g >= u-f {
		t.Errorf("W did not zoom in: %g s, then %g s", u-f, v-g)
	}
	p.key("s")
	p.key("s")
	p.key("0")
	if g, v := p.view(); !about(g, from, 1e-9) || !about(v, to, 1e-9) {
		t.Errorf("0 shows %g to %g s; want %g to %g s", g, v, from, to)
	}
	p.drag(200, 300, 400, 320, chromedp.ButtonModifiers(chromedp.ModifierCtrl))
	if g, v := p.view(); !about(v-g, (to-from)/5, (to-from)/100) {
		t.Errorf("Ctrl and a drag over 200 of 1000 px show %g s of %g s", v-g, to-from)
	}
}

func TestRows(t *testing.T) { bothWays(t, testRows) }

func testRows(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	if h := p.fragment("rows="); !strings.Contains(h, "rows=fisheye") {
		t.Fatalf("a trace that is higher than the picture begins as %s", h)
	}
	p.drag(500, 100, 500, 40)
	p.until(`Number(new URLSearchParams(location.hash.slice(1)).get('focus')) > 10`)
	p.key("l")
	p.fragment("rows=linear")
	p.until(`document.querySelector('.scrollbar')`)
	top := get[float64](p, `document.querySelector('.scrollbar-thumb').getBoundingClientRect().y`)
	p.drag(500, 300, 500, 150)
	p.fragment("scroll=150")
	p.until(fmt.Sprintf(`document.querySelector('.scrollbar-thumb').getBoundingClientRect().y > %g`, top))
	p.wheel(500, 300, 0, 100, chromedp.ButtonModifiers(chromedp.ModifierAlt))
	p.fragment("scroll=250")
	x, y, width, height := p.origin()
	p.do(chromedp.DragAndDropXY(x+width-6, y+height/3, x+width-6, y+height-2))
	p.until(`(s => s.ariaValueNow === s.ariaValueMax)(document.querySelector('.scrollbar'))`)
	p.key("l")
	p.fragment("rows=fisheye")
}

func TestLabelsAreText(t *testing.T) { bothWays(t, testLabelsAreText) }

func testLabelsAreText(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	x, y := p.place("write <b>bold</b>")
	p.click(x, y, 1)
	p.until(`document.querySelector('.panel h2')?.textContent === 'write <b>bold</b>'`)
	if n := get[int](p, `document.querySelectorAll('#app b').length`); n != 0 {
		t.Errorf("a label became %d elements", n)
	}
}

func TestCounters(t *testing.T) { bothWays(t, testCounters) }

func testCounters(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	count := func() int { p.view(); return pixels(p.shot("#picture"), p.styled("counter-0"), 24) }
	both := count()
	if both < 60 {
		t.Fatalf("%d pixels of the first counter", both)
	}
	p.press("button[aria-label=Counters]")
	p.press(".switches input")
	p.fragment("hide=bytes")
	p.until(`document.querySelector('.switches input').checked === false`)
	p.key(kb.Escape)
	if n := count(); n > both/3 {
		t.Errorf("the counter is switched off, and has still %d of %d pixels", n, both)
	}
	p.key(" ")
	p.until(`!location.hash.includes('hide=')`)
	if n := count(); n < both/2 {
		t.Errorf("Space switched the counters on, but there are %d of %d pixels", n, both)
	}
}

func TestSearch(t *testing.T) { bothWays(t, testSearch) }

func testSearch(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	hit := func() int {
		p.view()
		return pixels(p.shot("#picture"), blend(p.styled("background"), p.styled("search-hit"), 0.5), 12)
	}
	before := hit()
	p.key("/")
	p.until(`document.activeElement.id === 'search'`)
	p.key("JOB 1")
	p.until(`document.querySelector('.search-count')?.textContent === '11'`) // 1 and 10 to 19
	if n := hit(); n < before+500 {
		t.Errorf("hits have %d pixels, %d without a search", n, before)
	}
	if n := get[int](p, `document.querySelectorAll('.hits li').length`); n != 11 {
		t.Errorf("%d hits are listed", n)
	}
	p.key("\r")
	p.until(`document.querySelector('.panel h2')?.textContent.startsWith('job 1')`)
	first := p.text(".panel h2")
	p.key("\r")
	p.until(fmt.Sprintf(`document.querySelector('.panel h2')?.textContent !== %q`, first))
	p.do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.until(fmt.Sprintf(`document.querySelector('.panel h2')?.textContent === %q`, first))
	p.press(".search-clear")
	p.press("#search")
	p.do(chromedp.Focus(chromedp.ID("search")))
	p.key("/^job [0-4]$")
	p.until(`document.querySelector('.search-count')?.textContent === '5'`)
	p.key("(")
	p.until(`document.querySelector('.search-count')?.textContent === 'not a regexp'`)
}

func TestOnly(t *testing.T) { bothWays(t, testOnly) }

func testOnly(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	get[bool](p, `(window.made = [], window.create = URL.createObjectURL, URL.createObjectURL = b => { made.push(b); return create(b) }, true)`)
	threads := func() string { p.view(); return p.text(".status-view span") }
	p.key("x")
	p.until(`document.querySelector('.toast')?.textContent.startsWith('Search for something first')`)
	from, to := p.view()
	all := threads()
	x, y := p.place("connect")
	p.key("/")
	p.until(`document.activeElement.id === 'search'`)
	p.key("job 1")
	p.until(`document.querySelector('.search-count')?.textContent === '11'`)
	if n := threads(); n != all {
		t.Errorf("a search alone changes %s to %s", all, n)
	}
	p.press(".search-only")
	p.fragment("only=1")
	p.until(`document.querySelector('.search-only').getAttribute('aria-pressed') === 'true'`)
	p.until(`document.querySelector('.status-view span').textContent === '11 threads'`)
	if f, u := p.view(); f != from || u != to {
		t.Errorf("the picture moved from %g–%g s to %g–%g s", from, to, f, u)
	}
	if n := pixels(p.shot("#picture"), p.styled("thread-line"), 4); n < 100 || n > 5000 {
		t.Errorf("%d pixels of thread lines", n)
	}
	p.mouse(chromedp.MouseMoved, x, y) // where a thread was
	p.mouse(chromedp.MouseMoved, x+1, y)
	jobX, jobY := p.place("job 15") // and where one still is
	p.mouse(chromedp.MouseMoved, jobX, jobY)
	p.until(`document.querySelector('.tip')?.textContent.startsWith('job 1')`)
	svg := string(p.exported("export-svg"))
	if !strings.Contains(svg, "job 1") || strings.Contains(svg, "connect") || strings.Contains(svg, "job 2") {
		t.Errorf("the exported picture has not only what is found: %.200s", svg)
	}
	p.wheel(jobX, jobY, 0, -300)
	if f, u := p.view(); u-f > (to-from)*0.8 {
		t.Errorf("the wheel zoomed from %g s to %g s only", to-from, u-f)
	}
	p.key("0")
	p.view()
	// Following an arrow out of what is found shows where it leads.
	p.click(jobX, jobY, 1)
	p.until(`document.querySelector('.panel h2')?.textContent.startsWith('job 1')`)
	get[bool](p, `([...document.querySelectorAll('.panel .link')].find(l => l.textContent.startsWith('main loop')).click(), true)`)
	p.until(`document.querySelector('.panel h2')?.textContent === 'main loop'`)
	p.fragment("focus=0.5&thread=1@") // it went to the first row
	p.view()
	if svg := string(p.exported("export-svg")); !strings.Contains(svg, "main loop") || strings.Contains(svg, "connect") {
		t.Errorf("the selected thread is not shown beside what is found: %.200s", svg)
	}
	p.key(kb.Escape)
	p.until(`!document.querySelector('.panel')`)
	p.key("x")
	p.until(`document.querySelector('.search-only').getAttribute('aria-pressed') === 'false' && !location.hash.includes('only=')`)
	p.key("x")
	p.fragment("only=1")
	// When the search is cleared nothing stays hidden.
	p.press(".search-clear")
	p.until(fmt.Sprintf(`document.querySelector('.status-view span').textContent === %q && !location.hash.includes('only=')`, all))
}

// A link shows only what it says is found, in the table's page as in a report's.
func TestOnlyInLink(t *testing.T) { bothWays(t, testOnlyInLink) }

func testOnlyInLink(t *testing.T, url string) {
	p := browseAt(t, url, look{fragment: "from=0.005&to=0.06&search=job+5&only=1"})
	p.until(`document.querySelector('.search-only')?.getAttribute('aria-pressed') === 'true'`)
	p.until(`document.querySelector('.status-view span').textContent === '11 threads'`)
	if from, to := p.view(); from != 0.005 || to != 0.06 {
		t.Errorf("the link shows %g to %g s", from, to)
	}
}

// blend is how a colour looks over another.
func blend(under, over color.RGBA, alpha float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*(1-alpha) + float64(b)*alpha) }
	return color.RGBA{mix(under.R, over.R), mix(under.G, over.G), mix(under.B, over.B), 255}
}

func TestChain(t *testing.T) { bothWays(t, testChain) }

func testChain(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	x, y := p.place("connect")
	before := pixels(p.shot("#picture"), blend(p.styled("background"), p.styled("highlight"), 0.63), 14)
	p.click(x, y, 2)
	p.until(`document.querySelector('.toast')?.textContent === '3 threads became one'`)
	p.fragment("chain=2")
	p.view()
	if n := pixels(p.shot("#picture"), blend(p.styled("background"), p.styled("highlight"), 0.63), 14); n < before+300 {
		t.Errorf("the chain's highlight has %d pixels, %d before", n, before)
	}
}

// A panel that opens does not move what is under the mouse: the second click of
// a double click used to meet another thread than the first.
func TestPanelLeavesThePicture(t *testing.T) {
	p := browse(t, sample(t), look{})
	from, to := p.view()
	_, _, width, _ := p.origin()
	x, y := p.place("receiver")
	p.click(x, y, 1)
	p.until(`document.querySelector('.panel')`)
	f, u := p.view()
	_, _, narrow, _ := p.origin()
	if f != from || !about((u-f)/narrow, (to-from)/width, 1e-9) {
		t.Errorf("the panel opened: %g–%g s in %g px became %g–%g s in %g px", from, to, width, f, u, narrow)
	}
	p.key(kb.Escape)
	p.until(`!document.querySelector('.panel')`)
	if g, v := p.view(); !about(g, from, 1e-9) || !about(v, to, 1e-9) {
		t.Errorf("the panel closed again: %g–%g s", g, v)
	}
}

func TestSelection(t *testing.T) { bothWays(t, testSelection) }

func testSelection(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	x, y := p.place("receiver")
	p.click(x, y, 1)
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	all := p.text(".panel")
	for _, want := range []string{"condition", "thread 8", "resolved", "Start", "Lasted", "Ran", "waited", "Woken by", "Created by", "Labels"} {
		if !strings.Contains(all, want) {
			t.Errorf("the panel does not say %q: %s", want, all)
		}
	}
	// Following the cause leads to who signalled, and back.
	p.key("[")
	p.until(`document.querySelector('.panel h2')?.textContent === 'sender'`)
	p.key("]")
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	// So does the link in the panel.
	get[bool](p, `([...document.querySelectorAll('.panel .link')].find(l => l.textContent.startsWith('sender')).click(), true)`)
	p.until(`document.querySelector('.panel h2')?.textContent === 'sender'`)
	p.fragment("thread=7@")
	p.key("f")
	if from, to := p.view(); to-from > 0.04 || from > 0.007 || to < 0.03 {
		t.Errorf("F shows %g to %g s of a thread from 0.007 to 0.036 s", from, to)
	}
	p.key(kb.Escape)
	p.until(`!document.querySelector('.panel')`)
}

func TestArrow(t *testing.T) { bothWays(t, testArrow) }

// The sample's thread 7 signals 8 at 34 ms, and resolves it at 36.
func testArrow(t *testing.T, url string) {
	p := browseAt(t, url, look{fragment: "from=0.031&to=0.038&rows=linear&scroll=9999"})
	p.until(`!location.hash.includes('9999')`) // there are not as many rows
	x, y := p.onArrow("sender", "receiver", 0.034)
	img := p.shot("#picture")
	p.mouse(chromedp.MouseMoved, x, y)
	p.until(`document.querySelector('.tip-to')?.textContent === 'receiver'`)
	if tip := p.text(".tip"); !strings.HasPrefix(tip, "senderreceiver") || !strings.Contains(tip, "signalled · 34.0") {
		t.Errorf("the tip says %q", tip)
	}
	p.click(x, y, 1)
	p.until(`document.querySelector('.panel h2')?.textContent === 'Signalled'`)
	p.fragment("arrow=signal:7~8@0.034")
	all := p.text(".panel")
	for _, want := range []string{"Who signalled", "sender", "Who was woken", "receiver", "34.0"} {
		if !strings.Contains(all, want) {
			t.Errorf("the panel does not say %q: %s", want, all)
		}
	}
	glow := blend(p.styled("background"), p.styled("selection"), 0.5)
	if before, now := pixels(img, glow, 5), pixels(p.shot("#picture"), glow, 5); now < before+80 {
		t.Errorf("the selected arrow's glow has %d pixels, %d before", now, before)
	}
	// The keys lead to its ends, and from one to the other.
	p.key("]")
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	p.until(`!location.hash.includes('arrow=')`)
	p.key("[")
	p.until(`document.querySelector('.panel h2')?.textContent === 'sender'`)
	// By key one gets from a thread to the arrow.
	p.key("}")
	p.until(`document.querySelector('.panel h2')?.textContent === 'Signalled'`)
	p.press(".panel .section:last-of-type .link")
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	p.key("{")
	p.until(`document.querySelector('.panel h2')?.textContent === 'Signalled'`)
	p.key(kb.Escape)
	p.until(`!document.querySelector('.panel')`)
	p.until(`!location.hash.includes('arrow=')`)
}

// A link restores the arrow that is selected, unless the trace has none such.
func TestArrowInLink(t *testing.T) { bothWays(t, testArrowInLink) }

func testArrowInLink(t *testing.T, url string) {
	p := browseAt(t, url, look{fragment: "from=0.031&to=0.038&rows=linear&scroll=9999&arrow=signal:7~8@0.034"})
	p.until(`document.querySelector('.panel h2')?.textContent === 'Signalled'`)
	if from, to := p.view(); from != 0.031 || to != 0.038 {
		t.Errorf("the link shows %g to %g s", from, to)
	}
	for _, none := range []string{"signal:7~8@0.5", "signal:8~7@0.034", "signal:7~77@0.034"} {
		p.wait(350) // the page writes its own fragment a little later than its state is
		get[bool](p, fmt.Sprintf("(location.hash = 'from=0.031&to=0.038&arrow=%s', true)", none))
		p.until(`!document.querySelector('.panel') && document.querySelector('.toast')?.textContent.length > 10`)
		get[bool](p, "(mirador.run('away'), true)") // what it says
		p.until(`!document.querySelector('.toast')?.textContent`)
	}
}

// onArrow returns a point on the arrow between two threads at a time, away from
// the threads.
func (p *page) onArrow(from, to string, at float64) (x, y float64) {
	p.Helper()
	v := p.viewport()
	projection := p.index.Projection(v)
	var ends [2]float64
	for i, title := range []string{from, to} {
		ends[i] = p.index.Place(&projection, p.titled(title)).Y
	}
	x = projection.X(at)
	for k := 0.3; k < 0.8; k += 0.01 {
		y = ends[0] + k*(ends[1]-ends[0])
		if a, ok := p.index.PickArrow(v, x, y); ok && p.index.Model().Title(a.From) == from && p.index.Model().Title(a.To) == to {
			return x, y
		}
	}
	p.Fatalf("no point of the arrow from %q to %q at %g s can be picked", from, to, at)
	return 0, 0
}

func TestFailedSelection(t *testing.T) { bothWays(t, testFailedSelection) }

func testFailedSelection(t *testing.T, url string) {
	p := browseAt(t, url, look{})
	p.key("n")
	p.until(`document.querySelector('.panel .failure')?.textContent === 'Timeout'`)
	p.key("n")
	p.until(`document.querySelector('.toast')?.textContent === 'No later failure'`)
	p.do(chromedp.KeyEvent("U", chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.until(`document.querySelector('.panel .state')?.textContent === 'never resolved'`)
}

func TestOverview(t *testing.T) {
	p := browse(t, sample(t), look{fragment: "from=0.02&to=0.04"})
	from, to := p.view()
	r := get[[]float64](p, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.overview-window').getBoundingClientRect())`)
	p.do(chromedp.DragAndDropXY(r[0], r[1], r[0]+200, r[1]))
	f, u := p.view()
	if !about(f-from, 0.02, 0.001) || !about(u-f, to-from, 1e-6) {
		t.Errorf("dragging the window by a fifth of the strip moved %g–%g s to %g–%g s", from, to, f, u)
	}
	r = get[[]float64](p, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.overview-grip.right').getBoundingClientRect())`)
	p.do(chromedp.DragAndDropXY(r[0], r[1], r[0]+100, r[1]))
	if g, v := p.view(); !about(g, f, 1e-6) || !about(v-u, 0.01, 0.001) {
		t.Errorf("dragging the right edge made %g–%g s of %g–%g s", g, v, f, u)
	}
}

func TestHelp(t *testing.T) {
	p := browse(t, sample(t), look{})
	p.key("?")
	p.until(`document.querySelector('dialog.help')?.open`)
	all := p.text("dialog.help")
	for _, want := range []string{"Zoom in", "Follow the cause", "Whole trace", "Wheel", "Two fingers", "Ctrl"} {
		if !strings.Contains(all, want) {
			t.Errorf("the help does not tell of %q", want)
		}
	}
	p.key(kb.Escape)
	p.until(`!document.querySelector('dialog')`)
}

func TestTheme(t *testing.T) {
	p := browse(t, sample(t), look{})
	light := p.styled("background")
	if light.R < 200 {
		t.Fatalf("the system is light, the page is %v", light)
	}
	p.press("button[aria-label='Dark theme']")
	p.until(`document.documentElement.dataset.theme === 'dark'`)
	p.view()
	img := p.shot("#picture")
	if n := pixels(img, p.styled("background"), 2); n < 50000 {
		t.Errorf("the dark picture has %d dark pixels", n)
	}
	p.press("button[aria-label='Light theme']")
	p.until(`document.documentElement.dataset.theme === 'light'`)
	p.media(look{dark: true}) // what the person chose stands
	p.wait(100)
	if theme := get[string](p, `document.documentElement.dataset.theme`); theme != "light" {
		t.Errorf("the choice of a light theme did not last: %s", theme)
	}
	get[bool](p, `(localStorage.clear(), true)`)
}

func TestSystemTheme(t *testing.T) {
	p := browse(t, sample(t), look{dark: true})
	if c := p.styled("background"); c.R > 60 {
		t.Errorf("the system is dark, the page is %v", c)
	}
}

func TestTouch(t *testing.T) {
	p := browse(t, sample(t), look{touch: true, fragment: "from=0.02&to=0.04"})
	from, to := p.view()
	ox, oy, _, _ := p.origin()
	touch := func(typ input.DispatchTouchEventType, points ...[2]float64) {
		t.Helper()
		params := input.DispatchTouchEventParams{Type: typ, TouchPoints: []*input.TouchPoint{}}
		for i, pt := range points {
			id := float64(i)
			params.TouchPoints = append(params.TouchPoints, &input.TouchPoint{X: ox + pt[0], Y: oy + pt[1], ID: &id})
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchTouchEvent, params); err != nil {
			t.Fatal(err)
		}
	}
	touch(input.DispatchTouchEventTypeTouchStart, [2]float64{500, 300})
	for x := 500.0; x >= 400; x -= 20 {
		touch(input.DispatchTouchEventTypeTouchMove, [2]float64{x, 300})
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
	f, u := p.view()
	if want := (to - from) / 10; !about(f-from, want, want/5) || !about(u-f, to-from, 1e-9) {
		t.Errorf("one finger over a tenth of the width moved %g–%g s to %g–%g s", from, to, f, u)
	}
	touch(input.DispatchTouchEventTypeTouchStart, [2]float64{450, 300}, [2]float64{550, 300})
	for d := 50.0; d <= 100; d += 10 {
		touch(input.DispatchTouchEventTypeTouchMove, [2]float64{500 - d, 300}, [2]float64{500 + d, 300})
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
	if g, v := p.view(); !about(v-g, (u-f)/2, (u-f)/20) {
		t.Errorf("two fingers, twice as far apart, show %g s of %g s", v-g, u-f)
	}
}

func TestTabs(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.ctf"), filepath.Join(dir, "bad.ctf")
	writeSample(t, good, 0)
	writeSample(t, bad, 20)
	p := browse(t, serve(t, good, bad), look{})
	p.wheel(500, 300, 0, -400)
	from, to := p.view()
	p.key("2")
	p.until(`document.querySelector('[role=tab][aria-selected=true]').textContent === 'bad.ctf' && document.title.startsWith('bad.ctf')`)
	p.fragment("tab=2")
	p.press("[role=tab]:first-child")
	p.until(`document.title.startsWith('good.ctf')`)
	if f, u := p.view(); f != from || u != to {
		t.Errorf("the first tab came back at %g–%g s, it was left at %g–%g s", f, u, from, to)
	}
}

// What the program adds becomes a tab and is shown; what it cannot load is told,
// and what is there stays as it was. Menus get the page's commands and run them.
func TestAdded(t *testing.T) {
	s := sample(t)
	p := browse(t, s, look{fragment: "from=0.02&to=0.04"})
	second := filepath.Join(t.TempDir(), "second.ctf")
	writeSample(t, second, 20)
	if err := s.Add(fileSource(second)); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector('[role=tab][aria-selected=true]').textContent === 'second.ctf' && document.title.startsWith('second.ctf')`)
	p.fragment("tab=2")
	s.Add(fileSource("absent.ctf"))
	p.until(`document.querySelector('.toast')?.textContent.includes('absent.ctf')`)
	if n := get[int](p, `document.querySelectorAll('[role=tab]').length`); n != 2 {
		t.Errorf("there are %d tabs", n)
	}
	traces := get[string](p, `mirador.commands().filter(c => c.group === 'Traces').map(c => c.title + ' ' + c.keys).join()`)
	if traces != "sample.ctf 1,second.ctf 2" {
		t.Errorf("the menu's traces: %s", traces)
	}
	get[bool](p, `(mirador.run('tab-1'), mirador.run('no such command'), true)`)
	p.until(`document.title.startsWith('sample.ctf')`)
	if f, u := p.view(); f != 0.02 || u != 0.04 {
		t.Errorf("the first tab came back at %g–%g s", f, u)
	}
	get[bool](p, `(mirador.run('help'), true)`)
	p.until(`document.querySelector('dialog.help')?.open`)
}

func TestURLRestoresTheView(t *testing.T) {
	s := sample(t)
	const fragment = "from=0.021&to=0.042&rows=linear&scroll=120&thread=8@0.034&chain=2&search=job+1&range=0.03~0.035" +
		"&mark=0.025:here&pin=7&hide=queue"
	p := browse(t, s, look{fragment: fragment})
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	if f, u := p.view(); f != 0.021 || u != 0.042 {
		t.Errorf("the view is %g–%g s", f, u)
	}
	p.until(`document.querySelector('.search-count')?.textContent === '11'`)
	p.until(`document.querySelector('.mark-flag')?.textContent === 'here' && document.querySelector('.range')`)
	// And what the page writes is the same again.
	p.key("d")
	p.view()
	p.fragment("thread=8@0.034")
	for _, part := range strings.Split(fragment, "&")[2:] {
		name, value, _ := strings.Cut(part, "=")
		got := get[string](p, fmt.Sprintf("new URLSearchParams(location.hash.slice(1)).get(%q)", name))
		if want := strings.ReplaceAll(value, "+", " "); got != want {
			t.Errorf("%s is written as %q, was %q", name, got, want)
		}
	}
}

func TestExport(t *testing.T) {
	p := browse(t, sample(t), look{width: 800, height: 600, scale: 2})
	get[bool](p, `(window.made = [], window.create = URL.createObjectURL, URL.createObjectURL = b => { made.push(b); return create(b) }, true)`)
	p.key("e")
	p.press("dialog.export .choice")
	p.until("made.length === 1")
	if svg := get[string](p, "made[0].text()"); !strings.HasPrefix(svg, "<?xml") && !strings.HasPrefix(svg, "<svg") || !strings.Contains(svg, "ARP") && !strings.Contains(svg, "title") {
		t.Errorf("this is no SVG of the picture: %.100q", svg)
	}
	p.key("e")
	p.press("dialog.export .choice:nth-child(2)")
	p.until("made.length === 2")
	size := get[[]int](p, "createImageBitmap(made[1]).then(b => [b.width, b.height])")
	_, _, w, h := p.origin()
	if size[0] != int(2*w) || size[1] != int(2*h) {
		t.Errorf("the PNG is %v; the picture takes %g x %g px of two device pixels", size, w, h)
	}
}

// The page, the SVG and the PNG that the command renders are one picture.
func TestPictureIsTheSameEverywhere(t *testing.T) {
	p := browse(t, sample(t), look{fragment: "from=0.005&to=0.06&rows=fisheye&focus=600"})
	p.view()
	page := p.shot("#picture")
	b := page.Bounds()
	var l scene.List
	p.index.Frame(scene.Viewport{From: 0.005, To: 0.06, Focus: 600, Width: float64(b.Dx()), Height: float64(b.Dy())}, &l)
	painted, err := scenepng.Paint(&l, palette.Light)
	if err != nil {
		t.Fatal(err)
	}
	if mean, far := difference(shrink(page), shrink(painted)); mean > 3 || far > 0.01 {
		t.Errorf("the page and the PNG differ by %.1f on average, %.1f %% of them very much so", mean, 100*far)
	}
}

func TestFold(t *testing.T) {
	p := browse(t, sample(t), look{calm: true})
	sleeping := pixels(p.shot("#picture"), p.styled("idle"), 2)
	p.key("o")
	p.fragment("fold=1")
	from, to := p.view()
	if from >= 0 || to <= 0.1 {
		t.Errorf("folded, the whole trace is %g–%g s", from, to)
	}
	if n := pixels(p.shot("#picture"), p.styled("idle"), 2); n > sleeping/2 {
		t.Errorf("the sleep from 60 to 85 ms takes %d pixels folded, %d unfolded", n, sleeping)
	}
	p.wheel(500, 300, 0, -300)
	f, u := p.view()
	p.key("o")
	p.until(`!location.hash.includes('fold')`)
	if g, v := p.view(); !about(g, f, 1e-6) || !about(v, u, 1e-6) {
		t.Errorf("unfolded, the view is %g–%g s; it was %g–%g s", g, v, f, u)
	}
}

func TestNewData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.ctf")
	writeSample(t, path, 0)
	p := browse(t, serve(t, path), look{fragment: "from=0.02&to=0.04&thread=8@0.034"})
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	writeSample(t, path, 20)
	p.until(`document.querySelector('.fresh')`)
	if strings.Contains(p.text("[role=tab]"), "late") {
		t.Fatal("the page has the new data before it was asked")
	}
	p.key(kb.F5)
	p.until(`!document.querySelector('.fresh')`)
	p.until(`document.querySelector('[role=tab]').title.includes('88 threads')`)
	if f, u := p.view(); f != 0.02 || u != 0.04 {
		t.Errorf("after F5 the view is %g–%g s", f, u)
	}
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver'`)
	p.key("r")
	p.until(`document.querySelector('.live')`)
	writeSample(t, path, 5)
	p.until(`document.querySelector('[role=tab]').title.includes('73 threads')`)
	if err := os.WriteFile(path, []byte("no trace at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector('.toast')?.textContent.includes('not a trace')`)
	if n := pixels(p.shot("#picture"), p.styled("thread-line"), 4); n < 100 {
		t.Errorf("a file that cannot be read took the picture away: %d pixels", n)
	}
}

func TestHistory(t *testing.T) {
	p := browse(t, sample(t), look{})
	from, to := p.view()
	p.wheel(500, 300, 0, -400)
	f, u := p.view()
	p.wait(420) // a view that rests is worth an undo
	p.do(chromedp.KeyEvent("z", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if g, v := p.view(); g != from || v != to {
		t.Errorf("Ctrl Z shows %g–%g s; want %g–%g s", g, v, from, to)
	}
	p.do(chromedp.KeyEvent("y", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if g, v := p.view(); g != f || v != u {
		t.Errorf("Ctrl Y shows %g–%g s; want %g–%g s", g, v, f, u)
	}
}

func TestPalette(t *testing.T) {
	p := browse(t, sample(t), look{})
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.until(`document.activeElement?.getAttribute('aria-label') === 'Command'`)
	p.key("linear")
	p.until(`document.querySelector('.palette [aria-selected=true]')?.textContent.includes('linear rows')`)
	p.key("\r")
	p.fragment("rows=linear")
	p.until(`!document.querySelector('dialog')`)
	p.until(`document.activeElement?.id === 'picture'`) // the focus does not get lost
	// Without a keyboard one gets to the same.
	p.press(".brand")
	p.press("#command-rows")
	p.fragment("rows=fisheye")
}

func TestMarksAndRange(t *testing.T) {
	p := browse(t, sample(t), look{})
	p.mouse(chromedp.MouseMoved, 400, 300)
	p.key("m")
	p.until(`document.querySelector('.mark-flag')?.textContent === '1'`)
	p.fragment("mark=")
	p.drag(300, 200, 500, 220, chromedp.ButtonModifiers(chromedp.ModifierShift))
	p.until(`document.querySelector('.panel .values')`)
	if all := p.text(".panel"); !strings.Contains(all, "Busy") || !strings.Contains(all, "queue") {
		t.Errorf("the range's panel says %s", all)
	}
	p.key("i")
	p.until(`document.querySelector('.mark-name')`)
	p.press(".mark-flag")
	p.until(`!document.querySelector('.mark-flag')`)
}

func TestFindings(t *testing.T) {
	p := browse(t, sample(t), look{})
	for _, want := range []string{"1 failed", "never resolved", "1 gap", "GC 2 %"} {
		if all := p.text(".findings-line"); !strings.Contains(all, want) {
			t.Errorf("the line of findings does not say %q: %s", want, all)
		}
	}
	p.key("i")
	p.until(`[...document.querySelectorAll('.panel .link')].some(l => l.textContent.includes('Timeout'))`)
	get[bool](p, `([...document.querySelectorAll('.panel .link')].find(l => l.textContent.startsWith('25 ms')).click(), true)`)
	if f, u := p.view(); !about(f, 0.058, 0.001) || !about(u, 0.087, 0.001) {
		t.Errorf("the gap from 60 to 85 ms is shown at %g–%g s", f, u)
	}
}

func TestTable(t *testing.T) {
	p := browse(t, sample(t), look{})
	p.key("t")
	p.until(`document.querySelectorAll('.threads tbody tr').length > 50`)
	p.press(".threads thead th:nth-child(2) button")
	p.press(".threads thead th:nth-child(2) button")
	p.until(`document.querySelector('.threads tbody td').textContent === '159'`)
	p.do(chromedp.Focus(chromedp.ID("search")))
	p.key("receiver")
	p.until(`document.querySelectorAll('.threads tbody tr').length === 1`)
	p.press(".threads tbody .link")
	p.until(`document.querySelector('.panel h2')?.textContent === 'receiver' && !document.getElementById('picture').hidden`)
}

func TestTimeDialogs(t *testing.T) {
	p := browse(t, sample(t), look{calm: true})
	p.do(chromedp.KeyEvent("S", chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.until(`document.activeElement?.tagName === 'INPUT' && document.querySelector('dialog.ask')`)
	get[bool](p, `(document.activeElement.select(), true)`)
	p.key("30ms\r")
	p.until(`!document.querySelector('dialog')`)
	p.key("b")
	p.until(`document.activeElement?.tagName === 'INPUT' && document.querySelector('dialog.ask')`)
	get[bool](p, `(document.activeElement.select(), true)`)
	p.key("5 ms\r")
	p.until(`!document.querySelector('dialog')`)
	if f, u := p.view(); !about(f, 0.03, 1e-9) || !about(u, 0.035, 1e-9) {
		t.Errorf("from 30 ms on, 5 ms are seen as %g–%g s", f, u)
	}
}

func TestServerEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.ctf")
	writeSample(t, path, 0)
	s := serve(t, path)
	p := browse(t, s, look{})
	s.closeSockets()
	p.until(`document.querySelector('.banner')?.textContent.includes('ended')`)
	if n := pixels(p.shot("#picture"), p.styled("thread-line"), 4); n < 100 {
		t.Errorf("the picture went with the server: %d pixels", n)
	}
}
