//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/mirador-trace/mirador/internal/window/talk"
)

// TestMain is three programs: the tests, the window, and one that files can be
// dragged out of.
func TestMain(m *testing.M) {
	switch os.Getenv("MIRADOR_TEST_AS") {
	case "window":
		main()
		os.Exit(0)
	case "files":
		showFiles(strings.Split(os.Getenv("MIRADOR_TEST_URIS"), "\n"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// showFiles shows a window at the right of the screen; whoever drags there drags
// these URIs.
func showFiles(uris []string) {
	runtime.LockOSThread()
	l, err := load()
	if err != nil || l.Init(0, 0) == 0 {
		fmt.Fprintln(os.Stderr, "no window", err)
		os.Exit(1)
	}
	gtk, err := purego.Dlopen("libgtk-3.so.0", purego.RTLD_NOW)
	if err != nil {
		panic(err)
	}
	var source func(w pointer, button uint32, targets pointer, n int32, actions uint32)
	var withURIs func(w pointer)
	var set func(selection pointer, uris *pointer) int32
	var events func(w pointer, mask int32)
	var eventBox func() pointer
	purego.RegisterLibFunc(&source, gtk, "gtk_drag_source_set")
	purego.RegisterLibFunc(&withURIs, gtk, "gtk_drag_source_add_uri_targets")
	purego.RegisterLibFunc(&set, gtk, "gtk_selection_data_set_uris")
	purego.RegisterLibFunc(&events, gtk, "gtk_widget_add_events")
	purego.RegisterLibFunc(&eventBox, gtk, "gtk_event_box_new")

	var list []pointer // of C's strings, and NULL
	var texts [][]byte
	for _, uri := range uris {
		text := append([]byte(uri), 0)
		texts = append(texts, text)
		list = append(list, pointer(unsafe.Pointer(&text[0])))
	}
	list = append(list, 0)

	w, box := l.WindowNew(topLevel), eventBox()
	l.Title(w, "files")
	l.DefaultSize(w, 200, 400)
	l.Move(w, 780, 100)
	l.Add(w, box)
	const firstButton = 1 << 8
	source(box, firstButton, 0, 0, copying)
	withURIs(box)
	l.Connect(box, "drag-data-get", purego.NewCallback(func(w, context, selection, info, time, data pointer) pointer {
		set(selection, &list[0])
		return 0
	}), 0, 0, 0)
	l.ShowAll(w)
	l.Main()
	runtime.KeepAlive(texts)
}

// Files that are dropped on the page are told, and nothing else is: not what
// lies elsewhere than in files. The page stays what it is.
func TestDrop(t *testing.T) {
	for _, name := range []string{"Xvfb", "xdotool"} {
		if _, err := exec.LookPath(name); err != nil {
			skip(t, name)
		}
	}
	if _, err := load(); err != nil {
		skip(t, err.Error())
	}
	if testing.Short() {
		t.Skip("a window is slow")
	}
	display := screen(t)
	var mu sync.Mutex
	var asked []string
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		fmt.Fprint(w, "<!doctype html><title>the page</title><body style='background:#dde'>drop here")
	}))
	t.Cleanup(page.Close)

	window := exec.Command(os.Args[0])
	window.Env = append(os.Environ(), "MIRADOR_TEST_AS=window", "DISPLAY="+display, "WAYLAND_DISPLAY=", "HOME="+t.TempDir())
	in, err := window.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := window.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run(t, window)
	unguarded := exec.Command("bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "true").Run() != nil
	if err := json.NewEncoder(in).Encode(talk.Show{URL: page.URL + "/", Place: &talk.Place{X: 0, Y: 0, Width: 700, Height: 600}, Unguarded: unguarded}); err != nil {
		t.Fatal(err)
	}
	news := make(chan talk.News)
	go func() {
		defer close(news)
		d := json.NewDecoder(out)
		for {
			var n talk.News
			if d.Decode(&n) != nil {
				return
			}
			news <- n
		}
	}()
	next := func() talk.News {
		t.Helper()
		select {
		case n := <-news:
			return n
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is told")
			return talk.News{}
		}
	}
	if n := next(); !n.Shown {
		t.Fatalf("it says %+v", n)
	}
	do := func(args ...string) string {
		cmd := exec.Command("xdotool", args...)
		cmd.Env = append(os.Environ(), "DISPLAY="+display)
		answer, _ := cmd.Output()
		return string(answer)
	}
	await := func(title string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); do("search", "--onlyvisible", "--name", "^"+title+"$") == ""; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("there is no window %q", title)
			}
		}
	}
	await("the page")

	files := exec.Command(os.Args[0])
	uris := "file:///tmp/a%20trace.ctf\nhttp://127.0.0.1:1/evil\nfile:///tmp/b.ctf"
	files.Env = append(os.Environ(), "MIRADOR_TEST_AS=files", "MIRADOR_TEST_URIS="+uris, "DISPLAY="+display, "WAYLAND_DISPLAY=")
	run(t, files)
	await("files")
	time.Sleep(500 * time.Millisecond)

	do("mousemove", "880", "300", "mousedown", "1")
	for x := 860; x >= 300; x -= 20 {
		do("mousemove", fmt.Sprint(x), "300")
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	do("mouseup", "1")
	if n := next(); !slices.Equal(n.Open, []string{"/tmp/a trace.ctf", "/tmp/b.ctf"}) {
		t.Errorf("it says %+v", n)
	}
	await("the page") // and not what was dropped
	in.Close()
	n := next()
	if n.Closed == nil || n.Closed.Width != 700 || n.Closed.Height != 600 {
		t.Errorf("at its end it says %+v", n)
	}
	if _, more := <-news; more {
		t.Error("it goes on")
	}
	page.Close()
	for _, path := range asked {
		if path != "/" && path != "/favicon.ico" {
			t.Errorf("the view asked for %s", path)
		}
	}
}

func skip(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("there is no %s, and CI is set", missing)
	}
	t.Skipf("there is no %s: apt-get install xvfb xdotool libgtk-3-0 libwebkit2gtk-4.1-0", missing)
}

// run starts a program, which ends with the test.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stderr, cmd.WaitDelay = nil, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// screen starts a display that nobody sees, and returns its name.
func screen(t *testing.T) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1000x700x24", "-nolisten", "tcp", "-fbdir", t.TempDir())
	cmd.ExtraFiles = []*os.File{w}
	run(t, cmd)
	w.Close()
	r.SetReadDeadline(time.Now().Add(20 * time.Second))
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb does not start: %v", err)
	}
	return ":" + strings.TrimSpace(number)
}

// Keys are shown as the page tells them.
func TestKey(t *testing.T) {
	l, err := load()
	if err != nil {
		skip(t, err.Error())
	}
	p := &program{library: l}
	for told, want := range map[string][2]uint32{
		"W": {'W', 0}, "Ctrl Z": {'Z', control}, "Shift G": {'G', shift}, "Shift Enter": {0xff0d, shift}, "Space": {' ', 0},
		"/": {'/', 0}, "[": {'[', 0}, "F5": {0xffc2, 0}, "Esc": {0xff1b, 0}, "PgDn": {0xff56, 0}, "↑": {0xff52, 0}, "": {0, 0}, "0": {'0', 0},
	} {
		if key, modifiers := p.key(told); key != want[0] || modifiers != want[1] {
			t.Errorf("%s is key %#x with %#x; want %#x with %#x", told, key, modifiers, want[0], want[1])
		}
	}
}

// Every function that the window calls is in the library that is there.
func TestLibrary(t *testing.T) {
	l, err := load()
	if err != nil {
		skip(t, err.Error())
	}
	if filepath.Base(text(l.URIOf("/tmp/a b", 0, 0))) != "a%20b" || text(0) != "" {
		t.Error("what C makes of a path is not a URI")
	}
}

// The icon has the page's colours, and round corners.
func TestIcon(t *testing.T) {
	data := icon()
	if len(data) != 4*side*side {
		t.Fatalf("%d bytes", len(data))
	}
	at := func(x, y float64) [4]byte {
		i := 4 * (int(y*side/drawing)*side + int(x*side/drawing))
		return [4]byte(data[i : i+4])
	}
	for _, c := range []struct {
		x, y float64
		want [4]byte
	}{
		{0.2, 0.2, [4]byte{0x3d, 0x5a, 0xfe, 0}}, {31.8, 31.8, [4]byte{0x3d, 0x5a, 0xfe, 0}}, {16, 0.2, [4]byte{0x3d, 0x5a, 0xfe, 255}},
		{10, 10, [4]byte{255, 255, 255, 255}}, {17, 13, [4]byte{0x3d, 0x5a, 0xfe, 255}}, {17.5, 19, [4]byte{0xa9, 0xb8, 0xff, 255}},
	} {
		if got := at(c.x, c.y); got != c.want {
			t.Errorf("at %g, %g: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}
