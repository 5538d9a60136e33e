// Memprof measures what sampling costs: the CPU time of three programs, built
// by mirador go and sampled at several rates, against the same programs built
// by go with sampling off. The repeats are interleaved, so that whatever else
// the machine does falls on all alike; the figure is the median of each round's
// ratio.
//
//	go run ./bench/memprof
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	repeats := flag.Int("n", 21, "repeats")
	only := flag.String("only", "", "json, parser or trees")
	rates := flag.String("rates", "512KiB,64KiB,8KiB", "rates")
	flag.Parse()
	dir, err := os.MkdirTemp("", "bench-memprof-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	build := func(out string, line ...string) string {
		out = filepath.Join(dir, out)
		cmd := exec.Command(line[0], append(line[1:], "-o", out, "./bench/memprof/work")...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			log.Fatal(err)
		}
		return out
	}
	plain := build("plain", "go", "build")
	patched := build("patched", "go", "run", "./cmd/mirador", "go", "build")
	fmt.Printf("%-8s %-8s %7s %7s %9s %8s %8s\n", "program", "rate", "ratio", "(IQR)", "CPU ms", "samples", "B/sample")
	for _, w := range []struct{ name, n string }{{"json", "1200"}, {"parser", "14"}, {"trees", "2500"}} {
		if *only == "" || *only == w.name {
			measure(dir, w.name, w.n, plain, patched, strings.Split(*rates, ","), *repeats)
		}
	}
}

// variant is one of the programs that are compared.
type variant struct {
	name, path, rate string
	ratios           []float64
	times            []float64
	samples          int
	size             int64
}

func measure(dir, work, n, plain, patched string, rates []string, repeats int) {
	variants := []*variant{{name: "patched", path: patched}}
	for _, r := range rates {
		variants = append(variants, &variant{name: r, path: patched, rate: r})
	}
	variants = append(variants, &variant{name: "heapprof", path: plain, rate: "512KiB"})
	for range repeats {
		base, _ := run(dir, &variant{path: plain}, work, n)
		for _, v := range variants {
			cpu, out := run(dir, v, work, n)
			// The base is measured before and after.
			after, _ := run(dir, &variant{path: plain}, work, n)
			v.ratios = append(v.ratios, 2*cpu/(base+after))
			v.times = append(v.times, cpu)
			base = after
			dropped := 0
			fmt.Sscan(out, new(int), &v.samples, &dropped)
			if dropped > 0 {
				log.Printf("%s %s: %d dropped", work, v.name, dropped)
			}
		}
	}
	for _, v := range variants {
		slices.Sort(v.ratios)
		slices.Sort(v.times)
		q := len(v.ratios) / 4
		each := 0.0
		if v.samples > 0 {
			each = float64(v.size) / float64(v.samples)
		}
		name := v.name
		if name == "patched" {
			name = "off"
		}
		fmt.Printf("%-8s %-8s %7.3f %7.3f %9.0f %8d %8.1f\n", work, name, v.ratios[len(v.ratios)/2],
			v.ratios[len(v.ratios)-1-q]-v.ratios[q], v.times[len(v.times)/2], v.samples, each)
	}
}

// run returns the CPU time in ms.
func run(dir string, v *variant, work, n string) (cpu float64, out string) {
	cmd := exec.Command(v.path, work, n)
	trace := filepath.Join(dir, "trace")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	if v.rate != "" {
		cmd.Env = append(cmd.Env, "MEMTRACE="+trace, "MEMTRACE_RATE="+v.rate)
	}
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		log.Fatal(err)
	}
	if about, err := os.Stat(trace); err == nil {
		v.size = about.Size()
	}
	os.Remove(trace)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return float64(used) / float64(time.Millisecond), string(b)
}
