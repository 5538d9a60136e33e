package top

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// lines are events as text.
type lines []string

func (l *lines) Next(e *event.Event) bool {
	if len(*l) == 0 {
		return false
	}
	if err := e.ParseText([]byte((*l)[0])); err != nil {
		panic(err)
	}
	*l = (*l)[1:]
	return true
}

// model is a program of which one thread runs, one waits for a promise that
// never comes, one is idle and one has ended.
func model() *thread.Model {
	text := lines(strings.Split(`0 switch thread=1
1000000 creates thread=1 child=2 type=Async(14)
1000000 label thread=2 label="stuck"
2000000 creates thread=1 child=3 type=Async(14)
2000000 label thread=3 label="work\x1b[31mer"
3000000 creates thread=1 child=4 type=Async(14)
3000000 switch thread=4
4000000 fulfills thread=4 resolvee=4
4000000 creates thread=2 child=9 type=Promise(15)
4000000 label thread=9 label="the answer"
5000000 switch thread=2
5000000 try_read thread=2 source=9
6000000 counter thread=-1 value=7 counter="queue"
7000000 gc duration_ns=1000000
8000000 switch thread=3
2000000000 label thread=1 label="tick"`, "\n"))
	return thread.Build(&text, thread.Options{KeepBinds: true})
}

func screen(t *testing.T, keys ...string) string {
	s := &state{Screen: &Screen{Name: "app.trace", Plain: true, Load: func() (*thread.Model, error) { return model(), nil }}, sort: BySince}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	s.Update(tea.WindowSizeMsg{Width: 100, Height: 14})
	for _, key := range keys {
		s.key(key)
	}
	return ansi.Strip(s.View().Content)
}

func TestScreen(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want []string // in this order
	}{
		{nil, []string{"1 run, 1 wait, 1 idle, 1 ended", "GC: 1, 0.1 %", "queue 7",
			"2 stuck", "wait", "2.0 s", "the answer", "3 work·[31mer", "run", "100 %", "1 of 3"}},
		{[]string{"i"}, []string{"since▴", "1 tick", "3 work", "2 stuck"}},
		{[]string{"h"}, []string{"state▾", "3 work", "2 stuck", "1 tick"}},
		{[]string{"l", "l", "l", "l", "l", "l"}, []string{"label▾", "2 stuck", "1 tick", "3 work"}},
		{[]string{"enter"}, []string{`thread 2 "stuck"`, "async", "2.0 s ago by tick", "wait for 2.0 s", "waits for  the answer"}},
		{[]string{"i", "enter"}, []string{`thread 1 "tick"`, "preexisting", "created    before the trace, which began 2.0 s ago", "last labels", "tick"}},
		{[]string{"enter", "esc"}, []string{"thread label"}},
		{[]string{"G"}, []string{"3 of 3"}},
		{[]string{"G", "g", "g"}, []string{"1 of 3"}},
		{[]string{"j", "down", "k"}, []string{"2 of 3"}},
		{[]string{"?"}, []string{"turn the order round"}},
		{[]string{"space"}, []string{"paused"}},
	} {
		got := screen(t, test.keys...)
		rest := got
		for _, want := range test.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("keys %q: no %q in this order on\n%s", test.keys, want, got)
				break
			}
			rest = after
		}
		for i, line := range strings.Split(got, "\n") {
			if w := ansi.StringWidth(line); w > 100 {
				t.Errorf("keys %q: line %d is %d cells wide", test.keys, i, w)
			}
		}
	}
}

// When a load fails, the last table stays, and the screen says so.
func TestLoadFails(t *testing.T) {
	s := &state{Screen: &Screen{Load: func() (*thread.Model, error) { return model(), nil }}}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.Update(loaded{err: errors.New("the directory is gone")})
	text := ansi.Strip(s.View().Content)
	if !strings.Contains(text, "! the directory is gone") || !strings.Contains(text, "stuck") {
		t.Errorf("the screen says\n%s", text)
	}
}

// Whoever has selected nothing sees the first rows, whatever comes; what was
// selected stays so; and no row is empty while there are threads for it.
func TestScroll(t *testing.T) {
	s := &state{Screen: &Screen{Plain: true, Load: func() (*thread.Model, error) { return model(), nil }}, sort: BySince}
	if err := s.load(); err != nil { // before the size of the screen is known
		t.Fatal(err)
	}
	see := func(height int, keys []string, want ...string) {
		t.Helper()
		s.Update(tea.WindowSizeMsg{Width: 100, Height: height})
		for _, key := range keys {
			s.key(key)
		}
		text := ansi.Strip(s.View().Content)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%d lines, keys %q: no %q on\n%s", height, keys, w, text)
			}
		}
	}
	see(14, nil, "stuck", "work", "tick", "1 of 3")
	see(14, []string{"i"}, "1 of 3") // another is the first now
	see(14, []string{"i", "j"}, "2 of 3")
	chosen := s.selected
	see(14, []string{"i", "l"}, "stuck", "work", "tick")
	if s.selected != chosen {
		t.Errorf("thread %d is selected, and was %d", s.selected, chosen)
	}
	see(7, []string{"G"}, "3 of 3")
	see(14, nil, "stuck", "work", "tick", "3 of 3")
}
