//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
)

// The tests of this file look at the window as a person does, on a screen that
// nobody sees: Xvfb keeps it in a file, and xdotool presses the keys.

// screen is a display of the test's own.
type screen struct {
	testing.TB
	name string // for DISPLAY
	file string // its pixels
}

// wants skips a test for which a program or a library is not there.
func wants(t testing.TB, programs []string, libraries ...string) {
	t.Helper()
	var missing []string
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	for _, name := range libraries {
		if found, _ := filepath.Glob("/usr/lib*/*/" + name); len(found) == 0 {
			if found, _ := filepath.Glob("/usr/lib*/" + name); len(found) == 0 {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("there is no %s, and CI is set", strings.Join(missing, ", "))
	}
	t.Skipf("there is no %s: apt-get install xvfb xdotool libgtk-3-0 libwebkit2gtk-4.1-0", strings.Join(missing, ", "))
}

// newScreen starts a display of 1000 by 700 px.
func newScreen(t testing.TB) *screen {
	t.Helper()
	if testing.Short() {
		t.Skip("a window is slow")
	}
	wants(t, []string{"Xvfb", "xdotool"})
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1000x700x24", "-fbdir", dir, "-nolisten", "tcp", "-noreset")
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	r.SetReadDeadline(time.Now().Add(20 * time.Second))
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb does not start: %v", err)
	}
	return &screen{t, ":" + strings.TrimSpace(number), filepath.Join(dir, "Xvfb_screen0")}
}

// do has xdotool do something, and returns what it says.
func (s *screen) do(args ...string) string {
	cmd := exec.Command("xdotool", args...)
	cmd.Env = append(os.Environ(), "DISPLAY="+s.name)
	out, _ := cmd.Output() // what it does not find it does not say
	return strings.TrimSpace(string(out))
}

// keys presses keys, one after the other, as fast as a hand.
func (s *screen) keys(names ...string) {
	for _, name := range names {
		s.do("key", name)
		time.Sleep(200 * time.Millisecond)
	}
}

// until waits for something to be true.
func (s *screen) until(what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.keep()
			s.Fatalf("never: %s", what)
		}
	}
}

// titled waits for a window with a title.
func (s *screen) titled(title string) {
	s.Helper()
	s.until("a window called "+title, func() bool {
		return s.do("search", "--onlyvisible", "--name", "^"+regexp.QuoteMeta(title)+"$") != ""
	})
}

// shot is what is on the screen. The file is one of xwd: a header of 32-bit
// numbers, the first of which is its size, then colours, then pixels, of 32 bits
// in the order that the header tells. See X11/XWDFile.h.
func (s *screen) shot() image.Image {
	s.Helper()
	data, err := os.ReadFile(s.file)
	if err != nil {
		s.Fatal(err)
	}
	field := func(i int) int { return int(binary.BigEndian.Uint32(data[4*i:])) }
	width, height, stride := field(4), field(5), field(12)
	at := field(0) + 12*field(19)
	if field(1) != 7 || field(11) != 32 || len(data) < at+height*stride {
		s.Fatalf("a screen of version %d, %d bits, %d bytes", field(1), field(11), len(data))
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p := data[at+y*stride+4*x:]
			img.SetRGBA(x, y, color.RGBA{p[2], p[1], p[0], 255}) // least significant byte first: blue
		}
	}
	return img
}

// keep keeps what is on the screen for whoever looks into a failure.
func (s *screen) keep() {
	if f, err := os.Create(filepath.Join(s.ArtifactDir(), "screen.png")); err == nil {
		png.Encode(f, s.shot())
		f.Close()
		s.Logf("the screen is kept in %s", f.Name())
	}
}

// painted counts the pixels of a style of the pictures.
func (s *screen) painted(style scene.Style) (count int) {
	s.Helper()
	c := palette.Light[style]
	want := color.RGBA{c.R, c.G, c.B, 255}
	img := s.shot()
	b := img.Bounds()
	for i := range b.Dx() * b.Dy() {
		if img.At(i%b.Dx(), i/b.Dx()) == want {
			count++
		}
	}
	return count
}

// differ counts the pixels in which two pictures differ.
func differ(a, b image.Image) (n int) {
	for i := range a.Bounds().Dx() * a.Bounds().Dy() {
		x, y := i%a.Bounds().Dx(), i/a.Bounds().Dx()
		if a.At(x, y) != b.At(x, y) {
			n++
		}
	}
	return n
}

// windowed is mirador with a window.
type windowed struct {
	*process
	home string
	url  string
	errs string // the file of its standard error
}

// said is what it has said so far besides its result.
func (w *windowed) said() string {
	data, _ := os.ReadFile(w.errs)
	return string(data)
}

// show starts mirador on the screen with a home of its own.
func (s *screen) show(t *testing.T, home string, env []string, args ...string) *windowed {
	t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	errs, err := os.Create(filepath.Join(t.TempDir(), "errs"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	p := &process{cmd: exec.Command("mirador", append([]string{"view", "--window"}, args...)...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = out, errs
	p.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=",
		"DISPLAY="+s.name, "WAYLAND_DISPLAY=", "DBUS_SESSION_BUS_ADDRESS=disabled:", "GTK_USE_PORTAL=0", "LC_ALL=C.UTF-8")
	p.cmd.Env = append(p.cmd.Env, env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	r.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(r).ReadString('\n')
	url, ok := strings.CutPrefix(line, "mirador: serving ")
	if !ok {
		t.Fatalf("it says %q (%v)", line, err)
	}
	return &windowed{p, home, strings.TrimSpace(url), errs.Name()}
}

// ends waits for mirador to end as it should, and returns where it remembers
// that the window was.
func (w *windowed) ends(t *testing.T) (at struct{ X, Y, Width, Height int }) {
	t.Helper()
	if err := w.wait(t); err != nil {
		t.Errorf("it ended with %v: %s", err, w.said())
	}
	if _, err := http.Get(w.url); err == nil {
		t.Error("the page is served still")
	}
	file := filepath.Join(w.home, ".local", "state", "mirador", "window.json")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("what is remembered is there for others: %v in %v", info.Mode(), dir.Mode())
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

var webKit = []string{"libgtk-3.so.0", "libwebkit2gtk-4.1.so.0"}

// A window shows the picture, its keys and menus do what the page's do, it opens
// more files, and when it is closed everything ends. The next is where it was.
func TestWindow(t *testing.T) {
	s := newScreen(t)
	wants(t, nil, webKit...)
	home := t.TempDir()
	began := time.Now()
	w := s.show(t, home, nil, "../../testdata/odd.ctf", "../../testdata/ring.ctf")
	s.titled("odd.ctf – mirador")
	s.until("a picture with threads that run and that fail", func() bool {
		return s.painted(scene.Running) > 500 && s.painted(scene.FailedLine) > 200
	})
	t.Logf("the first picture took %v", time.Since(began).Round(10*time.Millisecond))
	if sandboxRuns := exec.Command("bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "true").Run() == nil; sandboxRuns {
		w.isSandboxed(t)
	} else if !strings.Contains(w.said(), "sandbox does not run") {
		t.Errorf("there is no sandbox, and it says %q", w.said())
	}

	// A key changes the picture, and another changes it back.
	s.do("mousemove", "500", "400")
	s.keys("0")
	time.Sleep(time.Second)
	before := s.shot()
	s.keys("w", "w", "w")
	s.until("W zooms in", func() bool { return differ(before, s.shot()) > 5000 })
	s.keys("0")
	s.until("0 shows all again", func() bool { return differ(before, s.shot()) < 500 })

	// A menu that closes leaves the picture as it was.
	s.keys("F10", "Right", "Right", "Down")
	s.until("there is a menu", func() bool { return differ(before, s.shot()) > 5000 })
	s.keys("Escape", "Escape", "Escape")
	s.until("the picture is there again", func() bool { return differ(before, s.shot()) < 500 })

	// File, Move, Find, Show, Traces: its second item is the second trace.
	s.keys("F10", "Right", "Right", "Right", "Right", "Down", "Down", "Return")
	s.titled("ring.ctf – mirador")

	// A file that is chosen becomes a tab; one that cannot be read is told.
	more := filepath.Join(t.TempDir(), "more.ctf")
	data, err := os.ReadFile("../../testdata/odd.ctf")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(more, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s.keys("ctrl+o")
	s.titled("Open traces")
	time.Sleep(500 * time.Millisecond)
	s.keys("slash") // has it ask for a name
	time.Sleep(500 * time.Millisecond)
	s.do("type", "--delay", "30", strings.TrimPrefix(more, "/"))
	time.Sleep(500 * time.Millisecond)
	s.keys("Return")
	s.titled("more.ctf – mirador")

	w.keepsItsToken(t)
	s.do("search", "--onlyvisible", "--name", "mirador$", "windowsize", "--sync", "%1", "800", "500", "windowmove", "--sync", "%1", "60", "40")
	time.Sleep(500 * time.Millisecond)
	s.keys("ctrl+q")
	if at := w.ends(t); at.Width != 800 || at.Height != 500 || at.X != 60 || at.Y != 40 {
		t.Errorf("it remembers %+v", at)
	}

	again := s.show(t, home, nil, "../../testdata/odd.ctf")
	s.titled("odd.ctf – mirador")
	s.until("the window is where it was", func() bool {
		place := s.do("search", "--onlyvisible", "--name", "mirador$", "getwindowgeometry")
		return strings.Contains(place, "Position: 60,40") && strings.Contains(place, "Geometry: 800x500")
	})
	// Ctrl-C in the terminal closes it, also while a dialog is open.
	s.do("mousemove", "300", "300")
	s.keys("ctrl+o")
	s.titled("Open traces")
	if err := again.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	again.ends(t)
	s.until("the window is gone", func() bool { return s.do("search", "--onlyvisible", "--name", "mirador$") == "" })
}

// isSandboxed looks at the process that has what a trace says: it must see
// neither this system's files nor its network as others do.
func (w *windowed) isSandboxed(t *testing.T) {
	t.Helper()
	var host [2]string
	for i, kind := range []string{"mnt", "net"} {
		host[i], _ = os.Readlink("/proc/self/ns/" + kind)
	}
	found := false
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		data, _ := os.ReadFile(file)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		program, _, _ := bytes.Cut(data, []byte{0})
		if !bytes.HasSuffix(program, []byte("/WebKitWebProcess")) || !bytes.Contains(env, []byte("HOME="+w.home+"\x00")) {
			continue
		}
		found = true
		for i, kind := range []string{"mnt", "net"} {
			if ns, err := os.Readlink(filepath.Join(filepath.Dir(file), "ns", kind)); err != nil || ns == host[i] {
				t.Errorf("the page's process has the system's own %s: %s, %v", kind, ns, err)
			}
		}
	}
	if !found {
		t.Error("there is no process for the page")
	}
}

// Where WebKit's sandbox cannot run the window is shown without it, and that is
// said.
func TestWindowWithoutSandbox(t *testing.T) {
	s := newScreen(t)
	wants(t, nil, webKit...)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	w := s.show(t, home, []string{"PATH=" + dir}, "../../testdata/odd.ctf")
	s.titled("odd.ctf – mirador")
	if want := "mirador: warning: WebKit's sandbox does not run on this system"; !strings.Contains(w.said(), want) {
		t.Errorf("it says %q", w.said())
	}
	s.keys("ctrl+w")
	w.ends(t)
}

// keepsItsToken looks for the page's token where everybody on the machine can
// look: in the arguments of programs.
func (w *windowed) keepsItsToken(t *testing.T) {
	t.Helper()
	_, token, _ := strings.Cut(w.url, "token=")
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 || token == "" {
		t.Fatalf("no processes, or no token: %v", err)
	}
	found := false
	for _, file := range all {
		data, _ := os.ReadFile(file) // it may have ended
		if bytes.Contains(data, []byte(token)) {
			t.Errorf("everybody on this machine can see the token: %q", data)
		}
		found = found || bytes.HasPrefix(data, []byte("mirador-window"))
	}
	if !found {
		t.Error("the window's program is not among them")
	}
}

// Where the libraries are missing the page is shown by Chromium in a window
// without anything around it, and else by the browser; it says which, and what
// to install.
func TestWindowWithoutLibraries(t *testing.T) {
	s := newScreen(t)
	missing := t.TempDir()
	for _, name := range webKit {
		if err := os.WriteFile(filepath.Join(missing, name), nil, 0o600); err != nil { // no library, but found first
			t.Fatal(err)
		}
	}
	const hint = "mirador: hint: a window of its own needs GTK 3 and WebKitGTK 4.1: on Debian, apt-get install libgtk-3-0 libwebkit2gtk-4.1-0\n"
	for _, c := range []struct {
		name     string
		programs map[string]string // that there are, as scripts
		env      []string
		opened   string // by the last of them
		says     string
	}{
		{"chromium", map[string]string{"google-chrome": "exec /bin/sleep 4"}, nil, "--app=URL",
			"; the page is shown by google-chrome --app, and Ctrl-C ends mirador\n" + hint},
		{"chromium that is not well", map[string]string{"chromium": "exit 1", "google-chrome": "exit 0"}, nil, "--app=URL",
			"; the page is shown by google-chrome --app, and Ctrl-C ends mirador\n" + hint},
		{"browser", map[string]string{"chromium": "exit 1", "xdg-open": "exit 0"}, nil, "URL",
			"; the page is shown by the browser, and Ctrl-C ends mirador\n" + hint},
		{"nothing", nil, nil, "", "mirador: warning: no browser could be opened (exec: \"xdg-open\": "},
		{"no display, but libraries", nil, []string{"DISPLAY=", "LD_LIBRARY_PATH="}, "", "mirador: warning: no window: "},
		{"no display", map[string]string{"chromium": "exit 0", "xdg-open": "exit 0"}, []string{"DISPLAY="}, "",
			"mirador: warning: no browser could be opened (there is no display): open the URL yourself\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, does := range c.programs {
				script := "#!/bin/sh\n" + does + "\n"
				if does != "exit 1" {
					script = fmt.Sprintf("#!/bin/sh\necho \"$@\" > %s/opened\n%s\n", dir, does)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			env := append([]string{"PATH=" + dir, "LD_LIBRARY_PATH=" + missing}, c.env...)
			w := s.show(t, t.TempDir(), env, "../../testdata/odd.ctf")
			s.until(c.says, func() bool { return strings.Contains(w.said(), c.says) })
			if c.opened != "" {
				var opened []byte
				s.until("a browser is opened", func() bool {
					opened, _ = os.ReadFile(filepath.Join(dir, "opened"))
					return len(opened) > 0
				})
				if got := strings.ReplaceAll(string(opened), w.url, "URL"); got != c.opened+"\n" {
					t.Errorf("opened with %q, not %q", got, c.opened)
				}
			}
			if c.env == nil && !strings.Contains(w.said(), "mirador: warning: no window: libgtk-3.so.0 cannot be loaded (") {
				t.Errorf("it says %s", w.said())
			}
			if response, err := http.Get(w.url); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("the page is not served: %v", err)
			}
			if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := w.wait(t); err != nil {
				t.Errorf("ended with %v: %s", err, w.said())
			}
		})
	}
}

func TestWindowContradiction(t *testing.T) {
	var out, errs bytes.Buffer
	if got := run(t.Context(), strings.Fields("view --window --no-open ../../testdata/odd.ctf"), nil, &out, &errs); got != 2 {
		t.Errorf("status %d: %s", got, &errs)
	}
	if !strings.Contains(errs.String(), "mirador: error: --window and --no-open contradict each other") {
		t.Errorf("it says %s", &errs)
	}
}
