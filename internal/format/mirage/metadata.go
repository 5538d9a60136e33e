package mirage

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mirador-trace/mirador/internal/event"
)

// WriteMetadata writes the text that tells CTF tools such as babeltrace2 what
// is in a trace's packets, in TSDL, CTF 1.8's language. Together with it, a
// file of packets in the order of writing, as a [Writer] makes one, is a CTF
// trace: a directory with both. source is where the trace came from, and is
// kept in the metadata's env. The events look as they do with the original
// tools' metadata, which today's tools refuse: a thread is the event's context.
func WriteMetadata(w io.Writer, source string) error {
	var b bytes.Buffer
	b.WriteString(`/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 16; align = 8; signed = false; base = 16; } := count_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := thread_t;

trace {
	major = 1;
	minor = 8;
	uuid = "05883b8d-521a-487b-b397-456ab150680c";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t uuid[16];
	};
};

env {
`)
	fmt.Fprintf(&b, "\ttracer_name = \"mirador\";\n\tsource = %s;\n};\n", quoteTSDL(source))
	b.WriteString(`
clock {
	name = monotonic;
	description = "nanoseconds since an epoch of the traced program's own";
	freq = 1000000000;
};

typealias integer {
	size = 64; align = 8; signed = false; map = clock.monotonic.value;
} := timestamp_t;

typealias enum : uint8_t {
`)
	for t := event.ThreadType(0); t < event.Unknown; t++ {
		if t.Known() {
			fmt.Fprintf(&b, "\t%q = %d,\n", t, t)
		}
	}
	fmt.Fprintf(&b, "\t%q = %d\n} := thread_type_t;\n", event.Unknown, event.Unknown)
	b.WriteString(`
stream {
	packet.context := struct {
		uint32_t packet_size;
		count_t stream_packet_count;
		uint32_t content_size;
	};
	event.header := struct {
		timestamp_t timestamp;
		uint8_t id;
	};
};
`)
	for k, spec := range event.Specs[:numOperations] {
		fmt.Fprintf(&b, "\nevent {\n\tid = %d;\n\tname = %q;\n", k, spec.Name)
		if spec.Thread != "" {
			fmt.Fprintf(&b, "\tcontext := struct {\n\t\tthread_t %s;\n\t};\n", spec.Thread)
		}
		var fields strings.Builder
		field := func(typ, name string) {
			if name != "" {
				fmt.Fprintf(&fields, "\t\t%s %s;\n", typ, name)
			}
		}
		field("thread_t", spec.Other)
		if event.Kind(k) == event.GC {
			field("thread_t", spec.Value) // unsigned, as the original has it
		} else {
			field("int64_t", spec.Value)
		}
		if spec.Typed {
			field("thread_type_t", "thread_type")
		}
		field("string", spec.Text)
		if fields.Len() > 0 {
			fmt.Fprintf(&b, "\tfields := struct {\n%s\t};\n", fields.String())
		}
		b.WriteString("};\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// quoteTSDL makes a string literal: as in C, with octal escapes for all that
// is not plain ASCII.
func quoteTSDL(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
