// Package auto records a program that imports it, if the environment asks for
// it by MIRADOR=path, from before main begins. There are no types: it is
// imported for that alone.
//
//	import _ "github.com/mirador-trace/mirador/auto"
package auto

import "github.com/mirador-trace/mirador"

func init() { mirador.StartIfRequested() }
