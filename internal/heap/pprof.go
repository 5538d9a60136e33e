package heap

import (
	"compress/gzip"
	"errors"
	"io"
	"math"

	"github.com/mirador-trace/mirador/memtrace"
)

// MaxPprofFrames is how many frames the samples of an exact pprof profile may
// have in all: the format writes each stack in full.
const MaxPprofFrames = 20_000_000

// Lives is what a trace tells per site: what was allocated, what is alive at
// the end, and for how long the blocks lived. The numbers of objects are
// estimates: a block stands for as many as had to be there for one of them to
// be sampled.
type Lives struct {
	Stacks *Stacks
	Info   memtrace.Info
	End    int64 // µs since the Unix epoch
	sites  []lived
	frames int64 // of the stacks of all sites
	walk   *Walk
}

type lived struct {
	allocObjects, liveObjects float64
	allocSamples, liveSamples int64
	lifetime                  float64 // µs, of all objects
}

// ErrTooManyFrames is returned by [ReadLives] for exact stacks that have more
// than [MaxPprofFrames].
var ErrTooManyFrames = errors.New("too many frames for an exact profile")

// ReadLives reads a trace. It keeps an entry per live block.
func ReadLives(r *memtrace.Reader, s *Stacks, watch Watch) (*Lives, error) {
	type body struct {
		birth   int64
		samples int64
		objects float64
		site    Site
	}
	l := &Lives{Stacks: s, Info: r.Info(), End: r.Info().Start, walk: s.Walk(r)}
	live := map[uint64]body{}
	none := math.Log1p(-min(l.Info.SampleRate, 1-1e-12)) // log of the chance of a word not to be drawn
	err := Each(r, watch, func(ev *memtrace.Event) bool {
		l.End = max(l.End, ev.Time)
		switch ev.Kind {
		case memtrace.Alloc:
			site := l.walk.Site(ev)
			if int(site) == len(l.sites) {
				l.sites = append(l.sites, lived{})
				l.frames += int64(len(ev.Stack))
			}
			b := body{ev.Time, ev.Samples, -1 / math.Expm1(none*float64(max(0, ev.Length)+1)), site}
			if !(b.objects >= 1) || math.IsInf(b.objects, 0) {
				b.objects = 1 // the rate is not known
			}
			live[ev.ID] = b
			l.sites[site].allocSamples += ev.Samples
			l.sites[site].allocObjects += b.objects
		case memtrace.Collect:
			if b, ok := live[ev.ID]; ok {
				delete(live, ev.ID)
				l.sites[b.site].lifetime += b.objects * float64(max(0, ev.Time-b.birth))
			}
		}
		return !s.exact || l.frames <= MaxPprofFrames
	})
	if err == nil && s.exact && l.frames > MaxPprofFrames {
		err = ErrTooManyFrames
	}
	for _, b := range live {
		s := &l.sites[b.site]
		s.liveSamples += b.samples
		s.liveObjects += b.objects
		s.lifetime += b.objects * float64(max(0, l.End-b.birth))
	}
	return l, err
}

// WritePprof writes a gzipped pprof profile with, per call stack, the objects
// and bytes allocated, those alive at the end, and the sum of the objects'
// lifetimes, in which what is alive counts up to the trace's end.
//
// The format is profile.proto of github.com/google/pprof.
func (l *Lives) WritePprof(w io.Writer) error {
	z := gzip.NewWriter(w)
	e := &pprofWriter{w: z, strings: map[string]int64{"": 0}, list: []string{""}, funcs: map[[2]string]uint64{}, locs: map[any]uint64{}}
	for _, t := range [][2]string{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}, {"lifetime", "nanoseconds"}} {
		e.message(1, e.valueType(t[0], t[1]))
	}
	var ids []uint64
	for i := range l.sites {
		s, at := &l.sites[i], l.Stacks.sites[i]
		ids = ids[:0]
		if !l.Stacks.exact {
			ids = append(ids, e.location(l.Stacks.places[at.place], []memtrace.Location{l.Stacks.places[at.place]}, 0))
		}
		leaf := l.Stacks.places[at.place].Func
		for n := at.node; n != 0; n = l.Stacks.nodes[n].parent {
			key := l.Stacks.nodes[n].key
			if l.Stacks.exact {
				ids = append(ids, l.frame(e, memtrace.Frame(key)))
				continue
			}
			if name := l.Stacks.names[key]; len(ids) > 1 || name != leaf {
				place := memtrace.Location{Func: name}
				ids = append(ids, e.location(place, []memtrace.Location{place}, 0))
			}
		}
		var b []byte
		b = appendPacked(b, 1, ids)
		b = appendPacked(b, 2, []uint64{
			uint64(math.Round(s.allocObjects)), uint64(math.Round(l.Info.Bytes(s.allocSamples))),
			uint64(math.Round(s.liveObjects)), uint64(math.Round(l.Info.Bytes(s.liveSamples))),
			uint64(math.Round(s.lifetime * 1000)),
		})
		e.message(2, b)
	}
	e.varint(9, uint64(l.Info.Start*1000))
	e.varint(10, uint64((l.End-l.Info.Start)*1000))
	e.message(11, e.valueType("space", "bytes"))
	if u := l.Info.Bytes(1); u > 0 {
		e.varint(12, uint64(math.Round(u)))
	}
	e.varint(13, uint64(e.text("memtrace of "+l.Info.Executable)))
	e.varint(14, uint64(e.text("alloc_space")))
	for _, s := range e.list {
		e.message(6, []byte(s))
	}
	if e.err != nil {
		return e.err
	}
	return z.Close()
}

// frame returns the pprof location of a frame of the trace.
func (l *Lives) frame(e *pprofWriter, f memtrace.Frame) uint64 {
	if id, ok := e.locs[f]; ok {
		return id
	}
	return e.location(f, l.walk.r.Locations(nil, f), l.walk.r.Code(f))
}

// pprofWriter encodes a profile. Functions and locations are written when
// they are used first, the strings at the end: a reader takes them in any
// order.
type pprofWriter struct {
	w       io.Writer
	err     error
	strings map[string]int64
	list    []string
	funcs   map[[2]string]uint64
	locs    map[any]uint64
}

func (e *pprofWriter) write(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

func (e *pprofWriter) message(field int, b []byte) { e.write(appendBytes(nil, field, b)) }

func (e *pprofWriter) varint(field int, v uint64) { e.write(appendField(nil, field, v)) }

func (e *pprofWriter) text(s string) int64 {
	i, ok := e.strings[s]
	if !ok {
		i = int64(len(e.list))
		e.strings[s] = i
		e.list = append(e.list, s)
	}
	return i
}

func (e *pprofWriter) valueType(kind, unit string) []byte {
	return appendField(appendField(nil, 1, uint64(e.text(kind))), 2, uint64(e.text(unit)))
}

// location returns the id of the location that key stands for. Its lines are
// given with the outermost function first.
func (e *pprofWriter) location(key any, lines []memtrace.Location, address uint64) uint64 {
	if id, ok := e.locs[key]; ok {
		return id
	}
	id := uint64(len(e.locs)) + 1
	e.locs[key] = id
	b := appendField(nil, 1, id)
	b = appendField(b, 3, address)
	for i := len(lines) - 1; i >= 0; i-- {
		line := appendField(nil, 1, e.function(lines[i].Func, lines[i].File))
		line = appendField(line, 2, uint64(lines[i].Line))
		line = appendField(line, 3, uint64(lines[i].Start))
		b = appendBytes(b, 4, line)
	}
	e.message(4, b)
	return id
}

func (e *pprofWriter) function(name, file string) uint64 {
	key := [2]string{name, file}
	if id, ok := e.funcs[key]; ok {
		return id
	}
	id := uint64(len(e.funcs)) + 1
	e.funcs[key] = id
	b := appendField(nil, 1, id)
	b = appendField(b, 2, uint64(e.text(name)))
	b = appendField(b, 3, uint64(e.text(name)))
	b = appendField(b, 4, uint64(e.text(file)))
	e.message(5, b)
	return id
}

// The three forms of protobuf that are needed: a varint field, of which 0 is
// left out, a field of bytes, and packed varints.

func appendVarint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendField(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return appendVarint(appendVarint(b, uint64(field)<<3), v)
}

func appendBytes(b []byte, field int, data []byte) []byte {
	b = appendVarint(b, uint64(field)<<3|2)
	b = appendVarint(b, uint64(len(data)))
	return append(b, data...)
}

func appendPacked(b []byte, field int, list []uint64) []byte {
	var data []byte
	for _, v := range list {
		data = appendVarint(data, v)
	}
	return appendBytes(b, field, data)
}
