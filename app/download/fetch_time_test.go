package download_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/download"
	"collet/platform/faultfs"
)

// story runs Whole over mirrors within a bubble of time and tells how long it took.
func story(t *testing.T, o download.FetchOptions, data []byte, during func(f *download.Fetcher), mirrors ...download.Mirror) (took time.Duration, err error) {
	t.Helper()
	f, err := download.NewFetcher(mirrors, o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, _ := spoolOn(t, faultfs.New(faultfs.Config{}))
	if during != nil {
		go during(f)
	}
	began := time.Now()
	err = f.Whole(t.Context(), object(data), s, nil)
	took = time.Since(began)
	if err == nil && !bytes.Equal(content(t, s, object(data)), data) {
		t.Error("the bytes are wrong")
	}
	return took, err
}

// within wants a time between two.
func within(t *testing.T, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("took %v, want %v to %v", took, least, most)
	}
}

// TestSilence has a mirror that stops in the middle of every answer.
func TestSilence(t *testing.T) {
	data := random(400_000, 1)
	silent := func() *memory {
		m := remembering("silent", data)
		m.broken = func(int) (int64, error) { return 10_000, nil }
		return m
	}
	synctest.Test(t, func(t *testing.T) {
		took, err := story(t, download.FetchOptions{}, data, nil, silent())
		var network *download.NetError
		if !errors.As(err, &network) || network.Kind != download.NetStalled {
			t.Errorf("alone: %v", err)
		}
		within(t, took, download.Patience, 3*download.Patience)
	})
	synctest.Test(t, func(t *testing.T) {
		took, err := story(t, download.FetchOptions{}, data, nil, silent(), remembering("good", data))
		if err != nil {
			t.Errorf("beside a good one: %v", err)
		}
		within(t, took, download.Patience, 2*download.Patience+time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		late := remembering("late", data)
		late.latency = time.Hour
		took, err := story(t, download.FetchOptions{Patience: 5 * time.Second}, data, nil, late)
		var network *download.NetError
		if !errors.As(err, &network) || network.Kind != download.NetStalled {
			t.Errorf("without an answer at all: %v", err)
		}
		within(t, took, 5*time.Second, 12*time.Second)
	})
}

// TestDripIsNoSilence has a mirror that is very slow, for much longer than Patience.
func TestDripIsNoSilence(t *testing.T) {
	data := random(20_000, 1)
	synctest.Test(t, func(t *testing.T) {
		drip := remembering("drip", data)
		drip.rate = 100
		took, err := story(t, download.FetchOptions{MinInFlight: 1, MaxInFlight: 1}, data, nil, drip)
		if err != nil {
			t.Error(err)
		}
		within(t, took, 200*time.Second, 210*time.Second)
	})
}

// TestSlowIsLeft has a slow mirror in front of a fast one of which nothing is known: a probe finds it.
func TestSlowIsLeft(t *testing.T) {
	data := random(4_000_000, 1)
	synctest.Test(t, func(t *testing.T) {
		slow, fast := remembering("slow", data), remembering("fast", data)
		slow.rate, slow.latency = 10_000, 20*time.Millisecond
		fast.rate, fast.latency = 2_000_000, 20*time.Millisecond
		took, err := story(t, download.FetchOptions{}, data, nil, slow, fast)
		if err != nil {
			t.Error(err)
		}
		within(t, took, time.Second, 8*time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		fast, slow := remembering("fast", data), remembering("slow", data)
		slow.rate, slow.latency = 10_000, 20*time.Millisecond
		fast.rate, fast.latency = 500_000, 20*time.Millisecond
		took, err := story(t, download.FetchOptions{MinInFlight: 1, MaxInFlight: 1}, data, nil, fast, slow)
		if err != nil {
			t.Error(err)
		}
		within(t, took, 7*time.Second, 12*time.Second)
		if n := len(slow.requests()); n > 1 {
			t.Errorf("the slow way was asked %d times", n)
		}
	})
}

// TestRetryAfterIsKept has a mirror that is busy for a while, and one that is for ever.
func TestRetryAfterIsKept(t *testing.T) {
	data := random(50_000, 1)
	busy := func(times int, after time.Duration) *memory {
		m := remembering("busy", data)
		m.before = func(n int, _, _ int64) error {
			if n > times {
				return nil
			}
			return &download.WrongError{Mirror: "busy", Kind: download.WrongBusy, RetryAfter: after}
		}
		return m
	}
	for _, test := range []struct {
		times       int
		after       time.Duration
		works       bool
		least, most time.Duration
	}{
		{1, 5 * time.Second, true, 5 * time.Second, 6 * time.Second},
		{3, 5 * time.Second, true, 15 * time.Second, 16 * time.Second},
		{1, time.Hour, true, download.MaxRetryAfter, download.MaxRetryAfter + time.Second},
		{1, 0, true, time.Second, 2 * time.Second},
		{1000, time.Second, false, 3 * time.Second, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			took, err := story(t, download.FetchOptions{}, data, nil, busy(test.times, test.after))
			if (err == nil) != test.works {
				t.Errorf("busy %d times for %v: %v", test.times, test.after, err)
			}
			within(t, took, test.least, test.most)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		took, err := story(t, download.FetchOptions{}, data, nil, busy(1000, time.Minute), remembering("good", data))
		if err != nil {
			t.Error(err)
		}
		within(t, took, 0, time.Second)
	})
}

// TestCap holds the rate, also when it changes meanwhile.
func TestCap(t *testing.T) {
	data := random(1_000_000, 1)
	synctest.Test(t, func(t *testing.T) {
		took, err := story(t, download.FetchOptions{Cap: 100_000}, data, nil, remembering("a", data))
		if err != nil {
			t.Error(err)
		}
		within(t, took, 9500*time.Millisecond, 10500*time.Millisecond)
	})
	synctest.Test(t, func(t *testing.T) {
		took, err := story(t, download.FetchOptions{Cap: 1000}, data, func(f *download.Fetcher) {
			time.Sleep(10 * time.Second) // 10 kB until then
			f.SetCap(99_000)
			time.Sleep(5 * time.Second) // 495 kB more
			f.SetCap(0)
		}, remembering("a", data))
		if err != nil {
			t.Error(err)
		}
		within(t, took, 15*time.Second, 15500*time.Millisecond)
	})
	synctest.Test(t, func(t *testing.T) { // a low rate limit is not a mirror's fault
		took, err := story(t, download.FetchOptions{Cap: 500}, data[:50_000], nil, remembering("a", data[:50_000]), remembering("b", data[:50_000]))
		if err != nil {
			t.Error(err)
		}
		within(t, took, 98*time.Second, 102*time.Second)
	})
}

// TestPause stops everything for an hour, in the middle of answers that break meanwhile.
func TestPause(t *testing.T) {
	data := random(1_000_000, 1)
	synctest.Test(t, func(t *testing.T) {
		mirror := remembering("a", data)
		mirror.rate = 10_000
		var paused atomic.Bool
		mirror.broken = func(n int) (int64, error) {
			if n <= 2 {
				return 30_000, errors.New("the server did not wait")
			}
			return -1, nil
		}
		mirror.before = func(int, int64, int64) error {
			if paused.Load() {
				t.Error("a request was made during the pause")
			}
			return nil
		}
		took, err := story(t, download.FetchOptions{MaxInFlight: 2}, data, func(f *download.Fetcher) {
			time.Sleep(2 * time.Second)
			f.Pause()
			f.Pause()
			paused.Store(true)
			time.Sleep(time.Hour)
			paused.Store(false)
			f.Resume()
			f.Resume()
		}, mirror)
		if err != nil {
			t.Error(err)
		}
		within(t, took, time.Hour+45*time.Second, time.Hour+65*time.Second)
	})
}

// TestGrowth counts how many requests are under way at once where each one has its own speed, and where they share one.
func TestGrowth(t *testing.T) {
	data := random(16_000_000, 1)
	for _, test := range []struct {
		name        string
		shared      bool
		least, most int64
	}{{"each its own", false, 6, 8}, {"one for all", true, 2, 4}} {
		synctest.Test(t, func(t *testing.T) {
			line := &line{memory: remembering("line", data), shared: test.shared}
			line.rate, line.latency = 100_000, 50*time.Millisecond
			took, err := story(t, download.FetchOptions{}, data, nil, line)
			if err != nil {
				t.Error(err)
			}
			if most := line.typical(); most < test.least || most > test.most {
				t.Errorf("%s: %d requests were under way mostly, want %d to %d; took %v", test.name, most, test.least, test.most, took)
			}
		})
	}
}

// TestCancelIsQuick cancels while servers are silent, slow, busy, and while everything is paused.
func TestCancelIsQuick(t *testing.T) {
	data := random(1_000_000, 1)
	silent, slow, busy := remembering("silent", data), remembering("slow", data), remembering("busy", data)
	silent.broken = func(int) (int64, error) { return 0, nil }
	slow.rate = 100
	busy.before = func(int, int64, int64) error {
		return &download.WrongError{Kind: download.WrongBusy, RetryAfter: time.Hour}
	}
	for _, mirror := range []*memory{silent, slow, busy, remembering("paused", data)} {
		synctest.Test(t, func(t *testing.T) {
			f := fetcherInBubble(t, mirror)
			defer f.Close()
			if mirror.name == "paused" {
				f.Pause()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			s, _ := spoolOn(t, faultfs.New(faultfs.Config{}))
			began := time.Now()
			if err := f.Whole(ctx, object(data), s, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", mirror.name, err)
			}
			within(t, time.Since(began), 3*time.Second, 3*time.Second+50*time.Millisecond)
		})
	}
}

func fetcherInBubble(t *testing.T, mirrors ...download.Mirror) *download.Fetcher {
	f, err := download.NewFetcher(mirrors, download.FetchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestStuckConnection has a stalled connection while another one works: the fetcher does not wait for it.
func TestStuckConnection(t *testing.T) {
	data := random(800_000, 1)
	for _, after := range []int64{0, 20_000} {
		synctest.Test(t, func(t *testing.T) {
			mirror := remembering("a", data)
			mirror.latency, mirror.rate = 100*time.Millisecond, 1_000_000
			mirror.broken = func(n int) (int64, error) {
				if n == 2 {
					return after, nil
				}
				return -1, nil
			}
			took, err := story(t, download.FetchOptions{}, data, nil, mirror)
			if err != nil {
				t.Error(err)
			}
			within(t, took, 900*time.Millisecond, 2*time.Second)
		})
	}
}

// TestGetIsEnded has a mirror that does not even answer, and one request that does: the same.
func TestGetIsEnded(t *testing.T) {
	data := random(800_000, 1)
	synctest.Test(t, func(t *testing.T) {
		mirror := remembering("a", data)
		mirror.latency, mirror.rate = 100*time.Millisecond, 1_000_000
		mirror.hold = func(ctx context.Context, n int, from int64) {
			if n == 2 {
				<-ctx.Done()
			}
		}
		took, err := story(t, download.FetchOptions{}, data, nil, mirror)
		if err != nil {
			t.Error(err)
		}
		within(t, took, 900*time.Millisecond, 2*time.Second)
	})
}
