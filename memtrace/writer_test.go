package memtrace

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopy copies every reference trace and compares the digest with that of
// the original's copy, in every version that the original can write.
func TestCopy(t *testing.T) {
	dir := reference(t)
	lines := bufio.NewScanner(bytes.NewReader(load(t, filepath.Join(dir, "COPY_SHA256.txt"))))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		name, version, digest := f[0], f[1], f[2]
		if digest == "original-fails:" {
			continue
		}
		t.Run(name+"/"+version, func(t *testing.T) {
			trace := load(t, filepath.Join(dir, name, name+".ctf"))
			got := copyOf(t, trace, int(version[1]-'0'))
			if sum := fmt.Sprintf("%x", sha256.Sum256(got)); sum != digest || fmt.Sprint(len(got)) != f[3] {
				t.Errorf("got %s %d bytes, want %s %s", sum, len(got), digest, f[3])
				if len(f) > 4 {
					i := 0
					for i < len(got) && i < len(trace) && got[i] == trace[i] {
						i++
					}
					t.Errorf("differs at %d", i)
				}
			}
		})
	}
}

func copyOf(t testing.TB, trace []byte, version int) []byte {
	t.Helper()
	r, err := NewReaderBytes(trace)
	if err != nil {
		t.Fatal(err)
	}
	info := r.Info()
	info.Version = version
	var out bytes.Buffer
	w, err := NewWriter(&out, info, r.Locate)
	if err != nil {
		t.Fatal(err)
	}
	if err := Copy(w, r, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestStrip compares traces without names and backtraces with those that the
// original's strip makes.
func TestStrip(t *testing.T) {
	dir := reference(t)
	for _, name := range []string{"domains5_v3", "ext_v3_1e-2", "ocamlopt_v3"} {
		r, err := NewReaderBytes(load(t, filepath.Join(dir, name, name+".ctf")))
		if err != nil {
			t.Fatal(err)
		}
		info := r.Info().Anonymous()
		var out bytes.Buffer
		w, err := NewWriter(&out, info, r.Locate)
		if err != nil {
			t.Fatal(err)
		}
		start := r.Info().Start
		err = Copy(w, r, func(ev *Event) error {
			ev.Time -= start
			ev.Stack, ev.Prefix = nil, 0
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := load(t, filepath.Join(dir, "stripped", name+".stripped.ctf")); !bytes.Equal(out.Bytes(), want) {
			i := 0
			for i < out.Len() && i < len(want) && out.Bytes()[i] == want[i] {
				i++
			}
			t.Errorf("%s: %d bytes, want %d; differs at %d", name, out.Len(), len(want), i)
		}
	}
}
