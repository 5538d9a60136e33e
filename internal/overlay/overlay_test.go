package overlay

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	text := "a\n\tb = c\n\tb = cc // b = c\n"
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Anchor: "b = c", After: "; d()"}, "a\n\tb = c; d()\n\tb = cc // b = c\n"},
		{Edit{Anchor: "b = c", Before: "d(); "}, "a\n\td(); b = c\n\tb = cc // b = c\n"},
		{Edit{Anchor: "b = c", Before: "{", After: "}"}, "a\n\t{b = c}\n\tb = cc // b = c\n"},
		{Edit{Anchor: "b = c", After: "e", Instead: true}, "a\n\te\n\tb = cc // b = c\n"},
		{Edit{Anchor: "a", After: "e"}, "ae\n\tb = c\n\tb = cc // b = c\n"},
	} {
		got, err := c.edit.apply("go1.26", []byte(text))
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v", c.edit, got, err)
		}
	}
	for anchor, count := range map[string]int{"c": 0, "x": 0, "twice": 2} {
		e := Edit{File: "runtime/f.go", Anchor: anchor, After: "y"}
		_, err := e.apply("go1.26", []byte("twice\n\tb = c\n  twice"))
		var wrong *AnchorError
		if !errors.As(err, &wrong) || wrong.Count != count {
			t.Errorf("%q: %v", anchor, err)
		}
	}
}

// TestEditsKeepLines: a stack trace through the runtime has the numbers of
// the lines that its source has.
func TestEditsKeepLines(t *testing.T) {
	for _, p := range patches {
		for _, e := range p.edits {
			if strings.Contains(e.Before+e.After+e.Anchor, "\n") {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	o := &Overlay{File: "/c/overlay.json", Root: "/go"}
	for _, c := range []struct{ verb, args, want string }{
		{"build", "-o x ./...", "/go/bin/go build -overlay=/c/overlay.json -o x ./..."},
		{"test", "-C sub -race ./...", "/go/bin/go test -C sub -overlay=/c/overlay.json -race ./..."},
		{"test", "-C=sub ./...", "/go/bin/go test -C=sub -overlay=/c/overlay.json ./..."},
		{"run", "-overlay=mine.json . -overlay=arg", "/go/bin/go run -overlay=/c/overlay.json . -overlay=arg"},
		{"run", "-overlay mine.json x.go -- -overlay y", "/go/bin/go run -overlay=/c/overlay.json x.go -- -overlay y"},
		{"test", "-overlay mine.json -args -overlay y", "/go/bin/go test -overlay=/c/overlay.json -args -overlay y"},
	} {
		line, _ := o.Command(c.verb, strings.Fields(c.args))
		if got := strings.Join(line, " "); got != c.want && runtime.GOOS != "windows" {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.verb, c.args, got, c.want)
		}
	}
	tool := &Toolchain{Flags: "-mod=mod -overlay=env.json"}
	for args, want := range map[string]string{
		"./...":                             "env.json",
		"-overlay=a.json -overlay b.json .": "b.json",
		"-o x . -overlay=program":           "env.json",
	} {
		if got := tool.Given("run", strings.Fields(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func toolchain(t *testing.T) *Toolchain {
	t.Helper()
	tool, err := Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestPrepare(t *testing.T) {
	tool := toolchain(t)
	cache := filepath.Join(t.TempDir(), "cache")
	o, err := tool.Prepare(cache, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(o.File)
	if about, err := os.Stat(dir); err != nil || about.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", about.Mode(), err)
	}
	// A file that was changed is put right, and the name is as it was.
	name := filepath.Join(dir, "runtime_mprof.go")
	if err := os.WriteFile(name, []byte("package runtime"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := tool.Prepare(cache, "")
	if err != nil || *again != *o {
		t.Errorf("%+v, %v, want %+v", again, err, o)
	}
	if b, _ := os.ReadFile(name); !strings.Contains(string(b), "miradorCycle()") {
		t.Error("a damaged file stays")
	}
	list, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestUnknownRuntime: what is not as expected is not edited.
func TestUnknownRuntime(t *testing.T) {
	tool := *toolchain(t)
	root := t.TempDir()
	for _, p := range patches {
		for _, e := range p.edits {
			b, err := os.ReadFile(filepath.Join(tool.Root, "src", e.File))
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(root, "src", e.File)
			os.MkdirAll(filepath.Dir(to), 0o755)
			if err := os.WriteFile(to, []byte(strings.ReplaceAll(string(b), "mProf_Free(sp.b, size)", "mProf_Free(sp.b)")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	tool.Root = root
	_, err := tool.Prepare(t.TempDir(), "")
	var anchor *AnchorError
	if !errors.As(err, &anchor) || anchor.Count != 0 || anchor.File != "runtime/mheap.go" {
		t.Errorf("error %v", err)
	}
	for _, version := range []string{"go1.23.4", "go1.27rc1", "devel go1.26-abc", "", "go2.0"} {
		tool.Version = version
		_, err := tool.Prepare(t.TempDir(), "")
		var wrong *VersionError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestUserOverlay: one that the user gives is kept, but not where it replaces
// what has to be edited.
func TestUserOverlay(t *testing.T) {
	tool := toolchain(t)
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, "user.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	o, err := tool.Prepare(dir, write(`{"Replace":{"/some/a.go":"/other/a.go","/some/gone.go":""}}`))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(o.File)
	for _, want := range []string{`"/some/a.go": "/other/a.go"`, `"/some/gone.go": ""`, "runtime_mheap.go"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	if _, err := tool.Prepare(dir, write(`{"Replace":{"`+tool.Root+`/src/runtime/mheap.go":"x.go"}}`)); err == nil {
		t.Error("an overlay of the same file is taken")
	}
	if _, err := tool.Prepare(dir, write(`{`)); err == nil {
		t.Error("half an overlay is taken")
	}
}

// run runs a go command with the overlay, in a folder.
func run(t *testing.T, tool *Toolchain, dir string, environ []string, verb string, args ...string) string {
	t.Helper()
	o, err := tool.Prepare("", "")
	if err != nil {
		t.Fatal(err)
	}
	line, env := o.Command(verb, args)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), environ, env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", line, err, out)
	}
	return string(out)
}

// module returns the folder of this module.
func module(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMemprof runs package memprof's tests where its traces are exact.
func TestMemprof(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	tool := toolchain(t)
	run(t, tool, module(t), nil, "test", "-timeout=5m", "./memprof")
	t.Run("race", func(t *testing.T) {
		run(t, tool, module(t), []string{"CGO_ENABLED=1"}, "test", "-timeout=5m", "-race", "-run=Deaths|Specials|Goroutines|Stress", "./memprof")
	})
}

// probe is a program that says whether it is patched, and makes a trace.
const probe = `package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/mirador-trace/mirador/memprof"
)

var list []*[100]byte

func main() {
	if err := memprof.Start(memprof.Config{File: os.Args[1], Rate: 1}); err != nil {
		panic(err)
	}
	for range 1000 {
		list = append(list, new([100]byte))
	}
	clear(list)
	// A goroutine that is preempted anywhere has its vector registers scanned,
	// where, before Go 1.26, pointers of another's copied slice may still lie:
	// they keep their objects for one collection.
	runtime.GC()
	runtime.GC()
	if err := memprof.Stop(); err != nil {
		panic(err)
	}
	s := memprof.Read()
	fmt.Println(memprof.Exact(), s.Allocs >= 1000, s.Deaths >= 1000 && s.Deaths <= s.Allocs, s.Dropped, runtime.Version())
}
`

// TestBuildModes builds a program in the ways that a user may, in a module of
// his own, with each toolchain that is there.
func TestBuildModes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	dir := probeModule(t)
	modes := [][]string{{}, {"-trimpath"}, {"-buildmode=pie"}, {"-pgo=cpu.pprof"}, {"-ldflags=-s -w"}, {"-gcflags=all=-N -l"}}
	eachMode(t, dir, modes, 2, func(t *testing.T, tool *Toolchain, mode []string) {
		exe := filepath.Join(t.TempDir(), "probe")
		run(t, tool, dir, nil, "build", append(mode, "-o", exe, ".")...)
		out, err := exec.CommandContext(t.Context(), exe, exe+".mem").CombinedOutput()
		if want := "true true true 0 " + tool.Version + "\n"; err != nil || string(out) != want {
			t.Errorf("%v: %q, %v, want %q", mode, out, err, want)
		}
	})
}

// eachMode calls f with each way to build and the toolchain that is used here,
// and with the first few ways and older ones: the world is compiled once more for
// each.
func eachMode(t *testing.T, dir string, modes [][]string, few int, f func(t *testing.T, tool *Toolchain, mode []string)) {
	t.Helper()
	for _, version := range []string{"local", "go1.25.4", "go1.24.9"} {
		t.Run(version, func(t *testing.T) {
			modes := modes
			if version != "local" {
				t.Setenv("GOTOOLCHAIN", version)
				modes = modes[:few]
			}
			tool, err := Find(t.Context(), dir)
			if err != nil {
				t.Skipf("%s is not there: %v", version, err)
			}
			for _, mode := range modes {
				f(t, tool, mode)
			}
		})
	}
}

// TestUnpatchedAfterPatched: the patch does not leak into other builds by the
// build cache.
func TestUnpatchedAfterPatched(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	dir := probeModule(t)
	exe := filepath.Join(t.TempDir(), "probe")
	for range 2 {
		run(t, toolchain(t), dir, nil, "build", "-o", exe, ".")
		out, err := exec.Command(exe, exe+".mem").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "true ") {
			t.Errorf("patched: %q, %v", out, err)
		}
		cmd := exec.Command("go", "build", "-o", exe, ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err = exec.Command(exe, exe+".mem").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "false ") {
			t.Errorf("unpatched: %q, %v", out, err)
		}
	}
}

// probeModule makes a module with the probe, and with a copy of memprof and
// what it needs that also older versions of Go take.
func probeModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := module(t)
	mirador := filepath.Join(dir, "mirador")
	for _, p := range []string{"memprof", "memprof/note", "memprof/ring", "memtrace"} {
		files, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(p, err)
		}
		os.MkdirAll(filepath.Join(mirador, p), 0o755)
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			copyFile(t, f, filepath.Join(mirador, p, filepath.Base(f)), nil)
		}
	}
	// All that memprof needs of other modules, but on Windows, is goid.
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	needs := "\ngo 1.24.0\n\nrequire " + regexp.MustCompile(`github.com/petermattis/goid \S+`).FindString(string(b)) + "\n"
	copyFile(t, filepath.Join(root, "go.sum"), filepath.Join(dir, "go.sum"), nil)
	for name, text := range map[string]string{
		"mirador/go.mod": "module github.com/mirador-trace/mirador\n" + needs,
		"go.mod": "module example.com/probe\n" + strings.Replace(needs, "\nrequire", "\nrequire github.com/mirador-trace/mirador v0.0.0\nrequire", 1) +
			"replace github.com/mirador-trace/mirador => ./mirador\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(probe), 0o600); err != nil {
		t.Fatal(err)
	}
	profile(t, filepath.Join(dir, "cpu.pprof"))
	return dir
}

func copyFile(t *testing.T, from, to string, change func(string) string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		b = []byte(change(string(b)))
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
