package mirador

import (
	"fmt"
	"time"

	"github.com/mirador-trace/mirador/internal/guest"
	"github.com/mirador-trace/mirador/internal/ring"
)

// startShared records into memory that is seen from outside of the machine.
func startShared(c Config) (*Recording, error) {
	if c.Sample == 0 {
		c.Sample = 100 * time.Millisecond
	}
	m, err := guest.Open(c.Path, c.Size)
	if err != nil {
		return nil, fmt.Errorf("mirador: %w", err)
	}
	s, err := ring.Start(ring.Options{Dir: c.Path, Size: int64(len(m.Bytes)), Program: program(), Sample: c.Sample,
		Memory: m.Bytes, Release: m.Release})
	if err != nil {
		m.Release()
		return nil, fmt.Errorf("mirador: %s: %w", c.Path, err)
	}
	return &Recording{session: s}, nil
}
