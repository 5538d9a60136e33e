package memprof

import "math/bits"

// table is a hash table outside the Go heap, from numbers other than 0 to
// values without pointers. The zero value is empty. It must be released.
type table[V any] struct {
	slots slab[slot[V]] // a power of two of them, or none
	n     int
}

type slot[V any] struct {
	key   uint64 // 0 is free
	value V
}

// home is where a key would best be. Neighbours stay together by eights:
// objects that are born together often die together.
func (t *table[V]) home(key uint64) int {
	shift := 64 - bits.Len(uint(len(t.slots.s)-1)) + 3
	return int((key>>3)*0x9e3779b97f4a7c15>>shift<<3 | key&7)
}

func (t *table[V]) find(key uint64) (at int, ok bool) {
	s := t.slots.s
	if len(s) == 0 {
		return 0, false
	}
	mask := len(s) - 1
	for at = t.home(key); s[at].key != 0; at = (at + 1) & mask {
		if s[at].key == key {
			return at, true
		}
	}
	return at, false
}

// get returns the value of a key, nil when it has none. The pointer is good
// until the table changes.
func (t *table[V]) get(key uint64) *V {
	if at, ok := t.find(key); ok {
		return &t.slots.s[at].value
	}
	return nil
}

// put returns the value of a key, the zero value when it had none.
func (t *table[V]) put(key uint64) (*V, error) {
	if t.n >= len(t.slots.s)/4*3 {
		if err := t.grow(); err != nil {
			return nil, err
		}
	}
	at, ok := t.find(key)
	e := &t.slots.s[at]
	if !ok {
		*e = slot[V]{key: key}
		t.n++
	}
	return &e.value, nil
}

func (t *table[V]) grow() error {
	old := t.slots
	t.slots = slab[slot[V]]{}
	size := max(1024, 2*len(old.s))
	if err := t.slots.reserve(size); err != nil {
		t.slots = old
		return err
	}
	t.slots.s = t.slots.s[:size]
	for i := range old.s {
		if e := &old.s[i]; e.key != 0 {
			at, _ := t.find(e.key)
			t.slots.s[at] = *e
		}
	}
	old.release()
	return nil
}

// remove forgets a key.
func (t *table[V]) remove(key uint64) {
	at, ok := t.find(key)
	if !ok {
		return
	}
	t.n--
	s := t.slots.s
	mask := len(s) - 1
	// What follows moves up when it would otherwise no longer be found.
	for next := at; ; {
		next = (next + 1) & mask
		if s[next].key == 0 {
			break
		}
		if home := t.home(s[next].key); (next-home)&mask >= (next-at)&mask {
			s[at] = s[next]
			at = next
		}
	}
	s[at] = slot[V]{}
}

func (t *table[V]) each(f func(key uint64, v *V)) {
	for i := range t.slots.s {
		if e := &t.slots.s[i]; e.key != 0 {
			f(e.key, &e.value)
		}
	}
}

func (t *table[V]) release() {
	t.slots.release()
	t.n = 0
}
