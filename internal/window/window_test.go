package window

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/window/talk"
)

// The committed programs are what their sources make.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("building is slow")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(ctx, "go", "run", "./build", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"gtk-amd64.gz", "gtk-arm64.gz"} {
		made, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := os.ReadFile(name); err != nil || !bytes.Equal(made, kept) {
			t.Errorf("%s is not what the sources make (%v): run go generate ./internal/window", name, err)
		}
	}
}

func TestPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "mirador", "window.json")
	if at := readPlace(file); at != nil {
		t.Errorf("before anything is remembered: %+v", at)
	}
	want := talk.Place{X: -5, Y: 7, Width: 900, Height: 600, Maximized: true}
	for range 2 { // there, and not there yet
		if err := writePlace(file, &want); err != nil {
			t.Fatal(err)
		}
		if at := readPlace(file); at == nil || *at != want {
			t.Errorf("remembered %+v as %+v", want, at)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	for _, bad := range []string{"", "{", "[]", `{"width":0,"height":0}`, `{"width":-1,"height":9}`, `{"width":1e9,"height":9}`,
		`{"width":800,"height":600,"x":-99999}`, `{"width":99999,"height":600}`, strings.Repeat(" ", 5000) + `{"width":8,"height":6}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if at := readPlace(file); at != nil {
			t.Errorf("%.40q is taken for %+v", bad, at)
		}
	}
}

func TestStateFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for set, want := range map[string]string{
		"":                               filepath.Join(home, ".local", "state", "mirador", "window.json"),
		"relative":                       filepath.Join(home, ".local", "state", "mirador", "window.json"),
		filepath.Join(home, "elsewhere"): filepath.Join(home, "elsewhere", "mirador", "window.json"),
	} {
		t.Setenv("XDG_STATE_HOME", set)
		if got := StateFile(); got != want {
			t.Errorf("with XDG_STATE_HOME %q: %s, want %s", set, got, want)
		}
	}
}

// What the program says decides how it went, whatever its end was.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		name, says string
		missing    bool
		err        string // a part of the error; "" for none
		opened     string
	}{
		{"closed", `{"shown":true}{"closed":{"x":1,"y":2,"width":300,"height":200}}`, false, "", ""},
		{"files", `{"shown":true}{"open":["/a","/b"]}{"open":["/c"]}{"closed":{"width":1,"height":1}}`, false, "", "/a /b /c"},
		{"no library", `{"missing":"libgtk-3.so.0 cannot be loaded (…)"}`, true, "no window: libgtk-3.so.0 cannot be loaded", ""},
		{"no display", `{"failed":"the display cannot be opened"}`, false, "no window: the display cannot be opened", ""},
		{"dead at once", ``, false, "no window: it ended by itself: last words", ""},
		{"dead later", `{"shown":true}`, false, "the window is gone: it ended by itself: last words", ""},
		{"nonsense", `{"shown":true}nonsense`, false, "the window is gone: invalid character", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var opened, warned []string
			w := &shown{guarded: true, Config: Config{
				Open: func(path string) { opened = append(opened, path) },
				Warn: func(what string) { warned = append(warned, what) },
			}}
			err := w.listen(json.NewDecoder(strings.NewReader(c.says)))
			w.opening.Wait()
			err = w.judge(t.Context(), err, nil, "last words")
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v; want %q", err, c.err)
			}
			var none *Unavailable
			if errors.As(err, &none) != strings.HasPrefix(c.err, "no window") || none != nil && none.Missing != c.missing {
				t.Errorf("unavailable: %+v", none)
			}
			if got := strings.Join(opened, " "); got != c.opened {
				t.Errorf("opened %s, want %s", got, c.opened)
			}
			if len(warned) > 0 {
				t.Errorf("warned of %q", warned)
			}
		})
	}
}

func TestTail(t *testing.T) {
	var last tail
	if last.String() != "" {
		t.Error("nothing was written")
	}
	for range 1000 {
		last.Write([]byte("something that WebKit says\n"))
	}
	last.Write([]byte("the last line\n\n"))
	if s := last.String(); s != "the last line" || len(last.last) > 5000 {
		t.Errorf("%d bytes are kept, the last line is %q", len(last.last), s)
	}
}
