package server

import (
	"iter"
	"net/netip"
	"time"
)

// Scan lets addresses come and go at one moment, each with a warning about it. It returns how many are remembered, how
// many were refused, and how many warnings were logged.
func Scan(l Limits, addrs iter.Seq[netip.Addr], now time.Time) (remembered, refused, logged int) {
	g := newGuard(l, now)
	for addr := range addrs {
		taken, why := g.enter(addr, now)
		if line, _ := g.warn(taken.from, causeNoHello, warnStranger, now); line {
			logged++
		}
		if why != "" {
			refused++
			continue
		}
		g.leave(taken)
	}
	later := now.Add(2 * warnPeriod)
	g.swept = now
	g.origin(originOf(netip.AddrFrom4([4]byte{255, 0, 0, 1})), later)
	return len(g.origins), refused, logged
}

// Settings' names that Print and the documents show.
func SettingRows() (rows [][3]string) {
	for _, k := range kinds() {
		rows = append(rows, [3]string{k.name, k.standard, k.help})
	}
	return rows
}

// WarnOf tells of descriptors as Serve does.
func (s *Server) WarnOf(descriptors uint64) { s.warnOf(descriptors) }

// Descriptors is how many files the system lets this process open; 0 is unknown.
func Descriptors() uint64 { return descriptors() }
