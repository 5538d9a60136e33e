package harvest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring"
)

// words is memory that another goroutine writes to, of which each word is read
// at once: nothing more is asked of memory that is shared with a guest.
type words []byte

//go:norace
func (w words) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(w)) {
		return 0, io.EOF
	}
	n := min(len(b), len(w)-int(off))
	for i := range n {
		b[i] = w[int(off)+i]
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// numbers checks that a directory has all numbers from first to last, in order.
func numbers(t *testing.T, dir string, first, last int64) {
	t.Helper()
	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	next, complete := int64(0), r.Complete()
	var e event.Event
	for r.Next(&e) {
		if e.Kind != event.Counter || string(e.Text) != "count" || e.Time < complete {
			continue
		}
		if next != 0 && e.Value != next || next == 0 && first != 0 && e.Value != first {
			t.Fatalf("%d comes after %d", e.Value, next-1)
		}
		next = e.Value + 1
	}
	if next-1 != last || len(r.Damage()) > 0 {
		t.Errorf("the last is %d, not %d; damage %v", next-1, last, r.Damage())
	}
	if babeltrace, err := exec.LookPath("babeltrace2"); err == nil {
		out, err := exec.Command(babeltrace, "-o", "dummy", dir).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("babeltrace2: %v\n%.2000s", err, out)
		}
	} else if os.Getenv("CI") != "" {
		t.Error("babeltrace2 is not installed")
	}
}

func recordRegion(t *testing.T, size int, fn func(mem []byte)) []byte {
	t.Helper()
	mem := make([]byte, size)
	s, err := ring.Start(ring.Options{Dir: "memory", Program: "harvest.test", Memory: mem, Release: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	fn(mem)
	return mem
}

func count(from, to int64) {
	for i := from; i <= to; i++ {
		ring.EmitWordText(event.Counter, 7, i, "count")
	}
}

func TestSaveRegion(t *testing.T) {
	mem := recordRegion(t, 1<<20, func([]byte) { count(1, 100_000) })
	r, err := region.Open(bytes.NewReader(mem), 0, int64(len(mem)))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	report, damage, err := SaveRegion(dir, r)
	if err != nil || len(damage) > 0 || report.Packets == 0 {
		t.Fatalf("%+v, damage %v, %v", report, damage, err)
	}
	numbers(t, dir, 0, 100_000)
	for _, name := range []string{"process.json", "clocks.json"} {
		if text, err := os.ReadFile(filepath.Join(dir, ".run", name)); err != nil || len(text) == 0 {
			t.Error(err)
		}
	}
	clocks, _ := os.ReadFile(filepath.Join(dir, ".run", "clocks.json"))
	if !strings.Contains(string(clocks), "monotonic_before_ns") {
		t.Errorf("%s", clocks)
	}
	if _, _, err := SaveRegion(dir, r); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
}

// A follower has all that was recorded, up to when the region was last seen.
func TestFollowRegion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	recordRegion(t, 4<<20, func(mem []byte) {
		var gone atomic.Bool
		open := func() (*region.Region, error) {
			if gone.Load() {
				return nil, errors.New("it is gone")
			}
			return region.Open(words(mem), 0, int64(len(mem)))
		}
		ended := make(chan error, 1)
		var report Report
		go func() {
			var err error
			report, err = FollowRegion(t.Context(), dir, open)
			ended <- err
		}()
		n := int64(0)
		for end := time.Now().Add(time.Second); time.Now().Before(end); n += 100 {
			count(n+1, n+100)
			time.Sleep(2 * time.Millisecond)
		}
		gone.Store(true)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if report.Overwritten > 0 {
			t.Fatalf("%+v", report)
		}
		numbers(t, dir, 1, n)
	})
}

func TestFollowRegionCancelled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	recordRegion(t, 256<<10, func(mem []byte) {
		count(1, 500)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := FollowRegion(ctx, dir, func() (*region.Region, error) { return region.Open(words(mem), 0, int64(len(mem))) }); err != nil {
			t.Fatal(err)
		}
	})
	numbers(t, dir, 1, 500)
}

func TestSaveStream(t *testing.T) {
	var sent bytes.Buffer
	recordRegion(t, 256<<10, func(mem []byte) {
		out, err := region.NewSender(&sent, mem)
		if err != nil {
			t.Fatal(err)
		}
		for n := int64(0); n < 20_000; n += 500 {
			count(n+1, n+500)
			if err := out.Send(); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, cut := range []int{0, 1000} {
		dir := filepath.Join(t.TempDir(), "out")
		in, err := region.NewReceiver(bytes.NewReader(sent.Bytes()[:sent.Len()-cut]))
		if err != nil {
			t.Fatal(err)
		}
		_, err = SaveStream(dir, in)
		if cut == 0 {
			if err != nil {
				t.Fatal(err)
			}
			numbers(t, dir, 1, 20_000)
		} else if !errors.Is(err, io.ErrUnexpectedEOF) || !native.Is(os.DirFS(dir)) {
			t.Errorf("cut: %v", err)
		}
	}
}
