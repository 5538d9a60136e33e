package overlay

import (
	"bytes"
	_ "embed"
	"fmt"
)

// An Edit changes a line of the Go runtime. What it inserts stays on that
// line, so that the numbers of the lines stay, too.
type Edit struct {
	File    string // below GOROOT/src
	Anchor  string // a line, without the white space around it, that the file has exactly once
	Before  string // goes in front of the anchor
	After   string // goes behind it
	Instead bool   // the anchor goes
	First   int    // the first version of Go, 1.x, that the edit is for; 0 is the oldest
	Last    int    // the last one; 0 is the newest
}

// A patch is what one thing that mirador does needs of the runtime: lines in
// its files, and a file of its own.
type patch struct {
	name  string
	edits []Edit
	file  string // below GOROOT/src
	text  string
}

//go:embed runtime/memory.go.txt
var memoryText string

// findStack looks the stack of a sample up, and goes through it only when it is
// new: by frame pointers, or else as the runtime does, which takes most of the
// time of a sample. A stack that frame pointers do not tell is not remembered by
// them either. skip is how many frames the runtime leaves out.
func findStack(skip, stack string) string {
	return "miradorFound, miradorHash := miradorFind(mp, size); if miradorFound == nil { " +
		"nstk := miradorUnwind(miradorHash, getfp(), " + skip + "-1, " + stack + "); " +
		"if nstk == 0 { miradorHash = 0; nstk = callers(" + skip + ", " + stack + ") }; " +
		"miradorFound = miradorAdd(miradorHash, stkbucket(memProfile, size, mp.profStack[:nstk], true)) }"
}

var patches = []patch{{
	name: "memory",
	edits: []Edit{
		{File: "runtime/mheap.go", Anchor: "b       *bucket", After: "; mirador uint64"},
		{File: "runtime/mheap.go", Anchor: "s.b = b", After: "; s.mirador = miradorAlloc(b)"},
		{File: "runtime/mheap.go", Anchor: "mProf_Free(sp.b, size)", After: "; miradorFree(sp.mirador)"},
		{File: "runtime/mprof.go", Anchor: "mProfCycle.increment()", After: "; miradorCycle()"},
		{File: "runtime/mprof.go", Anchor: "nstk := callers(5, mp.profStack[:debug.profstackdepth])",
			After: findStack("5", "mp.profStack[:debug.profstackdepth]"), Instead: true, Last: 25},
		{File: "runtime/mprof.go", Anchor: "nstk := callers(3, mp.profStack[:debug.profstackdepth+2])",
			After: findStack("3", "mp.profStack[:debug.profstackdepth+2]"), Instead: true, First: 26},
		{File: "runtime/mprof.go", Anchor: "b := stkbucket(memProfile, size, mp.profStack[:nstk], true)",
			After: "b := miradorFound", Instead: true},
		{File: "runtime/mprof.go", Anchor: "future [3]memRecordCycle", After: "; mirador [3]uintptr"},
		{File: "runtime/mprof.go", Anchor: "mpc.allocs++", After: "; miradorTouch(b, index)"},
		{File: "runtime/mprof.go", Anchor: "mpc.frees++", After: "; miradorTouch(b, index)"},
		{File: "runtime/mprof.go", Anchor: "assertLockHeld(&profMemFutureLock[index])", After: "; miradorFlush(index); return"},
		{File: "runtime/malloc.go", Anchor: "c.memProfRate = MemProfileRate",
			Before: "miradorRate(mp, c.memProfRate != MemProfileRate); "},
	},
	file: "runtime/mirador_memory.go",
	text: memoryText,
}}

// The versions of Go, 1.x, that the patches have been tried with.
const (
	oldest = 24
	newest = 26
)

// An AnchorError says that the runtime is not one that the patches are for.
type AnchorError struct {
	Version string // of Go
	File    string
	Anchor  string
	Count   int // how often the anchor is there
}

func (e *AnchorError) Error() string {
	return fmt.Sprintf("%s: %s has the line %q %d times instead of once", e.Version, e.File, e.Anchor, e.Count)
}

// apply returns text with an edit made.
func (e *Edit) apply(version string, text []byte) ([]byte, error) {
	at, count := -1, 0
	for begin := 0; begin < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[begin:], '\n'); i >= 0 {
			end = begin + i
		}
		line := text[begin:end]
		if string(bytes.TrimSpace(line)) == e.Anchor {
			at = begin + bytes.Index(line, []byte(e.Anchor))
			count++
		}
		begin = end + 1
	}
	if count != 1 {
		return nil, &AnchorError{version, e.File, e.Anchor, count}
	}
	behind := at + len(e.Anchor)
	out := make([]byte, 0, len(text)+len(e.Before)+len(e.After))
	out = append(out, text[:at]...)
	out = append(out, e.Before...)
	if !e.Instead {
		out = append(out, e.Anchor...)
	}
	out = append(out, e.After...)
	return append(out, text[behind:]...), nil
}

// applies reports whether e is for a version of Go, 1.x.
func (e *Edit) applies(minor int) bool {
	return minor >= e.First && (e.Last == 0 || minor <= e.Last)
}
