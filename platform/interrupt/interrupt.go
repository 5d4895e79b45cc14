// Package interrupt has waits and reads that end with a context. It imports only the standard library, for packages that must not
// import package platform with its system calls.
//
// The error is ctx.Err(), not the cause, because callers recognize a cancellation by context.Canceled. A context that has ended before
// the call always takes precedence.
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

// Reader reads from r until ctx ends. It does not interrupt a Read of r that is under way.
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
