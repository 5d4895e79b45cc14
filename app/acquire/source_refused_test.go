package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/download"
	"collet/app/update"
)

// restarting is a mirror that refuses connections for a while.
type restarting struct {
	*folderMirror
	from, to time.Time
	why      error
}

func (w restarting) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	if now := time.Now(); !now.Before(w.from) && now.Before(w.to) {
		return nil, &download.NetError{Mirror: w.name, Name: name, Kind: download.NetUnreachable, Err: w.why}
	}
	return w.folderMirror.Get(ctx, name, from, to, limit)
}

// TestMirrorThatRestarts: a mirror that refuses for ten seconds is waited for at the first contact, one that can't be reached is not.
func TestMirrorThatRestarts(t *testing.T) {
	p := newGame(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	conn, refused := net.Dial("tcp", listener.Addr().String())
	if refused == nil {
		conn.Close()
		t.Skip("something else has the port by now")
	}
	for name, test := range map[string]struct {
		why  error
		want update.Outcome
	}{
		"refused":     {fmt.Errorf("dial: %w", refused), update.ResourcesReady},
		"unreachable": {errors.Join(errors.New("dial"), os.ErrDeadlineExceeded), update.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				c := newClient(t, p, restarting{p.mirror(), now, now.Add(10 * time.Second), test.why})
				r := c.run()
				if r.status.Outcome != test.want && !(test.want == update.ResourcesReady && r.status.Outcome == update.BinariesStaged) {
					t.Errorf("%v after %v", r, time.Since(now))
				}
				if test.want == update.Failed && r.status.Fault.Cause != update.Unreachable {
					t.Errorf("%v", r.status.Fault)
				}
			})
		})
	}
}
