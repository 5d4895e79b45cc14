package platform

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"collet/platform/interrupt"
)

const (
	// patience is the time limit of all attempts together: virus scanners and indexers close a new file within a second, and a
	// window that does not respond for two is acceptable.
	patience = 2 * time.Second
	// firstPause is the first pause between two attempts, longestPause the last; each is twice the one before.
	firstPause   = 10 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// RetryWhileLocked repeats try while it fails with an error for which MayBeLocked holds, for at most two seconds plus the time of the
// calls themselves. The pauses grow and are jittered, so that two processes that wait for each other don't collide again. It returns the
// error of the last call. If ctx ends first, the error is joined with ctx's; the first call is made even then.
func RetryWhileLocked(ctx context.Context, try func() error) error {
	err, start := try(), time.Now()
	for pause := firstPause; MayBeLocked(err); pause = min(2*pause, longestPause) {
		left := patience - time.Since(start)
		if left <= 0 {
			return err
		}
		if interrupt.Sleep(ctx, min(left, jittered(pause))) != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		err = try()
	}
	return err
}

// jittered is half to one and a half of a pause.
func jittered(pause time.Duration) time.Duration { return pause/2 + rand.N(pause) }
