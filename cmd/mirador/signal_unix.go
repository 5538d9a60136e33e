//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalNumber is the signal that ended a process, or 0.
func signalNumber(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// signalOf is that signal's name, "SIGKILL", or "".
func signalOf(state *os.ProcessState) string {
	if n := signalNumber(state); n != 0 {
		return unix.SignalName(syscall.Signal(n))
	}
	return ""
}
