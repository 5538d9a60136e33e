//go:build unix

// Against times mirador and babeltrace2 on the same trace, in one run:
//
//	go run ./bench/against
//
// It makes a synthetic trace, converts it for babeltrace2, and then runs the
// commands in turns, so that what else the machine does meets all of them. It
// prints the median of each command's CPU time, user and system together, its
// events per second, how many times as fast as the slowest it is, and its
// peak memory. babeltrace2 has to be installed.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mirador-trace/mirador/bench/synthetic"
)

func main() {
	var shape synthetic.Shape
	rounds := flag.Int("rounds", 7, "how often each command runs")
	flag.IntVar(&shape.Events, "events", 2_600_000, "how many events the trace has")
	flag.IntVar(&shape.Chain, "chain", 0, "how many promises become one another in one chain")
	flag.Parse()
	if err := compare(shape, *rounds); err != nil {
		fmt.Fprintf(os.Stderr, "against: error: %v\n", err)
		os.Exit(1)
	}
}

// contender is a command that is timed.
type contender struct {
	name string
	args []string
	cpu  []time.Duration
	peak int64 // bytes
}

func compare(shape synthetic.Shape, rounds int) error {
	dir, err := os.MkdirTemp("", "against-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mirador, trace, ctf := filepath.Join(dir, "mirador"), filepath.Join(dir, "trace.ctf"), filepath.Join(dir, "trace")
	if err := run("go", "build", "-o", mirador, "github.com/mirador-trace/mirador/cmd/mirador"); err != nil {
		return err
	}
	if err := generate(trace, shape); err != nil {
		return err
	}
	if err := run(mirador, "convert", "-o", ctf, trace); err != nil {
		return err
	}
	contenders := []*contender{
		{name: "babeltrace2 text", args: []string{"babeltrace2", ctf}},
		{name: "babeltrace2 dummy", args: []string{"babeltrace2", "-o", "dummy", ctf}},
		{name: "mirador dump", args: []string{mirador, "dump", trace}},
		{name: "mirador dump --json", args: []string{mirador, "dump", "--json", trace}},
		{name: "mirador info", args: []string{mirador, "info", trace}},
		{name: "mirador threads --json", args: []string{mirador, "threads", "--json", trace}},
	}
	for range rounds {
		for _, c := range contenders {
			if err := c.run(); err != nil {
				return err
			}
		}
	}
	size, err := os.Stat(trace)
	if err != nil {
		return err
	}
	report(contenders, shape, size.Size(), rounds)
	return nil
}

func generate(path string, shape synthetic.Shape) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := synthetic.Write(w, shape); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// run runs the command once, its output thrown away.
func (c *contender) run() error {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.name, err, errs.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	c.cpu = append(c.cpu, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
	peak := int64(usage.Maxrss)
	if runtime.GOOS != "darwin" {
		peak <<= 10 // the others count in KiB
	}
	c.peak = max(c.peak, peak)
	return nil
}

func (c *contender) median() time.Duration {
	sorted := slices.Sorted(slices.Values(c.cpu))
	return sorted[len(sorted)/2]
}

func report(contenders []*contender, shape synthetic.Shape, size int64, rounds int) {
	fmt.Printf("%d events, %.1f MiB, a chain of %d; medians of %d rounds, CPU time\n\n",
		shape.Events, float64(size)/(1<<20), shape.Chain, rounds)
	slowest := slices.MaxFunc(contenders, func(a, b *contender) int { return cmp.Compare(a.median(), b.median()) }).median()
	fmt.Printf("%-24s %10s %12s %8s %12s\n", "", "CPU", "events/s", "times", "peak memory")
	for _, c := range contenders {
		cpu := c.median()
		fmt.Printf("%-24s %8.3f s %10.2f M %8.1f %8.0f MiB\n", c.name, cpu.Seconds(),
			float64(shape.Events)/cpu.Seconds()/1e6, slowest.Seconds()/cpu.Seconds(), float64(c.peak)/(1<<20))
	}
}
