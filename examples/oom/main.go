// Oom is a service that dies: each of its jobs needs a little more memory than
// the one before, and one day the kernel kills it. A killed process writes no
// profile; but its memory trace is in a mapped file, up to the last moment.
//
//	mirador go build -o oom ./examples/oom
//	MEMTRACE=trace/ ./oom -limit 200
//
// The limit in MiB is a control group's, where the user may make one, and
// otherwise one of the address space, by which the program ends as well. The
// files are in trace/.run, and each is a memory trace:
//
//	mirador mem live --at end trace/.run/mem-*-1.memtrace
//
// What was growing is what main.parse makes for jobs.load.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mirador-trace/mirador/memprof"
)

// record is a line of a job's input.
type record struct {
	id     int
	fields [30]int
}

// jobs holds what the jobs are about. Each adds to it.
type jobs struct{ records []*record }

func (j *jobs) load(n int) {
	for range n {
		j.records = append(j.records, parse(len(j.records)))
	}
}

func parse(id int) *record {
	r := &record{id: id}
	for i := range r.fields {
		r.fields[i] = id * i
	}
	return r
}

// report makes garbage, as programs do.
func (j *jobs) report() (sum int) {
	for _, line := range fmt.Appendf(nil, "%d records", len(j.records)) {
		sum += int(line)
	}
	lines := make([]string, 0, 1000)
	for i := range 1000 {
		lines = append(lines, fmt.Sprint("record ", i))
	}
	return sum + len(lines)
}

func main() {
	limit := flag.Int("limit", 200, "MiB of memory that the program may have")
	flag.Parse()
	if err := confine(*limit << 20); err != nil {
		log.Fatal(err)
	}
	if _, err := memprof.StartIfRequested(memprof.Config{Context: "examples/oom", Rate: 64 << 10}); err != nil {
		log.Print(err)
	}
	begun := time.Now()
	j := &jobs{}
	for n := 1; ; n++ {
		j.load(500 + 10*n)
		j.report()
		if n%20 == 0 {
			fmt.Fprintf(os.Stderr, "%6.2fs job %d: %d records\n", time.Since(begun).Seconds(), n, len(j.records))
		}
		time.Sleep(15 * time.Millisecond)
	}
}
