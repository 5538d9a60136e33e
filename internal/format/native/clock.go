package native

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/mirador-trace/mirador/internal/ring/packet"
)

// ratio is a number between 0 and 16, in units of 2^-60.
type ratio uint64

// ns returns how long after an origin a time in cycles is, to the nearest ns.
func (r ratio) ns(cycles, origin uint64) int64 {
	if cycles < origin {
		return -r.ns(origin, cycles)
	}
	hi, lo := bits.Mul64(cycles-origin, uint64(r))
	lo, carry := bits.Add64(lo, 1<<59, 0)
	hi += carry
	return int64(hi<<4 | lo>>60)
}

// clocks returns the moments that the trace tells on several clocks, which
// stand in the shared ring.
func (r *Reader) clocks() (moments []packet.Clock) {
	for _, c := range r.cursors {
		if c.ID != Shared {
			continue
		}
		scan := &cursor{Ring: c.Ring, dir: c.dir, kinds: c.kinds, until: c.until, packets: append([]found(nil), c.packets...)}
		quiet := &Reader{trace: r.trace} // what is damaged is told when it is read
		for quiet.advance(scan); scan.data != nil; quiet.advance(scan) {
			if b := scan.data[scan.pos:]; scan.kind == clockKind {
				moments = append(moments, packet.Clock{Cycles: scan.time,
					Monotonic: int64(binary.LittleEndian.Uint64(b[8:])),
					Realtime:  int64(binary.LittleEndian.Uint64(b[16:]))})
			}
		}
	}
	return moments
}

// fit returns how many ns a cycle takes, by least squares over the moments and
// the trace's start, through which the line goes. If that is far from what was
// measured at the start, the moments cannot be true and the measure counts.
func fit(t packet.Trace, moments []packet.Clock) ratio {
	measured := 1e9 / float64(t.Frequency)
	var xx, xy float64
	for _, m := range moments {
		x, y := float64(m.Cycles-t.Start.Cycles), float64(m.Monotonic-t.Start.Monotonic)
		xx += x * x
		xy += x * y
	}
	best := measured
	if xx > 0 && math.Abs(xy/xx/measured-1) < 1e-3 {
		best = xy / xx
	}
	return ratio(math.Min(best, 15.9) * (1 << 60))
}
