package region_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring"
)

// stream records and sends as it goes.
func stream(t testing.TB) ([]byte, []byte) {
	var sent bytes.Buffer
	mem := record(t, 256<<10, func(mem []byte) {
		out, err := region.NewSender(&sent, mem)
		if err != nil {
			t.Fatal(err)
		}
		for i := int64(1); i <= 20_000; i++ {
			ring.EmitWordText(event.Counter, 7, i, "count")
			if i%777 == 0 {
				if err := errors.Join(out.Send(), out.SendClocks()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := out.Send(); err != nil {
			t.Fatal(err)
		}
	})
	return mem, sent.Bytes()
}

// A stream has all that was recorded, though the ring is much smaller.
func TestStream(t *testing.T) {
	mem, sent := stream(t)
	in, err := region.NewReceiver(bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	r, err := region.Open(bytes.NewReader(mem), 0, int64(len(mem)))
	if err != nil {
		t.Fatal(err)
	}
	if in.Region().UUID != r.UUID || !bytes.Equal(in.Region().Metadata(), r.Metadata()) {
		t.Error("another header")
	}
	packets := make(map[[2]uint64]int)
	for {
		data, err := in.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		key := [2]uint64{word(data, 24), word(data, 64)}
		if len(data) < packets[key] {
			t.Fatalf("packet %v has become smaller", key)
		}
		packets[key] = len(data)
	}
	if len(packets) < 2*r.Slots() {
		t.Errorf("%d packets", len(packets))
	}
	last := map[uint64]uint64{}
	for key := range packets {
		last[key[0]] = max(last[key[0]], key[1])
	}
	for ring, seq := range last {
		for n := uint64(16); n <= seq; n++ {
			if packets[[2]uint64{ring, n}] == 0 && !(ring == 1<<16 || n == seq) {
				t.Errorf("ring %d: packet %d is missing", ring, n)
			}
		}
	}
	for _, cut := range []int{0, 100, 4096, 5000, 20_000} {
		in, err := region.NewReceiver(bytes.NewReader(sent[:cut]))
		for err == nil {
			_, err = in.Next()
		}
		var wrong *region.Error
		if !errors.As(err, &wrong) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
}

func word(b []byte, off int) (n uint64) {
	for i := range 8 {
		n |= uint64(b[off+i]) << (8 * i)
	}
	return n
}

func FuzzReceiver(f *testing.F) {
	_, sent := stream(f)
	f.Add(sent[:60_000])
	f.Add(sent[:16_384])
	f.Fuzz(func(t *testing.T, sent []byte) {
		in, err := region.NewReceiver(bytes.NewReader(sent))
		for n := 0; err == nil; n++ {
			if n > len(sent)/region.Page {
				t.Fatal("more packets than were sent")
			}
			_, err = in.Next()
		}
	})
}
