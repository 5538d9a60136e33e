package web

import (
	"context"
	"hash"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mirador-trace/mirador/internal/engine"
)

// stamp is how one sees that a file has changed. The zero stamp is that of a
// file that is not there.
type stamp struct {
	size     int64
	time     time.Time
	contents uint64
}

// stampOf looks at a file, or at the files of a trace directory. A program that
// records stores into mapped files, which does not change their times: so that
// their contents are sampled, too.
func stampOf(path string) stamp {
	if path == "" {
		return stamp{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	h := fnv.New64a()
	if info.IsDir() {
		sampleFolder(h, path)
	} else if info.Mode().IsRegular() {
		sampleFile(h, path, info.Size(), mostSamples)
	}
	return stamp{info.Size(), info.ModTime(), h.Sum64()}
}

// What is sampled takes a few ms a second for a file of 16 MiB.
const (
	sampleSize  = 64      // bytes: the head of a packet, when one lies there
	sampleStep  = 4096    // between samples: packets begin at pages
	mostSamples = 1 << 12 // of a file, and files of a folder: the step becomes longer
)

// sampleFolder adds the start of each file in a folder, where a slot tells how
// much of it is filled.
func sampleFolder(h hash.Hash, dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list[:min(len(list), mostSamples)] {
		io.WriteString(h, e.Name())
		if e.Type().IsRegular() {
			sampleFile(h, filepath.Join(dir, e.Name()), sampleStep, 1)
		}
	}
}

func sampleFile(h hash.Hash, path string, size, most int64) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	step := max(sampleStep, (size/most+sampleStep-1)/sampleStep*sampleStep)
	var b [sampleSize]byte
	for at := int64(0); at < size; at += step {
		n, err := f.ReadAt(b[:], at)
		h.Write(b[:n])
		if err != nil {
			return
		}
	}
}

// watchFiles looks at the files now and then, which works on every system and
// file system, and tells the pages when one is not what was loaded.
func (s *Server) watchFiles(ctx context.Context) {
	tick := time.NewTicker(s.watch)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for i, src := range s.loaded() {
			if src.changed() {
				s.tell(ctx, news{What: "changed", Trace: i})
			}
		}
	}
}

// changed reports whether a file is other than it was loaded and has not been
// found so already, or somebody has come since. A file that is gone has not changed: there is nothing to
// load.
func (src *source) changed() bool {
	if src.Path == "" || !src.mu.TryLock() {
		return false
	}
	defer src.mu.Unlock()
	now := stampOf(src.Path)
	if again := src.retell.Swap(false); now == (stamp{}) || now == src.seen && !again {
		return false
	}
	src.seen = now
	return now != src.loaded
}

// reload loads a source again and puts it in the place of what was there. When
// it cannot be loaded, what was there stays.
func (s *Server) reload(r *engine.Request) []byte {
	sources := s.loaded()
	if r.Trace < 0 || r.Trace >= len(sources) {
		return engine.AppendError(nil, r, &engine.Error{Code: "no-trace", Message: "there is no such trace"})
	}
	src := sources[r.Trace]
	src.mu.Lock()
	defer src.mu.Unlock()
	before := stampOf(src.Path)
	t, err := src.Load()
	if err != nil {
		return engine.AppendError(nil, r, &engine.Error{Code: "load", Message: err.Error()})
	}
	src.loaded, src.seen = before, before
	generation := s.engine.Replace(r.Trace, t)
	n := news{What: "reloaded", Trace: r.Trace, Generation: generation}
	s.tell(context.Background(), n)
	return engine.AppendJSON(nil, r, engine.JSON, generation, n)
}
