package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/reference"
)

// The tests of this file hold what issue 2 promises to the scripts of others,
// for each reference trace: what the commands print with --json is, once
// parsed, what the original software said of the same trace.

// tornEvents names the traces whose last event is what remains of one that was
// being written. The original takes it for one, or dies of it; we drop it and
// say so, so that what we print of these differs from its files by that.
var tornEvents = []string{"torn/k2", "torn/k14", "torn/y17", "edge/create_time_zero_thread", "edge/non_monotonic_time"}

// referenceTrace is a trace and what lies beside it.
type referenceTrace struct {
	name string // "edge/scales"
	path string
}

// referenceTraces lists all of them; with -short only the small ones.
func referenceTraces(t *testing.T) (traces []referenceTrace) {
	dir := filepath.Join(reference.Dir(t), "mirage")
	for _, path := range append(reference.Glob(t, "mirage/*/*.ctf"), reference.Glob(t, "mirage/*/*.ctf.gz")...) {
		if info, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if testing.Short() && info.Size() > 20_000 {
			continue
		}
		name, err := filepath.Rel(dir, strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".ctf"))
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, referenceTrace{filepath.ToSlash(name), path})
	}
	return traces
}

// beside returns a file that the original software made of the trace, under
// one of its names, or "".
func (r referenceTrace) beside(kind string) string {
	dir := filepath.Dir(r.path)
	names := []string{filepath.Join(dir, kind+".gz")}
	if base := filepath.Base(dir); base == "edge" || base == "torn" {
		names = []string{filepath.Join(dir, filepath.Base(r.name)+"."+strings.Replace(kind, ".jsonl", ".json", 1))}
		names = append(names, names[0]+".gz")
	}
	for _, name := range names {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}

// mirador runs a command and returns what it printed.
func mirador(args ...string) (out, errs string, status int) {
	var o, e bytes.Buffer
	status = run(context.Background(), args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), status
}

func parseJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // counters have 63 bits
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return v
}

func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func TestContractDump(t *testing.T) {
	compared := 0
	for _, r := range referenceTraces(t) {
		path := r.beside("events.jsonl")
		if path == "" {
			continue
		}
		compared++
		t.Run(r.name, func(t *testing.T) {
			var want []any
			damaged := false
			for _, line := range lines(string(reference.Read(t, path))) {
				v := reference.Repair(parseJSON(t, line)).(map[string]any)
				if v["error"] != nil {
					damaged = true // this is where the original stopped
					continue
				}
				want = append(want, v)
			}
			if slices.Contains(tornEvents, r.name) {
				damaged = true
				last := len(want) - 1
				for want[last].(map[string]any)["packet"] != nil {
					last--
				}
				want = slices.Delete(want, last, last+1)
			}
			out, errs, status := mirador("dump", "--json", r.path)
			if status != 0 {
				t.Fatalf("status %d: %s", status, errs)
			}
			var got []any
			for _, line := range lines(out) {
				got = append(got, parseJSON(t, line))
			}
			if last := got[len(got)-1].(map[string]any); last["damage"] != nil {
				if !damaged || errs == "" {
					t.Errorf("damage %v, and on standard error %q", last, errs)
				}
				got = got[:len(got)-1]
			} else if damaged || errs != "" {
				t.Errorf("no damage is told, but on standard error %q", errs)
			}
			if len(got) != len(want) {
				t.Errorf("%d lines, want %d", len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("line %d: %v, want %v", i+1, got[i], want[i])
				}
			}
		})
	}
	if compared < 35 && !testing.Short() {
		t.Errorf("only %d traces compared", compared)
	}
}

func TestContractThreads(t *testing.T) {
	compared := 0
	for _, r := range referenceTraces(t) {
		for kind, flags := range map[string][]string{"model.json": nil, "model-nosimplify.json": {"--no-simplify"}} {
			path := r.beside(kind)
			if path == "" || slices.Contains(tornEvents, r.name) {
				continue
			}
			compared++
			t.Run(r.name+strings.Join(flags, ""), func(t *testing.T) {
				out, errs, status := mirador(append([]string{"threads", "--json", r.path}, flags...)...)
				if status != 0 {
					t.Fatalf("status %d: %s", status, errs)
				}
				// As float64, so that equal means equal to the last bit.
				var got, want map[string]any
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(reference.Read(t, path), &want); err != nil {
					t.Fatal(err)
				}
				reference.Repair(want)
				for key := range maps.Keys(want) {
					if !reflect.DeepEqual(got[key], want[key]) {
						t.Errorf("%s differs%s", key, difference(got[key], want[key]))
					}
				}
				if len(got) != len(want) {
					t.Errorf("the object's fields are %v, want %v",
						slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
				}
			})
		}
	}
	if compared < 35 && !testing.Short() {
		t.Errorf("only %d models compared", compared)
	}
}

// difference shows the first element in which two lists differ.
func difference(got, want any) string {
	a, _ := got.([]any)
	b, _ := want.([]any)
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			x, _ := json.Marshal(a[i])
			y, _ := json.Marshal(b[i])
			return ":\n got " + string(x) + "\nwant " + string(y)
		}
	}
	return ""
}

// Every reference trace can be read, but those with no whole packet; also the
// ones at which the original gives up. What info counts is what dump prints.
func TestContractEveryTrace(t *testing.T) {
	unreadable := []string{"edge/bad_magic", "edge/bad_uuid", "edge/content_lt_header", "edge/content_zero",
		"edge/empty_file", "edge/size_zero"}
	for _, r := range referenceTraces(t) {
		t.Run(r.name, func(t *testing.T) {
			info, infoErrs, status := mirador("info", "--json", r.path)
			if slices.Contains(unreadable, r.name) {
				if status != 1 || info != "" || !strings.Contains(infoErrs, "mirador: error: "+r.path+": ") ||
					!strings.Contains(infoErrs, "\nmirador: hint: ") {
					t.Errorf("status %d, standard output %q, standard error %q", status, info, infoErrs)
				}
				return
			}
			if status != 0 {
				t.Fatalf("status %d: %s", status, infoErrs)
			}
			var about struct {
				Format   string
				Events   *int
				Threads  *int
				Packets  *int
				Lost     *int   `json:"lost_packets"`
				Duration *int64 `json:"duration_ns"`
				Damage   []event.Damage
				Passed   int `json:"passed_over"`
			}
			if err := json.Unmarshal([]byte(info), &about); err != nil {
				t.Fatal(err)
			}
			if about.Format != "mirage" || about.Duration == nil || about.Lost == nil || about.Damage == nil {
				t.Fatalf("%s", info)
			}
			for _, d := range about.Damage {
				if !strings.Contains(infoErrs, fmt.Sprintf("mirador: warning: %s: %v\n", r.path, d)) {
					t.Errorf("damage %v, but on standard error %q", d, infoErrs)
				}
			}
			if warned := infoErrs != ""; warned != (len(about.Damage)+about.Passed > 0) {
				t.Errorf("damage %v, %d events passed over, and on standard error %q", about.Damage, about.Passed, infoErrs)
			}
			dump, _, status := mirador("dump", "--json", r.path)
			if status != 0 {
				t.Fatalf("dump: status %d", status)
			}
			events, packets := strings.Count(dump, `{"off":`), strings.Count(dump, `{"packet":`)
			if events != *about.Events || packets != *about.Packets {
				t.Errorf("info counts %d events in %d packets, dump prints %d in %d", *about.Events, *about.Packets, events, packets)
			}
			threads, errs, status := mirador("threads", "--json", r.path)
			if status != 0 {
				t.Fatalf("threads: status %d: %s", status, errs)
			}
			if errs != infoErrs {
				t.Errorf("threads says %q, info %q", errs, infoErrs)
			}
			var model struct{ Threads []any }
			if err := json.Unmarshal([]byte(threads), &model); err != nil {
				t.Fatal(err)
			}
			if len(model.Threads) != *about.Threads {
				t.Errorf("info counts %d threads, the model has %d", *about.Threads, len(model.Threads))
			}
		})
	}
}
