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
