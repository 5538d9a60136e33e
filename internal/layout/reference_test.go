package layout_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/layout"
	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/internal/thread"
)

// The original viewer's model and rows of each reference trace, to the last
// bit: what the viewer printed must be what we print, once parsed.
func TestModelIsTheOriginals(t *testing.T) {
	traces := append(reference.Glob(t, "mirage/*/*.ctf"), reference.Glob(t, "mirage/*/*.ctf.gz")...)
	compared := 0
	for _, trace := range traces {
		base := strings.TrimSuffix(strings.TrimSuffix(trace, ".gz"), ".ctf")
		dir := filepath.Dir(trace)
		models := map[string]bool{filepath.Join(dir, "model.json.gz"): false,
			filepath.Join(dir, "model-nosimplify.json.gz"): true}
		if name := filepath.Base(dir); name == "edge" || name == "torn" {
			models = map[string]bool{base + ".model.json": false, base + ".model.json.gz": false}
		}
		for path, keep := range models {
			if m, _ := filepath.Glob(path); m == nil || isMended(path) {
				continue
			}
			compared++
			t.Run(strings.TrimPrefix(path, reference.Dir(t)), func(t *testing.T) {
				compareModel(t, reference.Read(t, trace), reference.Read(t, path), keep)
			})
		}
	}
	if compared < 30 {
		t.Errorf("only %d models compared", compared)
	}
}

// mended names the traces whose last event is torn: the original takes it for
// one, we do not, so the models have to differ.
var mended = []string{"torn/k2.", "torn/k14.", "edge/non_monotonic"}

func isMended(path string) bool {
	for _, name := range mended {
		if strings.Contains(path, name) {
			return true
		}
	}
	return false
}

func compareModel(t *testing.T, trace, want []byte, keepBinds bool) {
	r, err := mirage.NewReader(trace)
	if err != nil {
		t.Fatal(err)
	}
	m := thread.Build(r, thread.Options{KeepBinds: keepBinds})
	layout.Arrange(m)
	var out bytes.Buffer
	if err := m.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	reference.Repair(b)
	if reflect.DeepEqual(a, b) {
		return
	}
	shown := 0
	differ("", a, b, func(path string, a, b any) {
		if shown++; shown <= 10 {
			t.Errorf("%s: got %v, want %v", path, a, b)
		}
	})
}

// differ calls found for the places where two parsed files differ.
func differ(path string, a, b any, found func(path string, a, b any)) {
	if reflect.DeepEqual(a, b) {
		return
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			for k := range x {
				differ(path+"."+k, x[k], y[k], found)
			}
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				differ(fmt.Sprintf("%s[%d]", path, i), x[i], y[i], found)
			}
			return
		}
	}
	found(path, a, b)
}
