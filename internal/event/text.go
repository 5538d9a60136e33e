package event

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// AppendText appends the event as one line without its end, as in
//
//	6777606524742 increase thread=0 amount=1 counter="gntref"
//
// the time in ns, the name, then the fields that its kind has, in the order
// of [Specs]; a thread type by name and number, type=Bind(2); texts quoted as
// Go strings, so that [Event.ParseText] gives the same bytes back.
func (e *Event) AppendText(b []byte) []byte {
	spec := &Specs[e.Kind]
	b = strconv.AppendInt(b, e.Time, 10)
	b = append(b, ' ')
	b = append(b, spec.Name...)
	if spec.Thread != "" {
		b = appendField(b, spec.Thread, e.Thread)
	}
	if spec.Other != "" {
		b = appendField(b, spec.Other, e.Other)
	}
	if spec.Typed {
		b = append(b, " type="...)
		b = append(b, e.Type.String()...)
		b = append(b, '(')
		b = strconv.AppendUint(b, uint64(e.Type), 10)
		b = append(b, ')')
	}
	if spec.Value != "" {
		b = appendField(b, spec.Value, e.Value)
	}
	if spec.Text != "" {
		b = append(b, ' ')
		b = append(b, spec.Text...)
		b = append(b, '=')
		b = appendQuoted(b, e.Text)
	}
	return b
}

func appendField(b []byte, name string, v int64) []byte {
	b = append(b, ' ')
	b = append(b, name...)
	b = append(b, '=')
	return strconv.AppendInt(b, v, 10)
}

// appendQuoted is strconv.AppendQuote, but fast for plain text.
func appendQuoted(b, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return strconv.AppendQuote(b, string(text))
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// ParseText reads a line that [Event.AppendText] wrote. It is for tests and
// costs more than it has to.
func (e *Event) ParseText(line []byte) error {
	fields := line
	cut := func(sep byte) []byte {
		word, rest, _ := bytes.Cut(fields, []byte{sep})
		fields = rest
		return word
	}
	var err error
	if e.Time, err = strconv.ParseInt(string(cut(' ')), 10, 64); err != nil {
		return fmt.Errorf("parse time: %w", err)
	}
	name := string(cut(' '))
	e.Kind = NumKinds
	for k := range NumKinds {
		if Specs[k].Name == name {
			e.Kind = k
		}
	}
	if e.Kind == NumKinds {
		return fmt.Errorf("unknown event %q", name)
	}
	spec := &Specs[e.Kind]
	for len(fields) > 0 {
		name := string(cut('='))
		if name == spec.Text {
			text, err := strconv.Unquote(string(fields))
			if err != nil {
				return fmt.Errorf("parse %s: %w", name, err)
			}
			e.Text, fields = []byte(text), nil
			continue
		}
		value := string(cut(' '))
		if name == "type" {
			_, number, _ := bytes.Cut([]byte(value), []byte("("))
			value = string(bytes.TrimSuffix(number, []byte(")")))
		}
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		switch name {
		case spec.Thread:
			e.Thread = v
		case spec.Other:
			e.Other = v
		case spec.Value:
			e.Value = v
		case "type":
			e.Type = ThreadType(v)
		default:
			return fmt.Errorf("%s has no field %q", spec.Name, name)
		}
	}
	return nil
}

// AppendJSON appends the event as one JSON object without a line's end:
//
//	{"off":47,"t":6777606524742,"op":6,"name":"increase","thread":0,"amount":1,"counter":"gntref"}
//
// with off the offset in the file in bytes and t the time in ns. Texts become
// UTF-8; a byte that is not becomes U+FFFD.
func (e *Event) AppendJSON(b []byte) []byte {
	spec := &Specs[e.Kind]
	b = append(b, `{"off":`...)
	b = strconv.AppendInt(b, e.Offset, 10)
	b = appendMember(b, "t", e.Time)
	b = appendMember(b, "op", int64(e.Kind))
	b = append(b, `,"name":"`...)
	b = append(b, spec.Name...)
	b = append(b, '"')
	if spec.Thread != "" {
		b = appendMember(b, spec.Thread, e.Thread)
	}
	if spec.Other != "" {
		b = appendMember(b, spec.Other, e.Other)
	}
	if spec.Typed {
		b = appendMember(b, "thread_type", int64(e.Type))
		b = append(b, `,"type":"`...)
		b = append(b, e.Type.String()...)
		b = append(b, '"')
	}
	if spec.Value != "" {
		b = appendMember(b, spec.Value, e.Value)
	}
	if spec.Text != "" {
		b = append(b, ',', '"')
		b = append(b, spec.Text...)
		b = append(b, '"', ':')
		b = AppendJSONString(b, e.Text)
	}
	return append(b, '}')
}

func appendMember(b []byte, name string, v int64) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, v, 10)
}

// AppendJSONString appends text as a JSON string. A byte that is not part of
// valid UTF-8 becomes U+FFFD.
func AppendJSONString[T []byte | string](b []byte, text T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}
