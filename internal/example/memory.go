package example

import _ "embed"

// MemoryName is what the trace of memory is called.
const MemoryName = "leak.ctf"

// Memory is a trace of the memory of a program that leaks, in the format of
// memtrace, packed with gzip.
//
//go:embed memory.ctf.gz
var Memory []byte
