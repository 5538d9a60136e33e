package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe returns the source of axe-core, which npm installs for the tests.
func axe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("app", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no axe-core, and CI is set: run npm ci in internal/web/app")
		}
		t.Skip("there is no axe-core: run npm ci in internal/web/app")
	}
	return string(source)
}

// The page has no serious fault that a machine can find, whatever it shows.
func TestAccessible(t *testing.T) {
	s := sample(t)
	states := []accessState{
		{"timeline", "", nil, "true"},
		{"thread", "thread=8@0.034&pin=7&mark=0.02:here", nil, "document.querySelector('.panel h2')?.textContent === 'receiver'"},
		{"arrow", "arrow=signal:7~8@0.034", nil, "document.querySelector('.panel h2')?.textContent === 'Signalled'"},
		{"arrow's tip", "from=0.031&to=0.038&rows=linear&scroll=1300", func(p *page) {
			x, y := p.onArrow("sender", "receiver", 0.034)
			p.mouse(chromedp.MouseMoved, x, y)
		}, "document.querySelector('.tip-to')"},
		{"range", "range=0.02~0.06", does("document.dispatchEvent(new Event('x'))"), "document.querySelector('.range')"},
		{"table", "show=table", nil, "document.querySelectorAll('.threads tbody tr').length > 20"},
		{"findings", "", does("document.querySelector('.findings-line').click()"), "document.querySelector('.panel .links')"},
		{"counters", "", does("document.querySelector('button[aria-label=Counters]').click()"), "document.querySelector('.switches')"},
		{"search", "search=job", does("document.getElementById('search').focus()"), "document.querySelectorAll('.hits li').length > 5"},
		{"only what is found", "search=job&only=1", nil, "document.querySelector('.search-only[aria-pressed=true]') && document.querySelector('.search-count').textContent === '60'"},
		{"help", "", does("document.querySelector('button[aria-label=Help]').click()"), "document.querySelector('dialog.help')"},
		{"export", "", does("document.querySelector('button[aria-label=Export]').click()"), "document.querySelector('dialog.export')"},
		{"palette", "", does("dispatchEvent(new KeyboardEvent('keydown', { key: 'k', code: 'KeyK', ctrlKey: true }))"), "document.querySelector('.palette li')"},
	}
	checkStates(t, states, func(t *testing.T, l look) *page { return browse(t, s, l) }, func(p *page) {
		if get[bool](p, `(tip => {
			const r = tip?.getBoundingClientRect(), all = document.getElementById('picture').getBoundingClientRect()
			return !!r && (r.x < all.x || r.right > all.right || r.y < all.y || r.bottom > all.bottom)
		})(document.querySelector('.tip'))`) {
			p.Error("the tip is cut off")
		}
	})
}

// accessState is something that the page shows: a fragment of its URL, what is
// done then, and what is true once it is shown.
type accessState struct {
	name, fragment string
	prepare        func(p *page) // nil for nothing
	ready          string
}

// does prepares a page by an expression.
func does(expression string) func(p *page) {
	return func(p *page) { get[bool](p, "("+expression+", true)") }
}

// checkStates has axe-core look at each state, wide and narrow, in light and
// dark; and so does also.
func checkStates(t *testing.T, states []accessState, open func(t *testing.T, l look) *page, also func(p *page)) {
	source := axe(t)
	for _, width := range []int64{1280, 400} {
		for _, state := range states {
			t.Run(fmt.Sprintf("%s-%d", state.name, width), func(t *testing.T) {
				t.Parallel()
				p := open(t, look{width: width, height: 800, calm: true, fragment: state.fragment})
				get[bool](p, source+"; true")
				if state.prepare != nil {
					state.prepare(p)
				}
				p.inBothThemes(func(p *page) {
					p.until(state.ready)
					also(p)
					p.checkAccess()
				})
			})
		}
	}
}

// inBothThemes looks at a page in light and in dark.
func (p *page) inBothThemes(check func(p *page)) {
	p.Helper()
	t := p.TB.(*testing.T)
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			p := &page{TB: t, ctx: p.ctx, index: p.index}
			p.media(look{dark: theme == "dark", calm: true})
			p.until(fmt.Sprintf("document.documentElement.dataset.theme === %q", theme))
			check(p)
		})
	}
}

// checkAccess has axe-core look at the page.
func (p *page) checkAccess() {
	p.Helper()
	p.wait(50)
	found := get[[]string](p, `axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations
		.filter(v => v.impact === 'serious' || v.impact === 'critical')
		.map(v => v.id + ': ' + v.help + ' ' + v.nodes.map(n => n.html.slice(0, 160) + ' ' + n.any.map(a => a.message).join(' ')).slice(0, 3).join(' | ')))`)
	for _, f := range found {
		p.Error(f)
	}
	if n := get[float64](p, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		p.Errorf("the page is %g px wider than the window", n)
	}
}
