package server_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/platform/testlevel"
)

// TestLossesShown judges lines by what the system counts of them, round by round.
func TestLossesShown(t *testing.T) {
	const ms = time.Millisecond
	type round struct{ sent, again int }
	steady := func(sent, again int) func(i int) round { return func(int) round { return round{sent, again} } }
	tests := []struct {
		name           string
		trip, shortest time.Duration
		every          func(i int) round // what one round trip sends
		start          uint32            // where the counts begin
		want           int               // segments until losses show, a round more or less; 0 is never within 10 000 rounds
	}{
		{"clean", 100 * ms, 100 * ms, steady(100, 0), 0, 0},
		{"1 % far away", 100 * ms, 100 * ms, steady(100, 1), 0, 3 * 800},
		{"1 % far away, slow", 100 * ms, 100 * ms, func(i int) round { return round{10, (i % 10) / 9} }, 0, 3 * 200},
		{"0.4 %", 20 * ms, 20 * ms, steady(250, 1), 0, 3 * 2000},
		{"less", 20 * ms, 20 * ms, steady(251, 1), 0, 0},
		{"in the house", 4 * ms, 4 * ms, steady(100, 5), 0, 0},
		{"just outside", 5 * ms, 5 * ms, steady(100, 5), 0, 3 * 800},
		{"a queue", 61 * ms, 20 * ms, steady(100, 5), 0, 0},
		{"a small queue", 60 * ms, 20 * ms, steady(100, 5), 0, 3 * 800},
		{"nothing is sent", 20 * ms, 20 * ms, steady(0, 0), 0, 0},
		{"the counts wrap", 20 * ms, 20 * ms, steady(100, 2), math.MaxUint32 - 1000, 3 * 800},
		{"a burst at the start", 20 * ms, 20 * ms, func(i int) round {
			if i < 12 {
				return round{1 << min(i, 9), (1 << min(i, 9)) / 2 * (i / 9)}
			}
			return round{400, 0}
		}, 0, 0},
		{"a burst now and then", 20 * ms, 20 * ms, func(i int) round {
			if i%100 < 3 {
				return round{400, 40}
			}
			return round{400, 0}
		}, 0, 0},
		{"losses that pause", 20 * ms, 20 * ms, func(i int) round { return round{100, (i / 16) % 2} }, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var l server.Losses
			now, total, again, shown := time.Unix(1000, 0), 0, test.start, 0
			for i := 0; i < 10_000 && shown == 0; i++ {
				if l.Shown(test.start+uint32(total), again, test.trip, test.shortest, now) {
					shown = total
				}
				r := test.every(i)
				total, again, now = total+r.sent, again+uint32(r.again), now.Add(test.trip)
			}
			if test.want == 0 && shown != 0 || test.want != 0 && (shown < test.want || shown > test.want*11/10+200) {
				t.Errorf("shown after %d segments, want %d", shown, test.want)
			}
		})
	}
}

// TestLossesByChance lets segments get lost at random: at 1 % the answer comes within a few seconds of a slow line's data,
// and at 0.05 % hardly ever.
func TestLossesByChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	needs := func(chance float64, limit int) int {
		var l server.Losses
		now, again := time.Unix(1000, 0), uint32(0)
		for sent := 0; sent < limit; sent++ {
			if random.Float64() < chance {
				again++
			}
			if sent%12 == 0 { // a window at 1 % (Mathis)
				now = now.Add(100 * time.Millisecond)
				if l.Shown(uint32(sent), again, 101*time.Millisecond, 100*time.Millisecond, now) {
					return sent
				}
			}
		}
		return limit
	}
	var at1 []int
	wrong := 0
	for range 200 {
		at1 = append(at1, needs(0.01, 100_000))
		if needs(0.0005, 10_000) < 10_000 {
			wrong++
		}
	}
	slices.Sort(at1)
	if median, worst := at1[100], at1[199]; median > 1000 || worst > 6000 {
		t.Errorf("at 1 %% losses show after %d segments, at the worst %d", median, worst)
	}
	if wrong > 20 {
		t.Errorf("at 0.05 %% losses show within 14 MB in %d of 200 cases", wrong)
	}
}

// lossy counts as the system does on a line that loses 2 % of what it carries, 20 ms away.
func lossy() func() (sent, again uint32, trip, shortest time.Duration) {
	var portions atomic.Uint32
	return func() (uint32, uint32, time.Duration, time.Duration) {
		n := portions.Add(1)
		return 100 * n, 2 * n, 21 * time.Millisecond, 20 * time.Millisecond
	}
}

func clean() (uint32, uint32, time.Duration, time.Duration) {
	return 1 << 20, 0, 20 * time.Millisecond, 20 * time.Millisecond
}

// TestSpreadIsAskedFor checks which clients are asked for more connections, when, how often and for how many.
func TestSpreadIsAskedFor(t *testing.T) {
	type change = func(set *config.Settings, hello *netproto.Handshake)
	for _, test := range []struct {
		name   string
		count  func() (sent, again uint32, trip, shortest time.Duration)
		change change
		from   string
		bit    uint32 // in the answer
		want   uint8  // connections; 0 is not asked
	}{
		{"lossy", lossy(), func(*config.Settings, *netproto.Handshake) {}, "192.0.2.1:1", netproto.CapSpread, 4},
		{"lossy and exempt", lossy(), func(*config.Settings, *netproto.Handshake) {}, "127.0.0.1:1", netproto.CapSpread, 4},
		{"eight", lossy(), func(s *config.Settings, _ *netproto.Handshake) { s.Network.SpreadConnections = 8 }, "192.0.2.1:1", netproto.CapSpread, 8},
		{"few left", lossy(), func(s *config.Settings, _ *netproto.Handshake) { s.Limits.ConnectionsPerAddress = 3 }, "192.0.2.1:1", netproto.CapSpread, 2},
		{"none left", lossy(), func(s *config.Settings, _ *netproto.Handshake) { s.Limits.ConnectionsPerAddress = 1 }, "192.0.2.1:1", netproto.CapSpread, 0},
		{"clean", clean, func(*config.Settings, *netproto.Handshake) {}, "192.0.2.1:1", netproto.CapSpread, 0},
		{"switched off", lossy(), func(s *config.Settings, _ *netproto.Handshake) { s.Network.SpreadConnections = 1 }, "192.0.2.1:1", 0, 0},
		{"not able", lossy(), func(_ *config.Settings, h *netproto.Handshake) { h.Capabilities &^= netproto.CapSpread }, "192.0.2.1:1", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, greeting := settings(t), hello(netproto.C1)
			greeting.Capabilities |= netproto.CapSpread
			test.change(&set, greeting)
			synctest.Test(t, func(t *testing.T) {
				pipes := newPipes()
				h := open(t, set)
				h.Count(test.count)
				h.serve(t, pipes)
				p := newPeer(t, pipes.connectFrom(test.from), netproto.C1)
				answer, files := p.greet(greeting)
				if answer.Capabilities != netproto.CapPipeline|test.bit {
					t.Errorf("capabilities %#x", answer.Capabilities)
				}
				var asked []uint8
				for i := range uint32(50) {
					p.send(&netproto.GetRange{Request: i, Index: files[0].Index, Length: 10})
					next[*netproto.RangeData](p)
					p.send(&netproto.Ping{}) // its answer lies behind whatever follows the data
					for answered := false; !answered; {
						m, err := p.wire.Read()
						if err != nil {
							t.Fatal(err)
						}
						switch m := m.(type) {
						case *netproto.Spread:
							asked = append(asked, m.Connections)
						case *netproto.Ping:
							answered = m.Answer
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
				if want := []uint8{test.want}; test.want != 0 && !slices.Equal(asked, want) || test.want == 0 && asked != nil {
					t.Errorf("asked for %v connections, want %d", asked, test.want)
				}
				if test.want != 0 {
					h.log.has(t, "info", "The line to client", "loses packets", fmt.Sprintf(`"connections":%d`, test.want))
				}
			})
		})
	}
}

// TestSpreadTogether lets our client take a file from our server over a line that loses packets, and over one where the
// limits allow less than was promised.
func TestSpreadTogether(t *testing.T) {
	testlevel.Slow(t)
	for _, test := range []struct {
		name   string
		change func(*config.Settings)
		want   int64 // connections that are served
	}{
		{"four", func(*config.Settings) {}, 4},
		{"seven", func(s *config.Settings) { s.Network.SpreadConnections = 7 }, 7},
		{"the limit comes between", func(s *config.Settings) { s.Network.SpreadConnections, s.Limits.Connections = 8, 13 }, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			big := make([]byte, 6<<20)
			rand.NewChaCha8([32]byte{1}).Read(big)
			set := config.ForFolder(pack(t, map[string]string{"Resources/Big.zip": string(big), "Resources/Small.zip": "small"}), compatibility)
			set.Network.UpdateFileMaxPortionSize = 64 << 10
			test.change(&set)
			synctest.Test(t, func(t *testing.T) {
				pipes := newPipes()
				h := open(t, set)
				h.Count(lossy())
				h.serve(t, pipes)
				var others []net.Conn // of the goroutine that dials, until the client is closed
				var crowd atomic.Int64
				dials := int64(0)
				client, err := netproto.Dial(t.Context(), netproto.ClientOptions{
					Addr: "update.example:4000", Auto: true, Buffer: 1 << 20, Compatibility: compatibility, Target: "Linux-x64",
					Dial: func(context.Context, string, string) (net.Conn, error) {
						dials++
						for ; test.name == "the limit comes between" && dials == 2 && len(others) < 7; synctest.Wait() {
							others = append(others, pipes.connectFrom("192.0.2.77:1")) // seven come at this moment
							crowd.Add(1)
						}
						return pipes.connectFrom("192.0.2.1:1"), nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				offers, err := client.List(t.Context())
				if err != nil || len(offers) != 2 {
					t.Fatalf("%v, %v", offers, err)
				}
				got, most := make([][]byte, 2), 0
				err = client.Fetch(t.Context(), []netproto.FetchRange{{Index: offers[0].Index, Size: offers[0].Size}, {Index: offers[1].Index, Size: offers[1].Size}},
					func(i int, data []byte) error {
						got[i] = append(got[i], data...)
						most = max(most, h.Connections()-int(crowd.Load()))
						time.Sleep(5 * time.Millisecond)
						return nil
					})
				if err != nil || !bytes.Equal(got[0], big) || string(got[1]) != "small" {
					t.Errorf("%d and %d bytes, %v", len(got[0]), len(got[1]), err)
				}
				if int64(most) != test.want {
					t.Errorf("%d connections at most, want %d", most, test.want)
				}
				client.Close()
				for _, conn := range others {
					conn.Close()
				}
				synctest.Wait()
				if n := h.Connections(); n != 0 {
					t.Errorf("%d connections are left", n)
				}
			})
		})
	}
}

// TestSpreadNeedsNoBBR checks that clients on connections with BBR are not asked.
func TestSpreadNeedsNoBBR(t *testing.T) {
	allowed, err := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if err != nil {
		t.Skip("this system does not say which congestion control there is")
	}
	for _, algorithm := range []string{"reno", "bbr"} {
		t.Run(algorithm, func(t *testing.T) {
			if !slices.Contains(strings.Fields(string(allowed)), algorithm) {
				t.Skip("this system does not allow it")
			}
			set := settings(t)
			set.Network.CongestionControl = algorithm
			listener, err := server.Listen(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			h := open(t, set)
			began, count := time.Now(), lossy()
			var looked atomic.Int32
			h.Count(func() (sent, again uint32, trip, shortest time.Duration) {
				looked.Add(1)
				sent, again, _, _ = count()
				return sent, again, min(time.Since(began)/1000, 5*time.Millisecond), 5 * time.Millisecond // no waiting
			})
			h.serve(t, listener)
			p := h.dial(t, netproto.C1)
			greeting := hello(netproto.C1)
			greeting.Capabilities |= netproto.CapSpread
			_, files := p.greet(greeting)
			asked := false
			for i := uint32(0); i < 5000 && !asked; i++ {
				p.send(&netproto.GetRange{Request: i, Index: files[0].Index, Length: 10})
				m, err := p.wire.Read()
				if err != nil {
					t.Fatal(err)
				}
				_, asked = m.(*netproto.Spread)
				if looked.Load() == 0 && i > 100 {
					break
				}
			}
			if asked != (algorithm == "reno") || (looked.Load() > 0) != asked {
				t.Errorf("asked: %t, looked %d times", asked, looked.Load())
			}
		})
	}
}

// TestCounted reads the system's own counts of a connection over the loopback interface.
func TestCounted(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	if _, _, _, _, known := server.Counted(ours); known {
		t.Error("something is known of a pipe")
	}
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	before, _, _, _, known := server.Counted(far)
	if !known {
		t.Skip("this system does not tell")
	}
	const size = 100_000
	if _, err := far.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	for left := size; left > 0; {
		n, err := near.Read(make([]byte, left))
		if err != nil {
			t.Fatal(err)
		}
		left -= n
	}
	sent, again, trip, shortest, _ := server.Counted(far)
	if sent <= before || sent > size || again > sent || trip <= 0 || trip > time.Second || shortest <= 0 || shortest > time.Second {
		t.Errorf("%d segments, %d again, %v and %v", sent, again, trip, shortest)
	}
}
