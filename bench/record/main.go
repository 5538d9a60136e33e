// Record compares what it costs to record an event with mirador and with what
// else a program can record with: all of them in one run, in turns, so that
// whatever else the machine does falls on each alike. It prints the medians of
// the processor time that an event took, over all threads and whatever works
// in the background, and the ratio to mirador's.
//
// It is a module of its own, lest its dependencies become mirador's. There is
// one type: a peer is something to record with.
//
//	go run . -rounds 15
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// peer is something to record with.
type peer struct {
	name string
	n    int    // events in a turn
	note string // what an event is
	open func(dir string) (op func(n int), close func(), err error)

	// elsewhere, if set, runs the events in another program instead, and
	// returns ns per event.
	elsewhere func(dir string, n, threads int) (float64, error)
}

func main() {
	rounds := flag.Int("rounds", 11, "how many turns each has")
	only := flag.String("only", "", "leave out whose name does not have this in it")
	dir := flag.String("dir", os.TempDir(), "where traces and logs are written")
	flag.Parse()
	var all []peer
	for _, p := range append(recorders(), lttng()...) {
		if strings.Contains(p.name, *only) {
			all = append(all, p)
		}
	}
	if err := run(all, *rounds, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(peers []peer, rounds int, tmp string) error {
	const most = 2
	results := make([][most + 1][]float64, len(peers))
	out := make(map[int]error)
	for range rounds {
		for i, p := range peers {
			for threads := 1; threads <= min(most, runtime.NumCPU()); threads++ {
				if out[i] != nil {
					continue
				}
				dir, err := os.MkdirTemp(tmp, "record")
				if err != nil {
					return err
				}
				ns, err := turn(p, dir, threads)
				os.RemoveAll(dir)
				if err != nil {
					out[i] = err
					continue
				}
				results[i][threads] = append(results[i][threads], ns)
			}
		}
	}
	fmt.Printf("%s, %d processors, %s, %d rounds; ns of processor time for an event, medians\n\n",
		runtime.Version(), runtime.NumCPU(), cpu(), rounds)
	fmt.Println("| recorded with | an event is | 1 thread | 2 threads | to mirador's event |")
	fmt.Println("|---|---|---:|---:|---:|")
	base := median(results[0][1])
	for i, p := range peers {
		if out[i] != nil {
			fmt.Printf("| %s | not measured: %v | | | |\n", p.name, out[i])
			continue
		}
		one := median(results[i][1])
		fmt.Printf("| %s | %s | %.1f | %.1f | %.1f |\n", p.name, p.note, one, median(results[i][2]), one/base)
	}
	return nil
}

func turn(p peer, dir string, threads int) (float64, error) {
	if p.elsewhere != nil {
		return p.elsewhere(dir, p.n, threads)
	}
	op, done, err := p.open(dir)
	if err != nil {
		return 0, err
	}
	defer done()
	op(p.n / 10)
	runtime.GC()
	var wait sync.WaitGroup
	before := cpuTime()
	for range threads {
		wait.Go(func() { op(p.n) })
	}
	wait.Wait()
	return float64(cpuTime()-before) / float64(p.n*threads), nil
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(s []float64) float64 {
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return s[len(s)/2]
}

func cpu() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(b), "model name\t: ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}
