package notify_test

import (
	"context"
	"testing"
	"testing/synctest"

	"collet/platform/notify"
)

// TestWatchers: a tick waits at once and after a change, and at most one; a channel ends with its context, or with all others.
func TestWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w notify.Watchers
		ctx, cancel := context.WithCancel(t.Context())
		brief, long := w.Add(ctx), w.Add(t.Context())
		<-brief
		<-long
		w.Notify()
		w.Notify()
		if len(brief) != 1 || len(long) != 1 {
			t.Errorf("%d and %d ticks", len(brief), len(long))
		}
		<-brief
		cancel()
		synctest.Wait()
		if _, open := <-brief; open {
			t.Error("it outlives its context")
		}
		w.Notify()
		w.Close()
		for _, ticks := range []<-chan struct{}{long, w.Add(t.Context())} {
			if _, tick := <-ticks; !tick {
				t.Error("the last tick is lost")
			}
			if _, open := <-ticks; open {
				t.Error("it stays open")
			}
		}
	})
}
