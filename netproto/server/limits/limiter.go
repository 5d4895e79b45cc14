// Package limits bounds what clients of an update server can make it spend: connections, refusals, warnings and bandwidth. It names
// the causes for which connections are refused and end.
//
// A Limiter counts by client: an IPv4 address or an IPv6 /64. Exempt addresses, and connections without an address, count in
// total only. A connection waits for ArrivalWait, then Enter gives it a Slot or the Cause of its refusal; Leave gives the slot
// back. So many connections are open at once in total and for each client, and so many begin in a second. A refusal may be sent
// to the client while BeginRefusal allows it, because each costs buffers and maybe a handshake.
//
// Warnings are counted by client and cause. Above a few per minute they go to the log's debug level; the next warning has their number.
//
// Bandwidth is handed out in small pieces: first within the client's own limit, then in turn among all clients that wait, so that
// each gets an equal share of the total. An unlimited stream has no Bandwidth. A Conn writes under a Bandwidth, with a deadline for
// each piece.
//
// The table of clients is bounded. A client without an entry is subject only to the total limits.
package limits

import (
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"collet/netproto/server/config"
)

// Limiter decides which connections are served and which warnings are logged. It remembers addresses in one table of
// bounded size. It is safe for concurrent use.
type Limiter struct {
	limits config.Limits
	exempt []netip.Prefix
	total  *rateLimiter // shared by all clients

	// ClientWaits and TotalWaits count the pieces that waited for Limits.ClientBandwidth and Limits.TotalBandwidth.
	ClientWaits, TotalWaits atomic.Uint64

	mu       sync.Mutex
	open     int // connections being served
	refusing int // connections to which a refusal is being sent
	arrivals *rate.Limiter
	clients  map[netip.Prefix]*client
	overflow client // shared by all addresses without an entry
	swept    time.Time
}

// client is one address: an IPv4 address or an IPv6 /64.
type client struct {
	conns     int // being served
	arrivals  *rate.Limiter
	refusals  *rate.Limiter // refusals that are sent to it
	manifests *rate.Limiter // manifests that are sent to it
	tokens    *rate.Limiter // wrong tokens that it may try
	bandwidth *Bandwidth    // created with the first connection
	warned    map[Cause]warned
}

// warned counts the warnings of one cause about one address.
type warned struct {
	since  time.Time // begin of the minute
	lines  int       // in this minute
	hidden int       // not logged in this minute
}

const (
	// maxClients is how many addresses are remembered beside the connected ones. At half a kilobyte each they take 8 MB. If more arrive within a minute, limits per address help little: those without an entry are subject to the total
	// limits and share one count of warnings.
	maxClients = 16384
	// MaxRefusals is how many connections receive a refusal at once; others are closed without one. Each costs its buffers, at
	// most 50 KB over TLS and WebSocket, until the client has closed, which takes a quarter of a second for a distant one: about
	// a thousand refusals a second.
	MaxRefusals = 256
	// maxRefusalsPerAddress is how many refusals one address receives per second. A real client tries again after seconds; more
	// is a flood that could force TLS handshakes at will.
	maxRefusalsPerAddress = 20
	// warnPeriod is how long warnings of one kind about one address are counted together.
	warnPeriod = time.Minute
	// WarnUnknown is how many warnings of one kind are logged about an address in that time before its handshake.
	WarnUnknown = 1
	// WarnKnown is the same number after the handshake, higher because QA looks for these lines.
	WarnKnown = 20
	// maxTokens is how many wrong tokens an address may send at once, and tokenRate how many more per second. Tokens can't be
	// guessed; the limit protects the log and the processor.
	maxTokens = 10
	tokenRate = 0.2
	// maxManifests is how many manifests are sent to an address at once, and manifestRate how many more per second: a developer
	// builds and connects again within minutes, with a few machines behind one address.
	maxManifests = 10
	manifestRate = 10.0 / 60
	// sweepPeriod is the least time between two sweeps of a full table.
	sweepPeriod = time.Second
)

// New makes a Limiter of validated limits.
func New(set config.Limits) *Limiter {
	l := &Limiter{
		limits:   set,
		arrivals: rate.NewLimiter(rate.Limit(set.ConnectionsPerSecond), set.ConnectionsPerSecond),
		clients:  map[netip.Prefix]*client{},
		overflow: client{tokens: rate.NewLimiter(rate.Inf, 0)},
	}
	l.total = newRateLimiter(set.TotalBandwidth, &l.TotalWaits)
	for _, text := range set.ExemptAddresses {
		if prefix, err := config.ParsePrefix(text); err == nil {
			l.exempt = append(l.exempt, prefix)
		}
	}
	return l
}

func (l *Limiter) newClient() *client {
	arrivals := l.limits.ConnectionsPerSecondPerAddress
	return &client{
		arrivals: rate.NewLimiter(rate.Limit(arrivals), arrivals), refusals: rate.NewLimiter(maxRefusalsPerAddress, maxRefusalsPerAddress),
		manifests: rate.NewLimiter(manifestRate, maxManifests), tokens: rate.NewLimiter(tokenRate, maxTokens),
	}
}

// Address is a peer's address without its port. It is the zero Addr if addr is not an internet address.
func Address(addr string) netip.Addr {
	parsed, err := netip.ParseAddrPort(addr)
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap().WithZone("")
}

// Client is the prefix that an address is counted by: an IPv4 address itself, or the /64 of an IPv6 address.
func Client(ip netip.Addr) netip.Prefix {
	bits := ip.BitLen()
	if ip.Is6() {
		bits = householdBits
	}
	prefix, _ := ip.Prefix(bits)
	return prefix
}

// householdBits is the length of the IPv6 prefix that one household or machine has to itself (RFC 6177).
const householdBits = 64

// IsExempt reports whether an address stands for many clients. The zero Addr (a pipe, a local socket) is exempt.
func (l *Limiter) IsExempt(ip netip.Addr) bool {
	for _, exempt := range l.exempt {
		if exempt.Contains(ip) {
			return true
		}
	}
	return !ip.IsValid()
}

// Slot is a served connection's place, from Enter to Leave.
type Slot struct {
	Client    netip.Prefix
	Bandwidth *Bandwidth // nil: no limit on bandwidth
	own       *client
}

// ArrivalWait is how long the next connection must wait so that connections begin no faster than allowed.
func (l *Limiter) ArrivalWait(now time.Time) time.Duration {
	return l.arrivals.ReserveN(now, 1).DelayFrom(now)
}

// Enter takes a slot for a connection from an address, or returns the cause of its refusal.
func (l *Limiter) Enter(ip netip.Addr, now time.Time) (Slot, Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Slot{Client: Client(ip)}
	if !l.IsExempt(ip) {
		s.own = l.client(s.Client, now)
	}
	if s.own == &l.overflow {
		s.own = nil
	}
	if s.own != nil {
		switch {
		case !s.own.arrivals.AllowN(now, 1):
			return s, CauseAddressRate
		case s.own.conns >= l.limits.ConnectionsPerAddress:
			return s, CauseAddress
		}
	}
	if l.open >= l.limits.Connections {
		return s, CauseConnections
	}
	l.open++
	if s.own == nil {
		s.Bandwidth = newBandwidth(l.limits, l.total, &l.ClientWaits)
		return s, ""
	}
	s.own.conns++
	if s.own.bandwidth == nil {
		s.own.bandwidth = newBandwidth(l.limits, l.total, &l.ClientWaits)
	}
	s.Bandwidth = s.own.bandwidth
	return s, ""
}

// Leave returns the slot.
func (l *Limiter) Leave(s Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if s.own != nil {
		s.own.conns--
	}
}

// BeginRefusal takes one of the MaxRefusals slots for sending a refusal, and reports whether the limits allow it. Enter has
// refused s. EndRefusal returns the slot.
func (l *Limiter) BeginRefusal(s Slot, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusing >= MaxRefusals || s.own != nil && !s.own.refusals.AllowN(now, 1) {
		return false
	}
	l.refusing++
	return true
}

// EndRefusal returns the slot of BeginRefusal.
func (l *Limiter) EndRefusal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusing--
}

// Connections is the number of served connections.
func (l *Limiter) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Warn counts a warning about an address. logged is true for the first `most` of a minute; hidden is how many warnings of the
// minute before were not logged.
func (l *Limiter) Warn(from netip.Prefix, about Cause, most int, now time.Time) (logged bool, hidden int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.client(from, now)
	w := c.warned[about]
	if now.Sub(w.since) >= warnPeriod {
		hidden, w = w.hidden, warned{since: now}
	}
	w.lines++
	logged = w.lines <= most
	if !logged {
		w.hidden++
	}
	if c.warned == nil {
		c.warned = map[Cause]warned{}
	}
	c.warned[about] = w
	return logged, hidden
}

// client finds or adds an address. It returns overflow when the table is full.
func (l *Limiter) client(from netip.Prefix, now time.Time) *client {
	if known, found := l.clients[from]; found {
		return known
	}
	if len(l.clients) >= maxClients+l.limits.Connections && !l.sweep(now) {
		return &l.overflow
	}
	c := l.newClient()
	l.clients[from] = c
	return c
}

// sweep removes idle addresses and reports whether there is room. It visits all of them, so it runs at most once per sweepPeriod.
func (l *Limiter) sweep(now time.Time) bool {
	if now.Sub(l.swept) < sweepPeriod {
		return false
	}
	l.swept = now
	maps.DeleteFunc(l.clients, func(_ netip.Prefix, c *client) bool { return c.idle(now) })
	return len(l.clients) < maxClients+l.limits.Connections
}

// idle reports whether the entry equals a new one.
func (c *client) idle(now time.Time) bool {
	for _, w := range c.warned {
		if now.Sub(w.since) < warnPeriod {
			return false
		}
	}
	for _, r := range []*rate.Limiter{c.arrivals, c.refusals, c.manifests, c.tokens} {
		if r.TokensAt(now) < float64(r.Burst()) {
			return false
		}
	}
	return c.conns == 0
}

// AllowToken takes one of an address's tries with a wrong token.
func (l *Limiter) AllowToken(from netip.Prefix, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client(from, now).tokens.AllowN(now, 1)
}

// AllowManifest takes one of the manifests that an address may receive.
func (l *Limiter) AllowManifest(s Slot, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.own == nil || s.own.manifests.AllowN(now, 1)
}
