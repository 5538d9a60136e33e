// Gengotrace writes the execution trace of a busy Go program to standard
// output, to measure with.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mirador-trace/mirador/bench/busy"
)

func main() {
	size := flag.Int("size", 20_000_000, "how many bytes")
	crowd := flag.Int("crowd", 0, "instead, how many goroutines wait at once")
	flag.Parse()
	record := func() ([]byte, error) { return busy.Record(*size) }
	if *crowd > 0 {
		record = func() ([]byte, error) { return busy.Crowd(*crowd) }
	}
	data, err := record()
	if err == nil {
		_, err = os.Stdout.Write(data)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gengotrace: error: %v\n", err)
		os.Exit(1)
	}
}
