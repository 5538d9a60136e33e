package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/testtrace"
)

func TestServingElsewhere(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, w := io.Pipe()
	var errs strings.Builder
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"demo", "--no-open", "--http", "0.0.0.0:0"}, nil, w, &errs) }()
	bufio.NewScanner(out).Scan()
	stop()
	if got := <-status; got != 0 {
		t.Errorf("status %d", got)
	}
	if !strings.Contains(errs.String(), "warning: other machines can reach this page") {
		t.Errorf("no warning: %q", errs.String())
	}
}

func TestServingStory(t *testing.T) {
	dir := t.TempDir()
	trace, err := testtrace.Encode([]byte(`10 creates thread=0 child=1 type=Bind(2)
11 switch thread=1
11 label thread=1 label="it begins"
13 switch thread=-1
`))
	if err != nil {
		t.Fatal(err)
	}
	path, told := filepath.Join(dir, "in.ctf"), filepath.Join(dir, "in.md")
	for name, data := range map[string][]byte{path: trace, told: []byte("# A tale\n\n## It runs\n\n```view\nfrom: \"it begins\"\n```\n")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, w := io.Pipe()
	var errs strings.Builder
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"view", "--no-open", "--story", told, path}, nil, w, &errs) }()
	lines := bufio.NewScanner(out)
	lines.Scan()
	url, ok := strings.CutPrefix(lines.Text(), "mirador: serving ")
	if !ok {
		t.Fatalf("it says %q", lines.Text())
	}
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if want := `"view":"tab=1\u0026from=1e-09"`; !strings.Contains(string(page), "data-story") || !strings.Contains(string(page), want) {
		t.Errorf("the page does not have %s: %s", want, page)
	}
	stop()
	if got := <-status; got != 0 || errs.Len() > 0 {
		t.Errorf("status %d, %q", got, errs.String())
	}
}

func TestServingRefused(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		errs   string
	}{
		{"view", 2, "mirador: error: missing trace file\n"},
		{"view --no-open nothing.ctf", 1, "mirador: error: nothing.ctf: no such file or directory\n"},
		{"view --no-open .", 1, "mirador: hint: "},
		{"demo extra", 2, "mirador: error: unexpected argument"},
		{"demo --no-open --http nonsense", 1, "mirador: error: cannot serve at nonsense: "},
		{"demo --no-open --http nonsense", 1, "mirador: hint: leave --http out"},
	} {
		var out, errs strings.Builder
		if got := run(t.Context(), strings.Fields(c.args), nil, &out, &errs); got != c.status || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%s: status %d, %q", c.args, got, errs.String())
		}
	}
}
