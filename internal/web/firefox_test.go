package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
	scenepng "github.com/mirador-trace/mirador/internal/scene/png"
)

// firefox is Firefox with one tab, driven over WebDriver BiDi: commands as JSON
// over a WebSocket. See w3.org/TR/webdriver-bidi.
type firefox struct {
	testing.TB
	ctx  context.Context
	conn *websocket.Conn
	tab  string
	last int
	bad  []string // what the page complained about
}

var listening = regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)

// openFirefox starts Firefox without a screen, with a profile of its own.
func openFirefox(t testing.TB) *firefox {
	t.Helper()
	program, err := exec.LookPath("firefox-esr")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no firefox-esr, and CI is set")
		}
		t.Skip("there is no Firefox: apt-get install firefox-esr")
	}
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	home, err := os.MkdirTemp("", "firefox-") // its processes write to it a moment longer
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", "0")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "MOZ_CRASHREPORTER_DISABLE=1", "DISPLAY=")
	cmd.WaitDelay = time.Second
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
		os.RemoveAll(home)
	})
	var at string
	for lines := bufio.NewScanner(said); at == "" && lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			at = m[1]
		}
	}
	if at == "" {
		t.Fatal("Firefox does not say where it listens")
	}
	go io.Copy(io.Discard, said)
	conn, _, err := websocket.Dial(ctx, at+"/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(64 << 20)
	f := &firefox{TB: t, ctx: ctx, conn: conn}
	f.do("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	f.do("session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
	var tree struct{ Contexts []struct{ Context string } }
	f.do("browsingContext.getTree", map[string]any{}, &tree)
	if len(tree.Contexts) == 0 {
		t.Fatal("Firefox has no tab")
	}
	f.tab = tree.Contexts[0].Context
	return f
}

// do sends a command and reads its result.
func (f *firefox) do(method string, params map[string]any, result any) {
	f.Helper()
	f.last++
	command, err := json.Marshal(map[string]any{"id": f.last, "method": method, "params": params})
	if err == nil {
		err = f.conn.Write(f.ctx, websocket.MessageText, command)
	}
	for err == nil {
		var data []byte
		if _, data, err = f.conn.Read(f.ctx); err != nil {
			break
		}
		var answer struct {
			ID             int
			Type           string
			Error, Message string
			Method         string
			Params         struct{ Level, Text string }
			Result         json.RawMessage
		}
		if err = json.Unmarshal(data, &answer); err != nil {
			break
		}
		if answer.Method == "log.entryAdded" && (answer.Params.Level == "error" || answer.Params.Level == "warn") {
			f.bad = append(f.bad, answer.Params.Text)
		}
		if answer.ID != f.last {
			continue
		}
		if answer.Type == "error" {
			err = errors.New(answer.Error + ": " + answer.Message)
		} else if result != nil {
			err = json.Unmarshal(answer.Result, result)
		}
		break
	}
	if err != nil {
		f.Fatalf("%s: %v", method, err)
	}
}

// eval returns the text that an expression has.
func (f *firefox) eval(expression string) string {
	f.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails struct{ Text string }
	}
	f.do("script.evaluate", map[string]any{"expression": "String(" + expression + ")", "awaitPromise": true,
		"target": map[string]any{"context": f.tab}}, &answer)
	if answer.ExceptionDetails.Text != "" {
		f.Fatalf("%s: %s", expression, answer.ExceptionDetails.Text)
	}
	return fmt.Sprint(answer.Result.Value)
}

func (f *firefox) until(expression string) {
	f.Helper()
	for end := time.Now().Add(30 * time.Second); f.eval("!!("+expression+")") != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("never: %s (it says %q)", expression, f.bad)
		}
	}
}

// still waits until the picture shows what was asked for.
func (f *firefox) still() {
	f.Helper()
	f.eval(laidOut)
	f.until(`document.getElementById('picture').getAttribute('aria-busy') === 'false'`)
}

func (f *firefox) key(key string) {
	f.Helper()
	f.do("input.performActions", map[string]any{"context": f.tab, "actions": []any{map[string]any{
		"type": "key", "id": "keyboard", "actions": []any{
			map[string]any{"type": "keyDown", "value": key}, map[string]any{"type": "keyUp", "value": key},
		}}}}, nil)
}

// shot is what is seen of the picture.
func (f *firefox) shot() image.Image {
	f.Helper()
	var before, answer struct{ Data []byte } // base64
	for range 20 {                           // nothing is on its way to the screen when two are equal
		f.do("browsingContext.captureScreenshot", map[string]any{"context": f.tab}, &answer)
		if bytes.Equal(before.Data, answer.Data) {
			break
		}
		before.Data = bytes.Clone(answer.Data)
		time.Sleep(50 * time.Millisecond)
	}
	img, err := png.Decode(bytes.NewReader(answer.Data))
	if err != nil {
		f.Fatal(err)
	}
	var at image.Rectangle
	if _, err := fmt.Sscan(f.eval(`(r => [r.left, r.top, r.right, r.bottom].map(Math.round).join(' '))(document.getElementById('picture').getBoundingClientRect())`),
		&at.Min.X, &at.Min.Y, &at.Max.X, &at.Max.Y); err != nil {
		f.Fatal(err)
	}
	part := image.NewRGBA(image.Rect(0, 0, at.Dx(), at.Dy()))
	draw.Draw(part, part.Rect, img, at.Min, draw.Src)
	return part
}

func opaque(c color.NRGBA) color.RGBA { return color.RGBA{c.R, c.G, c.B, 255} }

// A report opens in Firefox from a file, and draws there what it draws
// everywhere.
func TestReportInFirefox(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.ctf")
	writeSample(t, path, 0)
	_, url := reportOf(t, "", path)
	f := openFirefox(t)
	f.do("browsingContext.setViewport", map[string]any{"context": f.tab, "viewport": map[string]any{"width": 1000, "height": 700}, "devicePixelRatio": 1.0}, nil)
	began := time.Now()
	f.do("browsingContext.navigate", map[string]any{"context": f.tab, "url": url + "#from=0.005&to=0.06&rows=fisheye&focus=600", "wait": "complete"}, nil)
	f.until(`document.querySelector('#picture canvas')?.dataset.frame >= 1 && !!document.querySelector('.findings-line')`)
	t.Logf("the first picture took %v", time.Since(began).Round(10*time.Millisecond))
	f.still()
	got := f.shot()
	for style, least := range map[scene.Style]int{
		scene.ThreadLine: 1000, scene.Running: 300, scene.FailedLine: 100, scene.GC: 1000, scene.ThreadLabel: 30, scene.Counter0: 30,
	} {
		if n := pixels(got, opaque(palette.Light[style]), 16); n < least {
			t.Errorf("%d pixels of style %d, want %d", n, style, least)
		}
	}
	var l scene.List
	sampleIndex(t).Frame(scene.Viewport{From: 0.005, To: 0.06, Focus: 600, Width: float64(got.Bounds().Dx()), Height: float64(got.Bounds().Dy())}, &l)
	painted, err := scenepng.Paint(&l, palette.Light)
	if err != nil {
		t.Fatal(err)
	}
	mean, far := difference(shrink(got), shrink(painted))
	t.Logf("Firefox and the PNG differ by %.2f on average, %.2f %% of them very much so", mean, 100*far)
	if mean > 3 || far > 0.01 {
		t.Errorf("Firefox and the PNG differ by %.1f on average, %.1f %% of them very much so", mean, 100*far)
		if k, err := os.Create(filepath.Join(t.ArtifactDir(), "firefox.png")); err == nil {
			png.Encode(k, got)
			k.Close()
		}
	}
	// It is alive, too: a key zooms, another opens the findings.
	width := func() (from, to float64) {
		f.still()
		if _, err := fmt.Sscan(f.eval(`(d => d.from + ' ' + d.to)(document.querySelector('#picture canvas').dataset)`), &from, &to); err != nil {
			t.Fatal(err)
		}
		return from, to
	}
	from, to := width()
	f.key("w")
	if u, v := width(); v-u >= (to-from)*0.99 {
		t.Errorf("W shows %g–%g s of %g–%g s", u, v, from, to)
	}
	f.key("i")
	f.until(`[...document.querySelectorAll('.panel .link')].some(l => l.textContent.includes('Timeout'))`)
	if len(f.bad) > 0 {
		t.Errorf("the page says %q", f.bad)
	}
}
