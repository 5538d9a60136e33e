package web

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/story"
	"github.com/mirador-trace/mirador/internal/trace"
)

const toldText = "# A tale\n\nOnce upon a [time](#from=0.09&to=0.1).\n\n" +
	"## The *receiver*\n\n```view\ntrace: first\nfrom: start \"receiver\"\nto: start \"receiver\" + 20ms\nthread: \"receiver\"\n" +
	"mark: end \"receiver\": its end\n```\n\nIt **waits** for `it`:\n\n- a\n- b\n\n> c\n\n```\ncode\n```\n\n[Far](https://example.org/) away.\n\n" +
	"## The same elsewhere\n\n```view\ntrace: second\nfrom: start \"receiver\"\nto: start \"receiver\" + 20ms\n```\n\nAnd there.\n\n" +
	"## The end\n\nNo view.\n"

// tell locates a story in trace files.
func tell(t testing.TB, text string, paths ...string) *story.Story {
	t.Helper()
	draft, err := story.Parse("told.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var traces []story.Trace
	for _, path := range paths {
		loaded, err := trace.Load(path, nil, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, story.Trace{Name: filepath.Base(path), Model: loaded.Model})
	}
	told, err := draft.Locate(traces)
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// toldReport writes a report of trace files that tells a story.
func toldReport(t testing.TB, text string, paths ...string) (url string) {
	t.Helper()
	r := &Report{Story: tell(t, text, paths...)}
	for _, path := range paths {
		file, err := format.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		r.Traces = append(r.Traces, Packed{filepath.Base(path), file.Pack})
	}
	return writeReport(t, r)
}

func twoSamples(t testing.TB) []string {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "first.ctf"), filepath.Join(dir, "second.ctf")}
	writeSample(t, paths[0], 0)
	writeSample(t, paths[1], 40)
	return paths
}

// A reader goes through a story with buttons and keys, in a report as in a page
// that is served, and each step shows its view.
func TestStory(t *testing.T) {
	paths := twoSamples(t)
	t.Run("report", func(t *testing.T) { goThrough(t, toldReport(t, toldText, paths...)) })
	t.Run("served", func(t *testing.T) {
		s, err := Listen(Config{Sources: []Source{fileSource(paths[0]), fileSource(paths[1])}, Story: tell(t, toldText, paths...)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Serve(ctx) }()
		defer func() { stop(); <-done }()
		goThrough(t, s.URL())
	})
}

func goThrough(t *testing.T, url string) {
	p := browseAt(t, url, look{width: 1280, calm: true})
	shows := func(tab int, from, to float64) {
		t.Helper()
		p.until(fmt.Sprintf("document.querySelectorAll('[role=tab]')[%d].ariaSelected === 'true'", tab-1))
		if f, u := p.view(); !about(f, from, 1e-6) || !about(u, to, 1e-6) {
			t.Errorf("the picture is %g–%g s; want %g–%g s", f, u, from, to)
		}
	}
	titled := func(want string) {
		t.Helper()
		p.until(fmt.Sprintf("document.querySelector('[aria-current=step]')?.textContent === %q", want))
	}
	if head := p.text(".story h2"); head != "A tale" {
		t.Errorf("the story is called %q", head)
	}
	p.until(`document.querySelector('.story .prose').textContent === 'Once upon a time.'`)
	p.fragment("step=0")
	p.press(".story .view-link")
	shows(1, 0.09, 0.1)

	p.press(".story-foot .primary")
	titled("1The receiver")
	shows(1, 0.008, 0.028)
	p.fragment("step=1")
	if panel := get[bool](p, `!!document.querySelector('.panel')`); panel {
		t.Error("a step opens the thread's panel")
	}
	if prose := p.text(".step.told .prose"); !strings.Contains(prose, "It waits for it:abccode\nFar away.") {
		t.Errorf("the text is %q", prose)
	}
	if a := get[string](p, `(a => a.href + ' ' + a.rel + ' ' + a.target)(document.querySelector('.prose a'))`); a != "https://example.org/ noopener noreferrer _blank" {
		t.Errorf("the link is %s", a)
	}
	p.fragment("thread=8@0.008")

	p.key("j")
	titled("2The same elsewhere")
	shows(2, 0.008, 0.028)
	p.key("j")
	titled("3The end")
	shows(2, 0.008, 0.028)
	p.until(`document.querySelector('.story-foot .primary').disabled`)
	p.key("k")
	p.key("k")
	titled("1The receiver")
	shows(1, 0.008, 0.028)

	// Who has looked elsewhere, and opened a panel, comes back to the very view.
	p.key("i")
	p.until(`document.querySelector('.panel')`)
	p.wheel(300, 300, 0, -500)
	p.view()
	p.press(".step.told .step-title")
	p.until(`!document.querySelector('.panel')`)
	shows(1, 0.008, 0.028)

	p.key("y")
	p.until(`!document.querySelector('.story')`)
	p.until(`!location.hash.includes('step=')`)
	p.key("y")
	titled("1The receiver")

	// A link leads to a step, with its view or another.
	for fragment, want := range map[string][2]float64{"step=2": {0.008, 0.028}, "tab=2&from=0.05&to=0.06&step=2": {0.05, 0.06}} {
		p := browseAt(t, url, look{width: 1280, calm: true, fragment: fragment})
		p.until(`document.querySelector('[aria-current=step]')?.textContent === '2The same elsewhere'`)
		if f, u := p.view(); !about(f, want[0], 1e-6) || !about(u, want[1], 1e-6) {
			t.Errorf("%s shows %g–%g s", fragment, f, u)
		}
	}
	p = browseAt(t, url, look{fragment: "from=0.05&to=0.06"})
	if get[bool](p, `!!document.querySelector('.story')`) {
		t.Error("a link that was made without the story shows it")
	}
}

// The picture moves to the next view, or jumps there for who wants less motion.
func TestStoryMotion(t *testing.T) {
	url := toldReport(t, "## a\n```view\nfrom: 0\nto: 0.05\n```\n## b\n```view\nfrom: 0.04\nto: 0.09\n```\n", twoSamples(t)[0])
	for _, calm := range []bool{false, true} {
		p := browseAt(t, url, look{calm: calm})
		p.until(`document.querySelector('[aria-current=step]')?.textContent === '1a'`)
		p.view()
		get[bool](p, `(window.seen = new Set(), new MutationObserver(() => seen.add(document.querySelector('#picture canvas').dataset.from))
			.observe(document.querySelector('#picture canvas'), { attributes: true }), true)`)
		p.key("j")
		if f, u := p.view(); !about(f, 0.04, 1e-6) || !about(u, 0.09, 1e-6) {
			t.Errorf("calm %v: the picture ends at %g–%g s", calm, f, u)
		}
		if n := get[int](p, "seen.size"); calm && n != 1 || !calm && n < 3 {
			t.Errorf("calm %v: on its way, the picture stops at %d views", calm, n)
		}
	}
}

// What stands in a story never runs, and leads nowhere but to other pages.
// A step's view has all that a copied link says: the selected arrow, and that only
// what is found is shown.
func TestStoryOfArrow(t *testing.T) {
	url := toldReport(t, "## a\n```view\nfrom: 31ms\nto: 38ms\n```\n## b\n```view\n"+
		"http://127.0.0.1:1/#from=0.03&to=0.04&rows=linear&scroll=1467.5&search=receiver&only=1&arrow=signal:7~8@0.034\n```\n## c\n```view\nfrom: 31ms\nto: 38ms\n```\n", twoSamples(t)[0])
	p := browseAt(t, url, look{calm: true})
	p.key("j")
	p.fragment("arrow=signal:7~8@0.034&search=receiver&only=1")
	p.until(`document.querySelector('.status-view span').textContent === '1 thread'`)
	glow := 0
	for try := 0; glow < 40 && try < 40; try++ { // it is looked for by number
		p.wait(50)
		glow = pixels(p.shot("#picture"), blend(p.styled("background"), p.styled("selection"), 0.5), 5)
	}
	if glow < 40 {
		t.Errorf("the selected arrow's glow has %d pixels", glow)
	}
	p.key("j")
	p.until(`!location.hash.includes('arrow=') && !location.hash.includes('only=') && document.querySelector('.status-view span').textContent !== '1 thread'`)
}

func TestHostileStory(t *testing.T) {
	attack := "</script><script>window.attacked=1</script><img src=x onerror=window.attacked=1>"
	text := "# " + attack + "\n\n" + attack + "\n\n<div onclick=alert(1)>x</div>\n\n## " + attack + "\n\n```view\nmark: 1ms: " + attack +
		"\nsearch: " + attack + "\n```\n\n[a](javascript:window.attacked=1) [b](data:text/html,x) <javascript:window.attacked=1> \u202Eright to left `" +
		attack + "`\n\n```\n" + attack + "\n```\n\n" + strings.Repeat("long", 250_000) + "\n\n" + "## \u2028\u202E\n\n![c](https://example.org/c.png)\n"
	url := toldReport(t, text, twoSamples(t)[0])
	page, err := os.ReadFile(strings.TrimPrefix(url, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(page, []byte("<script>window.attacked")) || bytes.Contains(page, []byte("onerror=window.attacked=1>")) {
		t.Error("the story's text stands in the report as it is")
	}
	p := browseAt(t, url, look{width: 1280})
	p.key("j")
	p.until(`document.querySelector('.step.told .prose')?.textContent.includes('window.attacked=1')`)
	p.until(`document.querySelector('.mark-flag')?.textContent.includes('window.attacked=1')`)
	if get[bool](p, `'attacked' in window`) {
		t.Error("what stands in the story ran")
	}
	if n := get[int](p, `document.querySelectorAll('.story img, .story script, .story a, .story [onclick]').length`); n != 0 {
		t.Errorf("%d elements were made of the story's text", n)
	}
	p.key("j")
	p.until(`document.querySelector('[aria-current=step]')?.textContent.startsWith('2')`)
	if n := get[float64](p, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		t.Errorf("the page is %g px wider than the window", n)
	}
}

// The story has no serious fault that a machine can find, and leaves room for
// the picture.
func TestStoryAccessible(t *testing.T) {
	source := axe(t)
	url := toldReport(t, toldText, twoSamples(t)...)
	for _, width := range []int64{1280, 400} {
		for step := range 4 {
			t.Run(fmt.Sprintf("%d-%d", step, width), func(t *testing.T) {
				t.Parallel()
				p := openAt(t, url, look{width: width, height: 800, calm: true, fragment: fmt.Sprint("step=", step)})
				p.until(`document.querySelector('#picture canvas')?.dataset.frame >= 1`)
				p.until(fmt.Sprintf("document.querySelector('.story-at')?.textContent.includes('%d')", max(step, 3*(1-min(step, 1)))))
				get[bool](p, source+"; true")
				p.inBothThemes(func(p *page) {
					p.view()
					p.checkAccess()
					if _, _, w, h := p.origin(); w < 390 || h < 200 {
						p.Errorf("the picture has %g x %g px", w, h)
					}
				})
			})
		}
	}
	p := browseAt(t, url, look{width: 1280, calm: true})
	get[bool](p, `(document.querySelector('.story .action.primary').focus(), true)`)
	p.do(chromedp.KeyEvent("\r"))
	p.until(`document.querySelector('[aria-current=step]')`) // by keyboard alone
}

// A story may lead from a trace of threads into one of memory, and back.
func TestStoryOfMemory(t *testing.T) {
	threads, memory := twoSamples(t)[0], leak(t, "leak.ctf")
	draft, err := story.Parse("told.md", []byte("## Threads\n\n```view\nfrom: 10ms\nto: 30ms\n```\n\n"+
		"## Memory\n\n```view\ntrace: leak\nonly: never\nshow: functions\nfrom: 1s\nto: 2s\n```\n\n## Back\n\n```view\ntrace: first\nfrom: 20ms\nto: 40ms\n```\n"))
	if err != nil {
		t.Fatal(err)
	}
	told, err := draft.Locate([]story.Trace{{Name: "first.ctf"}, {Name: "leak.ctf"}})
	if err != nil {
		t.Fatal(err)
	}
	url := writeReport(t, &Report{Story: told, Traces: []Packed{packedFile(threads), packedFile(memory)}})
	for _, width := range []int64{1280, 400} {
		p := browseAt(t, url, look{width: width, height: 800, calm: true})
		if from, to := p.view(); !about(from, 0.01, 1e-6) || !about(to, 0.03, 1e-6) {
			t.Errorf("the first step shows %g–%g s", from, to)
		}
		p.key("j")
		p.until(`document.querySelector('.chart canvas')?.dataset.frame >= 1 && document.querySelectorAll('.chip').length === 1`)
		if f := p.fragment("step=2"); !strings.Contains(f, "only=never") || !strings.Contains(f, "from=1&to=2") {
			t.Errorf("the second step shows %s", f)
		}
		if n := get[float64](p, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
			t.Errorf("the page is %g px wider than the window", n)
		}
		p.key("j")
		p.fragment("step=3")
		if from, to := p.view(); !about(from, 0.02, 1e-6) || !about(to, 0.04, 1e-6) {
			t.Errorf("the third step shows %g–%g s", from, to)
		}
	}
}
