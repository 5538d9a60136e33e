package memprof

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestTable checks the hash table against a map, with keys as the runtime
// gives them: rising, and going in any order.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tab table[uint64]
	defer tab.release()
	want := map[uint64]uint64{}
	var keys []uint64
	next := uint64(1)
	check := func() {
		t.Helper()
		if tab.n != len(want) {
			t.Fatalf("%d entries, want %d", tab.n, len(want))
		}
		seen := 0
		tab.each(func(key uint64, v *uint64) {
			seen++
			if want[key] != *v {
				t.Fatalf("%d: %d, want %d", key, *v, want[key])
			}
		})
		if seen != len(want) {
			t.Fatalf("each: %d entries, want %d", seen, len(want))
		}
		for _, k := range keys {
			if v := tab.get(k); v == nil || *v != want[k] {
				t.Fatalf("%d is not found", k)
			}
		}
	}
	for round := range 60 {
		for range r.IntN(3000) {
			next += 1 + uint64(r.IntN(3))
			key := next
			if r.IntN(10) == 0 {
				key = r.Uint64() | 1
			}
			v, err := tab.put(key)
			if err != nil {
				t.Fatal(err)
			}
			if _, known := want[key]; !known {
				if *v != 0 {
					t.Fatalf("a new entry has the value %d", *v)
				}
				keys = append(keys, key)
			}
			*v = next
			want[key] = next
		}
		for range r.IntN(3000) {
			if len(keys) == 0 {
				break
			}
			i := r.IntN(len(keys))
			if round%2 == 0 {
				i = min(i, 10) // mostly the oldest
			}
			tab.remove(keys[i])
			tab.remove(keys[i]) // is nothing
			if tab.get(keys[i]) != nil {
				t.Fatal("a removed entry is found")
			}
			delete(want, keys[i])
			keys[i] = keys[len(keys)-1]
			keys = keys[:len(keys)-1]
		}
		check()
	}
}

func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var q queue[int]
	defer q.release()
	in, out := 0, 0
	for range 200 {
		for range r.IntN(5000) {
			if err := q.push(in); err != nil {
				t.Fatal(err)
			}
			in++
		}
		for range r.IntN(5000) {
			if q.len() == 0 {
				break
			}
			if *q.front() != out {
				t.Fatalf("%d comes out, want %d", *q.front(), out)
			}
			q.pop()
			out++
		}
		if q.len() != in-out {
			t.Fatalf("%d in it, want %d", q.len(), in-out)
		}
	}
	if n := cap(q.s); n > 1<<20 {
		t.Errorf("it has grown to %d", n)
	}
}

// TestSamples: with the probability of being sampled at all, the expected
// number of samples is the mean.
func TestSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, mean := range []float64{1e-6, 0.01, 0.5, 1, 3, 12, 29, 31, 100, 5000, 3e6} {
		t.Run(fmt.Sprint(mean), func(t *testing.T) {
			const n = 200_000
			sum, squares := 0.0, 0.0
			for range n {
				k := float64(samples(r, mean))
				if k < 1 {
					t.Fatalf("%v samples", k)
				}
				sum += k
				squares += k * k
			}
			hit := -math.Expm1(-mean)
			want := mean / hit
			variance := (mean+mean*mean)/hit - want*want
			got := sum / n
			if sigma := math.Sqrt(variance / n); math.Abs(got-want) > 5*sigma+1e-9 {
				t.Errorf("mean %v, want %v ± %v", got, want, sigma)
			}
			if v := squares/n - got*got; math.Abs(v-variance) > 0.05*variance+1e-4 {
				t.Errorf("variance %v, want %v", v, variance)
			}
		})
	}
}
