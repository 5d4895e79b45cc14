package config

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"time"
)

// Limits bound what clients can make a server spend. Sizes are bytes, rates bytes or connections per second. They are fixed for a
// server's lifetime.
type Limits struct {
	// Connections is how many clients are served at once. An idle one costs about 30 KB and a descriptor; one that receives a
	// file costs a buffer more. The default is well above a full game world and below the 1 GB of a small machine.
	Connections int
	// ConnectionsPerAddress is how many of them one IPv4 address or IPv6 /64 may have: a household has a handful, a mobile
	// network dozens behind one address.
	ConnectionsPerAddress int
	// ConnectionsPerSecond is the rate at which connections are accepted; further ones wait in the system's queue. A start costs
	// a list and a few packets; a thousand per second use a small part of a core.
	ConnectionsPerSecond int
	// ConnectionsPerSecondPerAddress is the rate at which one address may open connections, with a burst of one second. A client
	// opens one, or one for each generation that it tries.
	ConnectionsPerSecondPerAddress int
	// ExemptAddresses are addresses or prefixes that stand for many clients, such as a proxy's: they count in total only.
	// Loopback is one of them by default: connections from there are a proxy's, a test's or the operator's.
	ExemptAddresses []string
	// HTTPConnections is how many connections may fetch files of a release folder over HTTP at once; each counts as one of
	// Connections, too. A browser or an updater has two to eight, a CDN a few hundred.
	HTTPConnections int
	// HandshakeTime is how long a connection may stay without a complete handshake, TLS included. The client speaks first and
	// needs one packet; 10 s allows for a lost one and is short for port scanners.
	HandshakeTime time.Duration
	// ProgressTime is how long a client may take to receive 64 KiB of an answer. Pings do not count as progress. With 30 s the
	// slowest served client has 2 KB/s.
	ProgressTime time.Duration
	// PingTime is the source's ServerNetwork.ClientPingTime: a question follows the handshake at once, and each answer after this
	// period. A question without an answer for the period ends the connection.
	PingTime time.Duration
	// IdleTime is how long a client may stay without a request. Pings don't count. An updater sends no requests while it hashes,
	// and hashing 100 GB from a slow disk takes half an hour.
	IdleTime time.Duration
	// DrainTime is how long a stopping server lets pending answers finish. A portion takes 8 s at 1 Mbit/s.
	DrainTime time.Duration
	// MessageSize is the largest message of a client, the source's ServerNetwork.MaxMessageSize. The largest usual one is a
	// handshake of a few hundred bytes.
	MessageSize int
	// RequestsInFlight is how many requests a C1 client may have unanswered. At a round trip of 100 ms and the default portion,
	// 32 fill 2 Gbit/s.
	RequestsInFlight int
	// ClientBandwidth is the bandwidth of all connections of one address together; each connection of an exempt address has it by
	// itself. 0 is unlimited, because a single client should be able to use the whole link.
	ClientBandwidth int64
	// TotalBandwidth is the bandwidth of all clients together, in equal shares for those that want more; 0 is unlimited, because
	// only the operator knows the link.
	TotalBandwidth int64
}

// Operations are the settings for monitoring and controlling a running server.
type Operations struct {
	// HTTPAddress serves health, readiness, the dashboard, the admin API and a release folder; empty: none. Without a host it is
	// loopback.
	HTTPAddress string
	// HTTPCertificate and HTTPPrivateKey are PEM files; with them that port uses TLS and HTTP/2.
	HTTPCertificate, HTTPPrivateKey string
	// MetricsAddress serves metrics, health and readiness; empty: none. Without a host it is loopback; MetricsHere adds metrics
	// to HTTPAddress.
	MetricsAddress string
	// MetricsFrom are the addresses or prefixes that may request health and metrics; others receive 404. nil allows loopback
	// where a release folder is served over HTTP, and any address otherwise. Behind a proxy all requests have the proxy's
	// address.
	MetricsFrom []string
	// ControlSocket is the path of the socket for `collet-server reload` and `upgrade`; empty: none. Only the server's own user may connect to
	// it.
	ControlSocket string
	// Name is the server's name for operators, in the dashboard; empty: the product of the release folder, and the machine's name.
	Name string
	// Proposals is the folder for proposals that the dashboard makes of the release folder; empty: it makes none.
	Proposals string
	// Figures is the folder for what beacons of clients tell; empty: beacons are not received.
	Figures string
	// WatchTime is the period of checks for published files; 0: never.
	WatchTime time.Duration
}

// DefaultLimits are the default limits.
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

// Ranges of limits; a value outside is taken for a mistake.
const (
	maxCount     = 1_000_000   // connections, or connections per second
	maxInFlight  = 1024        // requests; each is remembered
	maxMessage   = 16 << 20    // bytes that one client may make the server hold
	minMessage   = 1 << 10     // bytes; a request with room to spare
	minBandwidth = 1 << 10     // bytes per second; less is probably a wrong unit
	maxBandwidth = 1 << 50     // bytes in a second
	minTime      = time.Second // as long as the retransmission of a lost packet
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

// timeFaults checks the times.
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

// httpFault checks the settings for HTTP.
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

// ParsePrefix parses a prefix, or an address as the prefix that contains only it.
func ParsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

// limitsLayer is one layer of Limits.
type limitsLayer struct {
	Connections, ConnectionsPerAddress, ConnectionsPerSecond, ConnectionsPerSecondPerAddress *int64
	HTTPConnections                                                                          *int64
	ExemptAddresses                                                                          *[]string
	HandshakeTime, ProgressTime, PingTime, IdleTime, DrainTime                               *string
	MessageSize, RequestsInFlight                                                            *int64
	ClientBandwidth, TotalBandwidth                                                          *int64
}

// operationsLayer is one layer of Operations.
type operationsLayer struct {
	HTTPAddress, HTTPCertificate, HTTPPrivateKey *string
	MetricsAddress                               *string
	MetricsFrom                                  *[]string
	ControlSocket                                *string
	Name, Proposals, Figures                     *string
	WatchTime                                    *string
}

// applyLimits copies the values of a layer into set.
func (s sources) applyLimits(set *Limits, l *limitsLayer, prefix string) {
	setInt(s, prefix, "Limits.Connections", &set.Connections, l.Connections)
	setInt(s, prefix, "Limits.ConnectionsPerAddress", &set.ConnectionsPerAddress, l.ConnectionsPerAddress)
	setInt(s, prefix, "Limits.ConnectionsPerSecond", &set.ConnectionsPerSecond, l.ConnectionsPerSecond)
	setInt(s, prefix, "Limits.ConnectionsPerSecondPerAddress", &set.ConnectionsPerSecondPerAddress, l.ConnectionsPerSecondPerAddress)
	setInt(s, prefix, "Limits.HTTPConnections", &set.HTTPConnections, l.HTTPConnections)
	setValue(s, prefix, "Limits.ExemptAddresses", &set.ExemptAddresses, l.ExemptAddresses)
	setTime(s, prefix, "Limits.HandshakeTime", &set.HandshakeTime, l.HandshakeTime)
	setTime(s, prefix, "Limits.ProgressTime", &set.ProgressTime, l.ProgressTime)
	setTime(s, prefix, "Limits.PingTime", &set.PingTime, l.PingTime)
	setTime(s, prefix, "Limits.IdleTime", &set.IdleTime, l.IdleTime)
	setTime(s, prefix, "Limits.DrainTime", &set.DrainTime, l.DrainTime)
	setInt(s, prefix, "Limits.MessageSize", &set.MessageSize, l.MessageSize)
	setInt(s, prefix, "Limits.RequestsInFlight", &set.RequestsInFlight, l.RequestsInFlight)
	setValue(s, prefix, "Limits.ClientBandwidth", &set.ClientBandwidth, l.ClientBandwidth)
	setValue(s, prefix, "Limits.TotalBandwidth", &set.TotalBandwidth, l.TotalBandwidth)
}

func (s sources) applyOperations(set *Operations, l *operationsLayer, prefix string) {
	setValue(s, prefix, "Operations.HTTPAddress", &set.HTTPAddress, l.HTTPAddress)
	setValue(s, prefix, "Operations.HTTPCertificate", &set.HTTPCertificate, l.HTTPCertificate)
	setValue(s, prefix, "Operations.HTTPPrivateKey", &set.HTTPPrivateKey, l.HTTPPrivateKey)
	setValue(s, prefix, "Operations.MetricsAddress", &set.MetricsAddress, l.MetricsAddress)
	setValue(s, prefix, "Operations.MetricsFrom", &set.MetricsFrom, l.MetricsFrom)
	setValue(s, prefix, "Operations.ControlSocket", &set.ControlSocket, l.ControlSocket)
	setValue(s, prefix, "Operations.Name", &set.Name, l.Name)
	setValue(s, prefix, "Operations.Proposals", &set.Proposals, l.Proposals)
	setValue(s, prefix, "Operations.Figures", &set.Figures, l.Figures)
	setTime(s, prefix, "Operations.WatchTime", &set.WatchTime, l.WatchTime)
}

// setTime parses a time by time.ParseDuration. Any other text becomes -1, which is out of every setting's range.
func setTime(s sources, prefix, key string, to *time.Duration, from *string) {
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
	for _, name := range []*string{&o.ControlSocket, &o.HTTPCertificate, &o.HTTPPrivateKey, &o.Figures} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(base, *name)
		}
	}
}
