package mirador

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
)

// TestMain is also a program that asks for a recording by its environment.
func TestMain(m *testing.M) {
	if os.Getenv("MIRADOR_TEST") != "" {
		StartIfRequested()
		Label("main")
		if child := os.Getenv("MIRADOR_TEST_CHILD"); child != "" {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "MIRADOR_TEST_CHILD=")
			cmd.Stderr = os.Stderr
			if err := cmd.Run(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		fmt.Println("it goes on")
		return
	}
	os.Exit(m.Run())
}

// story records what fn does and returns it, a line for each event of the
// goroutines and tasks, whose numbers are replaced by their first labels.
func story(t *testing.T, fn func()) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	r, err := Start(Config{Path: dir, Size: 1 << 20, Sample: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	label("test")
	fn()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	var events []event.Event
	names := map[int64]string{event.NoThread: "none"}
	reader, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for e := (event.Event{}); reader.Next(&e); {
		e.Text = append([]byte(nil), e.Text...)
		if e.Kind != event.GC {
			events = append(events, e)
		}
		if e.Kind == event.Label && names[e.Thread] == "" {
			names[e.Thread] = string(e.Text)
		}
	}
	if d := reader.Damage(); len(d) > 0 {
		t.Fatal(d)
	}
	var lines []string
	for _, e := range events {
		spec := event.Specs[e.Kind]
		line := names[e.Thread] + " " + spec.Name
		if spec.Other != "" {
			line += " " + names[e.Other]
		}
		if spec.Typed {
			line += " " + e.Type.String()
		}
		if spec.Value != "" {
			line += fmt.Sprint(" ", e.Value)
		}
		if spec.Text != "" {
			line += fmt.Sprintf(" %q", e.Text)
		}
		lines = append(lines, line)
	}
	return lines
}

// tells fails the test unless the lines are in the story, in this order.
func tells(t *testing.T, story []string, lines ...string) {
	t.Helper()
	rest := story
	for _, want := range lines {
		for len(rest) > 0 && rest[0] != want {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Errorf("the story lacks, in its place, %q:\n%s", want, strings.Join(story, "\n"))
			return
		}
		rest = rest[1:]
	}
}

// waiting waits until the goroutine blocks; there is no better sign of it.
func waiting() { time.Sleep(5 * time.Millisecond) }

func TestWords(t *testing.T) {
	counter := NewCounter("bytes")
	tells(t, story(t, func() {
		Label("again")
		Log("hello")
		counter.Set(5)
		counter.Add(-7)
		r := StartRegion("outer")
		StartRegion("inner").End()
		r.End()
		Hiatus("nothing to do")
		Resume()
		task := NewTask("job")
		ShouldResolve(task)
		task.Label("half done")
		other := NewTask("other")
		task.Becomes(other)
		other.Fail(errors.New("broken"))
		ctx, request := StartTask(WithTask(context.Background(), task), "request")
		TaskOf(ctx).Send("m1")
		request.Receive("m2")
		request.Resolve()
	}),
		`test label "test"`, `test label "again"`, `test log "hello"`,
		`test counter 5 "bytes"`, `test counter -2 "bytes"`,
		`test region_begin "outer"`, `test region_begin "inner"`, `test region_end "inner"`, `test region_end "outer"`,
		`none label "nothing to do"`, `none switch`, `test switch`,
		`test creates job Task`, `job label "job"`, `job label "__should_resolve"`, `job label "half done"`,
		`test creates other Task`, `job becomes other`, `test fails other "broken"`,
		`job creates request Task`, `request send "m1"`, `request receive "m2"`, `test fulfills request`)
	if counter.Value() != -2 {
		t.Errorf("value %d", counter.Value())
	}
}

func TestGoroutines(t *testing.T) {
	tells(t, story(t, func() {
		var w sync.WaitGroup
		w.Add(2)
		Go("good", func() { w.Done() })
		Go("exits", func() { defer w.Done(); runtime.Goexit() })
		w.Wait()
		if _, err := GoErr("bad", func() error { return errors.New("oops") }).Await(context.Background()); err == nil || err.Error() != "oops" {
			t.Error(err)
		}
		if _, err := GoErr("gone", func() error { runtime.Goexit(); return nil }).Await(context.Background()); err != errExit {
			t.Error(err)
		}
		waiting()
	}), `test creates bad Promise`, `test creates bad Goroutine`, `bad becomes bad`, `bad fails bad "oops"`, `test read bad`)
	s := story(t, func() {
		done := make(chan struct{})
		ctx, _ := StartTask(context.Background(), "request")
		GoContext(ctx, "good", func(context.Context) { defer close(done) })
		<-done
		waiting()
	})
	tells(t, s, `test creates request Task`, `request creates good Goroutine`, `good label "good"`, `good switch`, `good fulfills good`, `none switch`)
}

// A goroutine that panics fails, and the panic goes on.
func TestPanic(t *testing.T) {
	tells(t, story(t, func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if v := recover(); v != "ouch" {
					t.Errorf("recovered %v", v)
				}
			}()
			l := begin(goid.Get(), "bad")
			defer func() { l.endBadly(recover(), nil) }()
			panic("ouch")
		}()
		<-done
	}), `bad label "bad"`, `bad fails bad "panic: ouch"`)
}

func TestPromise(t *testing.T) {
	background := context.Background()
	tells(t, story(t, func() {
		p := NewPromise[int]("answer")
		Go("waiter", func() { waiting(); waiting(); p.Resolve(42) })
		if v, err := p.Await(background); v != 42 || err != nil {
			t.Error(v, err)
		}
		if p.Resolve(1) || p.Fail(errors.New("late")) {
			t.Error("resolved twice")
		}
		if v, _ := p.Await(background); v != 42 {
			t.Error(v)
		}
		q := NewPromise[int]("never")
		ctx, cancel := context.WithCancel(background)
		cancel()
		if _, err := q.Await(ctx); err != context.Canceled {
			t.Error(err)
		}
		r := NewPromise[int]("other")
		q.Becomes(r)
		r.Fail(errors.New("broken"))
		if _, err := q.Await(background); err == nil {
			t.Error("no error")
		}
	}),
		`test creates answer Promise`, `answer label "answer"`, `test try_read answer`,
		`waiter fulfills answer`, `test read answer`, `test read answer`,
		`test try_read never`, `test switch`, `never becomes other`, `test fails other "broken"`, `test read never`)

	p := NewPromise[int]("")
	q := NewPromise[int]("")
	q.Resolve(3)
	if !p.Becomes(q) || p.Becomes(q) {
		t.Error("becomes")
	}
	if v, err := p.Await(background); v != 3 || err != nil {
		t.Error(v, err)
	}
	<-p.Done()
}

// Who waits is seen to wait for the named thing, and to be woken by whom.
func TestWaits(t *testing.T) {
	background := context.Background()
	for _, c := range []struct {
		name        string
		wait        func(wake func(func()))
		waits, kind string
	}{
		{"mutex", func(wake func(func())) {
			m := Mutex{Name: "thing"}
			held := make(chan struct{})
			wake(func() { m.Lock(); close(held); waiting(); m.Unlock() })
			<-held
			m.Lock()
			m.Unlock()
		}, "try_read", "Wait"},
		{"rwmutex", func(wake func(func())) {
			m := RWMutex{Name: "thing"}
			held := make(chan struct{})
			wake(func() { m.RLock(); close(held); waiting(); m.RUnlock() })
			<-held
			m.Lock()
			m.Unlock()
		}, "try_read", "Wait"},
		{"read", func(wake func(func())) {
			m := RWMutex{Name: "thing"}
			held := make(chan struct{})
			wake(func() { m.Lock(); close(held); waiting(); m.Unlock() })
			<-held
			m.RLocker().Lock()
			m.RLocker().Unlock()
		}, "try_read", "Wait"},
		{"cond", func(wake func(func())) {
			var m sync.Mutex
			cond, ready := NewCond("thing", &m), false
			wake(func() { waiting(); m.Lock(); ready = true; m.Unlock(); cond.Signal() })
			m.Lock()
			for !ready {
				cond.Wait()
			}
			m.Unlock()
			cond.Broadcast()
		}, "try_read", "Condition"},
		{"waitgroup", func(wake func(func())) {
			w := WaitGroup{Name: "thing"}
			w.Add(1)
			wake(func() { waiting(); w.Done() })
			w.Wait()
		}, "try_read", "Join"},
		{"semaphore", func(wake func(func())) {
			s := NewSemaphore("thing", 1)
			s.Acquire(background)
			wake(func() { waiting(); s.Release() })
			if err := s.Acquire(background); err != nil || s.TryAcquire() {
				t.Error("acquired", err)
			}
		}, "try_read", "Semaphore"},
		{"receive", func(wake func(func())) {
			ch := NewChan[string]("thing", 1)
			wake(func() { waiting(); ch.Send("x") })
			if v, ok := ch.Recv(); v != "x" || !ok {
				t.Error(v, ok)
			}
		}, "try_read", "Wait"},
		{"send", func(wake func(func())) {
			ch := NewChan[string]("thing", 0)
			wake(func() { waiting(); ch.Recv() })
			ch.Send("x")
		}, "try_read", "Wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := story(t, func() {
				var wait sync.WaitGroup
				c.wait(func(f func()) {
					wait.Add(1)
					Go("waker", func() { defer wait.Done(); f() })
				})
				wait.Wait()
			})
			tells(t, lines, "test creates thing "+c.kind, `thing label "thing"`, "test signal waker")
			tells(t, lines, `thing label "thing"`, "test "+c.waits+" thing", "test signal waker")
		})
	}
}

func TestChan(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	try := func() {
		c := NewChan[int]("c", 2)
		if c.Cap() != 2 || !c.TrySend(1) || c.SendContext(ctx, 2) != nil && c.Len() != 1 {
			t.Error("send")
		}
		for c.TrySend(3) {
		}
		if err := c.SendContext(ctx, 4); err != why {
			t.Error(err)
		}
		c.Close()
		n := 0
		for range c.All() {
			n++
		}
		if v, ok := c.TryRecv(); n != 2 || v != 0 || ok {
			t.Error(n, v, ok)
		}
		if _, ok, err := NewChan[int]("d", 0).RecvContext(ctx); ok || err != why {
			t.Error(ok, err)
		}
	}
	try()
	story(t, try)
}

// TryLock and TryRLock say what those of package sync would, recorded or not.
func TestTryLock(t *testing.T) {
	try := func() {
		m, rw := Mutex{Name: "m"}, RWMutex{Name: "rw"}
		if !m.TryLock() || m.TryLock() {
			t.Error("a mutex is locked once")
		}
		m.Unlock()
		if !m.TryLock() {
			t.Error("an unlocked mutex cannot be locked")
		}
		if !rw.TryRLock() || !rw.TryRLock() || rw.TryLock() {
			t.Error("readers share, and keep a writer out")
		}
		rw.RUnlock()
		rw.RUnlock()
		if !rw.TryLock() || rw.TryRLock() {
			t.Error("a writer keeps readers out")
		}
		rw.Unlock()
	}
	try()
	story(t, try)
}

// Everything works, and records nothing, when nothing is recorded; and it
// costs no allocation.
func TestOff(t *testing.T) {
	var m Mutex
	counter := NewCounter("c")
	if n := testing.AllocsPerRun(100, func() {
		Label("x")
		Log("x")
		counter.Add(1)
		StartRegion("x").End()
		NewTask("x").Resolve()
		m.Lock()
		m.Unlock()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if NewTask("x").ID() != 0 {
		t.Error("a task")
	}
	done := make(chan struct{})
	Go("x", func() { close(done) })
	<-done
	if _, err := GoErr("x", func() error { return nil }).Await(context.Background()); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "trace")
	r, err := Start(Config{Path: dir, Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		Label("x")
		Log("x")
		counter.Add(1)
		StartRegion("x").End()
		NewTask("x").Resolve()
		m.Lock()
		m.Unlock()
	}); n != 0 {
		t.Errorf("%v allocations while recording", n)
	}
	if _, err := Start(Config{Path: dir + "2"}); !errors.Is(err, ErrRecording) {
		t.Error(err)
	}
	if r.Path() != dir {
		t.Error(r.Path())
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
}

// The zero Config records into a directory named after the program.
func TestZeroConfig(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r, err := Start(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	if want := filepath.Join(os.TempDir(), filepath.Base(os.Args[0])+".trace"); r.Path() != want {
		t.Errorf("it records into %s, not %s", r.Path(), want)
	}
	time.Sleep(150 * time.Millisecond)
	runtime.GC()
	time.Sleep(20 * time.Millisecond)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	reader, err := native.NewReader(os.DirFS(r.Path()))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for e := (event.Event{}); reader.Next(&e); {
		switch {
		case e.Kind == event.Counter:
			seen[string(e.Text)]++
		case e.Kind == event.GC && e.Value > 0:
			seen["gc"]++
		}
	}
	for _, name := range []string{"HeapAlloc", "HeapGoal", "goroutines", "GOMAXPROCS", "gc"} {
		if seen[name] == 0 {
			t.Errorf("there is no %s: %v", name, seen)
		}
	}
}

func TestRequest(t *testing.T) {
	for _, c := range []struct {
		request string
		path    string
		size    int64
		err     string
	}{
		{"/tmp/x", "/tmp/x", 0, ""},
		{"/tmp/a,b", "/tmp/a,b", 0, ""},
		{"/tmp/x,size=64MB", "/tmp/x", 64 << 20, ""},
		{"/tmp/a,b,size=1g", "/tmp/a,b", 1 << 30, ""},
		{"/tmp/x,size=0", "/tmp/x", DefaultSize, ""},
		{"/tmp/x,size=12QB", "", 0, "is not a size"},
		{"/tmp/x,size=", "", 0, "is not a size"},
		{"/tmp/x,size=9223372036854775807k", "", 0, "is not a size"},
		{",size=64MB", "", 0, "there is no path"},
	} {
		got, err := parseRequest(c.request)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v", c.request, err)
			}
		} else if err != nil || got.Path != c.path || got.Size != c.size {
			t.Errorf("%s: %+v %v", c.request, got, err)
		}
	}
}

// program runs this test binary as a program that asks for a recording.
func runProgram(t *testing.T, env ...string) (out string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "MIRADOR_TEST=1"), env...)
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return string(b)
}

func labels(t *testing.T, dir string) (n int) {
	t.Helper()
	r, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for e := (event.Event{}); r.Next(&e); {
		if e.Kind == event.Label && string(e.Text) == "main" {
			n++
		}
	}
	return n
}

func TestStartIfRequested(t *testing.T) {
	dir := t.TempDir()
	const goesOn = "it goes on\n"
	if out := runProgram(t, "MIRADOR="); out != goesOn {
		t.Errorf("not requested: %s", out)
	}
	if out := runProgram(t, "MIRADOR="+dir+"/one,size=1MB"); out != goesOn || labels(t, dir+"/one") != 1 {
		t.Errorf("requested: %s", out)
	}
	// A child records into a directory of its own, or not at all.
	if out := runProgram(t, "MIRADOR="+dir+"/parent,size=1MB", "MIRADOR_TEST_CHILD=1"); out != goesOn || labels(t, dir+"/parent") != 1 {
		t.Errorf("parent: %s", out)
	}
	if out := runProgram(t, "MIRADOR="+dir+"/p.%p,size=1MB", "MIRADOR_TEST_CHILD=1"); out != goesOn {
		t.Errorf("parent and child: %s", out)
	}
	both, _ := filepath.Glob(dir + "/p.*")
	if len(both) != 2 || labels(t, both[0]) != 1 || labels(t, both[1]) != 1 {
		t.Errorf("parent and child: %v", both)
	}
	// What cannot be recorded is one line, and the program goes on.
	for _, c := range [][2]string{
		{dir + "/no/such/place", "mkdir"},
		{dir + "/x,size=100", "too small"},
		{dir + "/x,size=many", "is not a size"},
		{"/proc/trace", "/proc/trace"},
	} {
		out := runProgram(t, "MIRADOR="+c[0])
		if !strings.HasPrefix(out, "mirador: nothing is recorded: ") || !strings.Contains(out, c[1]) ||
			strings.Count(out, "\n") != 2 || !strings.HasSuffix(out, goesOn) {
			t.Errorf("MIRADOR=%s: %s", c[0], out)
		}
	}
}

func BenchmarkLabel(b *testing.B) {
	r, err := Start(Config{Path: b.TempDir() + "/trace"})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Stop()
	b.ReportAllocs()
	for b.Loop() {
		Label("0123456789abcdef")
	}
}

func BenchmarkOff(b *testing.B) {
	c := NewCounter("c")
	b.Run("loop", func(b *testing.B) {
		for range b.N {
		}
	})
	b.Run("label", func(b *testing.B) {
		for range b.N {
			Label("0123456789abcdef")
		}
	})
	b.Run("counter", func(b *testing.B) {
		for range b.N {
			c.Add(1)
		}
	})
	b.Run("region", func(b *testing.B) {
		for range b.N {
			StartRegion("x").End()
		}
	})
}

// An arrow never points backwards: what is read was resolved before, and who
// is created was created before it does anything, in hand-offs as tight as can
// be.
func TestCausality(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	dir := filepath.Join(t.TempDir(), "trace")
	r, err := Start(Config{Path: dir, Size: 64 << 20, Sample: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	promises := make([]*Promise[int], n)
	for i := range promises {
		promises[i] = &Promise[int]{done: make(chan struct{})}
	}
	var wait sync.WaitGroup
	for side := range 2 {
		wait.Add(1)
		Go(fmt.Sprint("side ", side), func() {
			defer wait.Done()
			for i, p := range promises {
				if i%2 == side {
					p.Resolve(i)
					continue
				}
				for p.object.id.Load() == 0 || i%3 == 0 { // some are awaited without blocking
					select {
					case <-p.done:
					default:
						runtime.Gosched()
						continue
					}
					break
				}
				p.Await(context.Background())
				if i%100 == 0 {
					wait.Add(1)
					Go("child", func() { defer wait.Done(); Label("here") })
				}
			}
		})
	}
	wait.Wait()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	reader, err := native.NewReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	resolved, created := make(map[int64]bool), map[int64]bool{event.NoThread: true}
	reads, wrong := 0, 0
	for e := (event.Event{}); reader.Next(&e); {
		switch e.Kind {
		case event.Creates:
			created[e.Other] = true
		case event.Fulfills:
			resolved[e.Other] = true
		case event.Read:
			if reads++; !resolved[e.Other] {
				wrong++
			}
		case event.Label:
			if string(e.Text) == "here" && !created[e.Thread] {
				wrong++
			}
		}
	}
	if reads != n || wrong > 0 || reader.Lost() > 0 {
		t.Errorf("%d reads of %d, %d before their cause; lost %d packets", reads, n, wrong, reader.Lost())
	}
}
