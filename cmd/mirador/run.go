package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	recorder "github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/web"
)

// runFlags are the flags of run.
type runFlags struct {
	out  string
	size string
	view bool
	viewFlags
}

func runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [--] PROGRAM [ARGUMENT...]",
		Short: "Run a program that records itself",
		Long: `Run starts a program with MIRADOR set in its environment, so that it records what
its threads do, if it imports github.com/mirador-trace/mirador/auto or calls
mirador.StartIfRequested. It ends with the program's exit status, or with 128
and the number of the signal that ended it, and says where the trace is.

The trace is a directory of a fixed size in which the newest part of the
program's life is kept. It can be looked at while the program runs.

Go's runtime, which knows what each goroutine waits for, hands out its own trace
ten times a second then; what it has not handed out is lost when the program
ends. With 10,000 goroutines that takes 5 % of a processor, and the room for it,
16 MiB, holds 10 s; once a second, as it is without run, is
GODEBUG=traceadvanceperiod=1000000000.`,
		Example: `  mirador run -- go run ./examples/pool
  mirador run -o slow.trace --size 256MB -- ./server -addr :8080
  mirador run -o 'worker-%p.trace' -- ./supervisor`,
		Args: between(1, -1, "the program to run"),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVarP(&flags.out, "output", "o", "", "the trace `directory`; %p is the process's number (default: the program's name and .trace)")
	cmd.Flags().StringVar(&flags.size, "size", "", "how large the trace may be, as `64MB` (default 16MB)")
	cmd.Flags().BoolVar(&flags.view, "view", false, "look at it in the browser while it runs, and until Ctrl-C")
	flags.viewFlags.add(cmd)
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	request, err := f.request(args)
	if err != nil {
		return &usageError{err, cmd}
	}
	before := f.traces()
	program := exec.Command(args[0], args[1:]...)
	program.Env = append(os.Environ(), recorder.Variable+"="+request, promptTrace(os.Getenv("GODEBUG")))
	program.Stdin, program.Stdout, program.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()

	// Ctrl-C is for the program, which gets it from the terminal as we do. Who
	// ends us in another way means the program, too.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := program.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return withHint(err, "name a program as the shell would find it, such as ./%s", filepath.Base(args[0]))
		}
		return err
	}
	ended := make(chan struct{})
	go func() {
		program.Wait()
		close(ended)
	}()
	if f.view {
		go f.watch(cmd, before, ended)
	}
	for running := true; running; {
		select {
		case s := <-signals:
			if s != os.Interrupt {
				program.Process.Signal(s)
			}
		case <-ended:
			running = false
		}
	}
	made := f.made(before)
	f.report(cmd, args[0], program.ProcessState, made)
	if f.view && len(made) > 0 {
		<-cmd.Context().Done()
	}
	if status := statusOf(program.ProcessState); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// promptTrace returns GODEBUG with a setting for the runtime to hand out its own
// execution trace each 0.1 s, and not each second: that much of it is lost when
// the program ends. It tells of each goroutine each time, which costs a program
// with very many of them time and room: bench/record.md has the figures.
func promptTrace(settings string) string {
	if !strings.Contains(settings, tracePeriod) {
		settings = strings.TrimPrefix(settings+","+tracePeriod+"100000000", ",")
	}
	return "GODEBUG=" + settings
}

// tracePeriod is how long a generation of the execution trace is, in ns; see
// the documentation of package runtime.
const tracePeriod = "traceadvanceperiod="

// request is what MIRADOR is set to.
func (f *runFlags) request(args []string) (string, error) {
	if f.out == "" {
		f.out = programName(args) + ".trace"
	}
	path, err := filepath.Abs(f.out)
	if err != nil {
		return "", err
	}
	f.out = path
	if f.size == "" {
		return path, nil
	}
	if _, err := recorder.ParseSize(f.size); err != nil {
		return "", err
	}
	return path + ",size=" + f.size, nil
}

// programName is what a program is called by people: of "go run ./cmd/x" that
// is x.
func programName(args []string) string {
	if filepath.Base(args[0]) == "go" && len(args) > 2 && args[1] == "run" {
		for _, arg := range args[2:] {
			if !strings.HasPrefix(arg, "-") {
				args = []string{arg}
				break
			}
		}
	}
	path, err := filepath.Abs(args[0])
	if err != nil {
		path = args[0]
	}
	name, _, _ := strings.Cut(filepath.Base(path), "@") // go run example.com/x@v1.2.3
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".go")
}

// traces returns the traces that the output may mean, and when each began to
// be one: its metadata is written last, and again when recording stops.
func (f *runFlags) traces() map[string]time.Time {
	found := make(map[string]time.Time)
	dirs := []string{f.out}
	if strings.Contains(f.out, "%p") {
		dirs, _ = filepath.Glob(strings.ReplaceAll(globEscaper.Replace(f.out), "%p", "[0-9]*"))
	}
	for _, dir := range dirs {
		if info, err := os.Stat(filepath.Join(dir, "metadata")); err == nil {
			found[dir] = info.ModTime()
		}
	}
	return found
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// made returns the traces that were not there before, or are others now.
func (f *runFlags) made(before map[string]time.Time) (dirs []string) {
	for dir, began := range f.traces() {
		if !began.Equal(before[dir]) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// watch shows the trace as soon as there is one.
func (f *runFlags) watch(cmd *cobra.Command, before map[string]time.Time, ended <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := false; ; {
		if dirs := f.made(before); len(dirs) > 0 {
			f.follow = true
			if err := serve(cmd, &f.viewFlags, []web.Source{fileSource(cmd, dirs[0])}); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %v\n", err)
			}
			return
		}
		if over {
			return
		}
		select {
		case <-ended:
			over = true // it may have begun a trace just now
		case <-tick.C:
		}
	}
}

// report says how the program has ended, if that was not by itself, and where
// its trace is.
func (f *runFlags) report(cmd *cobra.Command, program string, state *os.ProcessState, dirs []string) {
	w := cmd.ErrOrStderr()
	if name := signalOf(state); name != "" {
		fmt.Fprintf(w, "mirador: %s was ended by %s\n", program, name)
	}
	for _, dir := range dirs {
		fmt.Fprintf(w, "mirador: the trace is in %s\n", shortPath(dir))
	}
	if len(dirs) > 0 {
		fmt.Fprintf(w, "mirador: hint: run 'mirador view %s' to look at it\n", shortPath(dirs[0]))
		return
	}
	fmt.Fprintf(w, "mirador: warning: %s has recorded nothing\n", program)
	fmt.Fprintf(w, "mirador: hint: a program records itself when it imports github.com/mirador-trace/mirador/auto\n")
}

// shortPath is a path as one would type it here.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func statusOf(state *os.ProcessState) int {
	if n := signalNumber(state); n != 0 {
		return 128 + n
	}
	return state.ExitCode()
}
