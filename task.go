package mirador

import (
	"context"

	"github.com/petermattis/goid"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Task is something that goroutines work on and that ends one day: a request,
// a job. It is a thread of its own in the trace. It is a small value to be
// copied; the zero Task, which one gets when nothing is recorded, is none, and
// nothing is recorded of it. It is Trace.named_task of mirage-profile.
type Task struct {
	id int64
}

// NewTask records that the goroutine creates a task.
func NewTask(label string) Task {
	if recorded && ring.On() {
		return newTask(goid.Get(), label, event.Task)
	}
	return Task{}
}

//go:noinline
func newTask(parent int64, label string, sort event.ThreadType) Task {
	t := Task{ring.NewID()}
	ring.EmitCreates(parent, t.id, sort)
	ring.EmitText(event.Label, t.id, label)
	return t
}

// ID returns the task's number as a thread of the trace; 0 for none.
func (t Task) ID() int64 { return t.id }

// Label describes the task from now on. It is Trace.label, for a thread that
// one is not.
func (t Task) Label(text string) {
	if recorded && ring.On() {
		t.label(text)
	}
}

//go:noinline
func (t Task) label(text string) {
	if t.id != 0 {
		ring.EmitText(event.Label, t.id, text)
	}
}

// Resolve records that the goroutine has brought the task to its end. It is
// note_resolved of mirage-profile.
func (t Task) Resolve() {
	if recorded && ring.On() {
		t.resolve()
	}
}

//go:noinline
func (t Task) resolve() {
	if t.id != 0 {
		ring.EmitOther(event.Fulfills, goid.Get(), t.id)
	}
}

// Fail records that the task failed; a nil error is a success. It is
// note_resolved of mirage-profile, with an exception.
func (t Task) Fail(err error) {
	if recorded && ring.On() {
		t.fail(err)
	}
}

//go:noinline
func (t Task) fail(err error) {
	switch {
	case err == nil:
		t.resolve()
	case t.id != 0:
		ring.EmitWordText(event.Fails, goid.Get(), t.id, err.Error())
	}
}

// Becomes records that from now on the task is another one, with which it
// ends. It is note_becomes of mirage-profile.
func (t Task) Becomes(other Task) {
	if recorded && ring.On() {
		t.becomes(other)
	}
}

//go:noinline
func (t Task) becomes(other Task) {
	if t.id != 0 && other.id != 0 {
		ring.EmitOther(event.Becomes, t.id, other.id)
	}
}

// taskKey is the key of a context's task.
type taskKey struct{}

// StartTask is NewTask for what is done on behalf of ctx: the task is created
// by the one in ctx, if there is one, and is the one in the context that is
// returned. When nothing is recorded, that is ctx itself.
func StartTask(ctx context.Context, label string) (context.Context, Task) {
	if recorded && ring.On() {
		return startTask(ctx, label)
	}
	return ctx, Task{}
}

//go:noinline
func startTask(ctx context.Context, label string) (context.Context, Task) {
	parent := TaskOf(ctx).id
	if parent == 0 {
		parent = goid.Get()
	}
	t := newTask(parent, label, event.Task)
	return WithTask(ctx, t), t
}

// WithTask returns a context of work on t.
func WithTask(ctx context.Context, t Task) context.Context {
	return context.WithValue(ctx, taskKey{}, t)
}

// TaskOf returns the task that a context belongs to.
func TaskOf(ctx context.Context) Task {
	t, _ := ctx.Value(taskKey{}).(Task)
	return t
}

// Send records that the task sends a message out of the process; the message
// is what it has in common with its receipt over there. Mirage-profile has no
// word for it.
func (t Task) Send(message string) {
	if recorded && ring.On() {
		t.message(event.Send, message)
	}
}

// Receive records that the task receives a message from another process.
func (t Task) Receive(message string) {
	if recorded && ring.On() {
		t.message(event.Receive, message)
	}
}

//go:noinline
func (t Task) message(kind event.Kind, message string) {
	if t.id != 0 {
		ring.EmitText(kind, t.id, message)
	}
}
