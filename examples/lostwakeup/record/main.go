// Record records the good program and the bad one, into good.trace and
// bad.trace of a directory that it is given. See package lostwakeup.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mirador-trace/mirador/examples/lostwakeup"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: record DIRECTORY")
		os.Exit(2)
	}
	for name, good := range map[string]bool{"good.trace": true, "bad.trace": false} {
		if err := lostwakeup.Record(filepath.Join(os.Args[1], name), good); err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
			os.Exit(1)
		}
	}
}
