package mirador

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// With the build tag mirador_off, a function that records has the same
// instructions as one that does not.
func TestBuiltOff(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("not disassembled on " + runtime.GOARCH)
	}
	program := filepath.Join(t.TempDir(), "off")
	if out, err := exec.Command("go", "build", "-tags", "mirador_off", "-o", program, "./testdata/off").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	disassemble := func(function string) (instructions []string) {
		out, err := exec.Command("go", "tool", "objdump", "-s", "^main."+function+"$", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			// file:line, address, bytes, and then what counts
			if f := strings.Fields(line); len(f) > 3 && strings.HasPrefix(f[1], "0x") {
				instructions = append(instructions, strings.Join(f[3:], " "))
			}
		}
		if len(instructions) == 0 {
			t.Fatalf("no instructions of %s", function)
		}
		return instructions
	}
	with, without := disassemble("with"), disassemble("without")
	if strings.Join(with, "\n") != strings.Join(without, "\n") {
		t.Errorf("with:\n%s\nwithout:\n%s", strings.Join(with, "\n"), strings.Join(without, "\n"))
	}
	// Two functions that lock have different addresses to jump to, and as much
	// between the instructions as aligns them.
	opcodes := func(function string) string {
		all := regexp.MustCompile(`(?m) .*$`).ReplaceAllString(strings.Join(disassemble(function), "\n"), "")
		return strings.ReplaceAll(all, "NOPL\n", "")
	}
	if a, b := opcodes("withLock"), opcodes("withoutLock"); a != b {
		t.Errorf("with a named mutex:\n%s\nwith another:\n%s", a, b)
	}
	// And it starts nothing, whatever is requested.
	cmd := exec.Command(program)
	dir := filepath.Join(t.TempDir(), "trace")
	cmd.Env = []string{"MIRADOR=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v %s", err, out)
	}
	if left, _ := filepath.Glob(dir); len(left) > 0 {
		t.Errorf("it has made %v", left)
	}
}
