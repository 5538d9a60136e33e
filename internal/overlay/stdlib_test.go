package overlay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStandardLibrary runs the standard library's own tests on the patched
// runtime. It takes minutes: MIRADOR_STDLIB names the packages, and "1" those
// that use what is edited.
//
// What fails is run again, on the patched runtime and on the toolchain's own.
// It is the patch's fault when only the patched one fails again, and always when
// the runtime crashed. What else failed is said: run it with -v.
func TestStandardLibrary(t *testing.T) {
	packages := os.Getenv("MIRADOR_STDLIB")
	switch packages {
	case "":
		t.Skip("takes minutes: set MIRADOR_STDLIB=1")
	case "1":
		packages = "runtime/pprof sync context encoding/json net/http"
	}
	tool := toolchain(t)
	o, err := tool.Prepare("", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(packages) {
		t.Run(p, func(t *testing.T) {
			patched := func(more ...string) *tested {
				line, env := o.Command("test", append(testFlags(p), more...))
				return goTest(t, line, env)
			}
			first := patched()
			t.Logf("%d tests passed, %d were skipped, in %v", first.passed, first.skipped, first.took.Round(time.Second))
			switch {
			case first.crash != "":
				t.Fatalf("the runtime crashes: %s\n%s", first.crash, first.output)
			case first.ok && first.passed > 0:
				return
			case len(first.failed) == 0:
				t.Fatalf("no test has run, or the package fails without one:\n%s", first.output)
			}
			again := "-run=^(" + strings.Join(first.failed, "|") + ")$"
			own := goTest(t, append([]string{filepath.Join(tool.Root, "bin", "go"), "test"}, append(testFlags(p), again)...),
				[]string{"GOTOOLCHAIN=local"})
			second := patched(again)
			if second.crash != "" {
				t.Errorf("the runtime crashes: %s\n%s", second.crash, second.output)
			}
			for _, name := range first.failed {
				switch verdict, ours := judge(name, own, second); {
				case ours:
					t.Errorf("%s %s:\n%s", name, verdict, second.output)
				default:
					t.Logf("%s %s:\n%s", name, verdict, first.output)
				}
			}
		})
	}
}

// judge says why a test of that name may have failed on the patched runtime,
// when it was run again on the toolchain's own and on the patched one, and
// whether the patch is to blame.
func judge(name string, own, second *tested) (verdict string, ours bool) {
	switch {
	case slices.Contains(own.failed, name):
		return "fails without the patch, too", false
	case own.passed == 0:
		return "fails, and cannot be run without the patch", true
	case slices.Contains(second.failed, name):
		return "fails with the patch alone", true
	case second.passed == 0:
		return "failed, and cannot be run again", true
	}
	return "failed once, and passed when it was run again", false
}

func testFlags(pkg string) []string {
	return []string{"-json", "-short", "-count=1", "-timeout=8m", pkg}
}

// tested is what came of a go test -json.
type tested struct {
	ok              bool
	took            time.Duration
	passed, skipped int      // tests, with those in others
	failed          []string // tests that are in no others
	crash           string   // the line that says so
	output          string   // but for what passed
}

// crashes are the lines with which the runtime gives up.
var crashes = regexp.MustCompile(`(?m)^(fatal error|runtime: |unexpected fault|SIG[A-Z]+: ).*`)

func goTest(t *testing.T, line, env []string) *tested {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = new(bytes.Buffer)
	began := time.Now()
	out, err := cmd.Output()
	r := &tested{ok: err == nil, took: time.Since(began)}
	output := map[string][]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Action {
		case "output", "build-output":
			output[e.Test] = append(output[e.Test], e.Output)
		case "pass":
			if e.Test != "" {
				r.passed++
				delete(output, e.Test)
			}
		case "skip":
			r.skipped++
			delete(output, e.Test)
		case "fail":
			if e.Test != "" && !strings.Contains(e.Test, "/") {
				r.failed = append(r.failed, e.Test)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range sorted(output) {
		r.output += strings.Join(output[name], "")
	}
	r.output += cmd.Stderr.(*bytes.Buffer).String()
	if !r.ok {
		r.crash = crashes.FindString(r.output)
	}
	return r
}

// TestCrash: what the runtime says when it gives up is told from what a test
// says when it fails.
func TestCrash(t *testing.T) {
	for text, want := range map[string]string{
		"--- FAIL: TestX\n    x_test.go:1: fatal error in it\n":      "",
		"=== RUN TestX\nfatal error: found bad pointer in Go heap\n": "fatal error: found bad pointer in Go heap",
		"SIGSEGV: segmentation violation\nPC=0x1\n":                  "SIGSEGV: segmentation violation",
	} {
		if got := crashes.FindString(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestJudge(t *testing.T) {
	passes, fails, none := &tested{passed: 3}, &tested{passed: 2, failed: []string{"TestX"}}, &tested{}
	for _, c := range []struct {
		own, second *tested
		ours        bool
	}{
		{passes, fails, true}, {fails, fails, false}, {fails, passes, false}, {passes, passes, false},
		{none, fails, true}, {passes, none, true},
	} {
		if verdict, ours := judge("TestX", c.own, c.second); ours != c.ours {
			t.Errorf("%+v, %+v: %s", c.own, c.second, verdict)
		}
	}
}
