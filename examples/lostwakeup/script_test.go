//go:build unix

package lostwakeup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The script that the README names writes the report.
func TestScript(t *testing.T) {
	out := filepath.Join(t.TempDir(), "told.html")
	said, err := exec.Command("sh", "report.sh", out).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>A lost wake-up</title>", "Nobody hears the signal", "good.trace", "bad.trace"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report has no %q", want)
		}
	}
}
