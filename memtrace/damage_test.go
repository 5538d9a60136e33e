package memtrace

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// summary is one line per damaged file: what comes out of it.
func summary(r *Reader, err error) string {
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	var ev Event
	events := 0
	last := map[uint16][]Frame{}
	for {
		if err := r.Next(&ev); err != nil {
			if err != io.EOF {
				return fmt.Sprintf("error: %v", err)
			}
			break
		}
		events++
		if ev.Kind == Alloc {
			if p := last[ev.Domain]; ev.Prefix > len(p) || !slices.Equal(ev.Stack[:ev.Prefix], p[:ev.Prefix]) {
				return fmt.Sprintf("event %d does not share %d frames with the one before", events, ev.Prefix)
			}
			last[ev.Domain] = slices.Clone(ev.Stack)
		}
	}
	var b strings.Builder
	s := r.Stats()
	fmt.Fprintf(&b, "events=%d uncertain=%d damaged=%d foreign=%d skipped=%d", events, s.Uncertain, s.Damaged, s.Foreign, s.SkippedBytes)
	for _, d := range r.Damage() {
		fmt.Fprintf(&b, "\n\t%v", d)
	}
	return b.String()
}

// TestBroken reads the damaged reference traces. What comes out of each is in
// testdata/broken.txt; it must be at least what the original reader gets.
func TestBroken(t *testing.T) {
	dir := reference(t)
	original := map[string]int{}
	line := regexp.MustCompile(`(?m)^(\S+) \| rc=\d+ \| events=(\d+)`)
	for _, m := range line.FindAllStringSubmatch(string(load(t, filepath.Join(dir, "broken", "BEHAVIOUR_original_reader.txt"))), -1) {
		original[m[1]], _ = strconv.Atoi(m[2])
	}
	files, err := filepath.Glob(filepath.Join(dir, "broken", "*.ctf.gz"))
	if err != nil || len(files) != 25 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	slices.Sort(files)
	var got strings.Builder
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".gz")
		data := load(t, strings.TrimSuffix(path, ".gz"))
		text := summary(NewReaderBytes(data))
		fmt.Fprintf(&got, "%s: %s\n", name, text)
		var events int
		fmt.Sscanf(text, "events=%d", &events)
		if events < original[name] {
			t.Errorf("%s: %d events, and the original reads %d", name, events, original[name])
		}
		if stream := summary(NewReader(bytes.NewReader(data))); firstField(stream) != firstField(text) {
			t.Errorf("%s: as a stream it is\n%s\nand as bytes\n%s", name, stream, text)
		}
	}
	golden := filepath.Join("testdata", "broken.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func firstField(s string) string {
	s, _, _ = strings.Cut(s, " ")
	return s
}
