package limits_test

import (
	"collet/netproto/server/config"
	"collet/netproto/server/limits"
	"collet/platform/testlevel"
	"net/netip"
	"testing"
	"time"
)

// TestManyAddressesAreForgotten lets a scan come from more addresses than are remembered. No connection is refused for it, the
// log gets one line for those beyond, and a minute later they are forgotten.
func TestManyAddressesAreForgotten(t *testing.T) {
	testlevel.Slow(t)
	const room = 16384 + 100
	for _, test := range []struct{ addrs, remembered, logged int }{
		{room - 1, room, room - 1}, // and the one that comes later
		{room, 1, room},
		{3 * room, 1, room + 1},
	} {
		bounds := config.DefaultLimits()
		bounds.Connections = 100
		scan := func(yield func(netip.Addr) bool) {
			for i := range test.addrs {
				if !yield(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})) {
					return
				}
			}
		}
		remembered, refused, logged := limits.Scan(bounds, scan, time.Unix(1_700_000_000, 0))
		if remembered != test.remembered || refused != 0 || logged != test.logged {
			t.Errorf("%d addresses: %d remembered, %d refused, %d logged; want %+v", test.addrs, remembered, refused, logged, test)
		}
	}
}

func TestAllowance(t *testing.T) {
	tests := []struct {
		name         string
		change       func(*config.Limits)
		most         int
		same, others int
		want         int
	}{
		{"plenty", func(*config.Limits) {}, 4, 0, 0, 4},
		{"as many as are allowed", func(*config.Limits) {}, 8, 0, 0, 8},
		{"never", func(*config.Limits) {}, 1, 0, 0, 1},
		{"half of what its address may have", func(l *config.Limits) { l.ConnectionsPerAddress = 6 }, 8, 1, 100, 3},
		{"its address has one more", func(l *config.Limits) { l.ConnectionsPerAddress = 2 }, 8, 0, 0, 1},
		{"its address has no more", func(l *config.Limits) { l.ConnectionsPerAddress = 1 }, 8, 0, 0, 1},
		{"half of what is left", func(l *config.Limits) { l.Connections = 105 }, 8, 0, 100, 3},
		{"nothing is left", func(l *config.Limits) { l.Connections = 101 }, 8, 0, 100, 1},
		{"as fast as its address may come", func(l *config.Limits) { l.ConnectionsPerSecondPerAddress = 3 }, 8, 0, 0, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := config.DefaultLimits()
			test.change(&l)
			if got := limits.AllowanceBehind(l, test.most, test.same, test.others, time.Unix(1000, 0)); got != test.want {
				t.Errorf("room for %d connections, want %d", got, test.want)
			}
		})
	}
}
