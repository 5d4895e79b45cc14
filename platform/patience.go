package platform

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"collet/platform/interrupt"
)

const (
	// patience is how long a held file is waited for altogether: virus scanners and indexers let go of a new file within a
	// second, and nobody wonders about a window that stands for two.
	patience = 2 * time.Second
	// firstPause is the first pause between two attempts, longestPause the last; each is twice the one before.
	firstPause   = 10 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// Patiently calls try until it does not fail with an error for which MayBeLocked holds, for at most two seconds and what
// the calls themselves take. The pauses grow and are jittered, so that two who wait for each other don't meet again. It
// returns what the last call returned. When ctx ends first the error is ctx's as well; a first call is made even then.
func Patiently(ctx context.Context, try func() error) error {
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
