package memprof

import "unsafe"

// slab is a growing slice outside the Go heap, so that what is remembered of
// the heap is not part of it. T must have no pointers. The zero value is
// empty. It must be released.
type slab[T any] struct {
	s   []T
	mem []byte
}

// reserve makes room for n elements.
func (b *slab[T]) reserve(n int) error {
	if n <= cap(b.s) {
		return nil
	}
	var zero T
	size := max(64<<10, 2*cap(b.s)*int(unsafe.Sizeof(zero)))
	for size < n*int(unsafe.Sizeof(zero)) {
		size *= 2
	}
	mem, err := mapMemory(size)
	if err != nil {
		return err
	}
	s := unsafe.Slice((*T)(unsafe.Pointer(&mem[0])), size/int(unsafe.Sizeof(zero)))
	copy(s, b.s)
	old := b.mem
	b.s, b.mem = s[:len(b.s)], mem
	return unmapMemory(old)
}

func (b *slab[T]) add(v T) error {
	if err := b.reserve(len(b.s) + 1); err != nil {
		return err
	}
	b.s = append(b.s, v)
	return nil
}

func (b *slab[T]) release() {
	unmapMemory(b.mem)
	*b = slab[T]{}
}

// queue is a first-in, first-out list in a slab.
type queue[T any] struct {
	slab[T]
	head int
}

func (q *queue[T]) len() int { return len(q.s) - q.head }

func (q *queue[T]) front() *T { return &q.s[q.head] }

func (q *queue[T]) pop() {
	q.head++
	if q.head == len(q.s) {
		q.head, q.s = 0, q.s[:0]
	}
}

func (q *queue[T]) push(v T) error {
	if len(q.s) == cap(q.s) && q.head > len(q.s)/2 {
		q.s = q.s[:copy(q.s, q.s[q.head:])]
		q.head = 0
	}
	return q.add(v)
}

func (q *queue[T]) clear() { q.head, q.s = 0, q.s[:0] }
