//go:build unix

package overlay

import "syscall"

// Exec becomes the command line: signals, the terminal and the exit status
// are then the command's. It returns only when it cannot.
func Exec(line, environ []string) (status int, err error) {
	return 0, syscall.Exec(line[0], line, environ)
}
