package mirage

import (
	"bytes"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
)

// sample is a small trace with an event of every kind, in two packets.
func sample(t testing.TB) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	for k := range numOperations {
		if k == 7 {
			if err := w.Begin(1); err != nil {
				t.Fatal(err)
			}
		}
		e := event.Event{Time: 1000 + int64(k), Kind: k, Thread: int64(k), Other: 3, Value: -5, Type: event.Bind, Text: []byte("text")}
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// drain reads all events; it fails the test if that takes longer than there
// are bytes, or says things that cannot be.
func drain(t testing.TB, data []byte) (events int) {
	r, err := NewReader(data)
	if err != nil {
		return 0
	}
	var e event.Event
	for r.Next(&e) {
		events++
		if e.Offset < headerSize || e.Offset+minEvent > int64(len(data)) || events > len(data) {
			t.Fatalf("event %d at offset %d of %d", events, e.Offset, len(data))
		}
	}
	for _, d := range r.Damage() {
		if d.Offset < 0 || d.Offset > int64(len(data)) || d.What == "" {
			t.Fatalf("damage %v in %d bytes", d, len(data))
		}
	}
	return events
}

// A trace that was cut anywhere gives the events before the cut, and says so
// unless the cut lies between two packets.
func TestCutAnywhere(t *testing.T) {
	data := sample(t)
	uncut, err := NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	between := int(uncut.Packets()[1].Offset)
	prev := 0
	for n := range len(data) {
		events := drain(t, data[:n])
		if events < prev-1 { // what is left of an event may take the one before along
			t.Errorf("cut after %d bytes: %d events, but %d one byte before", n, events, prev)
		}
		prev = events
		r, err := NewReader(data[:n])
		if err != nil {
			continue
		}
		text(t, r)
		if len(r.Damage()) == 0 && n != between {
			t.Errorf("cut after %d bytes: nothing said", n)
		}
	}
	if n := drain(t, data); n != int(numOperations) {
		t.Errorf("%d events in all", n)
	}
}

// A packet whose bytes were overwritten does not take the others along.
func TestResynchronise(t *testing.T) {
	one := sample(t)
	data := append(append(append([]byte{}, one...), bytes.Repeat([]byte{0xAA}, 777)...), one...)
	r, err := NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Packets()) != 4 {
		t.Errorf("%d packets, want 4", len(r.Packets()))
	}
	if drain(t, data) != 2*int(numOperations) {
		t.Error("events are missing")
	}
	if d := r.Damage(); len(d) != 1 || d[0].Offset != int64(len(one)) {
		t.Errorf("damage %v", d)
	}
}

func TestRandomBytes(t *testing.T) {
	data := make([]byte, 10<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	if _, err := NewReader(data); err == nil {
		t.Error("random bytes are a trace")
	}
	copy(data, sample(t))
	if n := drain(t, data); n != int(numOperations) {
		t.Errorf("%d events before the random bytes", n)
	}
}

// A label of a megabyte is a label.
func TestLongLabel(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	e := event.Event{Kind: event.Label, Text: bytes.Repeat([]byte("long "), 200_000)}
	if err := w.Write(&e); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next(&e) || len(e.Text) != 1_000_000 {
		t.Errorf("a label of %d bytes", len(e.Text))
	}
}

func FuzzReader(f *testing.F) {
	one := sample(f)
	f.Add(one)
	f.Add(one[:len(one)-5])
	f.Add(append(make([]byte, 100), one...))
	f.Fuzz(func(t *testing.T, data []byte) { drain(t, data) })
}

// What a writer wrote, a reader reads, whatever the events are.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("any bytes decide which events there are, and what they say"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		var want []byte
		w := NewWriter(&out)
		time := int64(0)
		for len(data) > 4 {
			n := min(int(data[3]), len(data)-4)
			text, _, _ := bytes.Cut(data[4:4+n], []byte{0})
			time += int64(data[1])
			e := event.Event{Time: time, Kind: event.Kind(data[0] % byte(numOperations)), Thread: int64(data[1]) - 1,
				Other: int64(data[2]), Value: -int64(data[3]), Type: event.ThreadType(data[2] % 18), Text: text}
			if err := w.Write(&e); err != nil {
				t.Fatal(err)
			}
			want = append(e.AppendText(want), '\n')
			var again event.Event
			if err := again.ParseText(e.AppendText(nil)); err != nil {
				t.Fatalf("%v: %s", err, e.AppendText(nil))
			}
			if got := again.AppendText(nil); !bytes.Equal(got, e.AppendText(nil)) {
				t.Fatalf("text %s became %s", e.AppendText(nil), got)
			}
			data = data[4+n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, r)
		if strings.HasPrefix(string(want), got) && strings.Count(got, "\n") == bytes.Count(want, []byte("\n"))-1 &&
			strings.Contains(lastLine(want), "creates thread=0 child=0") {
			return // it looks like a torn one
		}
		if got != string(want) {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	return lines[len(lines)-1]
}

// Whatever a file is called, the metadata stays one text with one string in it.
func FuzzMetadata(f *testing.F) {
	f.Add("net.ctf")
	f.Add("\"};\n\\")
	literal := regexp.MustCompile(`source = "((?:[^"\\\n]|\\["\\]|\\[0-7]{3})*)";\n};\n\nclock`)
	escape := regexp.MustCompile(`\\(["\\]|[0-7]{3})`)
	f.Fuzz(func(t *testing.T, source string) {
		var b strings.Builder
		if err := WriteMetadata(io.MultiWriter(&b), source); err != nil {
			t.Fatal(err)
		}
		m := literal.FindStringSubmatch(b.String())
		if m == nil {
			t.Fatalf("no string for %q", source)
		}
		got := escape.ReplaceAllStringFunc(m[1], func(s string) string {
			if len(s) == 2 {
				return s[1:]
			}
			c, err := strconv.ParseUint(s[1:], 8, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(c)})
		})
		if got != source {
			t.Errorf("%q became %q", source, got)
		}
	})
}
