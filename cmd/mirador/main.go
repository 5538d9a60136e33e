// Mirador shows what the threads of an asynchronous program did, who waited
// for whom and who woke whom, and where its memory went.
//
// Run "mirador help" for its commands. Each command is one file of this
// folder. Results go to standard output, everything said about them to
// standard error; the exit status is 0 when anything could be read, 1 when
// nothing could, and 2 when the command line is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := withInterrupts(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	strict(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit exitStatus
	if errors.As(err, &exit) {
		return int(exit)
	}
	fmt.Fprintf(errs, "mirador: error: %v\n", err)
	var hinted *hintedError
	if errors.As(err, &hinted) {
		fmt.Fprintf(errs, "mirador: hint: %s\n", hinted.hint)
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "mirador",
		Short: "See what the threads of a program did, and where its memory went",
		Long: `Mirador shows what the threads of an asynchronous program did, who waited
for whom and who woke whom, and where its memory went.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			unknown := fmt.Errorf("unknown command %q", args[0])
			if _, err := os.Stat(args[0]); err == nil {
				return &usageError{withHint(unknown, "to look at a trace, run 'mirador view %s'", args[0]), cmd}
			}
			return &usageError{unknown, cmd}
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{err, cmd} })
	root.AddCommand(
		interruptible(convertCommand()),
		demoCommand(),
		interruptible(dumpCommand()),
		goCommand(),
		holdCommand(),
		interruptible(infoCommand()),
		memCommand(),
		interruptible(renderCommand()),
		interruptible(reportCommand()),
		runCommand(),
		interruptible(saveCommand()),
		streamCommand(),
		interruptible(threadsCommand()),
		topCommand(),
		versionCommand(),
		viewCommand(),
		xenCommand(),
	)
	return root
}

// strict makes the commands that cobra adds refuse what they do not know.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(cmd *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err != nil || found == root && len(rest) > 0 {
					return &usageError{fmt.Errorf("unknown command %q", args[0]), root}
				}
				return nil
			}
		case "completion":
			c.Args = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return &usageError{fmt.Errorf("unknown shell %q", args[0]), cmd}
				}
				return nil
			}
			c.RunE = func(cmd *cobra.Command, args []string) error { return cmd.Help() }
		}
	}
}

// usageError says that the command line is wrong.
type usageError struct {
	error
	cmd *cobra.Command
}

func (e *usageError) Unwrap() error {
	if hinted := new(hintedError); errors.As(e.error, &hinted) {
		return hinted
	}
	return withHint(e.error, "run '%s --help' for its usage and an example", e.cmd.CommandPath())
}

// hintedError is an error that knows what to try next.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// withHint adds to an error what its reader may do about it, the next command
// to type, say.
func withHint(err error, format string, args ...any) error {
	return &hintedError{err, fmt.Sprintf(format, args...)}
}

// exitStatus ends the program with a status when everything has been said.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// between wants at least min arguments, and at most max unless that is -1;
// what names them in the error.
func between(min, max int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < min:
			return &usageError{fmt.Errorf("missing %s", what), cmd}
		case max >= 0 && len(args) > max:
			return &usageError{fmt.Errorf("unexpected argument %q", args[max]), cmd}
		}
		return nil
	}
}
