// Package count is what the machines of the tests do, and the check that their
// traces tell it: goroutines count, each in a counter of its own, and say now
// and then how far they have come.
//
// There is one type: [Known] is how far they had come when they last said so.
package count

import (
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/native"
)

// Workers is how many goroutines count.
const Workers = 3

// Known is how far each goroutine is known to have come: what it recorded up
// to there was recorded before anybody knew.
type Known [Workers]int64

var garbage atomic.Pointer[[]byte]

// Run counts for ever, or until stop is closed, with collections going on, and
// with a pause after each 512 numbers. It writes to w how far it is ten times
// a second, and at the end.
func Run(w io.Writer, pause time.Duration, stop <-chan struct{}) {
	var workers sync.WaitGroup
	var done [Workers]atomic.Int64
	for i := range Workers {
		c := mirador.NewCounter(fmt.Sprint("count ", i))
		workers.Add(1)
		mirador.Go(fmt.Sprint("worker ", i), func() {
			defer workers.Done()
			for n := int64(1); ; n++ {
				c.Set(n)
				done[i].Store(n)
				if n%512 == 0 {
					b := make([]byte, 1<<12)
					garbage.Store(&b)
					if time.Sleep(pause); pause == 0 {
						runtime.Gosched()
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			}
		})
	}
	for stopped := false; !stopped; {
		select {
		case <-stop:
			workers.Wait()
			stopped = true
		case <-time.After(100 * time.Millisecond):
		}
		var b strings.Builder
		for i := range done {
			fmt.Fprintf(&b, " %d", done[i].Load())
		}
		fmt.Fprintf(w, "\nat%s .\n", b.String())
	}
}

var said = regexp.MustCompile(`^at (\d+) (\d+) (\d+) \.$`)

// Parse reads a line that [Run] has written.
func Parse(line string) (known Known, ok bool) {
	m := said.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return known, false
	}
	for i := range known {
		known[i], _ = strconv.ParseInt(m[i+1], 10, 64)
	}
	return known, true
}

// Check reads a trace and returns an error unless it has everything: of each
// goroutine's numbers those up to what is known and, without a gap and in
// order, those before, as far back as the ring goes. It says what it has seen.
func Check(dir fs.FS, known Known) (string, error) {
	r, err := native.NewReader(dir)
	if err != nil {
		return "", err
	}
	for _, ring := range r.Rings() {
		if ring.Missing > 0 {
			return "", fmt.Errorf("ring %d: %d packets are missing between others", ring.ID, ring.Missing)
		}
	}
	complete := r.Complete() // hence when the ring that goes back the least does begin
	var e event.Event
	var first, last, broken Known
	events, time := 0, int64(0)
	for r.Next(&e) {
		events++
		if e.Time < time {
			return "", fmt.Errorf("event %d is at %d ns, after one at %d ns", events, e.Time, time)
		}
		time = e.Time
		text, ok := strings.CutPrefix(string(e.Text), "count ")
		i, err := strconv.Atoi(text)
		if e.Kind != event.Counter || !ok || err != nil || i < 0 || i >= Workers || e.Time < complete {
			continue
		}
		switch {
		case first[i] == 0:
			first[i] = e.Value
		case e.Value <= last[i]:
			return "", fmt.Errorf("worker %d: %d comes after %d", i, e.Value, last[i])
		case e.Value != last[i]+1 && broken[i] == 0:
			broken[i] = last[i]
		}
		last[i] = e.Value
	}
	if damage := r.Damage(); len(damage) > 0 {
		return "", fmt.Errorf("damage in %d places, the first: %v", len(damage), damage[0])
	}
	total := int64(0)
	for i, n := range known {
		// A copy of a live trace may have later numbers with a gap: from a
		// processor whose ring was copied a little later.
		if broken[i] != 0 && broken[i] < n {
			return "", fmt.Errorf("worker %d: %d is missing, and it came to %d at least", i, broken[i]+1, n)
		}
		if last[i] < n && n > 0 {
			return "", fmt.Errorf("worker %d: the last number is %d, and it came to %d at least", i, last[i], n)
		}
		if last[i] > 0 {
			total += last[i] - first[i] + 1
		}
	}
	if total < 1000 {
		return "", fmt.Errorf("only %d numbers are there", total)
	}
	return fmt.Sprintf("%d numbers in order, up to %d %d %d of %d %d %d", total,
		last[0], last[1], last[2], known[0], known[1], known[2]), nil
}
