//go:build !unix

package main

import "os"

// signalNumber is the signal that ended a process: there are none here.
func signalNumber(state *os.ProcessState) int { return 0 }

func signalOf(state *os.ProcessState) string { return "" }
