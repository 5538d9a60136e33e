package main

import (
	"math"
	"math/bits"
	"slices"
)

// folded is data without what stands earlier in it, however far away: gzip by
// itself looks back by 32 kB. It is a list of steps, in columns, since gzip
// packs alike with alike: some literals, then a repeat. Literals behind the
// last step are the data's end.
//
// A run of literals, and the length of a repeat less leastFolded, is a byte or
// the beginning of a number ([countCode]). So is the distance of a repeat
// ([distanceCode]), unless it is one of the three latest ones, which 0, 1 and 2
// stand for. What is left of numbers is bits, the lowest first.
type folded struct {
	literals, runs, lengths, distances []byte
	bits                               []byte
	free                               int // bits of the last byte that are not used yet
}

const leastFolded = 2

// fold folds data. What a step costs is first guessed and then measured.
func fold(data []byte) *folded {
	first, all := repeats(data)
	f := write(data, cheapest(data, first, all, guessed()))
	return write(data, cheapest(data, first, all, measured(f)))
}

// countCode returns the byte for a count, and how many bits of what is returned
// as rest follow.
func countCode(n int) (code byte, rest, width int) {
	const whole = 224
	if n < whole {
		return byte(n), 0, 0
	}
	width = bits.Len(uint(n-whole+1)) - 1
	return byte(whole + width), (n - whole + 1) - 1<<width, width
}

// distanceCode does the same for a distance: its size in bits, and its first
// three behind the leading one.
func distanceCode(n int) (code byte, rest, width int) {
	n += 7
	size := bits.Len(uint(n)) - 1
	width = size - 3
	return byte(size<<3 | n>>width&7), n & (1<<width - 1), width
}

// recent are the latest distances.
type recent [3]int32

var firstRecent = recent{1, 2, 4}

// use returns which of them a distance is, and what they are then. 3 is none.
func (r recent) use(distance int32) (int, recent) {
	switch distance {
	case r[0]:
		return 0, r
	case r[1]:
		return 1, recent{r[1], r[0], r[2]}
	case r[2]:
		return 2, recent{r[2], r[0], r[1]}
	}
	return 3, recent{distance, r[0], r[1]}
}

// step is a run of literals and the repeat behind it.
type step struct {
	run int
	repeat
}

func write(data []byte, steps []step) *folded {
	f, at, last := new(folded), 0, firstRecent
	for _, s := range steps {
		f.literals = append(f.literals, data[at:at+s.run]...)
		f.runs = append(f.runs, f.add(countCode(s.run)))
		f.lengths = append(f.lengths, f.add(countCode(int(s.length)-leastFolded)))
		which, now := last.use(s.distance)
		code := byte(which)
		if which == len(last) {
			code = f.add(distanceCode(int(s.distance)))
		}
		f.distances = append(f.distances, code)
		at, last = at+s.run+int(s.length), now
	}
	f.literals = append(f.literals, data[at:]...)
	return f
}

// add adds bits, and returns the byte that they belong to.
func (f *folded) add(code byte, rest, width int) byte {
	for ; width > 0; width-- {
		if f.free == 0 {
			f.bits, f.free = append(f.bits, 0), 8
		}
		f.bits[len(f.bits)-1] |= byte(rest&1) << (8 - f.free)
		rest >>= 1
		f.free--
	}
	return code
}

// prices are how much each byte of a column costs, in 32nds of a bit: whole
// numbers, for the same result on all processors.
type prices struct{ literal, run, length, distance [256]int32 }

const oneBit = 32

func guessed() *prices {
	p := new(prices)
	for i := range len(p.literal) {
		p.literal[i], p.run[i], p.length[i], p.distance[i] = 6*oneBit, int32(3*oneBit+i/2), int32(4*oneBit+i/2), 6*oneBit
	}
	p.distance[0] = 2 * oneBit
	return p
}

func measured(f *folded) *prices {
	price := func(column []byte) (p [256]int32) {
		var count [256]int
		for _, b := range column {
			count[b]++
		}
		for i, n := range count {
			p[i] = int32(oneBit * max(0.3, math.Log2(float64(len(column)+1)/max(float64(n), 0.5))))
		}
		return p
	}
	return &prices{price(f.literals), price(f.runs), price(f.lengths), price(f.distances)}
}

func (p *prices) count(column *[256]int32, n int) int32 {
	code, _, width := countCode(n)
	return column[code] + int32(oneBit*width)
}

// reached is a place in the data, and the cheapest way there.
type reached struct {
	price int32
	by    repeat // 0 for a literal
	run   int32  // literals since the last repeat
	last  recent
}

// cheapest returns the steps that cost least.
func cheapest(data []byte, first []int32, all []repeat, p *prices) []step {
	places := make([]reached, len(data)+1)
	for i := range places {
		places[i].price = math.MaxInt32
	}
	places[0] = reached{last: firstRecent}
	var runs [1 << 12]int32
	for i := range runs {
		runs[i] = p.count(&p.run, i)
	}
	run := func(n int32) int32 { return runs[min(int(n), len(runs)-1)] }
	for i := 0; i < len(data); i++ {
		here := &places[i]
		if here.price == math.MaxInt32 {
			continue // a long repeat was taken instead
		}
		if next, price := &places[i+1], here.price+p.literal[data[i]]+run(here.run+1)-run(here.run); price < next.price {
			*next = reached{price: price, run: here.run + 1, last: here.last}
		}
		base := here.price + run(0)
		longest := 0
		try := func(from, to int, distance, price int32) {
			if to < from {
				return
			}
			_, last := here.last.use(distance)
			if to >= longRepeat { // it is as long as it can be, and nothing else is tried
				for i+to < len(data) && data[i+to] == data[i+to-int(distance)] {
					to++
				}
				from = to
			}
			longest = max(longest, to)
			for n := from; n <= to; n++ {
				if there, price := &places[i+n], base+price+p.count(&p.length, n-leastFolded); price < there.price {
					*there = reached{price, repeat{int32(n), distance}, 0, last}
				}
			}
		}
		for which, distance := range here.last {
			n := 0
			for int(distance) <= i && n < longRepeat && i+n < len(data) && data[i+n] == data[i+n-int(distance)] {
				n++
			}
			try(leastFolded, n, distance, p.distance[which])
		}
		from := leastRepeat
		for _, r := range all[first[i]:first[i+1]] {
			code, _, width := distanceCode(int(r.distance))
			try(from, int(r.length), r.distance, p.distance[code]+int32(oneBit*width))
			from = int(r.length) + 1
		}
		if longest >= longRepeat {
			i += longest - 1
		}
	}
	return steps(places)
}

// steps walks back from the end.
func steps(places []reached) (all []step) {
	at := len(places) - 1
	at -= int(places[at].run)
	for at > 0 {
		r := places[at].by
		at -= int(r.length)
		run := places[at].run
		at -= int(run)
		all = append(all, step{int(run), r})
	}
	slices.Reverse(all)
	return all
}
