// Package lostwakeup is a small program with a famous mistake, and the same
// program without it. There are no types: [Run] runs either,
// [Record] records it, and [Story] tells of both.
//
// A producer puts letters into a box and signals; a consumer waits for the
// signal and takes them out. In the bad program the consumer looks into the
// box, lets go of the lock, and only then begins to wait: the letter that
// comes in between is signalled to nobody. The consumer waits for ever, with
// the letter in the box.
//
//	mirador run -- go run ./examples/lostwakeup/bad
//	mirador view bad.trace
//
// or, both runs with their story told beside, as one HTML file,
//
//	sh examples/lostwakeup/report.sh
//
// What one sees: in the good program, an arrow comes from the producer at the
// end of each of the consumer's waits. In the bad one the producer's last
// signal has no arrow: it is before the consumer's try_read of "letter
// arrived", which is never answered. The counter "box" stays at 1.
package lostwakeup

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/mirador-trace/mirador"
)

// Story tells in Markdown what is to be seen in traces named good and bad, for
// "mirador report --story".
//
//go:embed story.md
var Story []byte

// letters is how many letters the producer sends.
const letters = 5

// box is where they wait.
type box struct {
	mu      mirador.Mutex
	arrived *mirador.Cond
	letters []mirador.Task
	count   *mirador.Counter
	closed  bool

	// What makes the bad program go wrong each time, with its last letter.
	looked chan struct{} // closed when the consumer has looked for it
	sent   chan struct{} // closed when the producer has sent it
}

func (b *box) put(n int) {
	letter := mirador.NewTask(fmt.Sprint("letter ", n))
	mirador.ShouldResolve(letter)
	b.mu.Lock()
	b.letters = append(b.letters, letter)
	b.count.Add(1)
	b.mu.Unlock()
	b.arrived.Signal()
	mirador.Log(fmt.Sprint("signalled letter ", n))
}

func (b *box) take() mirador.Task {
	letter := b.letters[0]
	b.letters = b.letters[1:]
	b.count.Add(-1)
	return letter
}

// wait waits until there is a letter, as it should: it looks and begins to
// wait under one lock. It returns false when the box is closed.
func (b *box) wait() bool {
	for len(b.letters) == 0 && !b.closed {
		b.arrived.Wait()
	}
	return !b.closed
}

// waitBadly looks, and begins to wait a little later.
func (b *box) waitBadly(last bool) bool {
	if len(b.letters) > 0 || b.closed {
		return !b.closed
	}
	b.mu.Unlock()
	mirador.Log("the box is empty")
	if last { // anything may happen here, and in the end it does
		close(b.looked)
		<-b.sent
	}
	b.mu.Lock()
	b.arrived.Wait()
	return !b.closed
}

// Run sends five letters and returns how many were read, when that does not
// change any more. In the bad program the consumer waits on, until release is
// called.
func Run(good bool) (read int, release func()) {
	b := &box{count: mirador.NewCounter("box"), looked: make(chan struct{}), sent: make(chan struct{})}
	b.mu.Name = "box"
	b.arrived = mirador.NewCond("letter arrived", &b.mu)
	done := make(chan struct{})
	mirador.Go("consumer", func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for read < letters {
			if good && !b.wait() || !good && !b.waitBadly(read == letters-1) {
				return
			}
			letter := b.take()
			b.mu.Unlock()
			mirador.Log("reading")
			time.Sleep(time.Millisecond)
			letter.Resolve()
			b.mu.Lock()
			read++
		}
		close(done)
	})
	mirador.Go("producer", func() {
		for n := range letters {
			time.Sleep(10 * time.Millisecond)
			if !good && n == letters-1 {
				select {
				case <-b.looked:
				case <-time.After(time.Second): // it has lost an earlier one
				}
			}
			b.put(n + 1)
		}
		close(b.sent)
	})
	if good {
		<-done
	} else {
		<-b.sent
		time.Sleep(50 * time.Millisecond)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return read, func() {
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		b.arrived.Broadcast()
	}
}

// Record runs either program while it is recorded into a directory. The
// runtime's own trace is left out: it would tell more of what else this process
// does than of the program. On a busy machine a letter may come late and the bad
// program lose an earlier one, or none; then it runs again, some times.
func Record(path string, good bool) error {
	wanted := 4
	if good {
		wanted = 5
	}
	for try := 1; ; try++ {
		r, err := mirador.Start(mirador.Config{Path: path, Size: 1 << 20, GoTrace: -1, Sample: -1})
		if err != nil {
			return err
		}
		read, release := Run(good)
		time.Sleep(20 * time.Millisecond) // so that one sees who still waits
		mirador.Log("that was the program")
		err = r.Stop()
		release()
		if err != nil || read == wanted || try == 5 {
			return err
		}
	}
}
