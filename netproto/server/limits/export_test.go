package limits

import (
	"iter"
	"net/netip"
	"time"

	"collet/netproto/server/config"
)

// Scan lets addresses come and go at one moment, each with a warning. It returns how many are remembered, how many were refused,
// and how many warnings were logged.
func Scan(l config.Limits, addrs iter.Seq[netip.Addr], now time.Time) (remembered, refused, logged int) {
	g := New(l)
	for addr := range addrs {
		taken, why := g.Enter(addr, now)
		if line, _ := g.Warn(taken.Client, "no_handshake", WarnUnknown, now); line {
			logged++
		}
		if why != "" {
			refused++
			continue
		}
		g.Leave(taken)
	}
	later := now.Add(2 * warnPeriod)
	g.swept = now
	g.client(Client(netip.AddrFrom4([4]byte{255, 0, 0, 1})), later)
	return len(g.clients), refused, logged
}
