package mirage

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/reference"
)

// copyTrace writes a trace anew, packet by packet, and returns its bytes.
func copyTrace(t testing.TB, r *Reader) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	var e event.Event
	begun := 0
	begin := func(upTo int) {
		for ; begun <= upTo; begun++ {
			if err := w.Begin(r.Packets()[begun].Count); err != nil {
				t.Fatal(err)
			}
		}
	}
	for r.Next(&e) {
		begin(r.Current())
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	begin(len(r.Packets()) - 1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// text is a trace as text, without the events' offsets.
func text(t testing.TB, r *Reader) string {
	var b []byte
	var e event.Event
	for r.Next(&e) {
		b = append(e.AppendText(b), '\n')
	}
	return string(b)
}

// What was written is read again: the same events in as many packets, and
// nothing damaged any longer.
func TestRoundTrip(t *testing.T) {
	for _, path := range append(reference.Glob(t, "mirage/*/*.ctf"), reference.Glob(t, "mirage/*/*.ctf.gz")...) {
		if strings.Contains(path, "non_monotonic_time") {
			continue // without the last event that goes backwards, the one before is it
		}
		data := reference.Read(t, path)
		r, err := NewReader(data)
		if err != nil {
			continue // nothing to copy
		}
		again, _ := NewReader(data)
		c, err := NewReader(copyTrace(t, again))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(c.Packets()) != len(r.Packets()) || c.Lost() != r.Lost() {
			t.Errorf("%s: %d packets and %d lost became %d and %d", path, len(r.Packets()), r.Lost(), len(c.Packets()), c.Lost())
		}
		if got, want := text(t, c), text(t, r); got != want {
			t.Errorf("%s: the copy has other events", path)
		}
		if len(c.Damage()) > 0 {
			t.Errorf("%s: the copy is damaged: %v", path, c.Damage())
		}
	}
}

// Events that fill more than a packet come back from several.
func TestWriterPackets(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	const n = 100_000
	for i := range n {
		e := event.Event{Time: int64(i), Kind: event.Label, Thread: 1, Text: []byte("the label number")}
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	long := event.Event{Time: n, Kind: event.Label, Text: append(bytes.Repeat([]byte("x"), 3*PacketSize), "\x00cut"...)}
	if err := w.Write(&long); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	got := 0
	for ; r.Next(&e); got++ {
		if e.Time != int64(got) {
			t.Fatalf("event %d is that of time %d", got, e.Time)
		}
	}
	if got != n+1 || len(e.Text) != 3*PacketSize || len(r.Packets()) < 4 || len(r.Damage()) > 0 {
		t.Errorf("%d events, the last of %d bytes, in %d packets, damage %v", got, len(e.Text), len(r.Packets()), r.Damage())
	}
}

// babeltrace2 reads our metadata and our packets, and says of each event what
// it says with the original's metadata.
func TestBabeltrace(t *testing.T) {
	babeltrace := command(t, "babeltrace2")
	for _, path := range reference.Glob(t, "mirage/*/*bt2.txt.gz") {
		traces, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.ctf*"))
		t.Run(filepath.Base(traces[0]), func(t *testing.T) {
			dir := t.TempDir()
			r, err := NewReader(reference.Read(t, traces[0]))
			if err != nil {
				t.Fatal(err)
			}
			var metadata bytes.Buffer
			if err := WriteMetadata(&metadata, "a \"trace\"\n\\ of °C"); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "metadata"), metadata.Bytes())
			write(t, filepath.Join(dir, "stream"), copyTrace(t, r))
			var errs strings.Builder
			cmd := exec.Command(babeltrace, "--clock-gmt", dir)
			cmd.Stderr = &errs
			got, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			want := reference.Read(t, path)
			g, w := strings.Split(plain(got), "\n"), strings.Split(plain(want), "\n")
			if len(g) != len(w) && len(r.Damage()) == 0 { // behind damage, it stopped and we do not
				t.Errorf("%d lines, want %d", len(g), len(w))
			}
			for i := range min(len(g), len(w)) - 1 {
				if g[i] != w[i] {
					t.Fatalf("line %d:\n got %s\nwant %s", i, g[i], w[i])
				}
			}
		})
	}
}

// plain takes from babeltrace2's text what is its own, not the trace's.
func plain(text []byte) string {
	return regexp.MustCompile(`(?m) container = |^\[[0-9:]*`).ReplaceAllString(string(text), "")
}

func write(t *testing.T, path string, data []byte) {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// command finds a program that CI installs, and that others may not have.
func command(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v: nothing to compare with", err)
	}
	return path
}
