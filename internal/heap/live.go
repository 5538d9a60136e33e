package heap

import (
	"github.com/mirador-trace/mirador/memtrace"
)

// block is a sampled block that is alive.
type block struct {
	birth   int64
	samples int64
	site    Site
}

// Moment is a moment of a trace.
type Moment struct {
	Time   int64 // µs since the Unix epoch
	Events int64 // up to and including this one
	Live   int64 // samples
}

// Curve is how much was alive over the time of a trace.
type Curve struct {
	Peak, End Moment
	Steps     []Moment // at the ends of equal intervals, at most 64 of them
	Step      int64    // µs
}

// LiveCurve reads a trace and returns how much was alive when. It needs no
// stacks, and an entry per live block.
func LiveCurve(r *memtrace.Reader, watch Watch) (*Curve, error) {
	c := &Curve{}
	samples := map[uint64]int64{}
	var now Moment
	ticks := newTicker(r.Info().Start)
	tick := func() { c.Steps = append(c.Steps, now) }
	merge := func() { c.Steps = halve(c.Steps) }
	err := Each(r, watch, func(ev *memtrace.Event) bool {
		ticks.to(ev.Time, tick, merge)
		now.Events++
		now.Time = max(now.Time, ev.Time)
		switch ev.Kind {
		case memtrace.Alloc:
			now.Live += ev.Samples - samples[ev.ID]
			samples[ev.ID] = ev.Samples
			if now.Live > c.Peak.Live {
				c.Peak = now
			}
		case memtrace.Collect:
			now.Live -= samples[ev.ID]
			delete(samples, ev.ID)
		}
		return true
	})
	c.End, c.Step = now, ticks.step
	return c, err
}

// LiveAt reads a trace up to a moment, which is a number of events or, when
// that is 0, a time, and returns what is alive then. A time that is before
// the trace begins gives nothing.
func LiveAt(r *memtrace.Reader, s *Stacks, at Moment, watch Watch) (*Profile, Moment, error) {
	live := map[uint64]block{}
	w := s.Walk(r)
	var now Moment
	err := Each(r, watch, func(ev *memtrace.Event) bool {
		if at.Events == 0 && ev.Time > at.Time {
			return false
		}
		now.Events++
		now.Time = ev.Time
		switch ev.Kind {
		case memtrace.Alloc:
			live[ev.ID] = block{samples: ev.Samples, site: w.Site(ev)}
		case memtrace.Collect:
			delete(live, ev.ID)
		}
		return now.Events != at.Events
	})
	p := &Profile{Stacks: s, Unit: unit(r)}
	for _, b := range live {
		p.add(b.site, b.samples, 1)
		now.Live += b.samples
	}
	return p, now, err
}

// maxTicks is how many equal intervals a trace is divided into at most.
const maxTicks = 64

// ticker divides a time of unknown length into equal intervals, at least half
// of maxTicks of them once there are that many: it begins with short ones and
// doubles them.
type ticker struct {
	start, step, next int64
	n                 int
}

func newTicker(start int64) *ticker { return &ticker{start: start, step: 1, next: start + 1} }

// to goes on to a time: it calls tick at the end of each interval, and halve
// when two intervals become one each.
func (t *ticker) to(time int64, tick, halve func()) {
	for time >= t.next {
		if t.n == maxTicks {
			t.n /= 2
			t.step *= 2
			t.next = t.start + int64(t.n+1)*t.step
			halve()
			continue
		}
		if ahead := (time - t.start) / t.step; ahead > 2*maxTicks && t.n == 0 {
			for (time-t.start)/t.step > maxTicks { // nothing has been yet
				t.step *= 2
			}
			t.next = t.start + t.step
			continue
		}
		tick()
		t.n++
		t.next += t.step
	}
}

// halve keeps every second of a list of ticks.
func halve[T any](list []T) []T {
	for i := range len(list) / 2 {
		list[i] = list[2*i+1]
	}
	return list[:len(list)/2]
}
