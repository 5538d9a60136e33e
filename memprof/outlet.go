package memprof

import "io"

// outlet is where a trace goes. Its methods are called by one goroutine, and
// none of them waits for a peer.
type outlet interface {
	// Write takes a packet whole.
	io.Writer

	// turn says whether the present stream has ended, and whether another
	// begins. objects is with how many it would begin.
	turn(objects int) (begin, end bool)

	// room reports whether an event, with the packets that it may fill, can
	// be written now.
	room() bool

	// complete says that the stream has told the objects that it began with.
	complete()

	// doubtful reports whether something must be written now and then to
	// find out whether the peer is there.
	doubtful() bool

	// close ends it, waiting a moment for what is on the way.
	close() error
}
