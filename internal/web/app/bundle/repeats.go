package main

import (
	"encoding/binary"
)

// repeat is a stretch of data that stands earlier in it, too.
type repeat struct{ length, distance int32 }

const (
	leastRepeat = 3   // bytes; four, but for near ones
	longRepeat  = 256 // bytes; a longer one is not compared with others
	nearBy      = 1 << 15
	searchDepth = 32 // candidates that are looked at for each place
)

// repeats finds what may stand for the data from each place on: the repeats
// with number first[i] to first[i+1] begin at place i, each longer and farther
// away than the one before.
//
// Places are in binary trees by what follows them, one tree for each hash of
// four bytes and the newest place at its root, as Igor Pavlov's LZMA has them.
func repeats(data []byte) (first []int32, all []repeat) {
	const none = -1
	near, roots := filled(1<<16, none), filled(1<<20, none)
	children := make([][2]int32, len(data)) // what sorts before and after it
	first = make([]int32, len(data)+1)
	for i := range data {
		first[i] = int32(len(all))
		if i+4 > len(data) {
			continue
		}
		four := binary.LittleEndian.Uint32(data[i:])
		most := min(longRepeat, len(data)-i)
		same := func(with int32, n int) int {
			for n < most && data[int(with)+n] == data[i+n] {
				n++
			}
			return n
		}
		best := leastRepeat - 1
		take := func(with int32, n int) {
			if n > best {
				best = n
				all = append(all, repeat{int32(n), int32(i) - with})
			}
		}
		short := &near[four<<8*2654435761>>16]
		if c := *short; c != none && i-int(c) < nearBy {
			take(c, same(c, 0))
		}
		*short = int32(i)

		root := &roots[four*2654435761>>12]
		c := *root
		*root = int32(i)
		free := [2]*int32{&children[i][0], &children[i][1]} // where what sorts before, and after, is to go
		var shared [2]int                                   // how much of it is the same there at least
		for depth := 0; ; depth++ {
			if c == none || depth == searchDepth {
				*free[0], *free[1] = none, none
				break
			}
			n := same(c, min(shared[0], shared[1]))
			take(c, n)
			if n == most {
				*free[0], *free[1] = children[c][0], children[c][1]
				break
			}
			side := 1
			if data[int(c)+n] < data[i+n] {
				side = 0
			}
			*free[side], shared[side] = c, n
			free[side] = &children[c][1-side]
			c = *free[side]
		}
	}
	first[len(data)] = int32(len(all))
	return first, all
}

func filled(n int, with int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = with
	}
	return list
}
