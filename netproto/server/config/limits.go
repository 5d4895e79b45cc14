package config

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"time"
)

// Limits bound what clients can make a server spend. Sizes are bytes, rates bytes or connections in a second. They are
// read once, by New.
type Limits struct {
	// Connections is how many clients are served at once. An idle one costs about 30 KB and a descriptor, one
	// that is served from disk a portion more: the default is well above a full game world and below the 1 GB of a small
	// machine.
	Connections int
	// ConnectionsPerAddress is how many of them may come from one IPv4 address or one IPv6 /64: a household has a handful,
	// a mobile network hides dozens behind one address.
	ConnectionsPerAddress int
	// ConnectionsPerSecond is how fast connections are taken from the system; those above it wait in its queue. A start
	// costs a list and a few packets; a thousand of them a second leave a core most of its time.
	ConnectionsPerSecond int
	// ConnectionsPerSecondPerAddress is how fast one address may open connections, with a second's worth at once. A
	// client opens one, or one for each generation that it tries.
	ConnectionsPerSecondPerAddress int
	// ExemptAddresses are addresses or prefixes that stand for many clients, such as a proxy's: they are counted in total
	// only. Loopback is one of them by default, because what comes from there is a proxy, a test or the operator.
	ExemptAddresses []string
	// HTTPConnections is how many connections there may be at once for files of a release folder over HTTP; each counts as one
	// of Connections, too. A browser or an updater has two to eight, a CDN a few hundred.
	HTTPConnections int
	// HandshakeTime is how long a connection may stay without a complete handshake, TLS included. The client speaks first
	// and needs one packet; 10 s is patient with a lost one and short for port scanners.
	HandshakeTime time.Duration
	// ProgressTime is how long a client may take for 64 KiB of what it asked for. Pings are no progress. 30 s make 2 KB/s
	// the slowest client that is served.
	ProgressTime time.Duration
	// PingTime is the source's ServerNetwork.ClientPingTime: a question at once after the handshake, then a period after
	// each answer; one that is unanswered for a period ends the connection.
	PingTime time.Duration
	// IdleTime is how long a client may ask for nothing. Pings don't count: an updater that compares is silent while it
	// hashes, and hashing 100 GB from a slow disk takes half an hour.
	IdleTime time.Duration
	// DrainTime is how long a server that is being stopped lets answers finish that are under way. A portion takes 8 s at
	// 1 Mbit/s.
	DrainTime time.Duration
	// MessageSize is the largest message that a client may send, the source's ServerNetwork.MaxMessageSize. The largest
	// real one is a handshake of a few hundred bytes.
	MessageSize int
	// RequestsInFlight is how many requests a C1 client may have unanswered. At 100 ms round-trip and the default
	// portion, 32 keep 2 Gbit/s busy.
	RequestsInFlight int
	// ClientBandwidth is what the connections of one address get together, of an exempt address each connection; 0 is
	// all they can take, because one client alone should have the whole link.
	ClientBandwidth int64
	// TotalBandwidth is what all clients get together, in equal shares for those that want more; 0 is unlimited, because
	// what the link bears is the operator's to know.
	TotalBandwidth int64
}

// Operations say how an operator looks at a running server and talks to it.
type Operations struct {
	// HTTPAddress is where health, readiness, the dashboard, the admin API and a release folder are served; empty: nowhere.
	// Without a host it is loopback.
	HTTPAddress string
	// HTTPCertificate and HTTPPrivateKey are PEM files; with them that port speaks TLS, and HTTP/2.
	HTTPCertificate, HTTPPrivateKey string
	// MetricsAddress is where metrics are served, with health and readiness; empty: nowhere. Without a host it is loopback,
	// and MetricsHere is HTTPAddress.
	MetricsAddress string
	// MetricsFrom are the addresses or prefixes that may ask about health and for metrics; others are told that there is
	// nothing. nil is loopback at HTTPAddress where a release folder is handed out, which is for all, and any address
	// otherwise. Behind a proxy all have the proxy's address.
	MetricsFrom []string
	// ControlSocket is the path of the socket through which `collet-server reload` reaches the server; empty: none. Only
	// the server's own user may connect to it.
	ControlSocket string
	// WatchTime is how often packs and binaries are looked at to offer what was published; 0: never.
	WatchTime time.Duration
}

// DefaultLimits are the limits of a server whose operator says nothing.
func DefaultLimits() Limits {
	return Limits{
		Connections:                    8192,
		ConnectionsPerAddress:          64,
		ConnectionsPerSecond:           1000,
		ConnectionsPerSecondPerAddress: 20,
		HTTPConnections:                1024,
		ExemptAddresses:                []string{"127.0.0.0/8", "::1"},
		HandshakeTime:                  10 * time.Second,
		ProgressTime:                   30 * time.Second,
		PingTime:                       10 * time.Second,
		IdleTime:                       30 * time.Minute,
		DrainTime:                      10 * time.Second,
		MessageSize:                    1 << 20,
		RequestsInFlight:               32,
	}
}

// The ranges of limits, beyond which a value is a slip.
const (
	maxCount     = 1_000_000   // connections, or connections in a second
	maxInFlight  = 1024        // requests; each is remembered
	maxMessage   = 16 << 20    // bytes that one client may make the server hold
	minMessage   = 1 << 10     // bytes; a request with room to spare
	minBandwidth = 1 << 10     // bytes in a second; less is a unit mistaken
	maxBandwidth = 1 << 50     // bytes in a second
	minTime      = time.Second // a packet that is lost takes as long
	maxTime      = 30 * 24 * time.Hour
)

// span is the range of a number.
type span struct {
	key             string
	value, low, top int64
	unit            string
	zero            bool // 0 is allowed too and means unlimited
}

// numberFaults checks the numbers of Limits.
func (s Settings) numberFaults() (faults []error) {
	l := s.Limits
	for _, n := range []span{
		{"Connections", int64(l.Connections), 1, maxCount, "connections", false},
		{"ConnectionsPerAddress", int64(l.ConnectionsPerAddress), 1, maxCount, "connections", false},
		{"ConnectionsPerSecond", int64(l.ConnectionsPerSecond), 1, maxCount, "connections a second", false},
		{"ConnectionsPerSecondPerAddress", int64(l.ConnectionsPerSecondPerAddress), 1, maxCount, "connections a second", false},
		{"HTTPConnections", int64(l.HTTPConnections), 1, maxCount, "connections", false},
		{"MessageSize", int64(l.MessageSize), minMessage, maxMessage, "bytes", false},
		{"RequestsInFlight", int64(l.RequestsInFlight), 1, maxInFlight, "requests", false},
		{"ClientBandwidth", l.ClientBandwidth, minBandwidth, maxBandwidth, "bytes a second", true},
		{"TotalBandwidth", l.TotalBandwidth, minBandwidth, maxBandwidth, "bytes a second", true},
	} {
		if (n.value < n.low || n.value > n.top) && !(n.zero && n.value == 0) {
			faults = append(faults, &Error{Key: "Limits." + n.key, Text: fmt.Sprintf("must be between %d and %d %s%s",
				n.low, n.top, n.unit, map[bool]string{true: ", or 0 for no limit"}[n.zero])})
		}
	}
	return faults
}

// timeFaults checks what is a time.
func (s Settings) timeFaults() (faults []error) {
	l := s.Limits
	for _, t := range []struct {
		key   string
		value time.Duration
		zero  bool
	}{
		{"Limits.HandshakeTime", l.HandshakeTime, false},
		{"Limits.ProgressTime", l.ProgressTime, false},
		{"Limits.PingTime", l.PingTime, false},
		{"Limits.IdleTime", l.IdleTime, false},
		{"Limits.DrainTime", l.DrainTime, true},
		{"Operations.WatchTime", s.Operations.WatchTime, true},
	} {
		if (t.value < minTime || t.value > maxTime) && !(t.zero && t.value == 0) {
			faults = append(faults, &Error{Key: t.key, Text: fmt.Sprintf(`must be a time like "10s" or "30m", between %q and %q%s`,
				minTime, maxTime, map[bool]string{true: `, or "0s"`}[t.zero])})
		}
	}
	return faults
}

// exemptFault checks the form of the exempt addresses.
func (s Settings) exemptFault() (key, fault string) {
	return addressFault("Limits.ExemptAddresses", s.Limits.ExemptAddresses)
}

// httpFault checks what HTTP needs.
func (s Settings) httpFault() (key, fault string) {
	o := s.Operations
	if (o.HTTPCertificate == "") != (o.HTTPPrivateKey == "") {
		return "Operations.HTTPCertificate", "TLS needs a certificate and its private key: set both, or neither"
	}
	if _, port, _ := net.SplitHostPort(o.MetricsAddress); o.MetricsAddress == o.HTTPAddress && port != "" && port != "0" {
		return "Operations.MetricsAddress", fmt.Sprintf("is the address of Operations.HTTPAddress: choose another port, or %q if metrics are meant to be there too", MetricsHere)
	}
	return addressFault("Operations.MetricsFrom", o.MetricsFrom)
}

func addressFault(key string, texts []string) (string, string) {
	for _, text := range texts {
		if _, err := ParsePrefix(text); err != nil {
			return key, fmt.Sprintf(`%q is no address or prefix, like "192.0.2.7" or "2001:db8::/48"`, text)
		}
	}
	return "", ""
}

// ParsePrefix reads a prefix, or an address as the prefix that holds it alone.
func ParsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

// limitsLayer is what a part of a settings file says about Limits.
type limitsLayer struct {
	Connections, ConnectionsPerAddress, ConnectionsPerSecond, ConnectionsPerSecondPerAddress *int64
	HTTPConnections                                                                          *int64
	ExemptAddresses                                                                          *[]string
	HandshakeTime, ProgressTime, PingTime, IdleTime, DrainTime                               *string
	MessageSize, RequestsInFlight                                                            *int64
	ClientBandwidth, TotalBandwidth                                                          *int64
}

// operationsLayer is what a part of a settings file says about Operations.
type operationsLayer struct {
	HTTPAddress, HTTPCertificate, HTTPPrivateKey *string
	MetricsAddress                               *string
	MetricsFrom                                  *[]string
	ControlSocket                                *string
	WatchTime                                    *string
}

// applyLimits copies what the layer says into set.
func (s sources) applyLimits(set *Limits, l *limitsLayer, prefix string) {
	takeInt(s, prefix, "Limits.Connections", &set.Connections, l.Connections)
	takeInt(s, prefix, "Limits.ConnectionsPerAddress", &set.ConnectionsPerAddress, l.ConnectionsPerAddress)
	takeInt(s, prefix, "Limits.ConnectionsPerSecond", &set.ConnectionsPerSecond, l.ConnectionsPerSecond)
	takeInt(s, prefix, "Limits.ConnectionsPerSecondPerAddress", &set.ConnectionsPerSecondPerAddress, l.ConnectionsPerSecondPerAddress)
	takeInt(s, prefix, "Limits.HTTPConnections", &set.HTTPConnections, l.HTTPConnections)
	take(s, prefix, "Limits.ExemptAddresses", &set.ExemptAddresses, l.ExemptAddresses)
	takeTime(s, prefix, "Limits.HandshakeTime", &set.HandshakeTime, l.HandshakeTime)
	takeTime(s, prefix, "Limits.ProgressTime", &set.ProgressTime, l.ProgressTime)
	takeTime(s, prefix, "Limits.PingTime", &set.PingTime, l.PingTime)
	takeTime(s, prefix, "Limits.IdleTime", &set.IdleTime, l.IdleTime)
	takeTime(s, prefix, "Limits.DrainTime", &set.DrainTime, l.DrainTime)
	takeInt(s, prefix, "Limits.MessageSize", &set.MessageSize, l.MessageSize)
	takeInt(s, prefix, "Limits.RequestsInFlight", &set.RequestsInFlight, l.RequestsInFlight)
	take(s, prefix, "Limits.ClientBandwidth", &set.ClientBandwidth, l.ClientBandwidth)
	take(s, prefix, "Limits.TotalBandwidth", &set.TotalBandwidth, l.TotalBandwidth)
}

func (s sources) applyOperations(set *Operations, l *operationsLayer, prefix string) {
	take(s, prefix, "Operations.HTTPAddress", &set.HTTPAddress, l.HTTPAddress)
	take(s, prefix, "Operations.HTTPCertificate", &set.HTTPCertificate, l.HTTPCertificate)
	take(s, prefix, "Operations.HTTPPrivateKey", &set.HTTPPrivateKey, l.HTTPPrivateKey)
	take(s, prefix, "Operations.MetricsAddress", &set.MetricsAddress, l.MetricsAddress)
	take(s, prefix, "Operations.MetricsFrom", &set.MetricsFrom, l.MetricsFrom)
	take(s, prefix, "Operations.ControlSocket", &set.ControlSocket, l.ControlSocket)
	takeTime(s, prefix, "Operations.WatchTime", &set.WatchTime, l.WatchTime)
}

// takeTime reads what time.ParseDuration reads: anything else is out of any setting's range, and any such time serves to
// say so.
func takeTime(s sources, prefix, key string, to *time.Duration, from *string) {
	if from == nil {
		return
	}
	parsed, err := time.ParseDuration(*from)
	if err != nil {
		parsed = -1
	}
	*to, s[key] = parsed, prefix
}

// resolve joins a relative path to base. An empty one stays empty.
func (o *Operations) resolve(base string) {
	for _, name := range []*string{&o.ControlSocket, &o.HTTPCertificate, &o.HTTPPrivateKey} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(base, *name)
		}
	}
}
