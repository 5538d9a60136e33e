// Gentrace writes a synthetic trace to standard output, to measure with.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"

	"github.com/mirador-trace/mirador/bench/synthetic"
)

func main() {
	var shape synthetic.Shape
	flag.IntVar(&shape.Events, "events", 0, "how many events; 0 means 2.6 million, 64 MiB")
	flag.IntVar(&shape.Chain, "chain", 0, "how many promises become one another in one chain")
	flag.IntVar(&shape.Concurrent, "concurrent", 0, "how many requests are served at a time; 0 means 8")
	flag.Parse()
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	err := synthetic.Write(w, shape)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gentrace: error: %v\n", err)
		os.Exit(1)
	}
}
