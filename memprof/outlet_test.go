package memprof

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/memprof/note"
	"github.com/mirador-trace/mirador/memtrace"
)

// These tests work with both sources: what they are about is the way out.

// work allocates, and has some of it die, until it is told to stop.
func work(t *testing.T) (allocated *atomic.Int64) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Add(1)
	allocated = new(atomic.Int64)
	go func() {
		defer done.Done()
		var ring [512]*[1024]byte
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			ring[i%len(ring)] = batch1K()
			allocated.Add(1024)
			if i%1000 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	t.Cleanup(func() { close(stop); done.Wait() })
	return allocated
}

// collector accepts connections, and hands them over.
func collector(t *testing.T) (addr string, conns <-chan net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := make(chan net.Conn, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c <- conn
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), c
}

func next(t *testing.T, conns <-chan net.Conn) net.Conn {
	t.Helper()
	select {
	case c := <-conns:
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second))
		return c
	case <-time.After(10 * time.Second):
		t.Fatal("no connection")
		return nil
	}
}

// stopSoon stops the trace, and fails when that takes long.
func stopSoon(t *testing.T) error {
	t.Helper()
	begun := time.Now()
	err := Stop()
	if took := time.Since(begun); took > closeTimeout+5*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	return err
}

func startTrace(t *testing.T, c Config) {
	t.Helper()
	if err := Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop() })
}

func TestTCP(t *testing.T) {
	addr, conns := collector(t)
	startTrace(t, Config{Addr: addr, Rate: 4096, Context: "a test"})
	conn := next(t, conns)
	work(t)
	received := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(conn)
		received <- b
	}()
	time.Sleep(300 * time.Millisecond)
	runtime.GC()
	if err := stopSoon(t); err != nil {
		t.Fatal(err)
	}
	tr := parseTrace(t, <-received)
	tr.sound(t)
	if len(tr.objects) < 100 {
		t.Errorf("%d objects", len(tr.objects))
	}
	if !strings.HasPrefix(tr.info.Context, "a test; mirador: ") || strings.HasSuffix(tr.info.Context, note.ExactContext) != Exact() {
		t.Errorf("context %q", tr.info.Context)
	}
}

// TestTimerFlush: a live viewer sees an event within the flush interval.
func TestTimerFlush(t *testing.T) {
	addr, conns := collector(t)
	startTrace(t, Config{Addr: addr, Rate: 1024, Flush: 50 * time.Millisecond})
	conn := next(t, conns)
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	var got bytes.Buffer
	buf := make([]byte, 64<<10)
	for events := 0; events == 0; {
		keep(100, batch1K)()
		runtime.GC()
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(buf[:n])
		r, err := memtrace.NewReaderBytes(got.Bytes())
		if err != nil {
			continue
		}
		var ev memtrace.Event
		for r.Next(&ev) == nil {
			events++
		}
	}
}

// TestStall: a peer that takes nothing does not hold the program up; when it
// wakes, it is told what lives, and how much was lost.
func TestStall(t *testing.T) {
	addr, conns := collector(t)
	startTrace(t, Config{Addr: addr, Rate: 64, Flush: 50 * time.Millisecond})
	conn := next(t, conns)
	allocated := work(t)
	deadline := time.Now().Add(30 * time.Second)
	for Read().Dropped == 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		runtime.GC()
	}
	if Read().Dropped == 0 {
		t.Fatalf("nothing was dropped of %d bytes", allocated.Load())
	}
	before := allocated.Load()
	time.Sleep(200 * time.Millisecond)
	if allocated.Load() == before {
		t.Error("the program stands still")
	}
	received := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(conn)
		received <- b
	}()
	time.Sleep(500 * time.Millisecond)
	if err := stopSoon(t); err != nil {
		t.Fatal(err)
	}
	tr := parseTrace(t, <-received)
	tr.sound(t)
	if tr.lost[0] == 0 {
		t.Error("the trace does not say that anything was lost")
	}
	t.Logf("%d objects, lost %v", len(tr.objects), tr.lost)
}

// TestReconnect: a collector that goes away in the middle of a packet gets a
// new stream when it is back, which begins with what lives.
func TestReconnect(t *testing.T) {
	addr, conns := collector(t)
	startTrace(t, Config{Addr: addr, Rate: 4096, Flush: 20 * time.Millisecond, Retry: 20 * time.Millisecond})
	conn := next(t, conns)
	keep(4000, batch1K)() // until the sample that was drawn with the rate of before
	list := make([]*[1024]byte, 10_000)
	for i := range list {
		list[i] = batch1K()
	}
	// The heap profile shows them after some collections only.
	until(t, "the objects are known", func() bool { runtime.GC(); return Read().Live > uint64(len(list)/6) })
	half := make([]byte, 200)
	if _, err := io.ReadFull(conn, half); err != nil {
		t.Fatal(err)
	}
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
	var second net.Conn
	for second == nil {
		select {
		case second = <-conns:
		case <-time.After(20 * time.Millisecond):
			keep(10, batch1K)() // something to send
			runtime.GC()
		}
	}
	defer second.Close()
	second.SetDeadline(time.Now().Add(20 * time.Second))
	received := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(second)
		received <- b
	}()
	time.Sleep(200 * time.Millisecond)
	if err := stopSoon(t); err != nil {
		t.Fatal(err)
	}
	tr := parseTrace(t, <-received)
	runtime.KeepAlive(list)
	tr.sound(t)
	complete := false
	for _, n := range tr.notes {
		complete = complete || n.Kind == note.Complete
	}
	live := 0.0
	for _, o := range tr.site("batch1K") {
		if o.died == 0 {
			live += tr.bytes(o)
		}
	}
	if !complete || live < 0.8*float64(len(list)*1024) || live > 1.25*float64(len(list)*1024) {
		t.Errorf("%.0f bytes live, of %d; complete: %v", live, len(list)*1024, complete)
	}
}

// TestNobodyThere: without a collector the program runs, and Stop says so.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	startTrace(t, Config{Addr: addr, Retry: -1})
	time.Sleep(50 * time.Millisecond)
	if err := stopSoon(t); err == nil || !strings.Contains(err.Error(), "collector") {
		t.Errorf("error %v", err)
	}
}

func serve(t *testing.T, c Config) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- Serve(l, c) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		if Read().Active {
			t.Error("sampling goes on without Serve")
		}
	})
	return l.Addr().String()
}

func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// until waits for something to become true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

// TestServe: sampling while a client is there, a line for the second, and
// nothing that a client says does any harm.
func TestServe(t *testing.T) {
	rate := runtime.MemProfileRate
	addr := serve(t, Config{Rate: 2048, Flush: 20 * time.Millisecond})
	for round := range 3 {
		first := connect(t, addr)
		until(t, "sampling begins", func() bool { return Read().Active })
		first.Write(bytes.Repeat([]byte("garbage\x00\xff"), 10_000))
		second := connect(t, addr)
		line, _ := io.ReadAll(second)
		if string(line) != "busy: memory is being traced already\n" {
			t.Errorf("the second client was told %q", line)
		}
		head := make([]byte, 64<<10)
		n := 0
		for n < 300 {
			keep(100, batch1K)()
			runtime.GC()
			k, err := first.Read(head[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
		r, err := memtrace.NewReaderBytes(head[:n])
		if err != nil || r.Info().PID != uint64(os.Getpid()) {
			t.Errorf("round %d: %v", round, err)
		}
		if round == 1 {
			first.(*net.TCPConn).SetLinger(0) // a reset
		}
		first.Close()
		until(t, "sampling ends", func() bool { return !Read().Active })
		if runtime.MemProfileRate != rate {
			t.Errorf("the rate is %d, and was %d", runtime.MemProfileRate, rate)
		}
		Read() // what starts sampling, and sets the rate, comes after it
	}
}

// TestServeHalfClosed: who only stops talking still listens.
func TestServeHalfClosed(t *testing.T) {
	addr := serve(t, Config{Rate: 2048, Flush: 10 * time.Millisecond})
	conn := connect(t, addr)
	conn.(*net.TCPConn).CloseWrite()
	until(t, "sampling begins", func() bool { return Read().Active })
	time.Sleep(100 * time.Millisecond)
	if !Read().Active {
		t.Error("it was taken for gone")
	}
	conn.Close()
	until(t, "sampling ends", func() bool { return !Read().Active })
}

func TestActiveOnce(t *testing.T) {
	startTrace(t, Config{File: filepath.Join(t.TempDir(), "a")})
	if err := Start(Config{File: filepath.Join(t.TempDir(), "b")}); !errors.Is(err, ErrActive) {
		t.Errorf("the second Start returned %v", err)
	}
	if err := Stop(); err != nil {
		t.Error(err)
	}
	if err := Stop(); err != nil {
		t.Error(err)
	}
}

// TestDiskFull: the trace ends, the program does not, and Stop says why.
func TestDiskFull(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	if err := Start(Config{File: full, Rate: 4096}); err == nil {
		keep(10_000, batch1K)()
		if err := Stop(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Stop returned %v", err)
		}
	} else if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	// A file that cannot have its place on the disk is not mapped.
	if err := Start(Config{Dir: t.TempDir(), Ring: 1 << 55}); err == nil {
		if err := Stop(); err == nil {
			t.Error("a ring of 32 PiB is none too large")
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []Config{{}, {File: "a", Addr: "b"}, {File: "a", Rate: -1}, {File: "/nowhere/at/all"}} {
		if err := Start(c); err == nil {
			t.Errorf("Start(%+v) works", c)
			Stop()
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{{"1e-6", 8e6}, {"1", 1}, {"1.0", 1}, {"65536", 65536}, {"64KiB", 65536}, {"1MiB", 1 << 20}, {"0.5", 16}, {"1e-30", maxRate}} {
		if got, err := ParseRate(c.text); err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "NaN", "5GB"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestStartIfRequested(t *testing.T) {
	if requested, err := StartIfRequested(Config{}); requested || err != nil {
		t.Fatalf("without MEMTRACE: %v, %v", requested, err)
	}
	name := filepath.Join(t.TempDir(), "trace")
	t.Setenv("MEMTRACE", name)
	t.Setenv("MEMTRACE_RATE", "1e-3")
	if requested, err := StartIfRequested(Config{Context: "env"}); !requested || err != nil {
		t.Fatal(requested, err)
	}
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	if info := readTrace(t, name).info; info.SampleRate != 1e-3 {
		t.Errorf("rate %v", info.SampleRate)
	}
	if about, err := os.Stat(name); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", about.Mode(), err)
	}
	t.Setenv("MEMTRACE_RATE", "often")
	if requested, err := StartIfRequested(Config{}); !requested || err == nil {
		t.Error("a rate of often")
	}
}

// TestExternal: blocks outside the heap are counted by their bytes, and by
// where they are allocated and freed.
func TestExternal(t *testing.T) {
	end := traceFile(t, Config{Rate: 4096})
	blocks := make([]External, 0, 50_000)
	for range cap(blocks) {
		blocks = append(blocks, AllocExternal(1000))
	}
	for i, b := range blocks {
		if i%2 == 0 {
			b.Free()
			b.Free()
		}
	}
	tr := end()
	tr.sound(t)
	live, dead := 0.0, 0.0
	for i := range tr.objects {
		o := &tr.objects[i]
		if o.source != memtrace.External {
			continue
		}
		if !strings.HasSuffix(o.leaf, "TestExternal") {
			t.Fatalf("allocated in %s", o.leaf)
		}
		if o.died != 0 {
			dead += tr.bytes(o)
		} else {
			live += tr.bytes(o)
		}
	}
	for _, v := range []float64{live, dead} {
		if v < 25e6*0.93 || v > 25e6*1.07 {
			t.Errorf("%.0f bytes live, %.0f dead, want 25e6 of each", live, dead)
		}
	}
	if b := AllocExternal(1 << 40); b != (External{}) {
		t.Error("sampled without a trace")
	}
}

func BenchmarkExternal(b *testing.B) {
	for b.Loop() {
		AllocExternal(64).Free()
	}
}
