//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// ownGroup returns what interrupts a command.
func ownGroup(cmd *exec.Cmd) (interrupt func()) {
	return func() { cmd.Process.Signal(os.Interrupt) }
}
