package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/engine"
)

// Issue 4: view takes traces of threads and of memory alike, from files and
// from standard input, whole and cut.
func TestLoadViewed(t *testing.T) {
	memory, err := os.ReadFile("testdata/mem/interp.ctf")
	if err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadFile("../../testdata/odd.ctf")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		stdin      []byte
		memory     bool
		says       string
	}{
		{"file", "testdata/mem/leak.ctf.gz", nil, true, ""},
		{"threads", "../../testdata/odd.ctf", nil, false, ""},
		{"stdin", "-", memory, true, ""},
		{"cut", "-", memory[:len(memory)-100], true, "the trace ends inside a packet"},
		{"threads from stdin", "-", threads, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var errs bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			cmd.SetIn(bytes.NewReader(c.stdin))
			cmd.SetErr(&errs)
			trace, err := loadViewed(cmd, c.path, "it")
			if err != nil {
				t.Fatal(err)
			}
			var e engine.Engine
			e.Add(trace)
			answer := e.Handle(nil, []byte(`{"v":1,"ask":"hello"}`))
			var hello engine.Hello
			if err := json.Unmarshal(answer[16:], &struct{ Traces *[]engine.TraceInfo }{&hello.Traces}); err != nil {
				t.Fatal(err)
			}
			if info := hello.Traces[0]; (info.Memory != nil) != c.memory || info.Events == 0 || info.Name != "it" {
				t.Errorf("it is %+v", info)
			}
			if c.says != "" && !strings.Contains(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
				t.Errorf("it says %q", &errs)
			}
		})
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetIn(strings.NewReader("no trace"))
	cmd.SetErr(new(bytes.Buffer))
	if _, err := loadViewed(cmd, "-", "it"); err == nil {
		t.Error("it takes what is no trace")
	}
}
