package memtrace

import (
	"encoding/binary"
	"strconv"
)

// event decodes the next event of the lane's packet into ev. It reports false
// when the packet has none left.
func (r *Reader) event(l *lane, ev *Event) bool {
	for l.at < len(l.p) {
		p, i := l.p, l.at+4
		if i > len(p) {
			r.spoil(l, BadEvent, "cut")
			return false
		}
		head := binary.LittleEndian.Uint32(p[l.at:])
		t := l.time(head)
		code := head >> timeBits
		if code == codeLocation {
			if !r.located(l) {
				return false
			}
			continue
		}
		if t > l.end {
			r.spoil(l, BadEvent, "its time is after the packet's end")
			return false
		}
		if t < l.last && !l.late {
			l.late = true
			r.damage(BadTime, l.base+int64(l.at), 0, "by %d µs", l.last-t)
		}
		ev.Domain = l.domain
		ev.Time = t
		switch {
		case code-codeShort-1 < 16:
			ev.Length, ev.Samples, ev.Source = int64(code-codeShort), 1, Minor
			prefix, i := vint(p, i)
			if i < 0 || i >= len(p) {
				r.spoil(l, BadEvent, "cut")
				return false
			}
			if i = r.alloc(l, ev, i+1, prefix, int(p[i])); i < 0 {
				return false
			}
			l.at = i
		case code == codePromote || code == codeCollect:
			delta, i := vint(p, i)
			if i < 0 {
				r.spoil(l, BadEvent, "cut")
				return false
			}
			ev.Kind = Promote
			if code == codeCollect {
				ev.Kind = Collect
			}
			ev.ID = l.id - 1 - uint64(delta)
			ev.Source, ev.Uncertain, ev.Prefix, ev.Lost = 0, false, 0, 0
			ev.Length, ev.Samples, ev.Stack = 0, 0, nil
			l.at = i
		case code == codeAlloc:
			if i = r.longAlloc(l, ev, i); i < 0 {
				return false
			}
			l.at = i
		default:
			r.spoil(l, BadEvent, "code "+utoa(code))
			return false
		}
		l.last = t
		return true
	}
	if l.id != l.idEnd && !l.partial {
		r.damage(BadIDs, l.base, 0, "the packet ends with allocation %d and says %d", l.id, l.idEnd)
	}
	l.idEnd = l.id
	return false
}

func (r *Reader) longAlloc(l *lane, ev *Event, i int) int {
	p := l.p
	var prefix int64
	if ev.Length, i = vint(p, i); i >= 0 {
		if ev.Samples, i = vint(p, i); i >= 0 && i < len(p) {
			ev.Source = Source(p[i])
			prefix, i = vint(p, i+1)
		}
	}
	if i < 0 || i+2 > len(p) {
		r.spoil(l, BadEvent, "cut")
		return -1
	}
	if ev.Source > External {
		r.spoil(l, BadEvent, "unknown source of an allocation")
		return -1
	}
	return r.alloc(l, ev, i+2, prefix, int(binary.LittleEndian.Uint16(p[i:])))
}

// alloc decodes the backtrace of an allocation, n code words at p[i:], and
// fills in what all allocations have. It returns the index behind the event,
// -1 on damage.
func (r *Reader) alloc(l *lane, ev *Event, i int, prefix int64, n int) int {
	ev.Uncertain, ev.Lost = false, 0
	if prefix < 0 {
		r.spoil(l, BadEvent, "a backtrace shares less than nothing")
		return -1
	}
	had := int64(len(l.stack))
	if l.doubtful == nil && uint64(prefix) <= uint64(len(l.stack)) {
		ev.Prefix = int(prefix)
		i = r.backtrace(l, i, int(prefix), n)
		if l.spoilt {
			l.spoilt, ev.Uncertain = false, true
			r.stats.Uncertain++
		}
	} else {
		i = r.doubtfulBacktrace(l, ev, i, prefix, n)
	}
	if i < 0 {
		l.tear(int(min(prefix, had)))
		return -1
	}
	if l.torn {
		ev.Prefix = min(ev.Prefix, l.shared)
		l.torn = false
	}
	ev.Kind = Alloc
	ev.ID = l.id
	l.id++
	ev.Stack = l.stack
	return i
}

// The most frames that one code word gives.
const wordFrames = 256

// backtrace decodes n code words at l.p[i:] behind the first frames of the
// lane's stack.
func (r *Reader) backtrace(l *lane, i, prefix, n int) int {
	p, c, s := l.p, l.cache, l.stack[:prefix]
	bucket, nothing := uint16(0), Frame(0)
	for ; n > 0; n-- {
		if i+2 > len(p) {
			l.stack = s
			r.spoil(l, BadEvent, "cut")
			return -1
		}
		if cap(s)-len(s) < wordFrames {
			if s = r.grow(l, s); s == nil {
				return -1
			}
		}
		word := binary.LittleEndian.Uint16(p[i:])
		i += 2
		c.next[bucket&cacheMask] = word >> 2
		bucket = word >> 2
		switch word & 3 {
		case 0:
			f := c.frame[bucket&cacheMask]
			nothing |= f - 1
			s = append(s, f)
		case 1:
			f := c.frame[bucket&cacheMask]
			bucket = c.next[bucket&cacheMask]
			g := c.frame[bucket&cacheMask]
			nothing |= f - 1 | g - 1
			s = append(s, f, g)
		case 2:
			if i >= len(p) {
				l.stack = s
				r.spoil(l, BadEvent, "cut")
				return -1
			}
			k := len(s)
			s = s[:k+1+int(p[i])]
			s[k] = c.frame[bucket&cacheMask]
			i++
			for k++; k < len(s); k++ {
				bucket = c.next[bucket&cacheMask]
				f := c.frame[bucket&cacheMask]
				nothing |= f - 1
				s[k] = f
			}
		case 3:
			if i+8 > len(p) {
				l.stack = s
				r.spoil(l, BadEvent, "cut")
				return -1
			}
			f := r.miss(l, binary.LittleEndian.Uint64(p[i:]), i)
			c.frame[bucket&cacheMask] = f
			s = append(s, f)
			i += 8
		}
	}
	l.stack = s
	if int32(nothing) < 0 { // one of the frames is 0
		r.emptyBucket(l, prefix)
	}
	return i
}

// emptyBucket reports that the backtrace has a place from a bucket that was
// never filled, which no writer would tell: something before it was wrong.
func (r *Reader) emptyBucket(l *lane, prefix int) {
	r.damage(BadVerifier, l.base+int64(l.at), 0, "a backtrace names an empty bucket")
	l.lose()
	l.doubtful.adrift = false
	l.doubtful.low = prefix
	l.spoilt = true
}

// doubtfulBacktrace does the work of backtrace where the backtrace may be
// wrong, because packets were lost, or has been cut by the writer.
func (r *Reader) doubtfulBacktrace(l *lane, ev *Event, i int, prefix int64, n int) int {
	d := l.doubtful
	old := len(l.stack)
	cut := uint64(prefix) > uint64(old)
	if cut && d != nil && d.adrift && r.pad(l, prefix) {
		cut = false
	}
	switch {
	case cut:
		// The writer had lost the end of the previous backtrace, which this
		// one is told relative to: the best that is known is the previous.
		// The code words still go through the cache.
		keep := l.stack
		l.stack = r.scratch
		if d == nil {
			i = r.backtrace(l, i, 0, n)
		} else {
			low, top := d.low, d.top
			i = r.words(l, i, 0, n)
			d.low, d.top = low, top
		}
		r.scratch, l.stack = l.stack, keep
		ev.Prefix = len(keep)
		ev.Lost = int(prefix) - len(keep)
	default:
		d.keep(int(prefix))
		i = r.words(l, i, int(prefix), n)
		ev.Prefix = min(int(prefix), old)
	}
	if i < 0 || d == nil {
		return i
	}
	d.adrift = false
	if ev.Uncertain = d.top > 0; ev.Uncertain {
		r.stats.Uncertain++
	}
	return i
}

// words decodes n code words as backtrace does, and keeps account of what
// may be wrong.
func (r *Reader) words(l *lane, i, prefix, n int) int {
	p, c, d, s := l.p, l.cache, l.doubtful, l.stack[:prefix]
	bucket, sure := uint16(0), true // whether bucket is the writer's
	for ; n > 0; n-- {
		l.stack = s
		if i+2 > len(p) {
			r.spoil(l, BadEvent, "cut")
			return -1
		}
		if cap(s)-len(s) < wordFrames {
			if s = r.grow(l, s); s == nil {
				return -1
			}
		}
		word := binary.LittleEndian.Uint16(p[i:])
		i += 2
		if !sure {
			d.age++ // some other bucket's next has changed: any may be wrong
		}
		c.next[bucket&cacheMask] = word >> 2
		d.next[bucket&cacheMask] = d.age
		if !sure {
			d.next[bucket&cacheMask] = 0
		}
		bucket, sure = word>>2, true
		run := 0
		switch word & 3 {
		case 1:
			run = 1
		case 2:
			if i >= len(p) {
				r.spoil(l, BadEvent, "cut")
				return -1
			}
			run = int(p[i])
			i++
		case 3:
			if i+8 > len(p) {
				r.spoil(l, BadEvent, "cut")
				return -1
			}
			c.frame[bucket&cacheMask] = r.miss(l, binary.LittleEndian.Uint64(p[i:]), i)
			d.frame[bucket&cacheMask] = true
			i += 8
		}
		for {
			if !sure || !d.frame[bucket&cacheMask] {
				d.doubt(len(s))
			}
			s = append(s, c.frame[bucket&cacheMask])
			if run == 0 {
				break
			}
			run--
			sure = sure && d.next[bucket&cacheMask] == d.age
			bucket = c.next[bucket&cacheMask]
		}
	}
	l.stack = s
	return i
}

// miss returns the frame of a code that a backtrace tells in full.
func (r *Reader) miss(l *lane, code uint64, i int) Frame {
	f, isNew := r.atlas.frame(code)
	if isNew {
		if l.unlocated++; l.unlocated == 1 {
			r.damage(BadLocation, l.base+int64(i), 0, "code %d has none: a packet of locations is missing", code)
			l.files.blank()
		}
	}
	return f
}

// maxPad bounds how many unknown frames are made up in all.
const maxPad = 1 << 24

// pad lengthens the stack to n frames with unknown ones. It reports false
// when those are too many.
func (r *Reader) pad(l *lane, n int64) bool {
	k := n - int64(len(l.stack))
	if n < 0 || n > maxPad || k > maxPad-int64(r.padded) {
		return false
	}
	r.padded += int(k)
	for int64(cap(l.stack)) < n {
		s := r.grow(l, l.stack)
		if s == nil {
			return false
		}
		l.stack = s
	}
	old := len(l.stack)
	l.stack = l.stack[:n]
	clear(l.stack[old:])
	l.doubtful.doubt(int(n) - 1)
	l.doubtful.low = min(l.doubtful.low, old)
	return true
}

// maxFrames bounds the sum of all domains' backtraces: 128 MiB.
const maxFrames = 1 << 25

// grow gives s more room. It returns nil when there is none, after having
// given up the packet.
func (r *Reader) grow(l *lane, s []Frame) []Frame {
	size := max(2*cap(s), 1024)
	if r.depth += size - cap(s); r.depth > maxFrames {
		r.depth -= size - cap(s)
		r.spoil(l, TooDeep, "more than "+utoa(maxFrames)+" frames")
		return nil
	}
	grown := make([]Frame, len(s), size)
	copy(grown, s)
	return grown
}

// located reads a location event. It reports false on damage.
func (r *Reader) located(l *lane) bool {
	i := r.location(l, l.p, l.at+4)
	if i < 0 {
		r.spoil(l, BadEvent, "location")
		l.files.blank()
		return false
	}
	l.at = i
	return true
}

// spoil gives up the rest of the lane's packet: what is there cannot be.
func (r *Reader) spoil(l *lane, kind DamageKind, detail string) {
	if !l.partial {
		r.damage(kind, l.base+int64(l.at), int64(len(l.p)-l.at), "%s", detail)
	} else {
		r.stats.SkippedBytes += int64(len(l.p) - l.at)
	}
	if r.src != nil {
		// The packet's size may be wrong, and the next packet inside it.
		if j := find(l.p[l.at:], 0, r); j >= 0 {
			l.found = l.at + j
		}
	}
	l.at = len(l.p)
	if l.idEnd > l.id {
		l.id = l.idEnd
	}
	l.idEnd = l.id
	if l.started {
		l.lose()
	}
}

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
