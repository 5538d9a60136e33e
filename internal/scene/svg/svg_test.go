package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/scene"
	"github.com/mirador-trace/mirador/internal/scene/palette"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func small(t testing.TB) []byte {
	b, err := os.ReadFile("../testdata/small.mdl")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func paintBytes(t testing.TB, list []byte) (string, error) {
	l, err := scene.Decode(list)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = Write(&b, l, palette.Light)
	return b.String(), err
}

func TestGolden(t *testing.T) {
	got, err := paintBytes(t, small(t))
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/small.svg"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is another picture (go test -update, then look at it)", path)
	}
	checkXML(t, got)
	// What is drawn as shapes is told as text, too.
	for _, s := range []string{"<title>main</title>", "<title>Timeout</title>", "<title>never", `class="read-arrow"`, `stroke-dasharray="12 2"`} {
		if strings.Contains(got, s) == (s == "<title>never") {
			t.Errorf("%s: %v", s, !strings.Contains(got, s))
		}
	}
}

// checkXML reads the picture as XML, and looks whether each glyph that is used
// is there.
func checkXML(t *testing.T, picture string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	ids := make(map[string]bool)
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in %.2000s", err, picture)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			if a.Name.Local == "id" {
				ids[a.Value] = true
			}
			if a.Name.Local == "href" && !ids[strings.TrimPrefix(a.Value, "#")] {
				t.Fatalf("no glyph %s", a.Value)
			}
		}
	}
}

func TestDamaged(t *testing.T) {
	list := small(t)
	list[40+len(list)/2] ^= 0xff
	var l scene.List
	var b bytes.Buffer
	var format *scene.FormatError
	if err := Write(&b, &l, palette.Light); !errors.As(err, &format) || b.Len() > 0 {
		t.Errorf("an empty list: %v, %d bytes", err, b.Len())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteError(t *testing.T) {
	l, err := scene.Decode(small(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(failing{}, l, palette.Dark); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}

// Whatever a list is, it becomes well-formed XML or an error.
func FuzzWrite(f *testing.F) {
	f.Add(small(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := paintBytes(t, b); err == nil && len(got) < 1<<20 {
			checkXML(t, got)
		}
	})
}
