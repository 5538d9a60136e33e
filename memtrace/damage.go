package memtrace

import (
	"errors"
	"fmt"
)

// ErrNoTrace is returned by a Reader that found no packet at all.
var ErrNoTrace = errors.New("no memtrace packet in it")

// ErrVersion is returned by a Reader whose input is a trace of a version that
// it cannot read.
var ErrVersion = errors.New("memtrace format version not supported")

// DamageKind says what is wrong with a part of a trace.
type DamageKind uint8

const (
	Garbage       DamageKind = iota + 1 // bytes that are no packet, and were skipped
	BadHeader                           // a packet's header is wrong; what could be read was read
	Truncated                           // the trace ends inside a packet
	BadEvent                            // an event cannot be; the rest of its packet was skipped
	Foreign                             // a packet of another process, skipped
	Missing                             // packets are gone
	BadVerifier                         // the backtrace cache is not in the state that the writer's was
	BadIDs                              // a packet does not have as many allocations as it says
	BadTime                             // time goes backwards
	BadLocation                         // a location is missing, or told twice and differently
	SecondTrace                         // another trace of the same process begins
	NoInfo                              // the packet that describes the trace is missing
	TooManyDomain                       // more domains than the Reader follows; the packet was skipped
	TooDeep                             // a backtrace is deeper than the Reader follows
)

var damageText = [...]string{
	Garbage:       "bytes that are no packet",
	BadHeader:     "bad packet header",
	Truncated:     "the trace ends inside a packet",
	BadEvent:      "bad event",
	Foreign:       "packet of another process",
	Missing:       "packets are missing",
	BadVerifier:   "backtraces differ from the writer's",
	BadIDs:        "allocation ids do not add up",
	BadTime:       "time goes backwards",
	BadLocation:   "bad location",
	SecondTrace:   "another trace of the same process begins",
	NoInfo:        "no description of the trace",
	TooManyDomain: "too many domains",
	TooDeep:       "backtrace too deep",
}

// String returns a few words for k.
func (k DamageKind) String() string {
	if k == 0 || int(k) >= len(damageText) {
		return fmt.Sprintf("damage %d", uint8(k))
	}
	return damageText[k]
}

// Damage is a part of a trace that is not as it should be. It is an error
// value, but no reason to stop: a [Reader] goes on behind it.
type Damage struct {
	Kind   DamageKind
	Offset int64  // where in the input, in bytes
	Length int64  // how many bytes were skipped for it
	Detail string // what was found, "" when Kind says it all
}

func (d *Damage) Error() string {
	s := fmt.Sprintf("offset %d: %v", d.Offset, d.Kind)
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	if d.Length > 0 {
		s += " (" + plural(d.Length, "byte") + " skipped)"
	}
	return s
}

// maxDamage bounds what a Reader remembers of a trace that is all damage.
const maxDamage = 10_000

func (r *Reader) damage(kind DamageKind, offset, length int64, format string, args ...any) {
	if kind != Foreign {
		r.stats.Damaged++
	}
	r.stats.SkippedBytes += length
	if len(r.damaged) < maxDamage {
		r.damaged = append(r.damaged, &Damage{kind, offset, length, fmt.Sprintf(format, args...)})
	}
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
