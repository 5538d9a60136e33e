//go:build !unix || solaris || illumos || aix

package harvest

// recording reports whether a process records into dir: none does, here.
func recording(dir string) bool { return false }
