// Report shows what "go test -json" wrote into a file as go test shows it
// without -json: a line for each package, and what failed. It fails when a test
// failed or was skipped, and when a package has tests of which none ran.
//
//	go run ./.ci/report [-allow REGEXP] FILE
//
// A test may be skipped when the reason that it gives matches REGEXP.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// event is what go test -json writes, see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// report is what is known of the tests so far.
type report struct {
	output  map[[2]string]*strings.Builder // by package and test
	passed  int
	bad     []string // why this is a failure
	skipped []string
}

func main() {
	allow := flag.String("allow", "", "a `regexp` for the reasons for which tests may be skipped")
	flag.Parse()
	f, err := os.Open(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "report: error:", err)
		os.Exit(1)
	}
	allowed, err := regexp.Compile(*allow)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report: error:", err)
		os.Exit(1)
	}
	r := &report{output: make(map[[2]string]*strings.Builder)}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text()) // go itself speaks
			continue
		}
		r.event(&e)
	}
	if err := lines.Err(); err != nil {
		r.bad = append(r.bad, err.Error())
	}
	fmt.Printf("%d tests passed, %d were skipped\n", r.passed, len(r.skipped))
	for _, test := range r.skipped {
		if fmt.Println("skipped:", test); *allow == "" || !allowed.MatchString(test) {
			r.bad = append(r.bad, test+": here it has to run")
		}
	}
	if r.passed == 0 {
		r.bad = append(r.bad, "no test has run")
	}
	for _, why := range r.bad {
		fmt.Println("report:", why)
	}
	if len(r.bad) > 0 {
		os.Exit(1)
	}
}

func (r *report) event(e *event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "build-fail":
		r.bad = append(r.bad, "a package does not build")
	case "output":
		if e.Test == "" {
			r.packageLine(e)
			return
		}
		if r.output[key] == nil {
			r.output[key] = new(strings.Builder)
		}
		r.output[key].WriteString(e.Output)
	case "pass", "skip", "fail":
		r.end(e, key)
	}
}

// packageLine shows what go test says of a package.
func (r *report) packageLine(e *event) {
	switch line := e.Output; {
	case strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? "):
		fmt.Print(line)
		if strings.Contains(line, "[no tests to run]") {
			r.bad = append(r.bad, e.Package+" has no tests to run")
		}
	case line != "PASS\n" && !strings.HasPrefix(line, "\t"+e.Package+"\t"):
		fmt.Print(line) // FAIL, a panic, or a test's own words
	}
}

func (r *report) end(e *event, key [2]string) {
	switch {
	case e.Test == "" && e.Action == "fail":
		for k, output := range r.output { // of tests that did not end: a panic, a timeout
			if k[0] == e.Package {
				fmt.Printf("--- %s %s\n%s", e.Package, k[1], output)
			}
		}
		r.bad = append(r.bad, e.Package+" failed")
	case e.Test == "":
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skipped = append(r.skipped, e.Package+" "+e.Test+": "+why(r.output[key]))
	default:
		fmt.Printf("--- %s %s\n%s", e.Package, e.Test, r.output[key])
		r.bad = append(r.bad, e.Package+" "+e.Test+" failed")
	}
	delete(r.output, key)
}

// why is the line before the last of a skipped test, which says why.
func why(output *strings.Builder) string {
	if output == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	return strings.TrimSpace(lines[max(len(lines)-2, 0)])
}
