package thread

// idTable maps the thread numbers of a trace to IDs. Recorders number threads
// one after the other, so most numbers are small and close together: those
// are looked up in pages, the others in a map.
type idTable struct {
	pages [][]ID // IDs plus one; 0 is none
	rest  map[int64]ID
}

const (
	idPage  = 1 << 12
	maxPage = 1 << 16 // numbers below 2^28 are paged
)

func (x *idTable) find(tid int64) (ID, bool) {
	if page := uint64(tid) / idPage; page < uint64(len(x.pages)) {
		if p := x.pages[page]; p != nil {
			id := p[tid%idPage]
			return id - 1, id != 0
		}
		return None, false
	} else if page < maxPage {
		return None, false
	}
	id, ok := x.rest[tid]
	return id, ok
}

func (x *idTable) add(tid int64, id ID) {
	page := uint64(tid) / idPage
	if page >= maxPage {
		if x.rest == nil {
			x.rest = make(map[int64]ID)
		}
		x.rest[tid] = id
		return
	}
	for page >= uint64(len(x.pages)) {
		x.pages = append(x.pages, nil)
	}
	if x.pages[page] == nil {
		x.pages[page] = make([]ID, idPage)
	}
	x.pages[page][tid%idPage] = id + 1
}
