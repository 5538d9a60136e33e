package heap

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/reference"
	"github.com/mirador-trace/mirador/memtrace"
)

// open returns a reader of a reference trace.
func open(t testing.TB, name string) *memtrace.Reader {
	t.Helper()
	r, err := memtrace.NewReaderBytes(load(t, filepath.Join(dir(t), name, name+".ctf")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// small are traces of programs with several ways of living.
var small = []string{"leak_v3_1e-5", "json_v2_1e-3", "ext_v3_1e-2", "lists_maps_v3_1e-3", "domains5_v3", "viewer_test", "edge_v3"}

// TestHotspots compares each function's share of what was allocated with what
// the original's hotspots prints. That counts with a bounded table, in which
// what is rare is put down to a caller: its figures below 1.5 % are estimates.
func TestHotspots(t *testing.T) {
	entry := regexp.MustCompile(`(?m)^ *[0-9.]+ [kMGT]?B \( *([0-9.]+)%\) at (.*) \(.*$`)
	for _, path := range reference.Glob(t, "memtrace/*/hotspots.txt") {
		name := filepath.Base(filepath.Dir(path))
		list := entry.FindAllStringSubmatch(string(reference.Read(t, path)), -1)
		if len(list) == 0 && name != "edge_v3" { // there the original died
			t.Errorf("%s: no functions in hotspots.txt", name)
		}
		p, err := Allocated(open(t, name), NewStacks(), nil)
		if err != nil {
			t.Fatal(err)
		}
		total, _ := p.Total()
		ours := map[string]float64{}
		for _, f := range p.Hotspots(1<<30, 0) {
			ours[f.Name] = 100 * float64(f.Samples) / float64(total)
		}
		for _, m := range list {
			want, _ := strconv.ParseFloat(m[1], 64)
			if got := ours[m[2]]; want >= 1.5 && math.Abs(got-want) > 0.051 {
				t.Errorf("%s: %s has %.2f %%, the original says %.1f %%", name, m[2], got, want)
			}
		}
	}
}

// TestUnder computes what was allocated under each function, and through it
// by each, from whole stacks, and compares.
func TestUnder(t *testing.T) {
	for _, name := range []string{"json_v2_1e-3", "leak_v3_1e-5", "viewer_test", "domains5_v3"} {
		p, err := Allocated(open(t, name), NewStacks(), nil)
		if err != nil {
			t.Fatal(err)
		}
		under := map[string]int64{}
		through := map[[2]string]int64{}
		r := open(t, name)
		var ev memtrace.Event
		for r.Next(&ev) == nil {
			if ev.Kind != memtrace.Alloc {
				continue
			}
			seen := map[string]bool{}
			leaf := unknown
			for _, f := range ev.Stack {
				for _, l := range r.Locations(nil, f) {
					seen[l.Func] = true
					leaf = l.Func
				}
			}
			for fn := range seen {
				under[fn] += ev.Samples
				if fn != leaf {
					through[[2]string{leaf, fn}] += ev.Samples
				}
			}
		}
		got := map[string]int64{}
		for fn, n := range p.Under() {
			if n != 0 {
				got[p.Stacks.names[fn]] = n
			}
		}
		if !maps.Equal(got, under) {
			t.Errorf("%s: what is under the functions differs", name)
		}
		for _, f := range p.Hotspots(1<<30, 1<<30) {
			for _, v := range f.Via {
				if v.Samples != through[[2]string{f.Name, v.Name}] || v.Under != under[v.Name] {
					t.Errorf("%s: %s through %s: %d of %d, want %d of %d", name, f.Name, v.Name, v.Samples, v.Under,
						through[[2]string{f.Name, v.Name}], under[v.Name])
				}
			}
		}
	}
}

// TestLive computes what is alive by brute force and compares, at the peak,
// at the end and half way.
func TestLive(t *testing.T) {
	for _, name := range small {
		c, err := LiveCurve(open(t, name), nil)
		if err != nil {
			t.Fatal(err)
		}
		half := Moment{Time: (open(t, name).Info().Start + c.End.Time) / 2}
		for _, at := range []Moment{c.Peak, c.End, half, {Time: math.MaxInt64}} {
			p, m, err := LiveAt(open(t, name), NewStacks(), at, nil)
			if err != nil {
				t.Fatal(err)
			}
			live := map[uint64]int64{}
			r := open(t, name)
			var ev memtrace.Event
			var n, sum int64
			for r.Next(&ev) == nil && (at.Events > 0 && n < at.Events || at.Events == 0 && ev.Time <= at.Time) {
				n++
				switch ev.Kind {
				case memtrace.Alloc:
					live[ev.ID] = ev.Samples
				case memtrace.Collect:
					delete(live, ev.ID)
				}
			}
			for _, s := range live {
				sum += s
			}
			samples, blocks := p.Total()
			if samples != sum || m.Live != sum || blocks != int64(len(live)) || m.Events != n {
				t.Errorf("%s at %v: %d samples, %d, %d blocks, %d events; want %d, %d, %d", name, at, samples, m.Live, blocks, m.Events, sum, len(live), n)
			}
			if at.Events > 0 && at.Live != sum {
				t.Errorf("%s at %v: the curve has %d", name, at, at.Live)
			}
		}
		if n := len(c.Steps); n > maxTicks || c.Step*int64(n) > c.End.Time-open(t, name).Info().Start {
			t.Errorf("%s: %d steps of %d µs", name, n, c.Step)
		}
	}
}

// TestTicker holds the ticks against the definition: after any time there are
// as many as whole intervals have passed, at most maxTicks.
func TestTicker(t *testing.T) {
	for _, gap := range []int64{1, 3, 1000, 77_777} {
		tick := newTicker(500)
		var list []int64
		now := int64(500)
		for i := range int64(5000) {
			now += gap * (1 + i%7)
			tick.to(now, func() { list = append(list, tick.next) }, func() { list = halve(list) })
			if want := (now - 500) / tick.step; int64(len(list)) != want || want > maxTicks {
				t.Fatalf("gap %d at %d: %d ticks of %d", gap, now, len(list), tick.step)
			}
			for k, at := range list {
				if at != 500+int64(k+1)*tick.step {
					t.Fatalf("gap %d: tick %d is at %d, with steps of %d", gap, k, at, tick.step)
				}
			}
		}
	}
}

// TestLeaks follows the program that leaks: the cache that only grows must be
// called growing, and the sums must be those of LiveAt.
func TestLeaks(t *testing.T) {
	for _, name := range small {
		l, err := FindLeaks(open(t, name), NewStacks(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, m, err := LiveAt(open(t, name), NewStacks(), Moment{Time: math.MaxInt64}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var live, count int64
		for _, p := range l.Places {
			live += p.Live
			count += p.LiveCount
		}
		if live != m.Live || l.Live != m.Live {
			t.Errorf("%s: %d samples alive in places, %d in all, want %d", name, live, l.Live, m.Live)
		}
		died, _ := l.Lifetimes.Total()
		all, _ := l.Sizes.Total()
		if name != "edge_v3" && died+count != all {
			t.Errorf("%s: %d died and %d are alive of %d blocks", name, died, count, all)
		}
		if name == "leak_v3_1e-5" {
			seconds := float64(l.End-l.Begin) / 1e6
			growing := map[string]bool{}
			for i := range l.Places {
				if l.Places[i].Growing(seconds) {
					growing[l.Places[i].Location.Func] = true
				}
			}
			if !growing["Stdlib__Bytes.make"] || !growing["Dune__exe__Leak.make_request"] {
				t.Errorf("growing: %v", growing)
			}
		}
	}
}

// TestDiff compares profiles whose difference is known.
func TestDiff(t *testing.T) {
	p, err := Allocated(open(t, "json_v2_1e-3"), NewStacks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Diff(p, p) {
		if c.Before != c.After || c.UnderBefore != c.UnderAfter {
			t.Errorf("against itself: %+v", c)
		}
	}
	none := &Profile{Stacks: NewStacks(), Unit: p.Unit}
	var sum float64
	for _, c := range Diff(none, p) {
		sum += c.After
		if c.Before != 0 {
			t.Errorf("against nothing: %+v", c)
		}
	}
	if samples, _ := p.Total(); math.Abs(sum-p.Bytes(samples)) > 1 {
		t.Errorf("%f bytes, want %f", sum, p.Bytes(samples))
	}
}

func lives(t testing.TB, name string, s *Stacks) []byte {
	t.Helper()
	l, err := ReadLives(open(t, name), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPprof writes traces as pprof profiles: google/pprof must read them, and
// what is read back must be what was allocated.
func TestPprof(t *testing.T) {
	for _, name := range []string{"leak_v3_1e-5", "json_v2_1e-3", "ext_v3_1e-2", "domains5_v3"} {
		for _, s := range []*Stacks{NewStacks(), NewExactStacks()} {
			packed := lives(t, name, s)
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			if !LooksLikePprof(data) {
				t.Errorf("%s: does not look like pprof: % x", name, data[:16])
			}
			got, err := ReadPprof(data, NewStacks(), "")
			if err != nil {
				t.Fatal(err)
			}
			want, err := Allocated(open(t, name), NewStacks(), nil)
			if err != nil {
				t.Fatal(err)
			}
			bytesOf := func(p *Profile) map[string]int64 {
				m := map[string]int64{}
				for _, f := range p.Hotspots(1<<30, 0) {
					if f.Name != unknown {
						m[f.Name] = int64(math.Round(p.Bytes(f.Samples)))
					}
				}
				return m
			}
			g, w := bytesOf(got), bytesOf(want)
			for fn := range w {
				if d := g[fn] - w[fn]; d < -1 || d > 1 {
					t.Errorf("%s: %s has %d bytes, want %d", name, fn, g[fn], w[fn])
				}
			}
		}
	}
}

// TestPprofRaw lets go tool pprof read a profile.
func TestPprofRaw(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leak.pb.gz")
	writeFile(t, file, lives(t, "leak_v3_1e-5", NewExactStacks()))
	raw, err := exec.Command("go", "tool", "pprof", "-raw", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{
		"alloc_objects/count alloc_space/bytes[dflt] inuse_objects/count inuse_space/bytes lifetime/nanoseconds",
		"Duration: 5.14", "Period: 800000", "Stdlib__Bytes.make bytes.ml:42:10",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%.1500s", want, text)
		}
	}
	top, err := exec.Command("go", "tool", "pprof", "-sample_index=inuse_space", "-unit=B", "-top", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := LiveAt(open(t, "leak_v3_1e-5"), NewStacks(), Moment{Time: math.MaxInt64}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.FormatInt(m.Live*800000, 10) + "B total"; !strings.Contains(string(top), want) {
		t.Errorf("no %q in\n%.600s", want, top)
	}
}

// TestFlameWellFormed draws traces whose names have what XML cannot have.
func TestFlameWellFormed(t *testing.T) {
	for _, name := range []string{"edge_v3", "json_v2_1e-3"} {
		p, err := Allocated(open(t, name), NewStacks(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := p.WriteSVG(&b, "a <b> & \"c\""); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(&b)
		boxes := 0
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := tok.(xml.StartElement); ok {
				if e.Name.Local == "g" {
					boxes++
				}
				for _, a := range e.Attr {
					if slices.Contains([]string{"href", "src"}, a.Name.Local) {
						t.Errorf("%s: %s asks for %s", name, e.Name.Local, a.Value)
					}
				}
			}
		}
		if boxes < 10 {
			t.Errorf("%s: %d boxes", name, boxes)
		}
	}
}

// FuzzPprof gives the decoder arbitrary bytes.
func FuzzPprof(f *testing.F) {
	z, err := gzip.NewReader(bytes.NewReader(lives(f, "viewer_test", NewExactStacks())))
	if err != nil {
		f.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPprof(data, NewStacks(), "")
		if err != nil {
			return
		}
		p.Hotspots(10, 10)
		if err := p.Stacks.WriteFolded(io.Discard, p.Samples); err != nil {
			t.Fatal(err)
		}
	})
}
