package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rendered is what the command draws: a file's bytes.
func rendered(t *testing.T, mirador, kind, trace string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out."+kind)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if said, err := exec.CommandContext(ctx, mirador, append([]string{"render", "-o", out, trace}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("render %s: %v: %s", args, err, said)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// exported is what the page saves by a command of its own.
func (p *page) exported(command string) []byte {
	p.Helper()
	get[bool](p, fmt.Sprintf("(window.made.length = 0, mirador.run(%q), true)", command))
	p.until("made.length === 1")
	data, err := base64.StdEncoding.DecodeString(get[string](p, `made[0].arrayBuffer().then(b => btoa(new Uint8Array(b).reduce((s, c) => s + String.fromCharCode(c), '')))`))
	if err != nil {
		p.Fatal(err)
	}
	return data
}

func decoded(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// What mirador render draws, what the page exports and what it shows is one
// picture. The SVGs are the same to the byte, since the same code writes the same
// list, and what the page saves is what it shows, to the pixel. The PNGs are
// painted by Chromium and by us, who smooth letters and slanted lines each in
// their own way: that makes less than half a step of 255 on average, and one pixel
// in three hundred differs much. A picture that is off by one pixel differs by 1.5
// on average, and more.
func TestRenderIsExportIsPage(t *testing.T) {
	dir := t.TempDir()
	path, mirador := filepath.Join(dir, "sample.ctf"), filepath.Join(dir, "mirador")
	writeSample(t, path, 0)
	s := serve(t, path)
	p := browse(t, s, look{calm: true})
	if out, err := exec.Command("go", "build", "-o", mirador, "../../cmd/mirador").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	get[bool](p, `(window.made = [], window.create = URL.createObjectURL, URL.createObjectURL = b => { made.push(b); return create(b) }, true)`)
	_, _, width, height := p.origin()
	size := fmt.Sprintf("--width=%g --height=%g", width, height)
	y := func(tid int64) float64 {
		m := p.index.Model()
		for i := range m.Threads {
			if m.Threads[i].TID == tid {
				return m.Threads[i].Y()
			}
		}
		t.Fatalf("no thread %d", tid)
		return 0
	}
	views := []struct{ name, fragment, args string }{
		{"most of it", "from=0.005&to=0.06&rows=fisheye&focus=600", "--from=5ms --to=60ms --focus=600"},
		{"arrows", fmt.Sprintf("from=0.031&to=0.038&rows=fisheye&focus=%g", y(8)), "--from=31ms --to=38ms --focus=8"},
		{"bands", "from=0.03&to=0.095&rows=linear&scroll=0", "--from=30ms --to=95ms --rows=linear"},
		{"rows further down", fmt.Sprintf("from=0.04&to=0.05&rows=linear&scroll=%g", y(130)-height/2), "--from=40ms --to=50ms --rows=linear --focus=130"},
		{"before and after", "from=-0.02&to=0.14&rows=fisheye&focus=0", "--from=-20ms --to=140ms"},
	}
	for _, theme := range []string{"light", "dark"} {
		p.media(look{dark: theme == "dark", calm: true})
		p.until(fmt.Sprintf("document.documentElement.dataset.theme === %q", theme))
		for _, v := range views {
			t.Run(theme+", "+v.name, func(t *testing.T) {
				p := &page{TB: t, ctx: p.ctx, index: p.index}
				get[bool](p, fmt.Sprintf("(location.hash = %q, true)", v.fragment))
				from, _, _ := strings.Cut(strings.TrimPrefix(v.fragment, "from="), "&")
				p.until(fmt.Sprintf("document.querySelector('#picture canvas').dataset.from === %q", from))
				p.view()
				args := append(strings.Fields(v.args+" "+size), "--theme="+theme)

				svg, want := p.exported("export-svg"), rendered(t, mirador, "svg", path, args...)
				if !bytes.Equal(svg, want) {
					i := 0
					for i < min(len(svg), len(want)) && svg[i] == want[i] {
						i++
					}
					t.Errorf("the SVGs of %d and %d bytes differ from %d on: %.80q and %.80q", len(svg), len(want), i, svg[i:], want[i:])
				}
				ours, saved := decoded(t, rendered(t, mirador, "png", path, args...)), decoded(t, p.exported("export-png"))
				get[bool](p, "(mirador.run('away'), true)") // what says that it was saved lies over the picture
				p.until("!document.querySelector('.toast')?.textContent")
				get[bool](p, "(document.querySelectorAll('.scrollbar').forEach(s => s.style.visibility = 'hidden'), true)")
				shown := p.shot("#picture canvas")
				if ours.Bounds() != saved.Bounds() || shown.Bounds().Size() != saved.Bounds().Size() {
					t.Fatalf("render takes %v, the export %v, the page %v", ours.Bounds(), saved.Bounds(), shown.Bounds())
				}
				mean, far := difference(ours, saved)
				coarseMean, coarseFar := difference(shrink(ours), shrink(saved))
				shownMean, shownFar := difference(shown, saved)
				t.Logf("render and export: %.2f of 255 on average, %.2f %% of the pixels by more than 48; blurred by %d: %.2f and %.2f %%",
					mean, 100*far, coarse, coarseMean, 100*coarseFar)
				if mean > 1 || far > 0.006 || coarseMean > 0.5 || coarseFar > 0.001 {
					t.Errorf("render and export differ by %.2f on average, %.2f %% very much so; blurred %.2f and %.2f %%", mean, 100*far, coarseMean, 100*coarseFar)
				}
				if shownMean > 0.01 || shownFar > 0 {
					t.Errorf("the export and the page differ by %.2f on average, %.2f %% very much so", shownMean, 100*shownFar)
				}
			})
		}
	}
}
