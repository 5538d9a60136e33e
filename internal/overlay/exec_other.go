//go:build !unix

package overlay

import (
	"errors"
	"os"
	"os/exec"
)

// Exec runs the command line and returns its exit status. An interrupt from
// the terminal reaches the command too, so it is not passed on.
func Exec(line, environ []string) (status int, err error) {
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = environ
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}
