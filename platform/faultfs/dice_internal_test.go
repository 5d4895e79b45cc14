package faultfs

import (
	"math"
	"testing"
)

// mean throws dice of many seeds.
func mean(percent int, of func(*dice) float64) float64 {
	const throws = 20000
	sum := 0.0
	for seed := range uint64(throws) {
		sum += of(throw(seed, 1, percent))
	}
	return sum / throws
}

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

// TestShares compares means with the share that was asked for.
func TestShares(t *testing.T) {
	const n = 50
	for _, percent := range []int{0, 1, 10, 50, 90, 99, 100} {
		share := float64(percent) / 100
		chance := mean(percent, func(d *dice) float64 {
			if d.chance() {
				return 1
			}
			return 0
		})
		if !near(chance, share, 0.02) {
			t.Errorf("%d %%: chance is %.3f", percent, chance)
		}
		if got := mean(percent, func(d *dice) float64 { return float64(d.upTo(n)) / n }); !near(got, share, 0.03) {
			t.Errorf("%d %%: up to %.3f", percent, got)
		}
	}
}

// TestUpToReachesAll wants every number of 0 … n to come up between the ends, and one number at the ends.
func TestUpToReachesAll(t *testing.T) {
	for percent, want := range map[int]int{0: 1, 20: 6, 50: 6, 80: 6, 100: 1} {
		seen := map[int]bool{}
		for seed := range uint64(20000) {
			n := throw(seed, 1, percent).upTo(5)
			if n < 0 || n > 5 {
				t.Fatalf("%d %%: %d", percent, n)
			}
			seen[n] = true
		}
		if len(seen) != want {
			t.Errorf("%d %%: came up %v", percent, seen)
		}
	}
}

// TestMoments wants the same of moments.
func TestMoments(t *testing.T) {
	for percent, want := range map[int]int{0: 5, 50: 6, 100: 1} {
		seen := map[int]int{}
		for seed := range uint64(20000) {
			d := throw(seed, 1, percent)
			seen[d.moment(d.Uint64(), 5)]++
		}
		if len(seen) != want {
			t.Errorf("%d %%: came up %v", percent, seen)
		}
		if got := float64(seen[5]) / 20000; !near(got, float64(percent)/100, 0.02) {
			t.Errorf("%d %%: the last moment in %.3f of all cases", percent, got)
		}
	}
}

// TestDiceAreTheSame for the same seed and number, and others for others.
func TestDiceAreTheSame(t *testing.T) {
	one := func(seed, number uint64) uint64 { return throw(seed, number, 50).Uint64() }
	if first, again := one(1, 2), one(1, 2); first != again {
		t.Errorf("the same dice fell %d, then %d", first, again)
	}
	seen := map[uint64]bool{}
	for seed := range uint64(100) {
		for number := range uint64(100) {
			seen[one(seed, number)] = true
		}
	}
	if len(seen) != 10000 {
		t.Errorf("%d different of 10000", len(seen))
	}
}

// TestMix spreads over blocks and seeds; it is what decides about each page of a file.
func TestMix(t *testing.T) {
	if got, want := mix(0, 0), uint64(0xE220A8397B1DCDAF); got != want { // the published first output of SplitMix64 from 0
		t.Errorf("got %x, want %x", got, want)
	}
	seen, bits := map[uint64]bool{}, [64]int{}
	for block := range int64(10000) {
		x := mix(42, block)
		seen[x] = true
		for i := range bits {
			bits[i] += int(x >> i & 1)
		}
	}
	if len(seen) != 10000 {
		t.Errorf("%d different of 10000", len(seen))
	}
	for i, n := range bits {
		if n < 4700 || n > 5300 {
			t.Errorf("bit %d is set in %d of 10000", i, n)
		}
	}
}

// TestGlobEnds runs a pattern that would take long to refuse if stars were tried without end.
func TestGlobEnds(t *testing.T) {
	if matches("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa") {
		t.Error("matched")
	}
}
