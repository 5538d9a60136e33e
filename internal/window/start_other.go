//go:build !linux

package window

import "os/exec"

func program() (*exec.Cmd, func(), error) {
	return nil, nil, &Unavailable{Why: "mirador has a window of its own on Linux only"}
}

func notStarted(err error) error { return err }

func sandboxRuns() bool { return false }
