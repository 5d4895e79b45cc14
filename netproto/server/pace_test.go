package server_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
)

// metered serves one file of 400 000 bytes under limits.
func metered(t *testing.T, change func(*config.Limits), test func(t *testing.T, pipes *pipes)) {
	t.Helper()
	set := config.ForFolder(servertest.WriteFolder(t, map[string]string{"Resources/Big.zip": strings.Repeat("slow", 100_000)}), servertest.Compatibility)
	set.Network.UpdateFileMaxPortionSize = 50_000
	change(&set.Limits)
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		servertest.Open(t, set).ServeOn(t, pipes)
		test(t, pipes)
	})
}

// timed takes the whole file from an address and says how long that took.
func timed(t *testing.T, pipes *pipes, addr string) time.Duration {
	p := servertest.NewPeer(t, pipes.connectFrom(addr), netproto.C1)
	_, files := p.Greet(servertest.Handshake(netproto.C1))
	started := time.Now()
	taken := 0
	for taken < int(files[0].Size) {
		p.Send(&netproto.GetRange{Index: 0, Offset: uint64(taken), Length: 50_000})
		for got := false; !got; {
			switch m, err := p.Wire.Read(); m := m.(type) {
			case *netproto.RangeData:
				taken, got = taken+len(m.Data), true
			case *netproto.Ping:
				p.Send(&netproto.Ping{Answer: true})
			default:
				t.Errorf("got %+v, %v", m, err)
				return 0
			}
		}
	}
	return time.Since(started)
}

func TestBandwidth(t *testing.T) {
	t.Parallel()
	const size = 400_000
	tests := []struct {
		name          string
		client, total int64
		addrs         []string
		want          []time.Duration // for each, within a tenth
	}{
		{"of one client", size / 20, 0, []string{"192.0.2.1:1"}, []time.Duration{20 * time.Second}},
		{"of a client with two connections", size / 10, 0, []string{"192.0.2.1:1", "192.0.2.1:2"}, []time.Duration{20 * time.Second, 20 * time.Second}},
		{"of two clients", size / 10, 0, []string{"192.0.2.1:1", "192.0.2.2:1"}, []time.Duration{10 * time.Second, 10 * time.Second}},
		{"of an exempt address, each connection", size / 10, 0, []string{"127.0.0.1:1", "127.0.0.1:2"}, []time.Duration{10 * time.Second, 10 * time.Second}},
		{"in total, shared", 0, size / 5, []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1"},
			[]time.Duration{20 * time.Second, 20 * time.Second, 20 * time.Second, 20 * time.Second}},
		// One address has three connections and gets as much as the other: half, so that the other is done after twice the
		// time that it would take alone.
		{"in total, by client", 0, size / 5, []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.2:2", "192.0.2.2:3"},
			[]time.Duration{10 * time.Second, 20 * time.Second, 20 * time.Second, 20 * time.Second}},
		{"unlimited", 0, 0, []string{"192.0.2.1:1"}, []time.Duration{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			metered(t, func(l *config.Limits) { l.ClientBandwidth, l.TotalBandwidth = test.client, test.total }, func(t *testing.T, pipes *pipes) {
				took := make([]time.Duration, len(test.addrs))
				var clients sync.WaitGroup
				for i, addr := range test.addrs {
					clients.Go(func() { took[i] = timed(t, pipes, addr) })
				}
				clients.Wait()
				for i, want := range test.want {
					if off := took[i] - want; off.Abs() > want/10 {
						t.Errorf("%s took %v, want %v", test.addrs[i], took[i], want)
					}
				}
			})
		})
	}
}

// TestStopDoesNotWaitForBandwidth breaks off a transfer that would take hours.
func TestStopDoesNotWaitForBandwidth(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.TotalBandwidth = 1 << 10
	inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.C1)
		p.Greet(servertest.Handshake(netproto.C1))
		for i := range uint32(15) {
			p.Send(&netproto.GetRange{Request: i, Index: 1, Length: 1000})
		}
		var reading sync.WaitGroup
		reading.Go(func() { p.ReadToEnd() })
		started := time.Now()
		h.Stop()
		if err := <-h.Done; err != nil || time.Since(started) != 10*time.Second {
			t.Errorf("Serve returned %v after %v", err, time.Since(started))
		}
		reading.Wait()
	})
}

// TestWaitsForBandwidthAreCounted by the limit that made them.
func TestWaitsForBandwidthAreCounted(t *testing.T) {
	t.Parallel()
	for limit, change := range map[string]func(*config.Limits){
		"client": func(l *config.Limits) { l.ClientBandwidth = 1 << 10 },
		"total":  func(l *config.Limits) { l.TotalBandwidth = 1 << 10 },
		"none":   func(*config.Limits) {},
	} {
		set := servertest.Settings(t)
		change(&set.Limits)
		inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
			var m origin.Monitor
			m.Watch(h.Server)
			p := servertest.NewPeer(t, pipes.connect(), netproto.C1)
			_, files := p.Greet(servertest.Handshake(netproto.C1))
			p.Send(&netproto.Ping{Answer: true})
			p.Fetch(files[1])
			for _, series := range []string{"client", "total"} {
				if got := servertest.MetricValue(t, &m, `collet_bandwidth_waits_total{limit="`+series+`"}`); (got != "0") != (series == limit) {
					t.Errorf("limit %s: %s waits for that of %s", limit, got, series)
				}
			}
		})
	}
}
