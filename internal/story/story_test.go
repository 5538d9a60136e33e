package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/thread"
)

// events is a source of a model.
type events []event.Event

func (e *events) Next(to *event.Event) bool {
	if len(*e) == 0 {
		return false
	}
	*to, *e = (*e)[0], (*e)[1:]
	return true
}

// model has a consumer that waits twice for a box, and two letters.
func model() *thread.Model {
	ms := func(n float64) int64 { return 1e9 + int64(n*1e6) }
	list := events{
		{Kind: event.Creates, Time: ms(0), Thread: -1, Other: 7, Type: event.Task},
		{Kind: event.Label, Time: ms(0), Thread: 7, Text: []byte("consumer")},
		{Kind: event.TryRead, Time: ms(1), Thread: 7, Other: 9},
		{Kind: event.Label, Time: ms(2), Thread: 7, Text: []byte("empty")},
		{Kind: event.TryRead, Time: ms(3), Thread: 7, Other: 9},
		{Kind: event.Label, Time: ms(4), Thread: 7, Text: []byte("empty")},
		{Kind: event.Creates, Time: ms(5), Thread: 7, Other: 8, Type: event.Task},
		{Kind: event.Label, Time: ms(5), Thread: 8, Text: []byte(`a "letter": 5`)},
		{Kind: event.Fulfills, Time: ms(6), Thread: 7, Other: 8},
		{Kind: event.Label, Time: ms(10), Thread: 7, Text: []byte("end")},
	}
	return thread.Build(&list, thread.Options{})
}

func traces() []Trace {
	return []Trace{{"good.trace", model()}, {"bad.trace", model()}, {"heap.ctf", nil}}
}

// Times are found by what happened then.
func TestTimes(t *testing.T) {
	f := finder{&traces()[0]}
	for text, ms := range map[string]float64{
		"0.0125": 12.5, "12.5ms": 12.5, " 3 us": 0.003, "1s": 1000, "2 min": 120_000, "-1ms": -1, "1e-3": 1, "1e-3s+1ms": 2,
		"start": 0, "end": 10, `end - 1ms`: 9, `"empty"`: 2, `"empty"[2]`: 4, `"empty"[-1]`: 4, `"empty"[-2]`: 2,
		`"empty" + 1ms - 500us`: 2.5, `"empty" 3ms`: 5, `start "consumer"`: 0, `end "a \"letter\": 5"`: 6,
		`wait "consumer"`: 1, `wait "consumer"[-1]-1ms`: 2, `start"a \"letter\": 5"`: 5,
	} {
		got, err := f.time(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if at, _ := strconv.ParseFloat(got, 64); math.Abs(at*1e3-ms) > 1e-9 {
			t.Errorf("%s is at %s s; want %g ms", text, got, ms)
		}
	}
	for text, why := range map[string]string{
		"":                   "is not a time",
		"soon":               "is not a time",
		"1.2.3":              "is not a time",
		"3 weeks":            "is too much",
		`"empty"[3]`:         "does not say \"empty\" more than 2 times",
		`"full"`:             "good.trace does not say \"full\" at all",
		`"empty"[0]`:         "is not a number",
		`"empty`:             "has no end",
		`"empty" -`:          "is not a length of time",
		`wait "producer"`:    "does not have a thread",
		`wait "consumer"[9]`: "does not wait more than 2 times",
	} {
		if got, err := f.time(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is at %s, %v; want an error with %q", text, got, err, why)
		}
	}
	if _, err := (finder{&traces()[2]}).time(`"empty"`); err == nil || !strings.Contains(err.Error(), "trace of memory") {
		t.Errorf("a trace of memory: %v", err)
	}
}

const told = "# A *box*\n\nTwo [letters](<#thread=\"a \\\"letter\\\": 5\"&from=1ms+1ms>) &amp; <b>more</b>.\n\n" +
	"## First\n\n```view\ntrace: bad\nfrom: \"empty\" - 1ms\nto: end\nthread: \"consumer\" @ \"empty\"\n" +
	"mark: \"empty\": it's: empty & sad\nrange: 1ms ~ \"empty\"\npin: 8\nfold: 1\n```\n\nText **bold** `co<de`\nline\n\n" +
	"- one\n- [two](https://example.org/?a=b \"t\")\n- [bad](javascript:alert)\n- ![a picture](https://example.org/x.png)\n\n" +
	"## Second\n\n```view\nhttp://127.0.0.1:3000/?token=SECRET#tab=3&from=0.5&to=1&only=size%3A1~&arrow=signal:7~8@0.034&step=4\n```\n\n### Inner\n\n" +
	"```go\nfunc f() {}\n```\n\n<script>alert(1)</script>\n\n---\n\n> quoted\n\n1. a\n"

func TestLocate(t *testing.T) {
	d, err := Parse("told.md", []byte(told))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Locate(traces())
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "A box" || len(s.Steps) != 2 || s.Steps[0].Title != "First" || s.Steps[1].Title != "Second" {
		t.Fatalf("%+v", s)
	}
	for i, want := range []url.Values{
		{"tab": {"2"}, "from": {"0.001"}, "to": {"0.01"}, "thread": {"7@0.002"}, "mark": {"0.002:it's: empty & sad"},
			"range": {"0.001~0.002"}, "pin": {"8"}, "fold": {"1"}},
		{"tab": {"3"}, "from": {"0.5"}, "to": {"1"}, "only": {"size:1~"}, "arrow": {"signal:7~8@0.034"}},
	} {
		got, err := url.ParseQuery(s.Steps[i].View)
		if err != nil || got.Encode() != want.Encode() {
			t.Errorf("step %d shows %v, %v; want %v", i+1, got, err, want)
		}
	}
	all, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	text := string(all)
	for _, want := range []string{
		`{"kind":"view","text":"tab=1\u0026thread=8%400.005\u0026from=0.002","children":[{"kind":"text","text":"letters"}]}`,
		`{"kind":"text","text":" \u0026 \u003cb\u003emore\u003c/b\u003e."}`,
		`{"kind":"strong","children":[{"kind":"text","text":"bold"}]}`, `{"kind":"code","text":"co\u003cde"}`,
		`{"kind":"a","text":"https://example.org/?a=b","children":[{"kind":"text","text":"two"}]}`,
		`{"kind":"li","children":[{"kind":"text","text":"bad"}]}`, `{"kind":"text","text":"a picture"}`,
		`{"kind":"h3","children":[{"kind":"text","text":"Inner"}]}`, `{"kind":"pre","text":"func f() {}\n"}`,
		`{"kind":"pre","text":"\u003cscript\u003ealert(1)\u003c/script\u003e\n"}`, `{"kind":"hr"}`, `{"kind":"blockquote"`, `{"kind":"ol"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, not := range []string{"SECRET", "javascript", "example.org/x.png"} {
		if strings.Contains(text, not) {
			t.Errorf("%s is in %s", not, text)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What is wrong is told with its line.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "s.md:1: there is nothing in it",
		"# a\n\n# b\n":                  "s.md:3: a second title; steps begin with ##",
		"##\n":                          "s.md:1: a step without a title",
		"a\n\xff":                       "s.md:2: not UTF-8",
		"# a\n\n```view\nfrom: 1\n```":  "s.md:4: a view before the first step, which begins with ##",
		"## a\n\n```view\nfrom 1\n```":  `s.md:4: "from 1" is not a part of a view: write it as from: 12ms`,
		"## a\n\n```view\nform: 1\n```": `s.md:4: a view has no part "form"`,
		"## a\n```view\nto: 1\n```\n```view\nto: 1\n```": "s.md:6: a second view of one step",
		"## a\n\nb\n\n[c](#from=%zz)\n":                  `s.md:5: "from=%zz" is not a part of a view`,
		"## a\n\n```view\ntrace: ugly\n```":              `s.md:4: there is no trace "ugly": only good.trace, bad.trace, heap.ctf`,
		"## a\n\n```view\nfrom: \"x\"\n```":              `s.md:4: from: good.trace does not say "x" at all`,
		"## a\n\n```view\nmark: 1ms\n```":                `s.md:4: mark: "1ms" has no : behind its time`,
		"## a\n\n```view\nthread: x\n```":                `s.md:4: thread: "x" is not a thread: its title in quotes, or its number`,
		"## a\n\n" + strings.Repeat(">", 3000) + "b":     "s.md:3: more than 64 things in each other",
	} {
		d, err := Parse("s.md", []byte(text))
		if err == nil {
			_, err = d.Locate(traces())
		}
		var typed *Error
		if err == nil || !errors.As(err, &typed) || err.Error() != want {
			t.Errorf("%.60q: %v; want %s", text, err, want)
		}
	}
	if _, err := Parse("s.md", make([]byte, MaxSize+1)); err == nil {
		t.Error("a file that is too long is read")
	}
}

// Whatever the text is, what comes of it is made of the known kinds, and no
// address leads to anything that runs.
func FuzzParse(f *testing.F) {
	f.Add(told)
	f.Add("## a\n```view\nfrom: wait \"consumer\"[-1]+1ms\nrange: 1~2\n```\n[x](#mark=\"empty\":a&pin=7)\n\n[r]: #to=end\n[r]")
	f.Add("## <img src=x onerror=alert(1)>\n\n<b>[x](JAVASCRIPT:alert(1))\n\n&#0;\\&amp; ![`x`](y)")
	kinds := map[string]bool{"p": true, "em": true, "strong": true, "code": true, "pre": true, "ul": true, "ol": true, "li": true,
		"blockquote": true, "h3": true, "hr": true, "br": true, "a": true, "view": true, "text": true}
	var check func(nodes []Node) error
	check = func(nodes []Node) error {
		for _, n := range nodes {
			if !kinds[n.Kind] {
				return fmt.Errorf("kind %q", n.Kind)
			}
			if n.Kind == "a" && !strings.HasPrefix(n.Text, "http") && !strings.HasPrefix(n.Text, "mailto:") {
				return fmt.Errorf("a link to %q", n.Text)
			}
			if n.Kind == "view" && !strings.HasPrefix(n.Text, "tab=") {
				return fmt.Errorf("a view %q", n.Text)
			}
			if err := check(n.Children); err != nil {
				return err
			}
		}
		return nil
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("s.md", []byte(text))
		if err != nil {
			return
		}
		s, err := d.Locate(traces())
		var typed *Error
		if err != nil {
			if !errors.As(err, &typed) {
				t.Fatal(err)
			}
			return
		}
		if err := check(s.Intro); err != nil {
			t.Fatal(err)
		}
		for _, step := range s.Steps {
			if err := check(step.Body); err != nil || step.Title == "" {
				t.Fatal(step.Title, err)
			}
		}
	})
}
