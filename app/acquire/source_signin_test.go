package acquire_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/download"
	"collet/app/update"
)

// failing is a mirror that fails every request in one way, and counts them.
type failing struct {
	name  string
	err   func(name string) error
	asked *atomic.Int32
}

func (f failing) Name() string { return f.name }

func (f failing) Get(_ context.Context, name string, _, _, _ int64) (io.ReadCloser, error) {
	f.asked.Add(1)
	return nil, f.err(name)
}

// TestSignInIsNoNetworkFault: a mirror that wants a sign-in is not asked again and again, also beside one that can't be reached.
func TestSignInIsNoNetworkFault(t *testing.T) {
	p := newGame(t)
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		closed := failing{"closed", func(name string) error {
			return &download.WrongError{Mirror: "closed", Name: name, Kind: download.WrongSignIn, Detail: "status 401"}
		}, &asked}
		away := failing{"away", func(name string) error {
			return &download.NetError{Mirror: "away", Name: name, Kind: download.NetUnreachable, Err: errors.New("no route")}
		}, new(atomic.Int32)}
		begun := time.Now()
		r := newClient(t, p, closed, away).run()
		if f := r.status.Fault; r.status.Outcome != update.Failed || f.Cause != update.SignIn || f.Transient || !f.Cause.Away() {
			t.Errorf("%v, %v", r, f)
		}
		if asked.Load() > 3 || time.Since(begun) > 5*time.Second { // the timestamp, the next root, a sequel
			t.Errorf("asked %d times in %v", asked.Load(), time.Since(begun))
		}
	})
}
