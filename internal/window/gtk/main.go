//go:build linux

// The program gtk shows mirador's page in a window of its own: GTK 3 around
// WebKitGTK 4.1, which it finds when it runs. Mirador carries it along and
// starts it, see package window; what they say to each other is in package
// talk. It is a program of its own because whoever calls C's libraries is
// linked to C's, and mirador is not: it runs where there are none.
//
// What the window shows is a trace, which anybody may have made. So WebKit's
// sandbox is on, nothing that was seen is kept, the view stays at the page that
// it was told, and of what a page says only names of its own commands are used.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/window/talk"
)

func main() {
	runtime.LockOSThread()      // GTK wants to be called by one thread
	signal.Ignore(os.Interrupt) // Ctrl-C ends mirador, and that closes the pipe
	from, to, err := pipes()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in := json.NewDecoder(from)
	p := &program{out: json.NewEncoder(to)}
	if err := in.Decode(&p.show); err != nil {
		fmt.Fprintf(os.Stderr, "this is a part of mirador, which starts it: %v\n", err)
		os.Exit(1)
	}
	if p.library, err = load(); err != nil {
		p.say(talk.News{Missing: err.Error()})
		return
	}
	p.SetProgram("mirador")
	p.SetApplication("mirador")
	if p.Init(0, 0) == 0 {
		p.say(talk.News{Failed: "the display cannot be opened"})
		return
	}
	if p.Composited(p.Screen()) == 0 {
		// Where nothing keeps what windows look like, WebKit 2.50 leaves what a
		// menu has covered blank; its older way of drawing does not.
		p.SetEnv("WEBKIT_DISABLE_DMABUF_RENDERER", "1", 0)
	}
	p.build()
	go func() {
		io.Copy(io.Discard, from) // until mirador closes it
		p.Idle(purego.NewCallback(func(pointer) pointer { p.close(); return 0 }), 0)
	}()
	p.Main()
}

// pipes takes those to mirador away from standard input and output, which the
// processes that WebKit starts inherit: they shall neither talk to mirador nor
// keep a pipe open whose end is to be noticed.
func pipes() (from, to *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	var own [2]*os.File
	for fd := range own {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err == nil {
			err = unix.Dup3(int(null.Fd()), fd, 0)
		}
		if err != nil {
			return nil, nil, err
		}
		own[fd] = os.NewFile(uintptr(n), "mirador")
	}
	return own[0], own[1], nil
}

// program is the window and all that is in it.
type program struct {
	*library
	show   talk.Show
	window pointer
	bar    pointer // the menus
	keys   pointer // of the menu File
	view   pointer // WebKit's

	menus    []pointer // the page's own
	listed   string    // what is in them, as the page says it
	commands []command // the same
	tab      string    // the trace that is seen, as the page's address has it
	onList   pointer   // callbacks
	onRun    pointer
	crashes  int

	mu  sync.Mutex
	out *json.Encoder
}

// say tells mirador what happened. Mirador may be gone; then there is nobody to
// tell, and the pipe's other end closes the window.
func (p *program) say(n talk.News) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Encode(n)
}

// on has f called at a signal, with what the signal carries.
func (p *program) on(from pointer, signal string, f any) {
	p.Connect(from, signal, purego.NewCallback(f), 0, 0, 0)
}

const (
	vertical     = 1
	stretch      = 1
	topLevel     = 0
	defaultWidth = 1200
)

// build makes the window and has it load the page.
func (p *program) build() {
	p.window = p.WindowNew(topLevel)
	p.Title(p.window, "mirador")
	p.putIcon()
	p.keys = p.NewAccelerators()
	p.Accelerators(p.window, p.keys)
	p.place()

	context := p.Context()
	if !p.show.Unguarded {
		p.Sandbox(context, 1)
	}
	p.view = p.View(context)
	p.bar = p.MenuBar()
	p.fileMenu()
	box := p.Box(vertical, 0)
	p.Pack(box, p.bar, 0, 0, 0)
	p.Pack(box, p.view, stretch, stretch, 0)
	p.Add(p.window, box)

	p.on(p.window, "delete-event", func(window, event, data pointer) pointer { p.close(); return 1 })
	p.on(p.view, "notify::title", func(view, property, data pointer) pointer { p.titled(); return 0 })
	p.on(p.view, "notify::uri", func(view, property, data pointer) pointer { p.moved(); return 0 })
	p.on(p.view, "decide-policy", p.decide)
	p.on(p.view, "context-menu", func(view, menu, event, hit, data pointer) pointer {
		return pointer(1 - p.Editable(hit)) // only what can be typed into has one worth having
	})
	p.on(p.view, "web-process-terminated", func(view, reason, data pointer) pointer {
		if p.crashes++; p.crashes <= 3 {
			p.Load(p.view, p.show.URL)
		}
		return 0
	})
	p.on(context, "download-started", func(context, download, data pointer) pointer {
		p.on(download, "decide-destination", p.saveAs)
		return 0
	})
	p.acceptFiles()

	p.Load(p.view, p.show.URL)
	p.ShowAll(p.window)
	p.Focus(p.view)
	p.Present(p.window)
	p.say(talk.News{Shown: true})
}

// place puts the window where it was, if that is on the screen still.
func (p *program) place() {
	at := p.show.Place
	if at == nil {
		p.DefaultSize(p.window, defaultWidth, defaultWidth*2/3)
		return
	}
	p.DefaultSize(p.window, max(at.Width, 200), max(at.Height, 150))
	display := p.Display()
	for i := range p.Monitors(display) {
		var r rectangle
		p.Workarea(p.Monitor(display, i), &r)
		// The middle of the title must be there, or nobody could move it.
		if x := at.X + at.Width/2; r.X <= x && x < r.X+r.Width && r.Y <= at.Y && at.Y < r.Y+r.Height {
			p.Move(p.window, at.X, at.Y)
			break
		}
	}
	if at.Maximized {
		p.Maximize(p.window)
	}
}

// close tells where the window lies, and ends the program.
func (p *program) close() {
	var at talk.Place
	p.Size(p.window, &at.Width, &at.Height)
	p.Position(p.window, &at.X, &at.Y)
	if p.IsMaximized(p.window) != 0 { // its own size is the one before
		at = talk.Place{Width: defaultWidth, Height: defaultWidth * 2 / 3, X: at.X, Y: at.Y}
		if p.show.Place != nil {
			at = *p.show.Place
		}
		at.Maximized = true
	}
	p.say(talk.News{Closed: &at})
	p.Destroy(p.window)
	p.MainQuit()
	// A dialog that is open waits in a loop of its own, above the one that ends.
	time.AfterFunc(time.Second/2, func() { os.Exit(0) })
}

// titled takes over the page's title, which it has once there is something to
// see, and commands for it.
func (p *program) titled() {
	if title := text(p.PageTitle(p.view)); title != "" {
		p.Title(p.window, title)
	}
	p.listCommands()
}

// moved looks at the page's address, which says what is seen: another trace may
// have other commands, and the same title.
func (p *program) moved() {
	_, fragment, _ := strings.Cut(text(p.PageURI(p.view)), "#")
	tab := ""
	for part := range strings.SplitSeq(fragment, "&") {
		if strings.HasPrefix(part, "tab=") {
			tab = part
		}
	}
	if tab != p.tab {
		p.tab = tab
		p.listCommands()
	}
}

// A page may want to go to another address, in this window or a new one.
const (
	navigation = 0
	newWindow  = 1
)

// decide lets the view load the page and nothing else, and keep files that the
// page has made.
func (p *program) decide(view, decision, kind, data pointer) pointer {
	if kind != navigation && kind != newWindow {
		return 0
	}
	uri := text(p.RequestURI(p.RequestOf(p.NavigationOf(decision))))
	page, _, _ := strings.Cut(p.show.URL, "#")
	switch {
	case kind == navigation && (uri == page || strings.HasPrefix(uri, page+"#")):
		return 0
	case kind == navigation && strings.HasPrefix(uri, "blob:"):
		p.Download(decision) // what the page exports
	default:
		p.Ignore(decision)
	}
	return 1
}

// text reads a string of C, which stays C's; NULL is "".
func text(at pointer) string {
	if at == 0 {
		return ""
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // C's memory does not move
	n := 0
	for *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(start), n))
}

// take is text for a string that has been given away: it is freed.
func (p *program) take(at pointer) string {
	s := text(at)
	p.Free(at)
	return s
}

// word reads the pointer at an address of C's.
func word(at pointer, offset uintptr) pointer {
	start := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	return *(*pointer)(unsafe.Add(start, offset))
}
