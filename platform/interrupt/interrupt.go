// Package interrupt has waits that end with a context. It imports nothing, so that packages use it that may not have package
// platform with its system calls.
//
// Their error is ctx.Err() and not the cause, because callers tell a cancellation from a fault by context.Canceled. A context that ended
// before the call always wins.
package interrupt

import (
	"context"
	"time"
)

// Sleep waits for d. If ctx ends first it returns ctx.Err() at once.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
