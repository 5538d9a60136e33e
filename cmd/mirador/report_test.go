package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

// embedded returns the first trace of a report, unpacked.
func embedded(t *testing.T, report []byte) []byte {
	t.Helper()
	m := regexp.MustCompile(`data-report="trace-0">([^<]*)<`).FindSubmatch(report)
	if m == nil {
		t.Fatal("there is no trace in the report")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(m[1])))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Issue 6: a report that was cut contains nothing outside its window.
func TestCutReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.ctf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := mirage.NewWriter(f)
	for i := range int64(100) { // each lives for 1 ms, and says what it knows in the middle
		for _, e := range []event.Event{
			{Kind: event.Creates, Time: i * 1e6, Thread: -1, Other: i + 1, Type: event.Task},
			{Kind: event.Label, Time: i * 1e6, Thread: i + 1, Text: fmt.Appendf(nil, "name <%d>", i)},
			{Kind: event.Switch, Time: i * 1e6, Thread: i + 1},
			{Kind: event.Label, Time: i*1e6 + 5e5, Thread: i + 1, Text: fmt.Appendf(nil, "secret <%d>", i)},
			{Kind: event.Fulfills, Time: i*1e6 + 9e5, Thread: i + 1, Other: i + 1},
		} {
			if err := w.Write(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var out, errs bytes.Buffer
	args := strings.Fields("report -o - --from 20.7ms --to 30.2ms " + path)
	if status := run(t.Context(), args, nil, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d, %s", status, &errs)
	}
	data := embedded(t, out.Bytes())
	for i := range 100 {
		name, secret := fmt.Sprintf("name <%d>", i), fmt.Sprintf("secret <%d>", i)
		if got, want := bytes.Contains(data, []byte(name)), i >= 20 && i <= 30; got != want {
			t.Errorf("%s: in the report %v", name, got)
		}
		if got, want := bytes.Contains(data, []byte(secret)), i >= 21 && i <= 29; got != want {
			t.Errorf("%s: in the report %v", secret, got)
		}
	}
}
