package download

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestWindowTable goes through the rules one by one.
func TestWindowTable(t *testing.T) {
	type step struct {
		rate float64 // 0: a fault; below 0: an epoch that tells nothing
		want int     // allowed behind it
	}
	for name, steps := range map[string][]step{
		"rises by itself":            {{100, 2}, {200, 2}, {400, 2}, {501, 2}, {510, 3}},
		"one more pays":              {{100, 2}, {100, 3}, {140, 3}, {140, 4}, {180, 4}, {180, 5}},
		"one more does not pay":      {{100, 2}, {100, 3}, {110, 2}, {110, 2}, {110, 3}, {110, 2}, {110, 2}, {110, 2}, {110, 3}},
		"rests longer, then forgets": {{100, 2}, {100, 3}, {100, 2}, {100, 2}, {100, 3}, {150, 3}, {150, 4}, {150, 3}, {150, 3}, {150, 4}},
		"most":                       {{100, 2}, {100, 3}, {150, 3}, {150, 4}, {200, 4}, {200, 4}, {200, 4}},
		"a fault halves":             {{100, 2}, {100, 3}, {150, 3}, {150, 4}, {0, 2}, {150, 2}, {150, 2}, {150, 2}, {150, 2}, {150, 3}},
		"a collapse halves":          {{100, 2}, {100, 3}, {150, 3}, {150, 4}, {200, 4}, {99, 2}},
		"a try without a result":     {{100, 2}, {100, 3}, {-1, 2}, {100, 3}},
		"a fault in a try":           {{100, 2}, {100, 3}, {0, 2}, {100, 2}},
	} {
		p := newWindow(2, 5)
		if name == "most" || name == "a fault halves" || name == "a collapse halves" {
			p.max = 4
		}
		for i, s := range steps {
			switch {
			case s.rate == 0:
				p.halve()
			case s.rate < 0:
				p.skip()
			default:
				p.adjust(s.rate)
			}
			if p.size != s.want {
				t.Errorf("%s: step %d gives %d, want %d", name, i, p.size, s.want)
				break
			}
		}
	}
}

// TestWindowStaysInside feeds it with anything.
func TestWindowStaysInside(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newWindow(MinInFlight, MaxInFlight)
	for range 100_000 {
		switch r.IntN(10) {
		case 0:
			p.halve()
		case 1:
			p.skip()
		default:
			p.adjust(r.ExpFloat64() * 1000)
		}
		if p.size < MinInFlight || p.size > MaxInFlight || p.patience > longestRest || p.rest > longestRest {
			t.Fatalf("%+v", p)
		}
	}
}

// TestWindowFindsKnee simulates lines that carry no more than so many requests fill.
func TestWindowFindsKnee(t *testing.T) {
	for knee := 1; knee <= 10; knee++ {
		p := newWindow(MinInFlight, MaxInFlight)
		spent := map[int]int{}
		for range 200 {
			p.adjust(float64(min(p.size, knee)) * 100)
			spent[p.size]++
		}
		most := 0
		for n, epochs := range spent {
			if epochs > spent[most] {
				most = n
			}
		}
		if want := min(max(knee, MinInFlight), MaxInFlight); most != want {
			t.Errorf("a line for %d: mostly %d, want %d: %v", knee, most, want, spent)
		}
	}
}

// TestThrottleIsFair has several callers of one throttle: the sum is right, and no caller starves.
func TestThrottleIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := newThrottle(1000, time.Now)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		taken := make([]int, 4)
		done := make(chan struct{})
		for i := range taken {
			go func() {
				defer func() { done <- struct{}{} }()
				for throttle.wait(ctx, 50) == nil {
					taken[i] += 50
				}
			}()
		}
		sum := 0
		for range taken {
			<-done
		}
		for i, n := range taken {
			if sum += n; n < 2000 {
				t.Errorf("taker %d got %d of 10000", i, n)
			}
		}
		if sum < 9800 || sum > 10000 {
			t.Errorf("%d bytes in 10 s at 1000 a second", sum)
		}
	})
}

// TestThrottleSavesNothing takes after a long idle time.
func TestThrottleSavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := newThrottle(1000, time.Now)
		time.Sleep(time.Hour)
		began := time.Now()
		if err := throttle.wait(t.Context(), 5000); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 4999*time.Millisecond || took > 5001*time.Millisecond {
			t.Errorf("5000 bytes took %v", took)
		}
		throttle.setRate(0)
		began = time.Now()
		if err := throttle.wait(t.Context(), 1<<30); err != nil || time.Since(began) > 0 {
			t.Errorf("without a cap it took %v, %v", time.Since(began), err)
		}
	})
}

// TestGate closes and opens.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		if err := g.wait(t.Context()); err != nil {
			t.Error(err)
		}
		g.resume()
		g.pause()
		passed := false
		go func() {
			if err := g.wait(t.Context()); err == nil {
				passed = true
			}
		}()
		synctest.Wait()
		if paused, times := g.state(); passed || !paused || times != 1 {
			t.Errorf("closed: passed %v, paused %v, %d times", passed, paused, times)
		}
		g.resume()
		synctest.Wait()
		if !passed {
			t.Error("open: no request passed")
		}
		g.pause()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.wait(ctx); err != context.Canceled {
			t.Errorf("with an ended context: %v", err)
		}
	})
}
