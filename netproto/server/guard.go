package server

import (
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/server/config"
)

// guard decides which connections are served and which warnings are logged. It remembers addresses in one table of
// bounded size. It is safe for concurrent use.
type guard struct {
	limits config.Limits
	exempt []netip.Prefix
	total  *gate // bandwidth of all

	clientWaits, totalWaits atomic.Uint64 // pieces that waited for Limits.ClientBandwidth and Limits.TotalBandwidth

	mu       sync.Mutex
	open     int // connections being served
	refusing int // connections that are being told that they are not
	arrivals bucket
	origins  map[netip.Prefix]*origin
	crowd    origin // counts warnings about all addresses that found the table full
	swept    time.Time
}

// origin is one address: an IPv4 address or an IPv6 /64.
type origin struct {
	conns    int // being served
	arrivals bucket
	told     bucket // refusals that it is told of
	shows    bucket // manifests that it is shown
	guesses  bucket // wrong tokens that it may try
	lane     *lane  // bandwidth; made with the first connection
	warned   map[cause]warned
}

// warned is what was logged about one cause from one address.
type warned struct {
	since  time.Time // the minute's begin
	lines  int       // in this minute
	hidden int       // not logged in it
}

const (
	// maxOrigins is how many addresses are remembered beside those that are connected. At a hundred bytes each they take
	// a few megabytes. Where more come in a minute, limits per address would help little: those that find no room are held
	// to the limits in total, and share one count of warnings.
	maxOrigins = 16384
	// maxRefusing is how many connections are told at once that they are refused; others are closed without a word. Each
	// costs its buffers, 50 KB at most over TLS and WebSocket, until the client has closed, which takes a quarter of a second
	// for one that is far away: so a thousand clients a second are told.
	maxRefusing = 256
	// maxToldPerAddress is how many of them in a second may be from one address. A client tries again after seconds; more
	// is a flood, which would make us shake hands by TLS as often as it likes.
	maxToldPerAddress = 20
	// refuseTime is how long a refused connection has for the handshake that tells how to say so.
	refuseTime = 3 * time.Second
	// warnPeriod is how long warnings of one kind about one address are counted together.
	warnPeriod = time.Minute
	// warnStranger is how many warnings of one kind an address gets in that time before it has shaken hands.
	warnStranger = 1
	// warnClient is the same for one that has: the lines in which QA looks for its faults.
	warnClient = 20
	// sweepPeriod is the time between two looks for addresses to forget when the table is full.
	sweepPeriod = time.Second
)

// newGuard makes a guard of checked limits.
func newGuard(l config.Limits, now time.Time) *guard {
	g := &guard{
		limits:   l,
		arrivals: newBucket(float64(l.ConnectionsPerSecond), float64(l.ConnectionsPerSecond), now),
		origins:  map[netip.Prefix]*origin{},
	}
	g.total = newGate(l.TotalBandwidth, &g.totalWaits, now)
	for _, text := range l.ExemptAddresses {
		if prefix, err := config.ParsePrefix(text); err == nil {
			g.exempt = append(g.exempt, prefix)
		}
	}
	return g
}

func (g *guard) newOrigin(now time.Time) origin {
	rate := float64(g.limits.ConnectionsPerSecondPerAddress)
	return origin{arrivals: newBucket(rate, rate, now), told: newBucket(maxToldPerAddress, maxToldPerAddress, now), shows: newBucket(showRate, showsPerAddress, now),
		guesses: newBucket(guessRate, maxGuesses, now)}
}

// addressOf is a peer's address without its port. What is no address of the internet is the zero Addr.
func addressOf(addr string) netip.Addr {
	parsed, err := netip.ParseAddrPort(addr)
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap().WithZone("")
}

// originOf is what an address counts as.
func originOf(ip netip.Addr) netip.Prefix {
	bits := ip.BitLen()
	if ip.Is6() {
		bits = householdBits
	}
	prefix, _ := ip.Prefix(bits)
	return prefix
}

// householdBits is the length of the IPv6 prefix that one household or machine has to itself (RFC 6177).
const householdBits = 64

// free reports whether an address stands for many clients. What is none (a pipe, a socket of this machine) does.
func (g *guard) free(ip netip.Addr) bool {
	for _, exempt := range g.exempt {
		if exempt.Contains(ip) {
			return true
		}
	}
	return !ip.IsValid()
}

// seat is a connection's place among those that are served, until it is left.
type seat struct {
	from netip.Prefix
	lane *lane // nil: no limit on bandwidth
	own  *origin
}

// arrive says how long the next connection must wait before it is looked at, so that they come no faster than allowed.
func (g *guard) arrive(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.arrivals.reserve(now, 1)
}

// enter takes a seat for a connection from an address, or gives the cause of its refusal.
func (g *guard) enter(ip netip.Addr, now time.Time) (seat, cause) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := seat{from: originOf(ip)}
	if !g.free(ip) {
		s.own = g.origin(s.from, now)
	}
	if s.own == &g.crowd {
		s.own = nil
	}
	if s.own != nil {
		switch {
		case !s.own.arrivals.take(now):
			return s, causeAddressRate
		case s.own.conns >= g.limits.ConnectionsPerAddress:
			return s, causeAddress
		}
	}
	if g.open >= g.limits.Connections {
		return s, causeConnections
	}
	g.open++
	if s.own == nil {
		s.lane = newLane(g.limits, g.total, &g.clientWaits, now)
		return s, ""
	}
	s.own.conns++
	if s.own.lane == nil {
		s.own.lane = newLane(g.limits, g.total, &g.clientWaits, now)
	}
	s.lane = s.own.lane
	return s, ""
}

// leave gives the seat back.
func (g *guard) leave(s seat) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	if s.own != nil {
		s.own.conns--
	}
}

// refuse takes one of the places for connections that are told why they are refused, and reports whether there was one for
// the address of s, which enter has refused.
func (g *guard) refuse(s seat, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refusing >= maxRefusing || s.own != nil && !s.own.told.take(now) {
		return false
	}
	g.refusing++
	return true
}

// refused gives the place back.
func (g *guard) refused() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusing--
}

// connections is how many are being served.
func (g *guard) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// warn counts a warning about an address. It is logged if fewer than most were logged in this minute; hidden is how many
// were not since the last one that was.
func (g *guard) warn(from netip.Prefix, about cause, most int, now time.Time) (logged bool, hidden int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.origin(from, now)
	w := o.warned[about]
	if now.Sub(w.since) >= warnPeriod {
		hidden, w = w.hidden, warned{since: now}
	}
	w.lines++
	logged = w.lines <= most
	if !logged {
		w.hidden++
	}
	if o.warned == nil {
		o.warned = map[cause]warned{}
	}
	o.warned[about] = w
	return logged, hidden
}

// origin finds or enters an address. It is the crowd where the table is full.
func (g *guard) origin(from netip.Prefix, now time.Time) *origin {
	if known, found := g.origins[from]; found {
		return known
	}
	if len(g.origins) >= maxOrigins+g.limits.Connections && !g.sweep(now) {
		return &g.crowd
	}
	o := g.newOrigin(now)
	g.origins[from] = &o
	return &o
}

// sweep forgets addresses of which nothing needs to be known, and reports whether there is room. It looks at all of
// them, and so not at every call.
func (g *guard) sweep(now time.Time) bool {
	if now.Sub(g.swept) < sweepPeriod {
		return false
	}
	g.swept = now
	maps.DeleteFunc(g.origins, func(_ netip.Prefix, o *origin) bool { return o.idle(now) })
	return len(g.origins) < maxOrigins+g.limits.Connections
}

// idle reports whether the address could be a new one.
func (o *origin) idle(now time.Time) bool {
	for _, w := range o.warned {
		if now.Sub(w.since) < warnPeriod {
			return false
		}
	}
	return o.conns == 0 && o.arrivals.full(now) && o.told.full(now) && o.shows.full(now) && o.guesses.full(now)
}
