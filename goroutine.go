package mirador

import (
	"context"
	"errors"
	"fmt"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Go runs f in a new goroutine, as "go f()" does: a thread with a label, which
// is resolved when f returns and fails when it panics or calls
// [runtime.Goexit]. A panic goes on. It is Lwt.async as mirage-profile records
// it, but for the type of the thread.
func Go(label string, f func()) {
	if recorded && ring.On() {
		spawn(goid.Get(), label, f)
		return
	}
	go f()
}

// GoContext is Go for work on behalf of ctx: the goroutine is created by the
// task in ctx, if there is one.
func GoContext(ctx context.Context, label string, f func(context.Context)) {
	if recorded && ring.On() {
		parent := TaskOf(ctx).id
		if parent == 0 {
			parent = goid.Get()
		}
		spawn(parent, label, func() { f(ctx) })
		return
	}
	go f(ctx)
}

// GoErr runs f in a new goroutine, and returns the promise of its end: Await
// returns f's error. The thread fails if f returns an error, or does not
// return.
func GoErr(label string, f func() error) *Promise[struct{}] {
	p := NewPromise[struct{}](label)
	parent := int64(0)
	if recorded && ring.On() {
		parent = goid.Get()
	}
	go func() {
		var l life
		if parent != 0 {
			l = begin(parent, label)
			p.Task().becomes(Task{l.id})
		}
		err := errExit
		defer func() {
			if err == errExit {
				l.endBadly(recover(), func(e error) { p.settle(struct{}{}, e) })
			}
		}()
		err = f()
		l.end(err)
		p.settle(struct{}{}, err)
	}()
	return p
}

func spawn(parent int64, label string, f func()) {
	go func() {
		l := begin(parent, label)
		returned := false
		defer func() {
			if !returned {
				l.endBadly(recover(), nil)
			}
		}()
		f()
		returned = true
		l.end(nil)
	}()
}

// life is a goroutine that lives and ends as a thread of the trace. The zero
// life is one that is not recorded.
type life struct{ id int64 }

// begin records that parent has created this goroutine, which runs.
func begin(parent int64, label string) life {
	l := life{goid.Get()}
	ring.EmitCreates(parent, l.id, event.Goroutine)
	ring.EmitText(event.Label, l.id, label)
	ring.Emit(event.Switch, l.id)
	return l
}

func (l life) end(err error) {
	switch {
	case l.id == 0 || !ring.On():
	case err != nil:
		ring.EmitWordText(event.Fails, l.id, l.id, err.Error())
	default:
		ring.EmitOther(event.Fulfills, l.id, l.id)
	}
	if l.id != 0 && recorded && ring.On() {
		ring.Emit(event.Switch, event.NoThread)
	}
}

var errExit = errors.New("the goroutine called runtime.Goexit")

// endBadly records that the goroutine ends by a panic, which goes on, or by
// runtime.Goexit.
func (l life) endBadly(value any, tell func(error)) {
	err := errExit
	if value != nil {
		err = fmt.Errorf("panic: %v", value)
	}
	l.end(err)
	if tell != nil {
		tell(err)
	}
	if value != nil {
		panic(value)
	}
}
