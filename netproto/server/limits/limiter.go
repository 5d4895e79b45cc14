// Package limits bounds what clients of an update server can make it spend: connections, refusals, warnings and bandwidth.
//
// A Limiter counts by client: an IPv4 address or an IPv6 /64. Exempt addresses, and connections without an address, count in total
// only. A connection waits for ArrivalWait, then Enter gives it a Slot or the Cause of its refusal; Leave gives the slot back. So
// many connections are open at once in total and for each client, and so many begin in a second. A refusal may be sent to the
// client while BeginRefusal allows it, because sending costs buffers and handshakes.
//
// Warnings are counted by client and cause. Those above a few in a minute are for the log's debug level, with their number in the
// next warning.
//
// Bandwidth is handed out in small pieces: first within the client's own limit, then in turn among all clients that wait, so that
// each gets an equal share of the total. A stream that is not limited has no Bandwidth.
//
// What is remembered of clients is bounded. A client that finds the table full is held to the limits in total.
package limits

import (
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/server/config"
)

// Limiter decides which connections are served and which warnings are logged. It remembers addresses in one table of
// bounded size. It is safe for concurrent use.
type Limiter struct {
	limits config.Limits
	exempt []netip.Prefix
	total  *rateLimiter // bandwidth of all

	// ClientWaits and TotalWaits count the pieces that waited for Limits.ClientBandwidth and Limits.TotalBandwidth.
	ClientWaits, TotalWaits atomic.Uint64

	mu       sync.Mutex
	open     int // connections being served
	refusing int // connections to which a refusal is being sent
	arrivals bucket
	clients  map[netip.Prefix]*client
	overflow client // counts warnings about all addresses for which the table had no room
	swept    time.Time
}

// client is one address: an IPv4 address or an IPv6 /64.
type client struct {
	conns     int // being served
	arrivals  bucket
	refusals  bucket     // refusals that are sent to it
	manifests bucket     // manifests that are sent to it
	tokens    bucket     // wrong tokens that it may try
	bandwidth *Bandwidth // made with the first connection
	warned    map[Cause]warned
}

// warned is what was logged about one cause from one address.
type warned struct {
	since  time.Time // the minute's begin
	lines  int       // in this minute
	hidden int       // not logged in it
}

const (
	// maxClients is how many addresses are remembered beside those that are connected. At a hundred bytes each they take
	// a few megabytes. Where more come in a minute, limits per address would help little: those that find no room are held
	// to the limits in total, and share one count of warnings.
	maxClients = 16384
	// MaxRefusals is to how many connections a refusal is sent at once; others are closed without one. Each
	// costs its buffers, 50 KB at most over TLS and WebSocket, until the client has closed, which takes a quarter of a second
	// for one that is far away: so a thousand clients a second are told.
	MaxRefusals = 256
	// maxRefusalsPerAddress is how many of them in a second may be from one address. A client tries again after seconds; more
	// is a flood, which would make us shake hands by TLS as often as it likes.
	maxRefusalsPerAddress = 20
	// warnPeriod is how long warnings of one kind about one address are counted together.
	warnPeriod = time.Minute
	// WarnUnknown is how many warnings of one kind an address gets in that time before it has shaken hands.
	WarnUnknown = 1
	// WarnKnown is the same for one that has: the lines in which QA looks for its faults.
	WarnKnown = 20
	// maxTokens is how many wrong tokens an address may try at once, and tokenRate how many more in a second. Tokens can't be
	// guessed; this keeps the log and the processor free.
	maxTokens = 10
	tokenRate = 0.2
	// maxManifests is how many manifests are sent to an address at once, and manifestRate how many more in a second: a developer builds
	// and connects again in minutes, with a few machines behind one address.
	maxManifests = 10
	manifestRate = 10.0 / 60
	// sweepPeriod is the time between two looks for addresses to forget when the table is full.
	sweepPeriod = time.Second
)

// New makes a Limiter of checked limits.
func New(set config.Limits, now time.Time) *Limiter {
	l := &Limiter{
		limits:   set,
		arrivals: newBucket(float64(set.ConnectionsPerSecond), float64(set.ConnectionsPerSecond), now),
		clients:  map[netip.Prefix]*client{},
	}
	l.total = newRateLimiter(set.TotalBandwidth, &l.TotalWaits, now)
	for _, text := range set.ExemptAddresses {
		if prefix, err := config.ParsePrefix(text); err == nil {
			l.exempt = append(l.exempt, prefix)
		}
	}
	return l
}

func (l *Limiter) newClient(now time.Time) client {
	rate := float64(l.limits.ConnectionsPerSecondPerAddress)
	return client{arrivals: newBucket(rate, rate, now), refusals: newBucket(maxRefusalsPerAddress, maxRefusalsPerAddress, now), manifests: newBucket(manifestRate, maxManifests, now),
		tokens: newBucket(tokenRate, maxTokens, now)}
}

// Address is a peer's address without its port. What is no address of the internet is the zero Addr.
func Address(addr string) netip.Addr {
	parsed, err := netip.ParseAddrPort(addr)
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap().WithZone("")
}

// Client is what an address counts as: an IPv4 address by itself, an IPv6 address as its /64.
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

// IsExempt reports whether an address stands for many clients. The zero Addr (a pipe, a socket of this machine) does.
func (l *Limiter) IsExempt(ip netip.Addr) bool {
	for _, exempt := range l.exempt {
		if exempt.Contains(ip) {
			return true
		}
	}
	return !ip.IsValid()
}

// Slot is a connection's place among those that are served, from Enter to Leave.
type Slot struct {
	Client    netip.Prefix
	Bandwidth *Bandwidth // nil: no limit on bandwidth
	own       *client
}

// ArrivalWait says how long the next connection must wait before it is looked at, so that they come no faster than allowed.
func (l *Limiter) ArrivalWait(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.arrivals.reserve(now, 1)
}

// Enter takes a slot for a connection from an address, or gives the cause of its refusal.
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
		case !s.own.arrivals.take(now):
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
		s.Bandwidth = newBandwidth(l.limits, l.total, &l.ClientWaits, now)
		return s, ""
	}
	s.own.conns++
	if s.own.bandwidth == nil {
		s.own.bandwidth = newBandwidth(l.limits, l.total, &l.ClientWaits, now)
	}
	s.Bandwidth = s.own.bandwidth
	return s, ""
}

// Leave gives the slot back.
func (l *Limiter) Leave(s Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if s.own != nil {
		s.own.conns--
	}
}

// BeginRefusal takes one of the places for connections to which a refusal is sent, and reports whether there was one for the
// address of s, which Enter has refused. EndRefusal gives the place back.
func (l *Limiter) BeginRefusal(s Slot, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusing >= MaxRefusals || s.own != nil && !s.own.refusals.take(now) {
		return false
	}
	l.refusing++
	return true
}

// EndRefusal gives the place of BeginRefusal back.
func (l *Limiter) EndRefusal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusing--
}

// Connections is how many are being served.
func (l *Limiter) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Warn counts a warning about an address. It is logged if fewer than most were logged in this minute; hidden is how many
// were not since the last one that was.
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

// client finds or enters an address. It is overflow where the table is full.
func (l *Limiter) client(from netip.Prefix, now time.Time) *client {
	if known, found := l.clients[from]; found {
		return known
	}
	if len(l.clients) >= maxClients+l.limits.Connections && !l.sweep(now) {
		return &l.overflow
	}
	c := l.newClient(now)
	l.clients[from] = &c
	return &c
}

// sweep forgets addresses of which nothing needs to be known, and reports whether there is room. It looks at all of
// them, and so not at every call.
func (l *Limiter) sweep(now time.Time) bool {
	if now.Sub(l.swept) < sweepPeriod {
		return false
	}
	l.swept = now
	maps.DeleteFunc(l.clients, func(_ netip.Prefix, c *client) bool { return c.idle(now) })
	return len(l.clients) < maxClients+l.limits.Connections
}

// idle reports whether the address could be a new one.
func (c *client) idle(now time.Time) bool {
	for _, w := range c.warned {
		if now.Sub(w.since) < warnPeriod {
			return false
		}
	}
	return c.conns == 0 && c.arrivals.full(now) && c.refusals.full(now) && c.manifests.full(now) && c.tokens.full(now)
}

// AllowToken takes one of the wrong tokens that an address may try.
func (l *Limiter) AllowToken(from netip.Prefix, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client(from, now).tokens.take(now)
}

// AllowManifest takes one of the manifests that may be sent to an address.
func (l *Limiter) AllowManifest(s Slot, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.own == nil || s.own.manifests.take(now)
}

// Allowance is how many connections, most at most, the client of a slot should have in all. Of the slots that the limits leave,
// the further ones are half at most, so that one client on a bad line does not keep another one out.
func (l *Limiter) Allowance(s Slot, most int, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := (l.limits.Connections - l.open) / 2
	if s.own != nil {
		s.own.arrivals.fill(now)
		left = min(left, (l.limits.ConnectionsPerAddress-s.own.conns)/2, int(s.own.arrivals.level))
	}
	return 1 + max(0, min(most-1, left))
}
