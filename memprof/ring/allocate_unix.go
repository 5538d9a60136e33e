//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package ring

import "os"

func allocate(f *os.File, size int) error { return zeros(f, size) }
