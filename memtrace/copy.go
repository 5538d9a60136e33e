package memtrace

import "io"

// Copy writes the events that are left in r to w, as the original's copy
// does: ids stay as they are, and a domain's packet ends where another
// domain's events follow. With edit not nil each event goes through it first;
// it may change its time and what an allocation says of itself, and set Stack
// and Prefix to something shorter, but not the ids. Its error ends the copy.
//
// w's Writer must get its locations from r: see [Reader.Locate]. The error is
// a reader's or writer's; damage is none.
func Copy(w *Writer, r *Reader, edit func(*Event) error) error {
	var ev Event
	var codes []uint64
	var d *Domain
	for {
		switch err := r.Next(&ev); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if edit != nil {
			if err := edit(&ev); err != nil {
				return err
			}
		}
		if d == nil || d.id != ev.Domain {
			if d != nil {
				d.flush(d.last)
			}
			var err error
			if d, err = w.Domain(ev.Domain); err != nil {
				return err
			}
		}
		var err error
		switch ev.Kind {
		case Alloc:
			codes = r.Codes(codes[:0], ev.Stack[ev.Prefix:])
			a := Allocation{ev.Time, ev.Length, ev.Samples, ev.Source, ev.Prefix, codes}
			if err = d.Skip(ev.ID); err == nil {
				_, err = d.Alloc(&a)
			}
		case Promote:
			err = d.Promote(ev.Time, ev.ID)
		case Collect:
			err = d.Collect(ev.Time, ev.ID)
		}
		if err != nil {
			return err
		}
	}
}

// Codes appends the codes of frames to list.
func (r *Reader) Codes(list []uint64, frames []Frame) []uint64 {
	for _, f := range frames {
		list = append(list, r.Code(f))
	}
	return list
}

// Locate returns the locations of a code in r: what [NewWriter] wants to know
// of a copy.
func (r *Reader) Locate(code uint64) []Location {
	f := r.atlas.table[r.atlas.slot(code)]
	if f == 0 {
		return nil
	}
	return r.Locations(nil, Frame(f-1))
}
