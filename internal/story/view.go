package story

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// view is what a view says, before it is looked for.
type view struct {
	line  int
	step  int  // -1 for one of the introduction
	whole bool // it is the step's, not that of a link in a text
	parts []part
}

type part struct{ name, value string }

// located are the parts that [Draft.Locate] works on; the others are passed on.
var located = []string{"trace", "tab", "from", "to", "thread", "mark", "range", "pin", "chain"}

// passed are parts of the page's address that say the same in each recording,
// and arrow, which is that of one.
var passed = []string{"rows", "focus", "scroll", "search", "hide", "fold", "show", "arrow",
	"only", "brush", "against", "base", "inverted", "flipped", "function", "at"}

// add adds a part.
func (v *view) add(name, value string) error {
	if name == "step" {
		return nil // a link that was copied while a story was told has it
	}
	if !slices.Contains(located, name) && !slices.Contains(passed, name) {
		return fmt.Errorf("a view has no part %q", name)
	}
	v.parts = append(v.parts, part{name, value})
	return nil
}

// fragment adds the parts of a fragment of the page's address.
func (v *view) fragment(text string) error {
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			return fmt.Errorf("%q is not a part of a view", pair)
		}
		if err := v.add(name, plain); err != nil {
			return err
		}
	}
	return nil
}

// scanner reads a value from left to right.
type scanner struct{ rest string }

func (s *scanner) space() { s.rest = strings.TrimLeft(s.rest, " \t") }

// take takes a prefix if it is there.
func (s *scanner) take(prefix string) bool {
	s.space()
	rest, ok := strings.CutPrefix(s.rest, prefix)
	if ok {
		s.rest = rest
	}
	return ok
}

// word takes one of some words.
func (s *scanner) word(words ...string) string {
	for _, w := range words {
		if s.take(w) {
			return w
		}
	}
	return ""
}

// quoted takes a text in quotes, and the number behind it: 1 if there is none.
func (s *scanner) quoted() (text string, n int, ok bool, err error) {
	s.space()
	if !strings.HasPrefix(s.rest, `"`) {
		return "", 0, false, nil
	}
	prefix, err := strconv.QuotedPrefix(s.rest)
	if err != nil {
		return "", 0, false, fmt.Errorf("the text in %s has no end", s.rest)
	}
	text, err = strconv.Unquote(prefix)
	if err != nil {
		return "", 0, false, fmt.Errorf("%s is not a text in quotes", prefix)
	}
	s.rest = s.rest[len(prefix):]
	inside, ok := strings.CutPrefix(s.rest, "[")
	if !ok {
		return text, 1, true, nil
	}
	number, rest, _ := strings.Cut(inside, "]")
	n, err = strconv.Atoi(number)
	if err != nil || n == 0 {
		return "", 0, false, fmt.Errorf("[%s] is not a number from 1 or from -1 on", number)
	}
	s.rest = rest
	return text, n, true, nil
}

// number takes a number, and a length of time with its unit if there is one.
func (s *scanner) number() (seconds float64, ok bool, err error) {
	s.space()
	end := 0
	for end < len(s.rest) && (strings.IndexByte("0123456789.", s.rest[end]) >= 0 ||
		end > 0 && (s.rest[end] == 'e' || s.rest[end-1] == 'e' && strings.IndexByte("+-", s.rest[end]) >= 0) ||
		end == 0 && s.rest[0] == '-') {
		end++
	}
	if end == 0 {
		return 0, false, nil
	}
	text := s.rest[:end]
	seconds, err = strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%q is not a time", s.rest)
	}
	s.rest = s.rest[end:]
	unit := s.word("ms", "us", "µs", "ns", "min", "s", "h")
	if unit == "" {
		return seconds, true, nil
	}
	one, err := time.ParseDuration("1" + strings.Replace(unit, "min", "m", 1))
	return seconds * one.Seconds(), true, err
}

// end refuses what is left.
func (s *scanner) end() error {
	if s.space(); s.rest != "" {
		return fmt.Errorf("%q is too much", s.rest)
	}
	return nil
}
