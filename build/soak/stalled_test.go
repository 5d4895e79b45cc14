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

// newTestHost is a host whose connections are all answered by serve, which has one end of a pipe.
func newTestHost(serve func(conn net.Conn)) *host {
	direct := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serve(theirs)
		return ours, nil
	}
	w := transport{name: "TCP", dialer: &dial.Dialer{Direct: direct}}
	return &host{transports: []transport{w, w, w}}
}

// ending reads what comes and closes after a time.
func ending(d time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		closing := time.AfterFunc(d, func() { conn.Close() })
		io.Copy(io.Discard, conn)
		closing.Stop()
	}
}

func TestStalledClientIsEndedInTime(t *testing.T) {
	for _, s := range stalledClients() {
		if !s.reads {
			continue // it needs sockets: see TestSendUnknown
		}
		s.bare = true
		for _, test := range []struct {
			after time.Duration
			fault string
		}{
			{s.limit, ""},
			{s.limit + endSlack/2, ""},
			{s.limit / 3, "was ended after"},
			{s.limit + 2*endSlack, "was ended after"},
		} {
			synctest.Test(t, func(t *testing.T) {
				counts := newCounter()
				s.hold(t.Context(), newTestHost(ending(test.after)), counts)
				got := counts.now()
				if faulty := strings.Contains(strings.Join(got.Faults, "\n"), test.fault); test.fault != "" && !faulty || test.fault == "" && (got.Faulty > 0 || got.Done[s.name] != 1) {
					t.Errorf("one that %s, ended after %v: %+v", s.name, test.after, got)
				}
			})
		}
	}
}

func TestStalledClientLeavesInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		counts, s := newCounter(), stalledClients()[0]
		s.hold(ctx, newTestHost(ending(time.Hour)), counts)
		if got := counts.now(); got.Faulty > 0 || got.Done[s.name+", until the pause"] != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestSendUnknown(t *testing.T) {
	for _, test := range []struct{ after, want time.Duration }{{time.Second, time.Second}, {time.Hour, 4 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			go ending(test.after)(theirs)
			began := time.Now()
			if err := sendUnknown(t.Context(), ours, 4*time.Second); err == nil || time.Since(began) < test.want || time.Since(began) > test.want+unknownPeriod {
				t.Errorf("closed after %v: noticed after %v, %v", test.after, time.Since(began), err)
			}
		})
	}
}

// TestUnreadRequestsExceedSocketBuffers compares with the largest buffers that systems give a connection by themselves.
func TestUnreadRequestsExceedSocketBuffers(t *testing.T) {
	const buffers = 8 << 20
	if unreadRequests*unreadSize < 2*buffers {
		t.Errorf("%d bytes", unreadRequests*unreadSize)
	}
	if s := shapes()[large]; s.least < unreadSize {
		t.Errorf("%s has %d bytes only", s.name, s.least)
	}
}
