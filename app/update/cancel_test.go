package update_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/update"
	"collet/netproto/compat"
)

// stuck makes one method of a port wait for the end of its context, and reports when the method has started.
func stuck(w *world, stop string) (reached <-chan struct{}) {
	at := make(chan struct{})
	w.hold = func(ctx context.Context, method string) error {
		if method != stop {
			return nil
		}
		close(at)
		<-ctx.Done()
		return ctx.Err()
	}
	return at
}

// TestCancelInEveryPhase checks that the outcome is Cancelled, never Failed, and that everything was closed.
func TestCancelInEveryPhase(t *testing.T) {
	phase := map[string]update.Phase{
		"Connect": update.Connecting, "List": update.Listing, "Plan": update.Comparing,
		"Fetch": update.Fetching, "Finish": update.Verifying, "Commit": update.Committing,
	}
	for method, want := range phase {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25))
			reached := stuck(w, method)
			ctx, cancel := context.WithCancel(t.Context())
			u, done := w.updater(nil), make(chan update.Status, 1)
			go func() { done <- u.Run(ctx) }()
			<-reached
			synctest.Wait()
			if got := u.Status().Phase; got != want {
				t.Errorf("%s is under way in %s, want %s", method, got, want)
			}
			time.Sleep(time.Hour)
			cancel()
			status := <-done
			w.letGo(status)
			if status.Outcome != update.Cancelled || w.commits != 0 || len(w.connects) != 1 {
				t.Errorf("%s: %s after %d attempts, %d commits", method, status.Outcome, len(w.connects), w.commits)
			}
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.judge = func(int) (compat.Judgement, error) { return compat.Judgement{}, lost() }
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // the first pause is longer
		defer cancel()
		status := w.run(ctx)
		if status.Outcome != update.Cancelled || len(w.connects) != 1 || time.Since(w.start) != 100*time.Millisecond {
			t.Errorf("%s after %d attempts and %v", status.Outcome, len(w.connects), time.Since(w.start))
		}
	})
}

// TestCancelBeforeTheStart checks that only the closing methods of the ports are called.
func TestCancelBeforeTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25))
		w.hold = func(_ context.Context, method string) error { t.Errorf("%s was called", method); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if status := w.run(ctx); status.Outcome != update.Cancelled || status.Attempt != 0 {
			t.Errorf("%+v", status)
		}
	})
}

// TestCancelWaitsForTheEffect checks that the update waits for a port that can't stop at once, whatever the port returns.
func TestCancelWaitsForTheEffect(t *testing.T) {
	results := map[string]error{
		"success": nil, "its own fault": &update.Fault{Cause: update.DiskFull, Err: errors.New("full")}, "the context": context.Canceled,
	}
	for what, result := range results {
		for _, method := range []string{"Connect", "List", "Plan", "Fetch", "Write", "Finish", "Commit"} {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, pack("A.zip", 5))
				w.hold = func(_ context.Context, called string) error {
					if called != method {
						return nil
					}
					time.Sleep(time.Minute)
					return result
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				status := w.run(ctx)
				if status.Outcome != update.Cancelled || time.Since(w.start) != time.Minute {
					t.Errorf("%s returns %s: %s after %v", method, what, status.Outcome, time.Since(w.start))
				}
			})
		}
	}
}

// TestLateCancelChangesNothing cancels after the last effect.
func TestLateCancelChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 5))
		ctx, cancel := context.WithCancel(t.Context())
		u := w.updater(nil)
		status := u.Run(ctx)
		cancel()
		synctest.Wait()
		if status.Outcome != update.ResourcesReady || u.Status() != status {
			t.Errorf("%+v, later %+v", status, u.Status())
		}
	})
}

// TestTimeoutsOfPortsAreNotCancelling has a port with its own time limit return a context error while the update's context
// is active.
func TestTimeoutsOfPortsAreNotCancelling(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 5))
		w.judge = func(connect int) (compat.Judgement, error) {
			if connect == 1 {
				return compat.Judgement{}, context.DeadlineExceeded
			}
			return compat.Judgement{}, nil
		}
		if status := w.run(t.Context()); status.Outcome != update.ResourcesReady || status.Attempt != 2 {
			t.Errorf("%+v", status)
		}
	})
}
