package splash

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fyne.io/fyne/v2"
	"go.uber.org/goleak"

	"collet/app/update"
	"collet/assets"
)

// frames replaces the loop: a View without a window keeps posted functions, and drain runs them when the test calls it. The
// screen accepts scenes and shows nothing.
type frames struct {
	*View
	drawn int
}

func newFrames() *frames { return &frames{View: newView(assets.TextsFor("en"))} }

func (f *frames) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.early)
}

func (f *frames) drain() {
	f.mu.Lock()
	posted := f.early
	f.early = nil
	f.mu.Unlock()
	for _, p := range posted {
		f.drawn++
		p(&screen{stopping: true})
	}
}

func (f *frames) newest() Scene {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// every calls f at regular intervals until the context ends.
func every(ctx context.Context, d time.Duration, f func()) {
	for ctx.Err() == nil {
		f()
		time.Sleep(d)
	}
}

// A screen that never paints holds one frame, the newest, and never blocks Follow.
func TestSlowScreenHoldsOneFrame(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		f, w := newFrames(), newFakeUpdate(sampleFetching())
		var both sync.WaitGroup
		both.Go(func() { f.Follow(ctx, w) })
		n := int64(0)
		both.Go(func() {
			every(ctx, time.Millisecond, func() {
				n++
				w.set(with(sampleFetching(), func(s *update.Status) { s.BytesDone += n * 100_000 }))
			})
		})
		both.Wait()
		if f.waiting() != 1 {
			t.Errorf("%d frames wait for the screen, want 1", f.waiting())
		}
		if got := f.newest().All.Fraction; got != 1 {
			t.Errorf("the frame that waits is old: %v", f.newest())
		}
	})
}

// An update that changes all the time makes 30 frames per second, one post for each.
func TestFramesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		f, w := newFrames(), newFakeUpdate(sampleFetching())
		var all sync.WaitGroup
		all.Go(func() { f.Follow(ctx, w) })
		all.Go(func() { every(ctx, time.Millisecond, f.drain) })
		n := int64(0)
		all.Go(func() {
			every(ctx, 2*time.Millisecond, func() {
				n++
				w.set(with(sampleFetching(), func(s *update.Status) { s.FileDone += n * 1000; s.BytesDone += n * 1000 }))
			})
		})
		all.Wait()
		if f.drawn > 301 || f.drawn < 150 {
			t.Errorf("%d frames in 10 s", f.drawn)
		}
		if asked := w.asks(); asked > 301 {
			t.Errorf("the status was asked for %d times in 10 s", asked)
		}
	})
}

// Without changes the number of frames depends on the scene.
func TestFramesWithoutChanges(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   update.Status
		min, max int // frames in 10 s
	}{
		{"fetching stands still", sampleFetching(), 1, 1},
		{"done stands still", update.Status{Phase: update.Done}, 1, 1},
		{"busy moves", update.Status{Phase: update.Connecting}, 140, 151},
		{"a countdown counts seconds", update.Status{Phase: update.Waiting, Attempt: 1}, 10, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if c.status.Phase == update.Waiting {
					c.status.RetryAt = time.Now().Add(11 * time.Second)
				}
				f, w := newFrames(), newFakeUpdate(c.status)
				var both sync.WaitGroup
				both.Go(func() { f.Follow(ctx, w) })
				both.Go(func() { every(ctx, time.Millisecond, f.drain) })
				both.Wait()
				if f.drawn < c.min || f.drawn > c.max {
					t.Errorf("%d frames in 10 s, want %d to %d", f.drawn, c.min, c.max)
				}
			})
		})
	}
}

// The last status is shown, however shortly before the end it appeared.
func TestFollowEndsWithTheLastStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newFrames(), newFakeUpdate(sampleFetching())
		done := make(chan struct{})
		go func() { defer close(done); f.Follow(t.Context(), w) }()
		synctest.Wait()
		w.set(update.Status{Phase: update.Done, Outcome: update.BinariesStaged})
		w.end()
		begun := time.Now()
		<-done
		if f.newest().Headline != "Installing update" {
			t.Errorf("the last frame says %q", f.newest().Headline)
		}
		if took := time.Since(begun); took > 2*framePeriod {
			t.Errorf("following went on for %v after the end", took)
		}
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFrames()
		done := make(chan struct{})
		go func() { defer close(done); f.Follow(ctx, newFakeUpdate(sampleFetching())) }()
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("Follow goes on after its context ended")
		}
	})
}

func TestFollowOfAnEndedContextShowsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := newFrames()
	f.Follow(ctx, newFakeUpdate(sampleFetching()))
	if f.waiting() != 0 {
		t.Errorf("%d frames", f.waiting())
	}
}

func TestAskWithoutWindow(t *testing.T) {
	dialog := ComposeEnd(update.EndOf(update.AlreadyRunning, update.NoCause), EndInfo{}, assets.TextsFor("en"))
	ctx, cancel := context.WithCancel(t.Context())
	v := newView(assets.TextsFor("en"))
	time.AfterFunc(10*time.Millisecond, cancel)
	if action, err := v.Ask(ctx, dialog); action != update.Quit || !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: %v, %v", action, err)
	}
	close(v.gone)
	if action, err := v.Ask(t.Context(), dialog); action != update.Quit || !errors.Is(err, ErrGone) {
		t.Errorf("after the window went: %v, %v", action, err)
	}
	if action, err := v.Ask(t.Context(), Dialog{Title: "nothing to ask"}); action != update.Quit || err != nil {
		t.Errorf("without buttons: %v, %v", action, err)
	}
}

// queueDriver is a driver with a queue defined by the test.
type queueDriver struct {
	fyne.Driver
	add func(f func())
}

func (d queueDriver) DoFromGoroutine(f func(), _ bool) { d.add(f) }

// TestClosedLoopIsIgnored: the toolkit closes its queue when the system ends the program. Only the panic of the queue
// itself is swallowed. It is recognized by the place of the panic, not by its text.
func TestClosedLoopIsIgnored(t *testing.T) {
	closed := make(chan int)
	close(closed)
	a := newLoopApp(t, false)
	try := func(add func(f func()), f func()) (reason any) {
		a.driver = queueDriver{a.App.Driver(), add}
		defer func() { reason = recover() }()
		handOver(f)
		return nil
	}
	here := func(f func()) { f() }
	queue := func(func()) { closed <- 1 }
	if reason := try(queue, func() {}); reason != nil {
		t.Errorf("a closed queue: %v", reason)
	}
	if reason := try(here, func() { closed <- 1 }); reason == nil {
		t.Error("a fault of what was handed over was swallowed, because it says the same")
	}
	for _, want := range []any{"text", errors.New("send on closed channel")} {
		if reason := try(func(func()) { panic(want) }, func() {}); reason != want {
			t.Errorf("the panic %v of the toolkit became %v", want, reason)
		}
	}
	ran := false
	if reason := try(here, func() { ran = true }); reason != nil || !ran {
		t.Errorf("nothing is wrong: %v, ran: %v", reason, ran)
	}
}

// TestPostsWhileTheLoopEnds posts from several goroutines while the loop ends.
func TestPostsWhileTheLoopEnds(t *testing.T) {
	a := newLoopApp(t, false)
	a.window = &loopWindow{}
	var posting sync.WaitGroup
	var ran atomic.Int64
	for range 4 {
		posting.Go(func() {
			for range 200 {
				handOver(func() { ran.Add(1) })
			}
		})
	}
	posting.Go(func() {
		for ran.Load() < 100 {
			runtime.Gosched()
		}
		a.Quit()
	})
	a.Run()
	posting.Wait()
	handOver(func() { t.Error("ran behind the end of the loop") })
}
