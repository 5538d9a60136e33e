package memtrace

import (
	"encoding/binary"
	"math"
)

// span is a packet of a lane in the Reader's buffer. A size of 0 is a place
// where bytes were lost.
type span struct {
	at   int64
	size int
}

// never is the due time of a lane that has no events left.
const never = math.MaxInt64

// lane is the state of one domain: the packet that it is in, and what the
// domain's packets are told relative to.
type lane struct {
	domain uint16
	queue  []span // of a Reader of bytes: the packets to come
	due    int64  // of a Reader of bytes: the time of the next event

	// The packet.
	p       []byte
	at      int   // in p: the next event; len(p) when there is none
	base    int64 // offset of p in the input
	found   int   // in p: where a whole packet was found inside a damaged one
	high    int64 // the time's upper bits
	low     int64 // t_begin's lower bits
	end     int64
	id      uint64 // of the next allocation
	idEnd   uint64
	partial bool
	late    bool // a time went backwards, and that was reported
	spoilt  bool // the event's backtrace is wrong

	unlocated int // codes without a location in it

	// The domain.
	started  bool // an event packet has been
	nextIx   uint16
	last     int64 // time of the last event
	files    mtf
	cache    *cache
	stack    []Frame
	doubtful *doubts // not nil once packets were lost
	torn     bool    // stack is not that of the last allocation that was given
	shared   int     // when torn: how many frames it shares with that
}

// cache is the backtrace cache: in each bucket a place of the program, and
// the bucket of the place that followed it last.
type cache struct {
	frame [cacheSize]Frame
	next  [cacheSize]uint16
}

// doubts says, when packets were lost, which parts of a lane's state have
// been told since, and so are right.
type doubts struct {
	frame  [cacheSize]bool
	next   [cacheSize]uint32 // right when it is age
	age    uint32
	adrift bool // the previous backtrace was lost

	// The frames of the stack in [low, top) may be wrong. None when top is 0.
	low, top int
}

// keep notes that the first n frames of the stack stay.
func (d *doubts) keep(n int) {
	if n <= d.low {
		d.low, d.top = 0, 0
	}
	d.top = min(d.top, n)
}

// doubt notes that frame n of the stack may be wrong.
func (d *doubts) doubt(n int) {
	if d.top == 0 {
		d.low = n
	}
	d.top = n + 1
}

// tear notes that an allocation ended half way, and that only the first n
// frames of the stack are still those of the one before.
func (l *lane) tear(n int) {
	if l.torn {
		n = min(n, l.shared)
	}
	l.torn, l.shared = true, n
}

// lose notes that events of the lane are gone.
func (l *lane) lose() {
	if l.doubtful == nil {
		l.doubtful = new(doubts)
	}
	*l.doubtful = doubts{top: len(l.stack), adrift: true, age: 1}
}

// before says that l's next event comes first. At the same time nobody does:
// the lane that gave the last event goes on.
func (l *lane) before(m *lane) bool { return l.due < m.due }

// prime goes on to the lane's next event, through packets that have none, and
// sets due to its time.
func (l *lane) prime(r *Reader) {
	for {
		for l.at+4 <= len(l.p) {
			head := binary.LittleEndian.Uint32(l.p[l.at:])
			if head>>timeBits != codeLocation {
				l.due = l.time(head)
				return
			}
			if !r.located(l) {
				break
			}
		}
		if l.at < len(l.p) { // fewer than four bytes: let event report them
			l.due = l.last
			return
		}
		if len(l.queue) == 0 {
			l.due = never
			return
		}
		s := l.queue[0]
		l.queue = l.queue[1:]
		if s.size == 0 {
			l.files.blank()
			continue
		}
		p := r.buf[s.at : s.at+int64(s.size)]
		h, _ := parseHeader(p)
		l.open(r, &h, p, s.at)
	}
}

// open begins a packet.
func (l *lane) open(r *Reader, h *header, p []byte, base int64) {
	l.p, l.at, l.base, l.found = p, h.headerLength, base, 0
	l.partial = h.size > len(p)
	l.late, l.spoilt, l.unlocated = false, false, 0
	begin := h.begin
	l.end = h.end
	if begin > l.end {
		r.damage(BadTime, base, 0, "the packet begins %d µs after its end", begin-l.end)
		if l.last <= l.end && l.end-l.last < 1<<timeBits {
			begin = l.last // where the previous packet ended
		} else {
			begin, l.end = l.end, never
		}
	}
	l.high, l.low = begin&^timeMask, begin&timeMask
	if l.cache == nil {
		l.cache = new(cache)
	}
	// A packet without events is one of events: it has a verifier.
	if len(p) >= h.headerLength+4 && binary.LittleEndian.Uint32(p[h.headerLength:])>>timeBits == codeLocation {
		return
	}
	l.continuity(r, h)
	l.id, l.idEnd = h.idBegin, h.idEnd
	l.started = true
}

// time is that of the event whose header is head.
func (l *lane) time(head uint32) int64 {
	t := int64(head & timeMask)
	if t < l.low {
		t += 1 << timeBits
	}
	return l.high + t
}

// verifyInverse is the inverse of verifyStep modulo cacheSize: it turns the
// distance of two verifiers into a number of packets.
const verifyInverse = 16045

// continuity checks that an event packet follows the lane's previous one.
func (l *lane) continuity(r *Reader, h *header) {
	switch {
	case !l.started && h.version == 1 && h.verifyIx == 0: // version 1 begins with bucket 0
	case !l.started && h.verifyIx != verifyNone:
		lost := (h.verifyIx-verifyStart)*verifyInverse&cacheMask + 1
		r.damage(Missing, l.base, 0, "%s of events of domain %d", plural(int64(lost), "packet"), l.domain)
		l.lose()
	case !l.started:
	case h.verifyIx == verifyNone:
		r.damage(Missing, l.base, 0, "domain %d begins anew", l.domain)
		l.files = mtf{}
		l.files.blank()
		l.stack = l.stack[:0]
		*l.cache = cache{}
		l.doubtful = nil
	case h.verifyIx != l.nextIx:
		lost := (h.verifyIx - l.nextIx) * verifyInverse & cacheMask
		detail := ""
		if n := h.idBegin - l.id; h.idBegin > l.id {
			detail = ", with " + plural(int64(n), "allocation")
		}
		r.damage(Missing, l.base, 0, "%s of events of domain %d%s", plural(int64(lost), "packet"), l.domain, detail)
		l.lose()
	case h.idBegin != l.id && !(h.version >= 3 && l.id%chunkIDs == 0 && h.idBegin%chunkIDs == 0):
		r.damage(BadIDs, l.base, 0, "the packet begins with allocation %d, after %d", h.idBegin, l.id)
	}
	if h.verifyIx == verifyNone {
		l.nextIx = verifyStart
		return
	}
	l.nextIx = (h.verifyIx + verifyStep) & cacheMask
	l.verify(r, h)
}

// verify compares a bucket of the cache with what the writer had in it.
func (l *lane) verify(r *Reader, h *header) {
	ix := h.verifyIx & cacheMask
	// The original reader loses bit 63 of a code; its copies do not have it.
	same := r.Code(l.cache.frame[ix])<<1 == h.verifyVal<<1 && l.cache.next[ix] == h.verifyPred
	switch {
	case same && l.doubtful == nil:
		return
	case !same && l.doubtful == nil:
		r.damage(BadVerifier, l.base, 0, "bucket %d", ix)
		l.lose()
		l.doubtful.adrift = false
	}
	if !same {
		l.cache.frame[ix], _ = r.atlas.frame(h.verifyVal)
		l.cache.next[ix] = h.verifyPred
	}
	l.doubtful.frame[ix] = true
	l.doubtful.next[ix] = l.doubtful.age
}
