package format

import (
	"bytes"
	"errors"

	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/region"
)

// findRegion looks for a region: that of a guest, say, in a file that a host
// backs its memory with. It reports whether there was one.
func (t *Trace) findRegion(data []byte) (bool, error) {
	found, err := region.Find(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, region.ErrNoRegion):
		return false, nil
	case err != nil:
		var at *region.Error
		errors.As(err, &at)
		return false, &input.Error{Path: t.Path, Offset: at.Offset, Err: at.Err}
	}
	t.Format, t.Regions = Native, found
	return true, nil
}

// regionEvents returns the events of the newest region, as they are now.
func (t *Trace) regionEvents() (Events, error) {
	dir, damage := t.Regions[0].Directory()
	t.torn = damage
	return native.NewReader(dir)
}
