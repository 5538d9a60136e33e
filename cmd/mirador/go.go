package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/overlay"
)

func goCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "go [--unpatched] COMMAND [ARGUMENTS]",
		Short: "Run go build, run, test … with a runtime that tells package memprof of each object",
		Long: `Go runs the go command, with all of its arguments, and has it compile a copy
of the runtime to which a few lines have been added. A program that is built
so and imports package memprof records exactly which sampled object was
allocated where, by which goroutine, and in which collection it died. Built
with plain go, the same program records what the heap profile knows.

The copy is made from the toolchain that go would use, Go 1.24 to 1.26, in
your cache folder; the toolchain itself is not touched. The first build
compiles the standard library once more. The exit status is that of go.

With --unpatched, the program is built as it would be without mirador when the
runtime is one that cannot be edited.`,
		Example: `  mirador go build -o server ./cmd/server
  MEMTRACE=server.mem mirador go run . -addr :8080
  mirador go test -race ./...`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			unpatched := false
			for len(args) > 0 && strings.HasPrefix(args[0], "-") {
				switch args[0] {
				case "-h", "-help", "--help":
					return cmd.Help()
				case "-unpatched", "--unpatched":
					unpatched = true
				default:
					return &usageError{fmt.Errorf("unknown flag %s before the command of go", args[0]), cmd}
				}
				args = args[1:]
			}
			if len(args) == 0 {
				return &usageError{errors.New("missing a command of go: build, run, test, install, vet"), cmd}
			}
			line, env, err := goLine(cmd, args[0], args[1:], unpatched)
			if err != nil {
				return err
			}
			status, err := overlay.Exec(line, append(os.Environ(), env...))
			if err != nil {
				return fmt.Errorf("run %s: %w", line[0], err)
			}
			if status != 0 {
				return exitStatus(status)
			}
			return nil
		},
	}
	return cmd
}

// goLine returns the command line for a command of go, and what its
// environment has besides.
func goLine(cmd *cobra.Command, verb string, args []string, unpatched bool) (line, env []string, err error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, nil, withHint(fmt.Errorf("find the go command: %w", err), "install Go, or add its bin folder to PATH")
	}
	plain := slices.Concat([]string{path, verb}, args)
	if !overlay.Builds(verb) {
		return plain, nil, nil
	}
	toolchain, err := overlay.Find(cmd.Context(), overlay.Folder(args))
	if err != nil {
		return nil, nil, err
	}
	o, err := toolchain.Prepare("", toolchain.Given(verb, args))
	if err == nil {
		line, env = o.Command(verb, args)
		return line, env, nil
	}
	_, version := errors.AsType[*overlay.VersionError](err)
	_, anchor := errors.AsType[*overlay.AnchorError](err)
	switch {
	case !version && !anchor:
		return nil, nil, err
	case !unpatched:
		return nil, nil, withHint(fmt.Errorf("patch the runtime: %w", err),
			"choose another Go with GOTOOLCHAIN=go1.26.8, or build without the patch: mirador go --unpatched %s …", verb)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: the runtime is not patched: %v\n", err)
	return plain, nil, nil
}
