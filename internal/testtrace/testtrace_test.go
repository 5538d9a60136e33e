package testtrace

import (
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
)

// What is written down is what a reader reads.
func TestEncode(t *testing.T) {
	trace, err := Encode([]byte(`
# The second packet is the older one.
packet count=8
30 switch thread=2
packet count=7 size=200
10 creates thread=0 child=2 type=Bind(2)
20 label thread=2 label="a\nb"
bytes 00
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := mirage.NewReader(trace)
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	var got []string
	for r.Next(&e) {
		got = append(got, string(e.AppendText(nil)))
	}
	const want = "10 creates thread=0 child=2 type=Bind(2)\n20 label thread=2 label=\"a\\nb\"\n30 switch thread=2"
	if strings.Join(got, "\n") != want {
		t.Errorf("got %q", got)
	}
	if len(trace) != 200+30+17 || len(r.Packets()) != 2 {
		t.Errorf("%d bytes in %d packets", len(trace), len(r.Packets()))
	}
	if d := r.Damage(); len(d) != 1 || d[0].Offset != 47+30+26+21 {
		t.Errorf("damage %v", d)
	}
}

func TestEncodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\nfoo":                       "line 2: parse time",
		"1 foo":                       `line 1: unknown event "foo"`,
		"1 switch thread=1 child=2":   `line 1: switch has no field "child"`,
		"1 switch":                    "line 1: 1 switch is written",
		"packet colour=3":             "line 1: packets have no colour",
		"packet size=x":               "line 1: ",
		"bytes 0":                     "line 1: ",
		"1 wait thread=1 reason=\"\"": "line 1: write event: wait has no operation",
	} {
		if _, err := Encode([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
