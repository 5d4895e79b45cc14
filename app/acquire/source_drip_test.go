package acquire_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/acquire"
	"collet/app/download"
	"collet/platform/faultfs"
)

// drip is a mirror that lets a byte through now and then of the files that slow names; the first byte comes at once.
type drip struct {
	*folderMirror
	every time.Duration
	slow  func(name string) bool
}

func (w drip) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	body, err := w.folderMirror.Get(ctx, name, from, to, limit)
	if err != nil || !w.slow(name) {
		return body, err
	}
	return &drops{ReadCloser: body, ctx: ctx, every: w.every}, nil
}

type drops struct {
	io.ReadCloser
	ctx   context.Context
	every time.Duration
	wait  time.Duration
}

func (d *drops) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.wait):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	d.wait = d.every
	return d.ReadCloser.Read(p[:min(len(p), 1)])
}

// Total implements Sized.
func (d *drops) Total() int64 { return d.ReadCloser.(download.Sized).Total() }

// TestDripIsNoProgress: bytes do not count, only documents that were verified do, and it is known that a peer is waited for.
func TestDripIsNoProgress(t *testing.T) {
	p := newGame(t)
	tests := map[string]struct {
		slow    string
		every   time.Duration
		answers bool
	}{
		"the timestamp, a byte in 2 s": {"timestamp", 2 * time.Second, false},
		"the timestamp, one byte":      {"timestamp", time.Hour, false},
		"the head":                     {"releases/", 2 * time.Second, true},
		"all objects":                  {"objects/", 2 * time.Second, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mirror := drip{folderMirror: p.bareMirror(), every: test.every, slow: func(name string) bool { return strings.Contains(name, test.slow) }}
				c := newClient(t, p, mirror)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var seen acquire.Progress
				c.source = func(s *acquire.Source) {
					time.AfterFunc(5*time.Second, func() {
						seen = s.Progress()
						cancel()
					})
				}
				began := time.Now()
				_, _ = c.try(ctx, c.disk.Open(faultfs.Options{})) // it was cancelled
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if seen.Bytes == 0 || !seen.Waiting || (seen.Answers > 0) != test.answers {
					t.Errorf("after 5 s: %+v", seen)
				}
			})
		})
	}
}

// TestDripIsLeft: a mirror that lets a byte through now and then is left for the next one, in less time than its patience.
func TestDripIsLeft(t *testing.T) {
	p := newGame(t)
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, p, drip{folderMirror: p.bareMirror(), every: 2 * time.Second, slow: func(string) bool { return true }}, p.mirror())
		began := time.Now()
		r := c.run()
		c.holds(8)
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("%v took %v", r, took)
		}
	})
}

// TestSequelThatDrips: the sequel may not hold up what can be asked for by its name.
func TestSequelThatDrips(t *testing.T) {
	p := newGame(t)
	synctest.Test(t, func(t *testing.T) {
		mirror := drip{folderMirror: p.mirror(), every: time.Second, slow: func(name string) bool { return strings.HasPrefix(name, "sequels/") }}
		c := newClient(t, p, mirror).at(7)
		began := time.Now()
		r := c.run()
		c.holds(8)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%v took %v", r, took)
		}
	})
}
