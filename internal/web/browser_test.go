package web

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/thread"
)

// chromium starts one browser for all tests, without a GPU, which is the
// slowest that anybody has.
var chromium = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserPath()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	stopChromium = func() { cancel(); stop() }
	return ctx, chromedp.Do(ctx)
})

var stopChromium = func() {} // until it has been started

func TestMain(m *testing.M) {
	status := m.Run()
	stopChromium()
	os.Exit(status)
}

func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// page is mirador's page in a tab of the browser.
type page struct {
	testing.TB
	ctx   context.Context
	index *scene.Index // of the sample
	mu    sync.Mutex
	bad   []string // what the page complained about
}

// look is how a page is opened.
type look struct {
	width, height int64
	scale         float64
	dark          bool
	touch         bool
	calm          bool // the person wants less motion
	fragment      string
}

// browse opens a page and waits for its first picture.
func browse(t testing.TB, s *Server, l look) *page {
	t.Helper()
	return browseAt(t, s.URL(), l)
}

// browseAt is browse for a page anywhere.
func browseAt(t testing.TB, url string, l look) *page {
	t.Helper()
	p := openAt(t, url, l)
	p.until(`document.querySelector('#picture canvas')?.dataset.frame >= 1 && !!document.querySelector('.findings-line')`)
	return p
}

// open opens a page. At the test's end it must not have complained.
func open(t testing.TB, s *Server, l look) *page {
	t.Helper()
	return openAt(t, s.URL(), l)
}

// openAt is open for a page anywhere.
func openAt(t testing.TB, url string, l look) *page {
	t.Helper()
	if browserPath() == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no chromium, and CI is set")
		}
		t.Skip("there is no chromium: apt-get install chromium")
	}
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(browser)
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, 120*time.Second)
	t.Cleanup(cancel)
	p := &page{TB: t, ctx: ctx, index: sampleIndex(t)}
	if l.width == 0 {
		l.width, l.height = 1000, 700
	}
	if l.scale == 0 {
		l.scale = 1
	}
	p.do(chromedp.EmulateViewport(l.width, l.height, chromedp.EmulateScale(l.scale)))
	if l.touch {
		p.do(chromedp.EmulateViewport(l.width, l.height, chromedp.EmulateScale(l.scale), chromedp.EmulateTouch))
	}
	p.media(l)
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, p.complain); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, b := range p.bad {
			t.Errorf("the page says: %s", b)
		}
	})
	if l.fragment != "" {
		url += "#" + l.fragment
	}
	p.do(chromedp.Navigate(url))
	return p
}

func (p *page) media(l look) {
	p.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}, {Name: "prefers-reduced-motion", Value: "no-preference"}}
	if l.dark {
		features[0].Value = "dark"
	}
	if l.calm {
		features[1].Value = "reduce"
	}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		p.Fatal(err)
	}
}

// complain notes what a page says to its console, and exceptions.
func (p *page) complain(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		p.bad = append(p.bad, text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError { // as when the policy forbids something
			p.bad = append(p.bad, e.Entry.Text)
		}
	case *runtime.EventConsoleAPICalled:
		p.bad = append(p.bad, fmt.Sprintf("console.%s", e.Type))
	}
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// get evaluates an expression of JavaScript.
func get[T any](p *page, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to become true, and for the page to know how
// what it shows then is laid out: who presses what has just appeared must not be
// faster than anybody can see it.
func (p *page) until(expression string) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			chromedp.Run(p.ctx, chromedp.Evaluate[bool](laidOut, chromedp.EvalAwaitPromise)) // fails when the page goes
			return
		}
		if time.Now().After(end) {
			state := ""
			if s, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.hash + ' ' + document.querySelector('.toast')?.textContent")); err == nil {
				state = s
			}
			p.Fatalf("never: %s (error %v; %s)", expression, err, state)
		}
	}
}

// wait waits by the page's clock: what the page wanted to do within fewer ms is
// done then, however slow the machine is.
func (p *page) wait(ms int) {
	p.Helper()
	get[bool](p, fmt.Sprintf("new Promise(done => setTimeout(() => done(true), %d))", ms))
}

// view returns the times at the edges of the picture that is shown, once it
// shows what was asked for and does not move any more.
func (p *page) view() (from, to float64) {
	p.Helper()
	p.still()
	v := get[[]float64](p, `(d => [Number(d.from), Number(d.to)])(document.querySelector('#picture canvas').dataset)`)
	return v[0], v[1]
}

// laidOut is true once the page has seen two more frames: what it is told when
// it is laid out it knows then.
const laidOut = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// still waits until the picture shows what was asked for. That what was done
// to it has arrived is certain, for the browser answers after that; but what
// follows from it (a size after a panel has opened) the page learns only when
// the browser lays out its next frame.
func (p *page) still() {
	p.Helper()
	get[bool](p, laidOut)
	p.until(`document.getElementById('picture').getAttribute('aria-busy') === 'false'`)
}

// fragment returns the URL's fragment once it contains a text.
func (p *page) fragment(with string) string {
	p.Helper()
	p.until(fmt.Sprintf("decodeURIComponent(location.hash).includes(%q)", with))
	return get[string](p, "location.hash.slice(1)")
}

// origin is where the picture lies in the window.
func (p *page) origin() (x, y, width, height float64) {
	p.Helper()
	v := get[[]float64](p, `(r => [r.x, r.y, r.width, r.height])(document.getElementById('picture').getBoundingClientRect())`)
	return v[0], v[1], v[2], v[3]
}

func (p *page) mouse(typ input.DispatchMouseEventType, x, y float64, options ...chromedp.MouseOption) {
	p.Helper()
	ox, oy, _, _ := p.origin()
	p.do(chromedp.MouseEvent(typ, ox+x, oy+y, options...))
}

// drag drags in the picture with the left button, and keys held.
func (p *page) drag(x0, y0, x1, y1 float64, held ...chromedp.MouseOption) {
	p.Helper()
	left := append([]chromedp.MouseOption{chromedp.ButtonLeft}, held...)
	p.mouse(chromedp.MousePressed, x0, y0, append(left, chromedp.ClickCount(1))...)
	for i := 1.0; i <= 5; i++ {
		p.mouse(chromedp.MouseMoved, x0+(x1-x0)*i/5, y0+(y1-y0)*i/5, left...)
	}
	p.mouse(chromedp.MouseReleased, x1, y1, append(left, chromedp.ClickCount(1))...)
}

func (p *page) click(x, y float64, times int64) {
	p.Helper()
	for n := int64(1); n <= times; n++ {
		p.mouse(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(int(n)))
		p.mouse(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(int(n)))
	}
}

func (p *page) wheel(x, y, dx, dy float64, held ...chromedp.MouseOption) {
	p.Helper()
	dx += 0.001 // the browser wants both, and 0 is left out on the way
	dy += 0.001
	p.mouse(input.DispatchMouseEventTypeMouseWheel, x, y, append(held, func(e *input.DispatchMouseEventParams) {
		e.DeltaX, e.DeltaY = dx, dy
	})...)
}

// key presses keys, one after the other.
func (p *page) key(keys string, options ...chromedp.KeyOption) {
	p.Helper()
	p.do(chromedp.KeyEvent(keys, options...))
}

// press clicks an element.
func (p *page) press(selector string) {
	p.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	get[bool](p, fmt.Sprintf("(document.querySelector(%q).click(), true)", selector))
}

func (p *page) text(selector string) string {
	p.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	return get[string](p, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// place returns where a thread lies in the picture, in the middle of what is
// seen of it.
func (p *page) place(title string) (x, y float64) {
	p.Helper()
	v := p.viewport()
	projection := p.index.Projection(v)
	at := p.index.Place(&projection, p.titled(title))
	return (max(at.X0, 0) + min(at.X1, v.Width)) / 2, at.Y
}

// viewport is what the picture shows.
func (p *page) viewport() scene.Viewport {
	p.Helper()
	p.still()
	_, _, width, height := p.origin()
	shown := get[map[string]string](p, `({...document.querySelector('#picture canvas').dataset})`)
	number := func(name string) float64 {
		x, err := strconv.ParseFloat(shown[name], 64)
		if err != nil {
			p.Fatalf("the picture's %s: %v", name, err)
		}
		return x
	}
	v := scene.Viewport{From: number("from"), To: number("to"), Width: width, Height: height, Focus: number("focus"), Scroll: number("scroll")}
	if shown["rows"] == "linear" {
		v.Rows = scene.Linear
	}
	return v
}

// titled returns the thread of the sample that has a title.
func (p *page) titled(title string) thread.ID {
	p.Helper()
	for i := range p.index.Model().Threads {
		if id := thread.ID(i); p.index.Model().Title(id) == title {
			return id
		}
	}
	p.Fatalf("the sample has no thread %q", title)
	return 0
}

// shot returns what an element looks like.
func (p *page) shot(selector string) image.Image {
	p.Helper()
	get[bool](p, laidOut)
	p.until(`!document.querySelector('[aria-busy=true]')`) // of memory, too
	var data []byte
	for range 20 { // what fades has faded when two are equal
		now, err := chromedp.Run(p.ctx, chromedp.Screenshot(chromedp.CSS(selector)))
		if err != nil {
			p.Fatal(err)
		}
		if bytes.Equal(now, data) {
			break
		}
		data = now
		p.wait(50)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.Fatal(err)
	}
	return img
}

// pixels counts the pixels of about a colour.
func pixels(img image.Image, like color.RGBA, slack int) int {
	n := 0
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			if near(c.R, like.R, slack) && near(c.G, like.G, slack) && near(c.B, like.B, slack) {
				n++
			}
		}
	}
	return n
}

func near(a, b uint8, slack int) bool {
	d := int(a) - int(b)
	return -slack <= d && d <= slack
}

// styled returns the colour of a style of the scene, as the page has it.
func (p *page) styled(name string) color.RGBA {
	p.Helper()
	var c color.RGBA
	hex := strings.TrimSpace(get[string](p, fmt.Sprintf("getComputedStyle(document.documentElement).getPropertyValue('--%s')", name)))
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		p.Fatalf("style %s: %q: %v", name, hex, err)
	}
	c.A = 255
	return c
}
