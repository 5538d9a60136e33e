package memprof

import "github.com/mirador-trace/mirador/memprof/ring"

// mapped is an outlet to the files of a trace directory.
type mapped struct {
	w       *ring.Writer
	begun   bool
	telling bool // the objects that the file begins with
	factor  int  // these took more room than was thought
	full    bool
	err     error
}

// Between two turns there are 64 events at most, and the packets of a flush.
const mappedMargin = 384 << 10

func createRing(dir string, size int) (*mapped, error) {
	w, err := ring.Create(dir, size)
	if err != nil {
		return nil, err
	}
	return &mapped{w: w, factor: 1}, nil
}

func (o *mapped) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.full = true
	}
	return n, err
}

// turn begins another file when the present one is almost full.
func (o *mapped) turn(objects int) (begin, end bool) {
	switch {
	case o.err != nil:
		return false, true
	case o.full && o.telling:
		o.factor *= 2
	case o.begun && !o.full && (o.telling || !o.w.Full(mappedMargin)):
		return false, false
	}
	if err := o.w.Next(objects * o.factor); err != nil {
		o.err = err
		return false, true
	}
	o.begun, o.telling, o.full = true, true, false
	return true, true
}

func (o *mapped) room() bool { return o.err == nil && !o.full }

func (o *mapped) complete() {
	o.telling = false
	o.w.Complete()
}

func (o *mapped) doubtful() bool { return false }

func (o *mapped) close() error {
	err := o.w.Close()
	if o.err != nil {
		return o.err
	}
	return err
}
