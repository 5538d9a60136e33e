package region_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring"
)

// record calls fn while events are recorded into a region of so many bytes.
func record(t testing.TB, size int, fn func(mem []byte)) []byte {
	t.Helper()
	mem := make([]byte, size)
	s, err := ring.Start(ring.Options{Dir: "memory", Size: int64(size), Program: "region.test",
		Memory: mem, Release: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	fn(mem)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	return mem
}

// count records n events of one goroutine, which count from 1.
func count(n int64) {
	for i := int64(1); i <= n; i++ {
		ring.EmitWordText(event.Counter, 7, i, "count")
	}
}

// counted reads the events of count back: all numbers from first to last,
// without a gap. The test fails otherwise.
func counted(t testing.TB, r *region.Region) (first, last int64) {
	t.Helper()
	dir, damage := r.Directory()
	if len(damage) > 0 {
		t.Fatalf("damage: %v", damage)
	}
	n, err := native.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	complete := n.Complete()
	var e event.Event
	for n.Next(&e) {
		if e.Kind != event.Counter || string(e.Text) != "count" || e.Time < complete {
			continue
		}
		if first == 0 {
			first = e.Value
		} else if e.Value != last+1 {
			t.Fatalf("%d follows %d", e.Value, last)
		}
		last = e.Value
	}
	if d := n.Damage(); len(d) > 0 {
		t.Fatalf("damage: %v", d)
	}
	return first, last
}

func TestRegion(t *testing.T) {
	for _, n := range []int64{1, 1000, 1_000_000} {
		mem := record(t, 1<<20, func([]byte) { count(n) })
		r, err := region.Open(bytes.NewReader(mem), 0, int64(len(mem)))
		if err != nil {
			t.Fatal(err)
		}
		first, last := counted(t, r)
		if last != n || n <= 1000 && first != 1 || n-first < min(n-1, 5000) {
			t.Errorf("of %d events those from %d to %d are there", n, first, last)
		}
		if r.Program != "region.test" || r.OS == "" || len(r.Clocks) < 2 || r.Scattered() {
			t.Errorf("the header says %+v, and clocks %v", r.Header, r.Clocks)
		}
		for _, c := range r.Clocks {
			if c.After < c.Before || c.After-c.Before > 1e9 || c.Realtime < r.Start.Realtime {
				t.Errorf("a clock that cannot be: %+v", c)
			}
		}
		dir, _ := r.Directory()
		if !native.Is(dir) {
			t.Error("the copy is no native trace")
		}
	}
}

func TestSmall(t *testing.T) {
	for _, size := range []int{0, 1, 4096, 16 << 10, 40 << 10} {
		mem := make([]byte, size)
		_, err := ring.Start(ring.Options{Dir: "memory", Memory: mem, Release: func() error { return nil }})
		if !errors.Is(err, region.ErrSmall) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// In an image of a machine's memory the pages lie in any order, between other
// pages; the header lies there twice, as do some packets in an older state.
func TestScattered(t *testing.T) {
	var older []byte
	mem := record(t, 256<<10, func(mem []byte) {
		count(3000)
		older = bytes.Clone(mem)
		for i := int64(3001); i <= 9000; i++ {
			ring.EmitWordText(event.Counter, 7, i, "count")
		}
	})
	whole, err := region.Open(bytes.NewReader(mem), 0, int64(len(mem)))
	if err != nil {
		t.Fatal(err)
	}
	first, last := counted(t, whole)
	rng := rand.New(rand.NewPCG(1, 2))
	pages := len(mem) / region.Page
	image := make([]byte, 8*len(mem))
	for i := range image {
		image[i] = byte(rng.Uint32())
	}
	places := rng.Perm(len(image) / region.Page)
	for i := range pages {
		copy(image[places[i]*region.Page:], mem[i*region.Page:][:region.Page])
		copy(image[places[pages+i]*region.Page:], older[i*region.Page:][:region.Page])
	}
	// A stack has a packet's header, and a header page's magic.
	copy(image[places[2*pages]*region.Page:], mem[len(mem)-region.Page:][:80])
	copy(image[places[2*pages+1]*region.Page:], mem[:600])
	found, err := region.Find(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !found[0].Scattered() {
		t.Fatalf("found %d regions", len(found))
	}
	dir, _ := found[0].Directory()
	n, err := native.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	complete := n.Complete()
	var e event.Event
	next, end := int64(0), int64(0)
	for n.Next(&e) {
		if e.Kind == event.Counter && string(e.Text) == "count" && e.Time >= complete {
			if next != 0 && e.Value != next {
				t.Fatalf("%d instead of %d", e.Value, next)
			}
			next, end = e.Value+1, e.Value
			if first > e.Value {
				first = e.Value
			}
		}
	}
	if end != last || len(n.Damage()) > 0 {
		t.Errorf("the last is %d instead of %d; damage %v", end, last, n.Damage())
	}
}

func TestFindInside(t *testing.T) {
	mem := record(t, 512<<10, func([]byte) { count(2000) })
	image := append(append(bytes.Repeat([]byte("anything"), 300_000), mem...), "the rest"...)
	found, err := region.Find(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Offset != 2_400_000 || found[0].Scattered() {
		t.Fatalf("found %d regions, the first at %d", len(found), found[0].Offset)
	}
	if _, last := counted(t, found[0]); last != 2000 {
		t.Errorf("the last is %d", last)
	}
}

// A reader copies while the events are recorded: nothing is torn, and all that
// was recorded before the copy began and is not overwritten is there.
func TestLive(t *testing.T) {
	record(t, 256<<10, func(mem []byte) {
		var done atomic.Int64
		var wg sync.WaitGroup
		stop := make(chan struct{})
		wg.Go(func() {
			for i := int64(1); ; i++ {
				ring.EmitWordText(event.Counter, 7, i, "count")
				done.Store(i)
				if i%64 == 0 {
					select {
					case <-stop:
						return
					default:
					}
				}
			}
		})
		for range rounds(200) {
			before := done.Load()
			r, err := region.Open(&shared{mem}, 0, int64(len(mem)))
			if err != nil {
				t.Fatal(err)
			}
			dir, _ := r.Directory() // what was overwritten meanwhile is no fault
			n, err := native.NewReader(dir)
			if err != nil {
				t.Fatal(err)
			}
			var e event.Event
			last := int64(0)
			for n.Next(&e) {
				if e.Kind == event.Counter && string(e.Text) == "count" {
					if e.Value <= last {
						t.Fatalf("%d after %d", e.Value, last)
					}
					last = e.Value
				}
			}
			if d := n.Damage(); len(d) > 0 || before > 0 && last == 0 {
				t.Fatalf("damage %v; the last of %d is %d", d, before, last)
			}
		}
		close(stop)
		wg.Wait()
	})
}

// rounds is how often something is tried; less often with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// shared reads memory that somebody else writes to.
type shared struct{ mem []byte }

//go:norace
func (s *shared) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(s.mem)) {
		return 0, io.EOF
	}
	n := min(len(b), len(s.mem)-int(off))
	for i := range n { // no copy: that is watched by the race detector
		b[i] = s.mem[int(off)+i]
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// hostile changes what is read, differently at each reading.
type hostile struct {
	mem  []byte
	rng  *rand.Rand
	mean int // bytes between two changes
}

func (h *hostile) ReadAt(b []byte, off int64) (int, error) {
	n, err := bytes.NewReader(h.mem).ReadAt(b, off)
	for i := h.rng.IntN(h.mean); i < n; i += 1 + h.rng.IntN(h.mean) {
		switch h.rng.IntN(3) {
		case 0:
			b[i] = byte(h.rng.Uint32())
		case 1:
			b[i] ^= 1 << h.rng.IntN(8)
		case 2:
			if i+8 <= n {
				binary.LittleEndian.PutUint64(b[i:], h.rng.Uint64()>>h.rng.IntN(64))
			}
		}
	}
	return n, err
}

// readAll reads everything that there is in some input, and checks what must
// be so whatever it holds.
func readAll(t testing.TB, in io.ReaderAt, size int64) {
	found, err := region.Find(in, size)
	if r, e := region.Open(in, 0, size); e == nil {
		found = append(found, r)
	}
	var wrong *region.Error
	if err != nil && !errors.As(err, &wrong) {
		t.Fatalf("an error of type %T: %v", err, err)
	}
	for _, r := range found {
		if int64(r.Slots()*r.PacketSize) > size {
			t.Fatalf("%d slots in %d bytes", r.Slots(), size)
		}
		dir, _ := r.Directory()
		r.Process()
		r.Moments()
		n, err := native.NewReader(dir)
		if err != nil {
			continue
		}
		var e event.Event
		for n.Next(&e) {
		}
	}
}

// A guest may change any byte at any time, also between two readings.
func FuzzHostile(f *testing.F) {
	mem := record(f, 160<<10, func([]byte) { count(3000) })
	f.Add(uint64(1), uint16(64), 0, uint64(0))
	f.Add(uint64(2), uint16(5000), 40, uint64(1<<40))
	f.Add(uint64(3), uint16(65535), 16384+48, uint64(1<<63))
	f.Fuzz(func(t *testing.T, seed uint64, mean uint16, at int, word uint64) {
		changed := bytes.Clone(mem)
		if at >= 0 && at+8 <= len(changed) {
			binary.LittleEndian.PutUint64(changed[at:], word)
			if at < 2048-8 && seed%2 == 0 {
				region.Seal(changed) // somebody knows how to make a checksum
			}
		}
		in := &hostile{mem: changed, rng: rand.New(rand.NewPCG(seed, seed)), mean: int(mean) + 1}
		readAll(t, in, int64(len(changed)))
		readAll(t, bytes.NewReader(changed), int64(len(changed)))
	})
}

// Somebody writes random words to the region all the time while it is read.
func TestMutated(t *testing.T) {
	mem := record(t, 160<<10, func([]byte) { count(3000) })
	words := make([]atomic.Uint64, len(mem)/8)
	for i := range words {
		words[i].Store(binary.LittleEndian.Uint64(mem[8*i:]))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(3, 4))
		for {
			select {
			case <-stop:
				return
			default:
			}
			i := rng.IntN(len(words))
			if rng.IntN(2) == 0 {
				i = (16384 + rng.IntN(32)*region.Page + rng.IntN(80)) / 8 // a packet's header
			}
			old := words[i].Load()
			words[i].Store(rng.Uint64() >> rng.IntN(64))
			if rng.IntN(4) > 0 {
				words[i].Store(old)
			}
		}
	})
	for range rounds(300) {
		readAll(t, atomicWords(words), int64(len(mem)))
	}
	close(stop)
	wg.Wait()
}

// atomicWords is memory of which each word is read at once.
type atomicWords []atomic.Uint64

func (w atomicWords) ReadAt(b []byte, off int64) (int, error) {
	var word [8]byte
	for i := range b {
		at := off + int64(i)
		if at < 0 || at >= int64(8*len(w)) {
			return i, io.EOF
		}
		if i == 0 || at%8 == 0 {
			binary.LittleEndian.PutUint64(word[:], w[at/8].Load())
		}
		b[i] = word[at%8]
	}
	return len(b), nil
}

func TestErrors(t *testing.T) {
	mem := record(t, 160<<10, func([]byte) { count(10) })
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"nothing", func(b []byte) []byte { return make([]byte, len(b)) }, region.ErrNoRegion},
		{"cut in the header", func(b []byte) []byte { return b[:1000] }, region.ErrDamaged},
		{"cut behind it", func(b []byte) []byte { return b[:8192] }, region.ErrDamaged},
		{"checksum", func(b []byte) []byte { b[300]++; return b }, region.ErrDamaged},
		{"version", func(b []byte) []byte { b[16] = 9; region.Seal(b); return b }, region.ErrDamaged},
		{"no rings", func(b []byte) []byte { b[56] = 0; region.Seal(b); return b }, region.ErrDamaged},
		{"a ring outside", func(b []byte) []byte { b[410] = 0xFF; region.Seal(b); return b }, region.ErrDamaged},
		{"too large", func(b []byte) []byte { b[46] = 1; region.Seal(b); return b }, region.ErrDamaged},
	} {
		b := c.change(bytes.Clone(mem))
		var wrong *region.Error
		if _, err := region.Open(bytes.NewReader(b), 0, int64(len(b))); !errors.Is(err, c.want) || !errors.As(err, &wrong) {
			t.Errorf("%s: Open: %v", c.name, err)
		}
		if _, err := region.Find(bytes.NewReader(b), int64(len(b))); !errors.Is(err, c.want) || !errors.As(err, &wrong) {
			t.Errorf("%s: Find: %v", c.name, err)
		}
	}
	// Metadata that was overwritten is made anew; a packet that was is reported.
	b := bytes.Clone(mem)
	b[5000]++
	clear(b[16384:][:100])
	r, err := region.Open(bytes.NewReader(b), 0, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	dir, damage := r.Directory()
	if _, err := native.NewReader(dir); err != nil || len(damage) != 1 || damage[0].Offset != 16384 {
		t.Errorf("%v; damage %v", err, damage)
	}
}

func ExampleFind() {
	_, err := region.Find(bytes.NewReader(make([]byte, 10_000)), 10_000)
	fmt.Println(err)
	// Output: offset 0: no region of a mirador trace
}

func BenchmarkFind(b *testing.B) {
	image := make([]byte, 64<<20)
	b.SetBytes(int64(len(image)))
	for b.Loop() {
		if _, err := region.Find(bytes.NewReader(image), int64(len(image))); !errors.Is(err, region.ErrNoRegion) {
			b.Fatal(err)
		}
	}
}
