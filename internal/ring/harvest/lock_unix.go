//go:build unix && !solaris && !illumos && !aix

package harvest

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// recording reports whether a process records into dir: whether it has the
// directory's lock.
func recording(dir string) bool {
	f, err := os.Open(filepath.Join(dir, ".run", "lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
