package packet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/mirador-trace/mirador/internal/event"
)

// Version is that of the layout that package packet describes.
const Version = 1

// Trace is what a trace's metadata says of it as a whole.
type Trace struct {
	UUID      [16]byte
	Program   string // the program's name
	PID       int
	Start     Clock  // when recording began
	Frequency uint64 // cycles of the trace's clock in a second, as first measured
	ClockName string // "tsc" or "monotonic"
	GoVersion string

	// Kinds are the kinds of event by their numbers in this trace, which are
	// those of the program that recorded it; NumKinds for what is unknown here.
	// They are set by ParseMetadata.
	Kinds []event.Kind
}

// Metadata returns the trace's description in the Trace Stream Description
// Language, which any reader of the Common Trace Format understands.
func (t Trace) Metadata() []byte {
	var b strings.Builder
	u := hex.EncodeToString(t.UUID[:])
	uuid := u[:8] + "-" + u[8:12] + "-" + u[12:16] + "-" + u[16:20] + "-" + u[20:]
	seconds, cycles := t.epoch()
	fmt.Fprintf(&b, `/* CTF 1.8 */

/* The trace of a Go program, written by mirador as the program ran.
   Every file beside this one is one slot of a ring, or many of its packets. */

typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text_t;
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;

trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};

env {
	tracer_name = "mirador";
	mirador_version = %d;
	domain = "go";
	program = %s;
	pid = %d;
	go_version = %s;
	clock = %s;
	start_cycles = %d;
	start_monotonic = %d;
	start_realtime = %d;
};

clock {
	name = "mirador";
	description = "%s";
	freq = %d;
	offset_s = %d;
	offset = %d;
	absolute = TRUE;
};

typealias integer { size = 64; align = 8; signed = false; map = clock.mirador.value; } := cycles_t;

stream {
	id = 0;
	packet.context := struct {
		cycles_t timestamp_begin;
		cycles_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t packet_seq_num;
		uint64_t events_discarded;
	};
	event.header := struct {
		integer { size = 48; align = 8; signed = false; map = clock.mirador.value; } timestamp;
		uint16_t id;
	};
	event.context := struct {
		int64_t thread;
	};
};
`, uuid, Version, quote(t.Program), t.PID, quote(t.GoVersion), quote(t.ClockName),
		t.Start.Cycles, t.Start.Monotonic, t.Start.Realtime,
		clockDescriptions[t.ClockName], t.Frequency, seconds, cycles)
	for k, spec := range event.Specs {
		writeEvent(&b, k, spec)
	}
	fmt.Fprintf(&b, `
event {
	name = "clock";
	id = %d;
	stream_id = 0;
	fields := struct { int64_t realtime; };
};
`, ClockKind)
	return []byte(b.String())
}

var clockDescriptions = map[string]string{
	"tsc":       "the processor's time stamp counter",
	"monotonic": "CLOCK_MONOTONIC in nanoseconds",
}

func writeEvent(b *strings.Builder, kind int, spec event.Spec) {
	fmt.Fprintf(b, "\nevent {\n\tname = \"%s\";\n\tid = %d;\n\tstream_id = 0;\n\tfields := struct {\n", spec.Name, kind)
	if spec.Other != "" {
		fmt.Fprintf(b, "\t\tint64_t %s;\n", spec.Other)
	}
	if spec.Value != "" {
		fmt.Fprintf(b, "\t\tint64_t %s;\n", spec.Value)
	}
	if spec.Typed {
		b.WriteString("\t\tenum : uint64_t {\n")
		for t := range 256 {
			if t := event.ThreadType(t); t.Known() || t.String() != event.Unknown.String() {
				fmt.Fprintf(b, "\t\t\t\"%s\" = %d,\n", t, uint8(t))
			}
		}
		b.WriteString("\t\t} thread_type;\n")
	}
	if spec.Text != "" {
		fmt.Fprintf(b, "\t\tuint16_t _%s_size;\n\t\ttext_t %s[_%s_size];\n", spec.Text, spec.Text, spec.Text)
	}
	b.WriteString("\t};\n};\n")
}

// epoch returns when, in CLOCK_REALTIME, the trace's clock was 0: in seconds
// and, beyond these, cycles.
func (t Trace) epoch() (seconds int64, cycles uint64) {
	seconds, ns := t.Start.Realtime/1e9, uint64(t.Start.Realtime%1e9)
	hi, lo := bits.Mul64(ns, t.Frequency)
	cycles, _ = bits.Div64(hi, lo, 1e9)
	seconds -= int64(t.Start.Cycles / t.Frequency)
	if rest := t.Start.Cycles % t.Frequency; rest <= cycles {
		cycles -= rest
	} else {
		seconds--
		cycles += t.Frequency - rest
	}
	return seconds, cycles
}

// quote returns s as a TSDL string literal without anything that would need
// an escape.
func quote(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, s) + `"`
}

// ErrForeign is the error for metadata that mirador has not written: the trace
// may well be one of the Common Trace Format, but it is not a native one.
var ErrForeign = errors.New("not the metadata of a mirador trace")

// ParseMetadata returns what [Trace.Metadata] was given. It reads the
// trace's own words, and no TSDL beyond them.
func ParseMetadata(text []byte) (Trace, error) {
	m := metadata{text: string(text)}
	if !strings.HasPrefix(m.text, "/* CTF 1.8 */") || m.quoted("tracer_name") != "mirador" {
		return Trace{}, ErrForeign
	}
	if v := m.number("mirador_version"); m.err == nil && v != Version {
		return Trace{}, fmt.Errorf("a mirador trace of version %d; this program reads version %d", v, Version)
	}
	t := Trace{
		Program: m.quoted("program"), PID: int(m.number("pid")),
		GoVersion: m.quoted("go_version"), ClockName: m.quoted("clock"),
		Start: Clock{m.number("start_cycles"), int64(m.number("start_monotonic")),
			int64(m.number("start_realtime"))},
		Frequency: m.number("freq"),
	}
	uuid, err := hex.DecodeString(strings.ReplaceAll(m.quoted("uuid"), "-", ""))
	if m.err == nil && (err != nil || len(uuid) != 16) {
		m.err = errors.New("metadata: bad uuid")
	}
	if m.err == nil && (t.Frequency < 1e3 || t.Frequency > 1e12) {
		m.err = fmt.Errorf("metadata: a clock of %d Hz", t.Frequency)
	}
	copy(t.UUID[:], uuid)
	t.Kinds = m.kinds()
	return t, m.err
}

// kinds finds the events that are described.
func (m *metadata) kinds() (kinds []event.Kind) {
	names := make(map[string]event.Kind)
	for k, spec := range event.Specs {
		names[spec.Name] = event.Kind(k)
	}
	for _, text := range strings.Split(m.text, "\nevent {\n")[1:] {
		one := metadata{text: text}
		name, id := one.quoted("name"), one.number("id")
		kind, known := names[name]
		if one.err != nil || !known || id >= ClockKind {
			continue
		}
		for uint64(len(kinds)) <= id {
			kinds = append(kinds, event.NumKinds)
		}
		kinds[id] = kind
	}
	return kinds
}

// metadata finds values in metadata; err is what went wrong first.
type metadata struct {
	text string
	err  error
}

func (m *metadata) value(name string) string {
	_, rest, ok := strings.Cut(m.text, "\t"+name+" = ")
	value, _, end := strings.Cut(rest, ";\n")
	if (!ok || !end) && m.err == nil {
		m.err = fmt.Errorf("metadata: no %s", name)
	}
	return value
}

func (m *metadata) quoted(name string) string {
	s := m.value(name)
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return ""
	}
	return s[1 : len(s)-1]
}

func (m *metadata) number(name string) uint64 {
	n, err := strconv.ParseUint(m.value(name), 10, 64)
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("metadata: bad %s", name)
	}
	return n
}
