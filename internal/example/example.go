// Package example holds a recorded trace to look at.
package example

import _ "embed"

// Name is what the trace is called.
const Name = "example.ctf"

// Trace is the trace of a program with mutual exclusion and conditions, in the
// format of mirage-profile, packed with gzip.
//
//go:embed example.ctf.gz
var Trace []byte
