// Package lint checks rules of the whole repository that the compiler does not:
// which package may import which. doc/architecture.md says why.
package lint

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mirador-trace/mirador"

// storeys are the rooms of the repository from the ground up. A package may
// import what stands on a storey below its own, and what is in its own room:
// internal/scene/svg is in the room internal/scene.
var storeys = [][]string{
	{"internal/event", "internal/typeface", "internal/input", "internal/example", "internal/fetch", "internal/generations", "internal/window",
		"memtrace", "ctf"},
	{"internal/ring/packet", "internal/xen", "memprof/note"},
	{"internal/region"},
	{"internal/ring", "internal/guest", "memprof", "internal/heap"},
	{"internal/format/ctf", "internal/format/gotrace", "internal/format/memtrace", "internal/format/mirage", "internal/format/native"},
	{"internal/format", "internal/thread"},
	{"internal/layout"},
	{"internal/trace", "internal/chrome", "internal/cut", "internal/scene", "internal/ring/harvest"},
	{"internal/engine", "internal/story"},
	{"internal/web", "internal/top", "internal/overlay", "."},
	{"auto", "httptask"},
	{"examples"},
	{"cmd/mirador"},
	{"bench", "internal/reference", "internal/testtrace", "internal/lint", "internal/guest/qemu", "testdata"}, // for tests
}

// owners says which room alone imports a dependency, and hides it behind words
// of ours. What the system or the runtime is asked by is everybody's.
var owners = map[string]string{
	"charm.land":                      "internal/top",
	"github.com/charmbracelet":        "internal/top",
	"github.com/coder/websocket":      "internal/web",
	"github.com/ebitengine/purego":    "internal/window/gtk", // a program of its own: who calls C is linked to it
	"github.com/klauspost/compress":   "internal/input",
	"github.com/petermattis/goid":     "everybody",
	"github.com/rogpeppe/go-internal": "",
	"github.com/spf13/cobra":          "cmd/mirador",
	"github.com/yuin/goldmark":        "internal/story",
	"golang.org/x/image/font":         "internal/typeface",
	"golang.org/x/image/math":         "internal/typeface",
	"golang.org/x/image/vector":       "internal/scene/png",
	"golang.org/x/exp/trace":          "internal/format/gotrace",
	"golang.org/x/sys":                "everybody",
}

// pure are the rooms that know neither files nor networks: they also run in a
// page, as WebAssembly.
var pure = []string{"internal/event", "internal/format/mirage", "internal/format/gotrace", "internal/format/native",
	"internal/region", "internal/thread", "internal/layout", "internal/scene", "internal/engine", "internal/typeface",
	"internal/heap", "memtrace"}

type goPackage struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// name is the package's folder within the repository.
func (p *goPackage) name() string { return folder(p.ImportPath) }

func folder(importPath string) string {
	return path.Clean("./" + strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"))
}

func packages(t *testing.T) (list []*goPackage) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Deps", module+"/...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(goPackage)
		if err := d.Decode(p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 15 {
		t.Fatalf("only %d packages", len(list))
	}
	return list
}

// within reports whether a package is in a room.
func within(name, room string) bool {
	return name == room || room != "." && strings.HasPrefix(name, room+"/")
}

// roomOf returns a package's room and on which storey it is; -1 if it has none.
// Of rooms within each other it is the inner one.
func roomOf(name string) (room string, storey int) {
	storey = -1
	for i, rooms := range storeys {
		for _, r := range rooms {
			if within(name, r) && len(r) > len(room) {
				room, storey = r, i
			}
		}
	}
	return room, storey
}

func TestImportsPointDownwards(t *testing.T) {
	for _, p := range packages(t) {
		room, storey := roomOf(p.name())
		if storey < 0 {
			t.Errorf("%s has no place in the repository: give it one in storeys", p.name())
			continue
		}
		for _, imported := range p.Imports {
			if imported != module && !strings.HasPrefix(imported, module+"/") {
				continue
			}
			other, otherStorey := roomOf(folder(imported))
			if other != room && otherStorey >= storey {
				t.Errorf("%s imports %s, which does not stand below it", p.name(), folder(imported))
			}
		}
	}
}

func TestDependenciesHaveOneOwner(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") || imported == module || strings.HasPrefix(imported, module+"/") {
				continue // the standard library, or ours
			}
			owner, known := "", false
			for dependency, room := range owners {
				if imported == dependency || strings.HasPrefix(imported, dependency+"/") {
					owner, known = room, true
				}
			}
			switch {
			case !known:
				t.Errorf("%s imports %s, which has no owner", p.name(), imported)
			case owner != "everybody" && p.name() != owner:
				t.Errorf("%s imports %s, which belongs to %q alone", p.name(), imported, owner)
			}
		}
	}
}

// Users' programs import the root package: what it drags along goes into each
// of them.
func TestRecorderImportsLittle(t *testing.T) {
	standard := make(map[string]bool)
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		standard[name] = true
	}
	checked := 0
	for _, p := range packages(t) {
		recorder := []string{".", "auto", "memprof", "internal/ring", "internal/ring/packet"}
		if !slices.Contains(recorder, p.name()) {
			continue
		}
		checked++
		for _, dep := range p.Deps {
			ours := strings.HasPrefix(dep, module)
			allowed := strings.HasPrefix(dep, "golang.org/x/sys/") || dep == "github.com/petermattis/goid"
			if !ours && !allowed && !standard[dep] {
				t.Errorf("%s needs %s", p.name(), dep)
			}
			if (dep == "net" && p.name() != "memprof") || dep == "net/http" { // memprof sends traces
				t.Errorf("%s needs %s", p.name(), dep)
			}
		}
	}
	if checked == 0 {
		t.Error("there is no recorder")
	}
}

// The command runs where there is nothing but a kernel: no C is linked into it.
func TestCommandIsStatic(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", module+"/cmd/mirador")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), module+"/internal/window\n") {
			t.Errorf("%s: the command has no window: %s", system, out)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			if dep == "runtime/cgo" || strings.HasPrefix(dep, "github.com/ebitengine/purego") {
				t.Errorf("%s: the command needs %s", system, dep)
			}
		}
	}
}

// The engine gets bytes and gives bytes; and no library logs or starts by
// itself.
func TestEngineIsPure(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			outside := []string{"os", "os/exec", "net", "net/http", "syscall", "golang.org/x/sys/unix"}
			isPure := slices.ContainsFunc(pure, func(room string) bool { return within(p.name(), room) })
			if isPure && slices.Contains(outside, imported) {
				t.Errorf("%s imports %s", p.name(), imported)
			}
			if (imported == "log" || imported == "log/slog") && !within(p.name(), "examples") && !within(p.name(), "bench") {
				t.Errorf("%s imports %s", p.name(), imported)
			}
		}
		for _, file := range p.GoFiles {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && p.name() != "auto" {
					t.Errorf("%s/%s has an init function", p.name(), file)
				}
			}
		}
	}
}
