package mirador

import (
	"sync"
	"sync/atomic"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/ring"
)

// Mutex is a [sync.Mutex] with a name. When a goroutine has to wait for it,
// that is recorded, as is who unlocked it. To lock it without waiting is no
// event. The zero Mutex is unlocked and has no name. It is Lwt_mutex, which
// mirage-profile shows by its named_wait.
type Mutex struct {
	mu sync.Mutex // at the beginning, as in a sync.Mutex

	Name string // must not be changed after the first use

	object object
	by     atomic.Int64 // who unlocked it last
}

// Lock locks the mutex.
func (m *Mutex) Lock() {
	if recorded && ring.On() {
		m.lock()
		return
	}
	m.mu.Lock()
}

func (m *Mutex) lock() {
	if m.mu.TryLock() {
		return
	}
	m.object.named(m.Name).wait(event.WaitType, "mutex", &m.by, m.mu.Lock)
}

// TryLock locks the mutex if it is unlocked, and reports whether it did.
func (m *Mutex) TryLock() bool { return m.mu.TryLock() }

// Unlock unlocks the mutex.
func (m *Mutex) Unlock() {
	if recorded && ring.On() {
		note(&m.by)
	}
	m.mu.Unlock()
}

// RWMutex is a [sync.RWMutex] with a name, as [Mutex] is a sync.Mutex with
// one. Of many readers, the one who unlocked last is seen to let the writer
// in.
type RWMutex struct {
	mu sync.RWMutex

	Name string // must not be changed after the first use

	object object
	by     atomic.Int64
}

// Lock locks the mutex for writing.
func (m *RWMutex) Lock() {
	if recorded && ring.On() {
		m.lock()
		return
	}
	m.mu.Lock()
}

func (m *RWMutex) lock() {
	if m.mu.TryLock() {
		return
	}
	m.object.named(m.Name).wait(event.WaitType, "mutex", &m.by, m.mu.Lock)
}

// TryLock locks the mutex for writing if it is unlocked, and reports whether
// it did.
func (m *RWMutex) TryLock() bool { return m.mu.TryLock() }

// Unlock unlocks the mutex for writing.
func (m *RWMutex) Unlock() {
	if recorded && ring.On() {
		note(&m.by)
	}
	m.mu.Unlock()
}

// RLock locks the mutex for reading.
func (m *RWMutex) RLock() {
	if recorded && ring.On() {
		m.rlock()
		return
	}
	m.mu.RLock()
}

func (m *RWMutex) rlock() {
	if m.mu.TryRLock() {
		return
	}
	m.object.named(m.Name).wait(event.WaitType, "mutex to read", &m.by, m.mu.RLock)
}

// TryRLock locks the mutex for reading if no writer has it, and reports
// whether it did.
func (m *RWMutex) TryRLock() bool { return m.mu.TryRLock() }

// RUnlock ends one RLock.
func (m *RWMutex) RUnlock() {
	if recorded && ring.On() {
		note(&m.by)
	}
	m.mu.RUnlock()
}

// RLocker returns a Locker whose Lock and Unlock are RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return (*rlocker)(m) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }
