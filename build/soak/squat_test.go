package soak

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/dial"
)

// houseOf is a host whose connections are all answered by serve, which has one end of a pipe.
func houseOf(serve func(conn net.Conn)) *host {
	direct := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serve(theirs)
		return ours, nil
	}
	w := way{name: "TCP", dialer: &dial.Dialer{Direct: direct}}
	return &host{ways: []way{w, w, w}}
}

// ending reads what comes and closes after a time.
func ending(d time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		closing := time.AfterFunc(d, func() { conn.Close() })
		io.Copy(io.Discard, conn)
		closing.Stop()
	}
}

func TestSquatWantsAnEndInTime(t *testing.T) {
	for _, s := range squats() {
		if !s.takes {
			continue // it needs sockets: see TestInsist
		}
		s.bare = true
		for _, test := range []struct {
			after time.Duration
			fault string
		}{
			{s.limit, ""},
			{s.limit + squatSlack/2, ""},
			{s.limit / 3, "was ended after"},
			{s.limit + 2*squatSlack, "was ended after"},
		} {
			synctest.Test(t, func(t *testing.T) {
				counts := newTally()
				s.occupy(t.Context(), houseOf(ending(test.after)), counts)
				got := counts.now()
				if faulty := strings.Contains(strings.Join(got.Faults, "\n"), test.fault); test.fault != "" && !faulty || test.fault == "" && (got.Faulty > 0 || got.Done[s.name] != 1) {
					t.Errorf("one that %s, ended after %v: %+v", s.name, test.after, got)
				}
			})
		}
	}
}

func TestSquatLeavesWhenThereIsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		counts, s := newTally(), squats()[0]
		s.occupy(ctx, houseOf(ending(time.Hour)), counts)
		if got := counts.now(); got.Faulty > 0 || got.Done[s.name+", until the pause"] != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestInsist(t *testing.T) {
	for _, test := range []struct{ after, want time.Duration }{{time.Second, time.Second}, {time.Hour, 4 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			go ending(test.after)(theirs)
			began := time.Now()
			if err := insist(t.Context(), ours, 4*time.Second); err == nil || time.Since(began) < test.want || time.Since(began) > test.want+insistEvery {
				t.Errorf("closed after %v: noticed after %v, %v", test.after, time.Since(began), err)
			}
		})
	}
}

// TestSquatsAskForMoreThanSocketsHold compares with the largest buffers that systems give a connection by themselves.
func TestSquatsAskForMoreThanSocketsHold(t *testing.T) {
	const buffers = 8 << 20
	if gorgeAsks*gorgePortion < 2*buffers {
		t.Errorf("%d bytes", gorgeAsks*gorgePortion)
	}
	if s := shapes()[large]; s.least < gorgePortion {
		t.Errorf("%s has %d bytes only", s.name, s.least)
	}
}
