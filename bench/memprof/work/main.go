// Work is what bench/memprof measures: three programs that allocate much, by
// the name of the first argument. MEMTRACE is as package memprof has it; when
// it is not set, nothing is sampled at all.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/mirador-trace/mirador/memprof"
)

func main() {
	if os.Getenv("MEMTRACE") == "" {
		runtime.MemProfileRate = 0
	}
	works := map[string]func(int) int{"json": documents, "parser": sources, "trees": trees}
	if len(os.Args) != 3 || works[os.Args[1]] == nil {
		log.Fatal("usage: work json|parser|trees N")
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if _, err := memprof.StartIfRequested(memprof.Config{}); err != nil {
		log.Fatal(err)
	}
	result := works[os.Args[1]](n)
	if err := memprof.Stop(); err != nil {
		log.Fatal(err)
	}
	s := memprof.Read()
	fmt.Println(result, s.Allocs, s.Dropped)
}

// documents decodes and encodes a document n times.
func documents(n int) int {
	type item struct {
		ID    int               `json:"id"`
		Name  string            `json:"name"`
		Tags  []string          `json:"tags"`
		Attrs map[string]string `json:"attrs"`
		Price float64           `json:"price"`
	}
	var list []item
	for i := range 200 {
		list = append(list, item{i, fmt.Sprint("item number ", i), []string{"a", "bb", "ccc"},
			map[string]string{"colour": "red", "size": fmt.Sprint(i)}, float64(i) / 7})
	}
	b, err := json.Marshal(list)
	if err != nil {
		log.Fatal(err)
	}
	sum := 0
	for range n {
		var any []any
		var typed []item
		if json.Unmarshal(b, &any) != nil || json.Unmarshal(b, &typed) != nil {
			log.Fatal("unmarshal")
		}
		out, err := json.Marshal(any)
		if err != nil {
			log.Fatal(err)
		}
		sum += len(out) + len(typed)
	}
	return sum
}

// sources parses the files of package net/http n times.
func sources(n int) int {
	names, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src/net/http/*.go"))
	if err != nil || len(names) == 0 {
		log.Fatal("no sources below GOROOT")
	}
	sum := 0
	for range n {
		set := token.NewFileSet()
		for _, name := range names {
			f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
			if err != nil {
				log.Fatal(err)
			}
			ast.Inspect(f, func(ast.Node) bool { sum++; return true })
		}
	}
	return sum
}

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

func (t *tree) count() int {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

// trees grows n trees, beside one that lives long.
func trees(n int) int {
	long := grow(17)
	sum := 0
	for range n {
		sum += grow(12).count()
	}
	return sum + long.count()
}
