package mirage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/reference"
)

// Every event of the reference traces, in the original viewer's order, and
// the packets they came from.
func TestEventsAreTheOriginals(t *testing.T) {
	traces := append(reference.Glob(t, "mirage/*/*.ctf"), reference.Glob(t, "mirage/*/*.ctf.gz")...)
	compared := 0
	for _, trace := range traces {
		base := strings.TrimSuffix(strings.TrimSuffix(trace, ".gz"), ".ctf")
		for _, path := range []string{filepath.Join(filepath.Dir(trace), "events.jsonl.gz"),
			base + ".events.json", base + ".events.json.gz"} {
			if found, _ := filepath.Glob(path); found == nil {
				continue
			}
			compared++
			t.Run(strings.TrimPrefix(base, reference.Dir(t)+"/"), func(t *testing.T) {
				compareEvents(t, reference.Read(t, trace), reference.Read(t, path))
			})
		}
	}
	if compared < 30 {
		t.Errorf("only %d traces compared", compared)
	}
}

// torn names the traces whose last event is what remains of one that was being
// written, and which the original takes for one.
var torn = map[string]bool{"mirage/torn/k2": true, "mirage/torn/k14": true, "mirage/torn/y17": true,
	"mirage/edge/create_time_zero_thread": true, "mirage/edge/non_monotonic_time": true}

func compareEvents(t *testing.T, trace, want []byte) {
	var wanted []any
	damaged := false
	lines := bufio.NewScanner(bytes.NewReader(want))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := parse(t, lines.Text())
		reference.Repair(line)
		if _, failed := line["error"]; failed {
			damaged = true
			continue
		}
		wanted = append(wanted, line)
	}
	_, name, _ := strings.Cut(t.Name(), "/")
	if torn[name] {
		i := len(wanted) - 1
		for wanted[i].(map[string]any)["packet"] != nil {
			i--
		}
		wanted = slices.Delete(wanted, i, i+1)
		damaged = true
	}
	r, err := NewReader(trace)
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	var e event.Event
	packet := -1
	for r.Next(&e) {
		for ; packet < r.Current(); packet++ {
			got = append(got, packetLine(r.Packets()[packet+1]))
		}
		got = append(got, parse(t, string(e.AppendJSON(nil))))
	}
	for ; packet < len(r.Packets())-1; packet++ {
		got = append(got, packetLine(r.Packets()[packet+1]))
	}
	if len(got) != len(wanted) {
		t.Errorf("got %d lines, want %d", len(got), len(wanted))
	}
	for i := range min(len(got), len(wanted)) {
		if !reflect.DeepEqual(got[i], wanted[i]) {
			t.Fatalf("line %d: got %v, want %v", i, got[i], wanted[i])
		}
	}
	if has := len(r.Damage()) > 0; has != damaged {
		t.Errorf("damage is %v, want some: %v", r.Damage(), damaged)
	}
}

func packetLine(p Packet) map[string]any {
	return map[string]any{"packet": float64(p.Offset), "seq_rel": float64(p.Seq), "content_end": float64(p.End)}
}

func parse(t *testing.T, line string) map[string]any {
	var v map[string]any
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return v
}
