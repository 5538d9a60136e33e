package mirador

import (
	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Label describes the goroutine that calls it, from now on. It is Trace.label
// of mirage-profile. Texts are cut at 32 KiB, here and everywhere.
func Label(text string) {
	if recorded && ring.On() {
		label(text)
	}
}

//go:noinline
func label(text string) { ring.EmitText(event.Label, goid.Get(), text) }

// Log records that the goroutine says something, which does not describe it.
// Mirage-profile has no word for it but Label.
func Log(text string) {
	if recorded && ring.On() {
		log(text)
	}
}

//go:noinline
func log(text string) { ring.EmitText(event.Log, goid.Get(), text) }

// Hiatus records that the program goes idle, as an event loop does before it
// asks the system for more; the reason is for who reads the events one by one.
// It is Trace.note_hiatus of mirage-profile.
func Hiatus(reason string) {
	if recorded && ring.On() {
		hiatus(reason)
	}
}

//go:noinline
func hiatus(reason string) {
	ring.EmitText(event.Label, event.NoThread, reason)
	ring.Emit(event.Switch, event.NoThread)
}

// Resume records that the goroutine runs again after a [Hiatus]. It is
// Trace.note_resume of mirage-profile.
func Resume() {
	if recorded && ring.On() {
		resume()
	}
}

//go:noinline
func resume() { ring.Emit(event.Switch, goid.Get()) }

// ShouldResolve says of a task that the program is wrong if it is never
// resolved: then viewers show that it failed. It is Trace.should_resolve of
// mirage-profile.
func ShouldResolve(t Task) {
	if recorded && ring.On() {
		shouldResolve(t)
	}
}

//go:noinline
func shouldResolve(t Task) { t.label("__should_resolve") }

// Region is a stretch of a goroutine's time. The zero Region is none. Mirage-
// profile has no word for it.
type Region struct {
	name   string
	thread int64
}

// StartRegion begins a region, in which there may be others. Its End belongs
// on the same goroutine.
func StartRegion(name string) Region {
	if recorded && ring.On() {
		return startRegion(name)
	}
	return Region{}
}

//go:noinline
func startRegion(name string) Region {
	r := Region{name, goid.Get()}
	ring.EmitText(event.RegionBegin, r.thread, name)
	return r
}

// End ends the region.
func (r Region) End() {
	if recorded && ring.On() {
		r.end()
	}
}

//go:noinline
func (r Region) end() {
	if r.thread != 0 {
		ring.EmitText(event.RegionEnd, r.thread, r.name)
	}
}
