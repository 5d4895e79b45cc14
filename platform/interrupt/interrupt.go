// Package interrupt has waits and reads that end with a context. It imports nothing, so that packages use it that may not have package
// platform with its system calls.
//
// Their error is ctx.Err() and not the cause, because callers tell a cancellation from a fault by context.Canceled. A context that ended
// before the call always wins.
package interrupt

import (
	"context"
	"io"
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

// Reader reads from r until ctx ends. A Read of r that is under way is not broken off.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
