package heap

import "slices"

// Change is how a function's amounts differ between two profiles.
type Change struct {
	Name          string
	Before, After float64 // bytes allocated by the function itself
	// Bytes allocated by it and everything that it called.
	UnderBefore, UnderAfter float64
}

// Diff compares two profiles, which may share their stacks or not. The
// functions are ordered by how much they themselves differ, the largest
// difference first.
func Diff(before, after *Profile) []Change {
	changes := map[string]*Change{}
	of := func(name string) *Change {
		c := changes[name]
		if c == nil {
			c = &Change{Name: name}
			changes[name] = c
		}
		return c
	}
	for i, samples := range before.Samples {
		of(before.Stacks.Place(Site(i)).Func).Before += before.Bytes(samples)
	}
	for i, samples := range after.Samples {
		of(after.Stacks.Place(Site(i)).Func).After += after.Bytes(samples)
	}
	for fn, samples := range before.Under() {
		of(before.Stacks.names[fn]).UnderBefore += before.Bytes(samples)
	}
	for fn, samples := range after.Under() {
		of(after.Stacks.names[fn]).UnderAfter += after.Bytes(samples)
	}
	list := make([]Change, 0, len(changes))
	for _, c := range changes {
		if *c != (Change{Name: c.Name}) {
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(a, b Change) int {
		x, y := abs(a.After-a.Before), abs(b.After-b.Before)
		if x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return most(int64(abs(a.UnderAfter-a.UnderBefore)), int64(abs(b.UnderAfter-b.UnderBefore)), a.Name, b.Name)
	})
	return list
}

func abs(v float64) float64 { return max(v, -v) }
