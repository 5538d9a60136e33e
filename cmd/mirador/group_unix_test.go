//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group, and returns what interrupts it.
func ownGroup(cmd *exec.Cmd) (interrupt func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
