package count

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring"
	"github.com/mirador-trace/mirador/internal/ring/harvest"
	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// What the machines' tests rely on must fail when a trace is not whole: when
// events are missing at its end, in the middle, or are not in order.
func TestCheck(t *testing.T) {
	mem := make([]byte, 32<<20) // nothing is overwritten
	s, err := ring.Start(ring.Options{Dir: "memory", Program: "count.test", Memory: mem, Release: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(stop) })
	var said bytes.Buffer
	Run(&said, 2*time.Millisecond, stop)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	var known Known
	for line := range strings.Lines(said.String()) {
		if k, ok := Parse(line); ok {
			known = k
		}
	}
	check := func(mem []byte, known Known) error {
		r, err := region.Open(bytes.NewReader(mem), 0, int64(len(mem)))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, _, err := harvest.SaveRegion(dir, r); err != nil {
			t.Fatal(err)
		}
		_, err = Check(os.DirFS(dir), known)
		return err
	}
	if err := check(mem, known); err != nil {
		t.Fatal(err)
	}
	wants := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	more := known
	more[1]++
	wants("a number more is known", "worker 1: the last number is", check(mem, more))

	r, err := region.Open(bytes.NewReader(mem), 0, int64(len(mem)))
	if err != nil {
		t.Fatal(err)
	}
	// A packet in the middle of the ring that has most.
	var slot, most int
	for _, g := range r.Rings[1:] {
		used := 0
		for used < g.Slots && packet.Header(mem[int(r.Packets)+(g.First+used)*r.PacketSize:]).Content() > 8*packet.HeaderSize {
			used++
		}
		if used > most {
			most = used
			slot = int(r.Packets) + (g.First+used/2)*r.PacketSize
		}
	}
	if most < 10 {
		t.Fatalf("no ring has more than %d packets", most)
	}
	holed := bytes.Clone(mem)
	clear(holed[slot:][:packet.HeaderSize])
	wants("a packet is missing", "1 packets are missing between others", check(holed, known))

	torn := bytes.Clone(mem)
	torn[slot+packet.HeaderSize+24*20+6] = 0xEE // an event of a kind that there is not
	wants("an event is torn", "damage in", check(torn, known))

	_, err = Check(os.DirFS(t.TempDir()), known)
	wants("there is no trace", "no mirador trace", err)
	Run(io.Discard, 0, stop) // which is closed
}
