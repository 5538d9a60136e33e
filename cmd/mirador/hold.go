package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	recorder "github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/guest"
)

func holdCommand() *cobra.Command {
	var keep time.Duration
	cmd := &cobra.Command{
		Use:   "hold [--for TIME] [--] PROGRAM [ARGUMENT...]",
		Short: "Keep the memory that a program records into when the program dies",
		Long: `Hold makes the memory that MIRADOR=xen: or memory: asks for and starts a program,
which records into it. When the program has ended the memory stays, so that the
trace of its last moments can be read from outside, until this command is ended
by a signal or the time of --for is over. It ends with the program's exit
status, or with 128 and the number of the signal that ended it.

In a Xen guest the kernel takes the pages of a program back within two seconds
of its death; hold is how they stay.`,
		Example: `  MIRADOR=xen: mirador hold -- ./server
  MIRADOR=memory:,size=64MB mirador hold --for 1h -- ./server`,
		Args: between(1, -1, "the program to run"),
		RunE: func(cmd *cobra.Command, args []string) error { return hold(cmd, args, keep) },
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().DurationVar(&keep, "for", 0, "how long after the program's end, as `10m`; 0 is until a signal")
	return cmd
}

func hold(cmd *cobra.Command, args []string, keep time.Duration) error {
	request := os.Getenv(recorder.Variable)
	destination, sizeText, sized := cutSize(request)
	if request == "" {
		return withHint(fmt.Errorf("the variable %s is not set", recorder.Variable), "set it to xen: or memory:")
	}
	size := int64(0)
	var err error
	if sized {
		if size, err = recorder.ParseSize(sizeText); err != nil {
			return fmt.Errorf("%s=%s: %w", recorder.Variable, request, err)
		}
	}
	held, err := guest.Hold(destination, size)
	if err != nil {
		return explainXen(fmt.Errorf("%s=%s", recorder.Variable, err))
	}
	defer held.Close()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	state, err := runHeld(cmd, args, held, signals)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("has ended with exit status %d", state.ExitCode())
	if name := signalOf(state); name != "" {
		how = "was ended by " + name
	}
	f, _ := held.Pass()
	where := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
	if strings.HasPrefix(destination, "xen:") {
		where = "where it was"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "mirador: %s %s; its trace stays %s until this process ends (%d)\n", args[0], how, where, os.Getpid())
	var over <-chan time.Time
	if keep > 0 {
		over = time.After(keep)
	}
	select {
	case <-signals:
	case <-over:
	}
	if status := statusOf(state); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// cutSize takes the size from the end of what MIRADOR says.
func cutSize(request string) (destination, size string, ok bool) {
	if i := strings.LastIndex(request, ",size="); i >= 0 {
		return request[:i], request[i+len(",size="):], true
	}
	return request, "", false
}

// runHeld runs the program to its end. Signals are for the program.
func runHeld(cmd *cobra.Command, args []string, held *guest.Held, signals <-chan os.Signal) (*os.ProcessState, error) {
	f, variable := held.Pass()
	program := exec.Command(args[0], args[1:]...)
	program.Env = append(os.Environ(), variable)
	program.ExtraFiles = []*os.File{f}
	program.Stdin, program.Stdout, program.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := program.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return nil, withHint(err, "name a program as the shell would find it, such as ./%s", filepath.Base(args[0]))
		}
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt { // which the terminal sends to both
				program.Process.Signal(s)
			}
		case err := <-ended:
			if program.ProcessState == nil {
				return nil, err
			}
			return program.ProcessState, nil
		}
	}
}
