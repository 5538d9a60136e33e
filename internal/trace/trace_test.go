package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/mirador-trace/mirador/bench/synthetic"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/input"
	"github.com/mirador-trace/mirador/internal/testtrace"
	"github.com/mirador-trace/mirador/internal/thread"
	"github.com/mirador-trace/mirador/internal/trace"
)

// every is a trace with an event of every kind, in three packets.
var every = `
packet count=65535
10 creates thread=0 child=1 type=Bind(2)
11 read thread=1 source=2
12 fulfills thread=1 resolvee=1
13 fails thread=1 resolvee=3 exn="Not_found"
14 becomes thread=4 sleeper=5
15 label thread=1 label="a label"
packet size=200
16 increase thread=1 amount=-3 counter="bytes"
17 switch thread=-1
18 gc duration_ns=5
19 signal thread=1 source=2
packet
20 try_read thread=1 source=2
21 counter thread=1 value=9007199254740993 counter="bytes"
22 read_later thread=1 source=2
23 signal_only thread=1 source=2
`

func encode(t *testing.T, text string) []byte {
	t.Helper()
	data, err := testtrace.Encode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sound fails the test unless data loads to a model that can be true, or to an
// error that names the file. It returns the number of events.
func sound(t *testing.T, what string, data []byte) (loaded *trace.Trace) {
	t.Helper()
	loaded, err := trace.Load("-", bytes.NewReader(data), trace.Options{})
	if err != nil {
		typed(t, what, err)
		return nil
	}
	m := loaded.Model
	total := 0
	for _, n := range loaded.Kinds {
		total += n
	}
	if total != m.Events || m.Events > len(data) && len(loaded.Damage) == 0 {
		t.Fatalf("%s: %d events, of the kinds %v", what, m.Events, loaded.Kinds)
	}
	seen := 0
	for id := range m.Descend(thread.Top) {
		seen++
		th := &m.Threads[id]
		if id != thread.Top && (th.Row < 0 || int(th.Row) >= m.Rows || th.Parent == thread.None) ||
			th.End < th.Start || math.IsInf(th.End, 0) || math.IsNaN(th.Start) {
			t.Fatalf("%s: thread %d is %+v, of %d rows", what, th.TID, *th, m.Rows)
		}
	}
	if seen != len(m.Threads) {
		t.Fatalf("%s: %d threads, but %d below the top thread", what, len(m.Threads), seen)
	}
	for _, d := range loaded.Damage {
		if d.Offset < 0 || d.What == "" {
			t.Fatalf("%s: damage %v", what, d)
		}
	}
	return loaded
}

func typed(t *testing.T, what string, err error) {
	t.Helper()
	var in *input.Error
	var unknown *format.Unknown
	if !errors.As(err, &in) && !errors.As(err, &unknown) {
		t.Fatalf("%s: %v", what, err)
	}
}

// packings are the ways in which a trace may come.
var packings = map[string]func(t *testing.T, data []byte) []byte{
	"plain": func(t *testing.T, data []byte) []byte { return data },
	"gz": func(t *testing.T, data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(data)
		w.Close()
		return b.Bytes()
	},
	"zst": func(t *testing.T, data []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		return w.EncodeAll(data, nil)
	},
}

// Issue 2: a trace that was cut after any byte gives what came before the cut,
// and says that something is missing.
func TestCutAnywhere(t *testing.T) {
	recorded, err := os.ReadFile("../../testdata/nul.ctf")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"every": encode(t, every), "nul": recorded[:5000]} {
		for packing, pack := range packings {
			t.Run(name+"/"+packing, func(t *testing.T) {
				packed := pack(t, data)
				all := sound(t, "all", packed)
				if all == nil || name == "every" && (all.Model.Events != 14 || len(all.Damage) != 0) {
					t.Fatalf("all of it is %+v", all)
				}
				silent, before := 0, 0
				for n := range len(packed) {
					cut := sound(t, fmt.Sprintf("cut after %d bytes", n), packed[:n])
					if cut == nil {
						continue
					}
					if cut.Model.Events < before-2 || cut.Model.Events > all.Model.Events {
						t.Errorf("cut after %d bytes: %d events, after %d", n, cut.Model.Events, before)
					}
					before = max(before, cut.Model.Events)
					if len(cut.Damage) == 0 {
						silent++ // between two packets, where nothing tells
					}
				}
				if silent > 3 {
					t.Errorf("%d cuts are not told", silent)
				}
			})
		}
	}
}

// Nor does it matter which bits of which byte are wrong.
func TestWrongAnywhere(t *testing.T) {
	for packing, pack := range packings {
		data := pack(t, encode(t, every))
		for i := range data {
			for _, flip := range []byte{1, 0x80, 0xFF} {
				wrong := bytes.Clone(data)
				wrong[i] ^= flip
				sound(t, fmt.Sprintf("%s, byte %d xor %d", packing, i, flip), wrong)
			}
		}
	}
}

// Issue 2: a file that changes its size while it is read is no reason to die.
// Somebody truncates and rewrites it all the time here; each look at it gives
// a trace or an error that says what it is.
func TestFileChangesWhileRead(t *testing.T) {
	var b bytes.Buffer
	if err := synthetic.Write(&b, synthetic.Shape{Events: 100_000}); err != nil {
		t.Fatal(err)
	}
	for packing, pack := range packings {
		t.Run(packing, func(t *testing.T) {
			data := pack(t, b.Bytes())
			path := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			stop, stopped := make(chan bool), make(chan error)
			go func() {
				random := rand.New(rand.NewPCG(1, 2))
				for {
					select {
					case <-stop:
						stopped <- nil
						return
					default:
					}
					var err error
					if random.IntN(2) == 0 {
						err = os.Truncate(path, random.Int64N(int64(len(data))))
					} else {
						err = os.WriteFile(path, data[:random.IntN(len(data))], 0o600)
					}
					if err != nil {
						stopped <- err
						return
					}
					time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
				}
			}()
			loads, read := 0, 0
			for began := time.Now(); time.Since(began) < time.Second || read == 0 && time.Since(began) < 20*time.Second; loads++ {
				loaded, err := trace.Load(path, nil, trace.Options{})
				if err != nil {
					typed(t, packing, err)
					continue
				}
				read++
				if n := loaded.Model.Events; n > 100_000 {
					t.Errorf("%d events", n)
				}
			}
			close(stop)
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			if read == 0 {
				t.Errorf("none of %d looks at the file gave a trace", loads)
			}
		})
	}
}

// A file that grows is read up to where it was when it was opened, or further.
func TestFileGrowsWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const packets = 500
	stopped := make(chan error, 1)
	written := make(chan bool, 1)
	go func() {
		for i := range packets {
			packet := encode(t, fmt.Sprintf("packet count=%d\n%d switch thread=%d\n%d switch thread=-1", i, 2*i, i, 2*i+1))
			if _, err := f.Write(packet); err != nil {
				stopped <- err
				return
			}
			if i == 0 {
				written <- true
			}
		}
		stopped <- nil
	}()
	<-written
	last := 0
	for done := false; !done; {
		select {
		case err := <-stopped:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		loaded, err := trace.Load(path, nil, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := loaded.Model.Events; n < last || n%2 != 0 {
			t.Fatalf("%d events, after %d", n, last)
		} else {
			last = n
		}
	}
	if last != 2*packets {
		t.Errorf("%d events at the end", last)
	}
}

// What does not fit a trace is said by the model and by the trace itself.
func TestLoad(t *testing.T) {
	data := encode(t, "packet count=1\n10 switch thread=1\n20 becomes thread=1 sleeper=1\nbytes 00\npacket count=5\n30 gc duration_ns=3")
	told := 0
	loaded, err := trace.Load("-", bytes.NewReader(data), trace.Options{NoRows: true, Progress: func(int) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Packets != 2 || loaded.Lost != 3 || loaded.Model.Events != 3 || len(loaded.Model.Notes) != 1 ||
		len(loaded.Damage) != 1 || loaded.Model.Rows != 0 || loaded.Format != format.Mirage || loaded.Path != "-" || told != 0 {
		t.Errorf("%+v, model %+v", loaded, loaded.Model)
	}
}

// A file that is read once is the same trace, and is not kept.
func TestOnce(t *testing.T) {
	data := encode(t, "packet count=1\n10 switch thread=1\n20 creates thread=1 child=2 type=Bind(2)\n30 label thread=1 label=\"said\"")
	read := func(once bool) (*format.Trace, *trace.Trace) {
		file, err := format.OpenBytes("t.ctf", data)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := trace.Read(file, trace.Options{Once: once})
		if err != nil {
			t.Fatal(err)
		}
		return file, loaded
	}
	file, twice := read(false)
	if again, err := trace.Read(file, trace.Options{}); err != nil || again.Model.Events != 3 {
		t.Errorf("a file cannot be read again: %v", err)
	}
	file, once := read(true)
	if !reflect.DeepEqual(once, twice) {
		t.Errorf("%+v, and kept %+v", once, twice)
	}
	var left bytes.Buffer
	if err := file.Pack(&left); err != nil || left.Len() > 0 {
		t.Errorf("%d bytes are kept, %v", left.Len(), err)
	}
}
