package memprof

import (
	"math"
	"math/rand/v2"
)

// samples draws how many samples hit an object, given that one did: a number
// from the Poisson distribution of this mean, never 0. The runtime samples an
// object once at most, with the probability 1-exp(-mean); the expected number
// of samples is the mean then, so that totals count bytes as they do when
// each word is drawn for itself.
func samples(r *rand.Rand, mean float64) int64 {
	if mean > 30 {
		return max(1, poisson(r, mean)) // 0 has a probability below 1e-13
	}
	// Inversion: p is the probability of k, given that k is not 0.
	p := mean / math.Expm1(mean)
	u := r.Float64()
	k := int64(1)
	for u > p && k < 1000 {
		u -= p
		k++
		p *= mean / float64(k)
	}
	return k
}

// poisson draws from the Poisson distribution of a mean above 10, by
// Hörmann's transformed rejection PTRS ("The transformed rejection method for
// generating Poisson random variables", 1993).
func poisson(r *rand.Rand, mean float64) int64 {
	root, logMean := math.Sqrt(mean), math.Log(mean)
	b := 0.931 + 2.53*root
	a := -0.059 + 0.02483*b
	inverseAlpha := 1.1239 + 1.1328/(b-3.4)
	vr := 0.9277 - 3.6224/(b-2)
	for {
		u := r.Float64() - 0.5
		v := r.Float64()
		us := 0.5 - math.Abs(u)
		k := math.Floor((2*a/us+b)*u + mean + 0.43)
		if us >= 0.07 && v <= vr {
			return int64(k)
		}
		if k < 0 || us < 0.013 && v > us {
			continue
		}
		logFactorial, _ := math.Lgamma(k + 1)
		if math.Log(v)+math.Log(inverseAlpha)-math.Log(a/(us*us)+b) <= k*logMean-mean-logFactorial {
			return int64(k)
		}
	}
}
