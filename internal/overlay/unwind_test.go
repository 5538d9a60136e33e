package overlay

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// compare joins the runtime in TestUnwind. It looks at each stack as the
// runtime does, too, and ends the program when that says something else.
const compare = `
// miradorCompared counts the stacks, and those that frame pointers do not tell.
//
//go:linkname miradorCompared
var miradorCompared [2]uint64

var miradorOther [256][256]uintptr // by P

//go:noinline
func miradorCompare(mp *m, hash uint64, n, skip int, stack []uintptr) {
	if hash == 0 {
		return
	}
	if n == 0 {
		atomic.Xadd64(&miradorCompared[1], 1)
		return
	}
	other := &miradorOther[uint8(mp.p.ptr().id)]
	k := callers(skip+1, other[:len(stack)])
	same := k == n
	for i := 0; i < min(k, n); i++ {
		same = same && other[i] == stack[i]
	}
	if !same {
		for i := 0; i < max(k, n); i++ {
			if i < n {
				print(funcname(findfunc(stack[i]-1)), " ", hex(stack[i]), " ")
			}
			if i < k {
				print("want ", funcname(findfunc(other[i]-1)), " ", hex(other[i]))
			}
			println()
		}
		throw("another stack by frame pointers")
	}
	atomic.Xadd64(&miradorCompared[0], 1)
}
`

// unwound is a program with stacks of many kinds.
const unwound = `package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
	"time"
	_ "unsafe"

	"github.com/mirador-trace/mirador/memprof"
)

//go:linkname compared runtime.miradorCompared
var compared [2]uint64

var sink atomic.Pointer[any]

func keep(x any) { sink.Store(&x) }

type shape interface{ Grow(n int) any }

type base struct{ v [3]int }

func (b *base) Grow(n int) any { return inner(n, b.v[0]) }

// Its method Grow is a wrapper, and so are the values of it.
type derived struct{ *base }

func inner(n, k int) any       { return inmost(n+k) }
func inmost(n int) any         { return make([]byte, n) }
func generic[T any](n int) any { return make([]T, n) }

func deep(n int) any {
	if n == 0 {
		return inner(100, 1)
	}
	x := deep(n - 1)
	if n%16 == 0 {
		keep(make([]int, n))
	}
	return x
}

// leaf has no frame of its own when it fails.
//
//go:noinline
func leaf(p *int) int { return *p }

//go:noinline
func calls(p *int) int { return leaf(p) + 1 }

func fails(p *int) (err error) {
	defer func() {
		keep(make([]byte, 200))
		err = errors.Join(fmt.Errorf("%v", recover()))
	}()
	return fmt.Errorf("%d", calls(p))
}

func all(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			keep(make([]byte, i+1))
			if !yield(i) {
				return
			}
		}
	}
}

func work(i int) {
	for _, s := range []shape{&base{}, derived{&base{}}} {
		f := s.Grow
		keep(f(10 + i))
		keep(s.Grow(20))
		reflect.ValueOf(s).Method(0).Call([]reflect.Value{reflect.ValueOf(30)})
	}
	keep(generic[string](i))
	keep(generic[int32](i))
	keep(deep(5 + i*40))
	keep(fails(nil))
	made := reflect.MakeFunc(reflect.TypeOf(inmost), func(in []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(make([]any, 3)).Convert(reflect.TypeFor[any]())}
	}).Interface().(func(int) any)
	keep(made(1))
	for k := range all(5) {
		defer func() { keep(make([]byte, k+1)) }()
	}
	list := []string{"c", "b", "a"}
	sort.Slice(list, func(i, j int) bool { keep(make([]byte, 7)); return list[i] < list[j] })
	slices.SortFunc(list, func(a, b string) int { keep(new([5]int)); return strings.Compare(b, a) })
	m := map[string]int{}
	for k := range 100 {
		m[fmt.Sprint(k)] = k
	}
	out, _ := json.Marshal(m)
	var decoded any
	json.Unmarshal(out, &decoded)
	template.Must(template.New("t").Parse("{{range .}}{{printf \"%d\" .}}{{end}}")).Execute(new(strings.Builder), []int{1, 2})
	var once sync.Once
	once.Do(func() { keep(make(chan int, 10)) })
	runtime.SetFinalizer(new([40]int), func(*[40]int) { keep(make([]byte, 50)) })
	runtime.AddCleanup(new([41]int), func(n int) { keep(make([]byte, n)) }, 60)
	time.AfterFunc(0, func() { keep(make([]byte, 70)) })
}

func main() {
	if err := memprof.Start(memprof.Config{File: os.Args[1], Rate: 1}); err != nil {
		panic(err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			work(i)
		}()
	}
	wait.Wait()
	set := token.NewFileSet()
	for _, name := range []string{"server.go", "transport.go", "request.go"} {
		f, err := parser.ParseFile(set, runtime.GOROOT()+"/src/net/http/"+name, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		ast.Inspect(f, func(ast.Node) bool { return true })
	}
	runtime.GC()
	runtime.GC()
	if err := memprof.Stop(); err != nil {
		panic(err)
	}
	fmt.Println(compared[0], compared[1], memprof.Read().Allocs)
}
`

// TestUnwind: stacks by frame pointers are those that the runtime would give,
// also with inlined functions, wrappers and panics.
func TestUnwind(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	own := patches
	defer func() { patches = own }()
	patches = slices.Clone(own)
	p := &patches[0]
	p.edits = slices.Clone(p.edits)
	p.text += compare
	for i := range p.edits {
		e := &p.edits[i]
		for skip, stack := range map[string]string{"5": "mp.profStack[:debug.profstackdepth]", "3": "mp.profStack[:debug.profstackdepth+2]"} {
			if e.After == findStack(skip, stack) {
				call := fmt.Sprintf("miradorCompare(mp, miradorHash, nstk, %s, %s); if nstk == 0 {", skip, stack)
				e.After = strings.Replace(e.After, "if nstk == 0 {", call, 1)
			}
		}
	}
	dir := probeModule(t)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(unwound), 0o600); err != nil {
		t.Fatal(err)
	}
	modes := [][]string{{}, {"-race"}, {"-pgo=cpu.pprof"}, {"-gcflags=all=-l"}}
	eachMode(t, dir, modes, 1, func(t *testing.T, tool *Toolchain, mode []string) {
		exe := filepath.Join(t.TempDir(), "unwound")
		run(t, tool, dir, []string{"CGO_ENABLED=1"}, "build", append(mode, "-o", exe, ".")...)
		cmd := exec.CommandContext(t.Context(), exe, exe+".mem")
		cmd.Env = append(os.Environ(), "GOROOT="+tool.Root)
		out, err := cmd.CombinedOutput()
		var compared, refused, allocs int
		if _, scan := fmt.Sscan(string(out), &compared, &refused, &allocs); err != nil || scan != nil {
			t.Fatalf("%v: %v\n%s", mode, err, out)
		}
		t.Logf("%v: %d stacks, %d of which frame pointers do not tell, of %d objects", mode, compared, refused, allocs)
		if compared < 1000 || refused == 0 || refused > compared/10 {
			t.Errorf("%v: %d stacks were compared, %d refused", mode, compared, refused)
		}
	})
}
