package mirador

import (
	"os"
	"path/filepath"
	"runtime/trace"
	"sync"

	"github.com/mirador-trace/mirador/internal/generations"
)

// runtimeTrace is the runtime's execution trace, recorded beside ours.
type runtimeTrace struct {
	keeper *generations.Keeper
	once   sync.Once
	err    error
}

// startRuntimeTrace records the execution trace into a trace directory. It
// returns nil when there is to be none, or when somebody else has the only one
// that the runtime gives: ours is a trace without it.
func startRuntimeTrace(dir string, size int64) *runtimeTrace {
	if size < 0 {
		return nil
	}
	if size == 0 {
		size = DefaultGoTrace
	}
	hidden := filepath.Join(dir, ".run") // CTF tools pass over hidden folders
	if err := os.MkdirAll(hidden, 0o700); err != nil {
		return nil
	}
	keeper, err := generations.NewKeeper(hidden, size)
	if err != nil || trace.Start(keeper) != nil {
		return nil
	}
	return &runtimeTrace{keeper: keeper}
}

// stop waits until the runtime has written all it has.
func (t *runtimeTrace) stop() error {
	if t == nil {
		return nil
	}
	t.once.Do(func() {
		trace.Stop()
		t.err = t.keeper.Close()
	})
	return t.err
}
