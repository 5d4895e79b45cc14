package update_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/update"
	"collet/netproto/compat"
)

// follow reads a Status for every tick until the channel is closed.
func follow(u *update.Updater, ticks <-chan struct{}) (seen []update.Status) {
	for range ticks {
		seen = append(seen, u.Status())
	}
	return seen
}

// ended reports whether the last Status of a watcher was the final one.
func ended(seen []update.Status) bool {
	return len(seen) > 0 && seen[len(seen)-1].Phase == update.Done
}

func TestEveryWatcherSeesTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 300), pack("B.zip", 500))
		w.pace = 20 * time.Millisecond
		u := w.updater(nil)
		seen := make(chan []update.Status, 4)
		for delay := range 4 {
			go func() {
				time.Sleep(time.Duration(delay) * 400 * time.Millisecond) // the last ones come late
				seen <- follow(u, u.Watch(t.Context()))
			}()
		}
		last := u.Run(t.Context())
		for range 4 {
			if all := <-seen; !ended(all) || all[len(all)-1] != last {
				t.Error("a watcher missed the end")
			}
		}
	})
}

func TestFirstTickIsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 100))
		w.pace = time.Second
		u := w.updater(nil)
		if ticks := u.Watch(t.Context()); len(ticks) != 1 {
			t.Error("no tick before Run")
		}
		go func() {
			time.Sleep(2500 * time.Millisecond)
			ticks := u.Watch(t.Context())
			if len(ticks) != 1 {
				t.Error("a late watcher has no tick")
			}
			if s := u.Status(); s.Phase != update.Fetching || s.File != "A.zip" || s.FileDone != 20 || s.BytesDone != 20 {
				t.Errorf("a late watcher reads %+v", s)
			}
		}()
		u.Run(t.Context())
	})
}

func TestWatchAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u := newWorld(t).updater(nil)
		u.Run(t.Context())
		if seen := follow(u, u.Watch(t.Context())); len(seen) != 1 || !ended(seen) {
			t.Errorf("%d ticks", len(seen))
		}
	})
}

// TestSlowWatcherDoesNotBlock checks that the update does not wait for watchers, and that a watcher that never reads finds
// one tick and the end.
func TestSlowWatcherDoesNotBlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 10_000))
		w.pace = time.Millisecond
		u := w.updater(nil)
		sleeper := u.Watch(t.Context())
		u.Run(t.Context())
		if took := time.Since(w.start); took != time.Second {
			t.Errorf("it took %v", took)
		}
		if seen := follow(u, sleeper); len(seen) != 1 || !ended(seen) {
			t.Errorf("%d ticks waited", len(seen))
		}
	})
}

func TestWatcherLeavesWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 100))
		w.pace = time.Second
		u := w.updater(nil)
		short, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		seen, stays := make(chan []update.Status, 1), make(chan []update.Status, 1)
		brief, long := u.Watch(short), u.Watch(t.Context())
		go func() { seen <- follow(u, brief) }()
		go func() { stays <- follow(u, long) }()
		go func() {
			all := <-seen
			if time.Since(w.start) != 3500*time.Millisecond || ended(all) || len(all) < 4 {
				t.Errorf("left after %v with %d ticks", time.Since(w.start), len(all))
			}
		}()
		u.Run(t.Context())
		if !ended(<-stays) {
			t.Error("the other watcher left too")
		}
	})
}

func TestWatchWithAnEndedContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		u := newWorld(t).updater(nil)
		if seen := follow(u, u.Watch(gone)); len(seen) != 1 {
			t.Errorf("%d ticks", len(seen))
		}
	})
}

// TestPhasesAreSeenInOrder checks that a fast watcher sees each phase that takes time.
func TestPhasesAreSeenInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25), pack("B.zip", 25))
		w.live["B.zip"] = make([]byte, 8)
		failed := false
		w.hold = func(_ context.Context, method string) error {
			time.Sleep(time.Second)
			if method == "Fetch" && !failed {
				failed = true
				return lost()
			}
			return nil
		}
		u := w.updater(nil)
		ticks, seen := u.Watch(t.Context()), make(chan []update.Status, 1)
		go func() { seen <- follow(u, ticks) }()
		go u.Run(t.Context())
		var got []update.Phase
		for _, s := range <-seen {
			got = append(got, s.Phase)
			if s.Phase == update.Comparing && s.File != "" && (s.File != "B.zip" || s.FileSize != 8) {
				t.Errorf("comparing %+v", s)
			}
			waiting := s.Phase == update.Waiting
			if waiting && !s.RetryAt.Equal(w.start.Add(4500*time.Millisecond)) || !waiting && !s.RetryAt.IsZero() {
				t.Errorf("%s: the next attempt is at %v", s.Phase, s.RetryAt.Sub(w.start))
			}
			if waiting && s.Fault == nil || s.Attempt > 2 {
				t.Errorf("waiting: %+v", s)
			}
		}
		want := []update.Phase{
			update.Connecting, update.Listing, update.Comparing, update.Fetching, update.Waiting,
			update.Connecting, update.Listing, update.Comparing, update.Fetching, update.Verifying, update.Fetching, update.Verifying,
			update.Committing, update.Done,
		}
		got = slices.DeleteFunc(slices.Compact(got), func(p update.Phase) bool { return p == update.Idle || p == update.Judging })
		// No time passes between the last file and Committing either: a watcher may or may not see that moment of Fetching.
		if i := len(got) - 3; i > 0 && got[i] == update.Fetching && got[i+1] == update.Committing {
			got = slices.Delete(got, i, i+1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// TestProgressIsBounded checks that many portions cause few snapshots, and that the numbers only increase.
func TestProgressIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 100_000))
		w.portion, w.pace = 1, 100*time.Microsecond // ten seconds
		u := w.updater(nil)
		ticks, seen := u.Watch(t.Context()), make(chan []update.Status, 1)
		go func() { seen <- follow(u, ticks) }()
		u.Run(t.Context())
		all := <-seen
		if n := len(all); n < 150 || n > 10*int(time.Second/update.ProgressPeriod)+20 { // plus one for each phase and file
			t.Errorf("%d snapshots in ten seconds", n)
		}
		for i := 1; i < len(all); i++ {
			if all[i].BytesDone < all[i-1].BytesDone {
				t.Errorf("bytes went from %d to %d", all[i-1].BytesDone, all[i].BytesDone)
			}
		}
		if half := all[len(all)/2]; half.Rate < 9_500 || half.Rate > 10_500 {
			t.Errorf("the rate is %d bytes a second, 10 000 arrive", half.Rate)
		}
	})
}

// TestNothingNewIsNoTick checks that a server that answers after an hour causes no ticks meanwhile.
func TestNothingNewIsNoTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.judge = func(int) (compat.Judgement, error) { time.Sleep(time.Hour); return compat.Judgement{}, nil }
		u := w.updater(nil)
		ticks, seen := u.Watch(t.Context()), make(chan []update.Status, 1)
		go func() { seen <- follow(u, ticks) }()
		u.Run(t.Context())
		if n := len(<-seen); n > 8 { // one for each phase
			t.Errorf("%d ticks", n)
		}
	})
}

// TestStallShowsInTheRate checks that the rate falls to zero when no more bytes arrive.
func TestStallShowsInTheRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 1000))
		w.pace = 100 * time.Millisecond
		w.cut = func(_ int, sent int64) error {
			if sent == 500 {
				time.Sleep(time.Minute)
			}
			return nil
		}
		u, done := w.updater(nil), make(chan update.Status, 1)
		go func() { done <- u.Run(t.Context()) }()
		time.Sleep(4*time.Second + 25*time.Millisecond)
		if rate := u.Status().Rate; rate < 95 || rate > 105 {
			t.Errorf("the rate is %d bytes a second, 100 arrive", rate)
		}
		if left, ok := u.Status().Remaining(); !ok || left < 5*time.Second || left > 7*time.Second {
			t.Errorf("%v left, known %t", left, ok)
		}
		time.Sleep(8 * time.Second)
		if s := u.Status(); s.Rate != 0 || s.Phase != update.Fetching {
			t.Errorf("in a stall the rate is %d", s.Rate)
		}
		<-done
	})
}

func TestRateIsZeroWhereNothingIsFetched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 200))
		w.pace = 100 * time.Millisecond
		w.judge = func(connect int) (compat.Judgement, error) { time.Sleep(time.Second); return compat.Judgement{}, nil }
		w.cut = func(fetch int, sent int64) error {
			if fetch == 1 && sent == 150 {
				return lost()
			}
			return nil
		}
		w.hold = func(_ context.Context, method string) error {
			if method == "Plan" {
				time.Sleep(time.Second)
			}
			return nil
		}
		u := w.updater(nil)
		ticks, seen := u.Watch(t.Context()), make(chan []update.Status, 1)
		go func() { seen <- follow(u, ticks) }()
		u.Run(t.Context())
		rates := map[update.Phase]int64{}
		for _, s := range <-seen {
			rates[s.Phase] = max(rates[s.Phase], s.Rate)
			if s.Attempt == 2 && s.Phase < update.Fetching && (s.Bytes != 200 || s.BytesDone != 150 || s.File != "") {
				t.Errorf("%s: the bars jumped to %d of %d, file %q", s.Phase, s.BytesDone, s.Bytes, s.File)
			}
			if s.Attempt == 2 && s.Rate != 0 {
				t.Errorf("%s: the rate is %d half a second after the pause", s.Phase, s.Rate)
			}
			if s.Attempt == 2 && s.File != "" && s.FileDone < 150 {
				t.Errorf("%s: the file that goes on at 150 shows %d", s.Phase, s.FileDone)
			}
		}
		for phase, rate := range rates {
			if rate > 0 && phase != update.Fetching && phase != update.Verifying {
				t.Errorf("%s: the rate is %d", phase, rate)
			}
		}
		if rates[update.Fetching] < 95 || rates[update.Fetching] > 105 {
			t.Errorf("fetching: the rate is %d bytes a second, 100 arrive", rates[update.Fetching])
		}
		synctest.Wait()
	})
}
