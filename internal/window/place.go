package window

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/mirador-trace/mirador/internal/window/talk"
)

// StateFile is the file in which a user's windows are remembered, in the state
// directory of the XDG base directory specification; "" when there is no home.
func StateFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification wants others ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "mirador", "window.json")
}

// readPlace reads where the last window was; nil when that is not known, or
// cannot be true.
func readPlace(path string) *talk.Place {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var at talk.Place
	const most = 32767 // what X can address
	within := func(n, least int32) bool { return least <= n && n <= most }
	if json.NewDecoder(io.LimitReader(f, 4<<10)).Decode(&at) != nil || !within(at.Width, 1) || !within(at.Height, 1) ||
		!within(at.X, -most) || !within(at.Y, -most) {
		return nil
	}
	return &at
}

// writePlace remembers where a window is, for its user's eyes.
func writePlace(path string, at *talk.Place) error {
	if path == "" {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".window-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = json.NewEncoder(f).Encode(at)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
