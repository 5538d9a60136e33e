package event

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// replaced is what a text becomes in JSON: a byte that is not part of valid
// UTF-8 becomes U+FFFD, each for itself.
func replaced(text string) string {
	var b strings.Builder
	for _, r := range text { // ranging does just that
		b.WriteRune(r)
	}
	return b.String()
}

func FuzzJSONString(f *testing.F) {
	for _, text := range []string{"", "plain", "\"\\\x00\x1f\x7f", "Zürich 日本 🐫", "caf\xe9 \xff\xc3", "\xed\xa0\x80", "\u2028<>&"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := AppendJSONString([]byte("x"), text)
		if string(got) != "x"+string(AppendJSONString(nil, []byte(text))) {
			t.Errorf("%q: bytes and string differ", text)
		}
		var back string
		if err := json.Unmarshal(got[1:], &back); err != nil {
			t.Fatalf("%q: %v: %s", text, err, got)
		}
		if back != replaced(text) || !utf8.Valid(got) {
			t.Errorf("%q became %q", text, back)
		}
	})
}

// The text form of any kind of event gives the event back, and its JSON form
// has the same fields.
func TestTextOfEveryKind(t *testing.T) {
	for k := range NumKinds {
		e := Event{Time: -5, Kind: k, Thread: -1, Other: 1 << 62, Value: -1 << 63, Type: OnSuccess, Text: []byte("a\x00=\" b\xff")}
		line := e.AppendText(nil)
		var again Event
		if err := again.ParseText(line); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if got := again.AppendText(nil); string(got) != string(line) {
			t.Errorf("%s became %s", line, got)
		}
		var fields map[string]any
		if err := json.Unmarshal(e.AppendJSON(nil), &fields); err != nil {
			t.Errorf("%v: %s", err, e.AppendJSON(nil))
		}
		spec := &Specs[k]
		want := 4 // off, t, op, name
		for _, name := range []string{spec.Thread, spec.Other, spec.Value, spec.Text} {
			if name == "" {
				continue
			}
			want++
			if _, ok := fields[name]; !ok {
				t.Errorf("%v has no field %s: %v", k, name, fields)
			}
		}
		if spec.Typed {
			want += 2 // thread_type, type
		}
		if len(fields) != want || fields["name"] != k.String() {
			t.Errorf("%v has the fields %v", k, fields)
		}
	}
}

// Lines that are no events are errors, and never a panic.
func FuzzParseText(f *testing.F) {
	f.Add([]byte(`6777606524742 increase thread=0 amount=1 counter="gntref"`))
	f.Add([]byte(`1 creates thread=0 child=1 type=Bind(2)`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Event
		if e.ParseText(line) != nil {
			return
		}
		var again Event
		text := e.AppendText(nil)
		if err := again.ParseText(text); err != nil {
			t.Fatalf("%q became %q: %v", line, text, err)
		}
	})
}
