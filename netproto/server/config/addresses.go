package config

import (
	"net"
	"strconv"
)

// Address is the address for plain TCP: every address of the machine, at Network.ServerPort.
func (s Settings) Address() string { return net.JoinHostPort("", strconv.Itoa(s.Network.ServerPort)) }

// Addresses are the addresses of a server for each transport, as HOST:PORT; empty: not listened on.
type Addresses struct {
	TCP             string
	TLS             string
	WebSocket       string // plain: for a private network, or behind a TLS proxy
	SecureWebSocket string
}

// Addresses are the addresses of the settings: every address of the machine at the configured ports.
func (s Settings) Addresses() Addresses {
	at := func(port int) string {
		if port == 0 {
			return ""
		}
		return net.JoinHostPort("", strconv.Itoa(port))
	}
	a := Addresses{TCP: at(s.Network.ServerPort), TLS: at(s.Network.TlsPort)}
	if s.Network.SecuredWebSockets {
		a.SecureWebSocket = at(s.Network.WebSocketPort)
	} else {
		a.WebSocket = at(s.Network.WebSocketPort)
	}
	return a
}

// MetricsHere, as Operations.MetricsAddress, puts metrics on the port of Operations.HTTPAddress.
const MetricsHere = "http"

// MonitorAddress is the address for health, the dashboard and a release folder: loopback without a host, "" for none.
func (s Settings) MonitorAddress() string { return orLoopback(s.Operations.HTTPAddress) }

// MetricsAddress is the separate address for metrics: loopback without a host, "" for none.
func (s Settings) MetricsAddress() string {
	if s.Operations.MetricsAddress == MetricsHere {
		return ""
	}
	return orLoopback(s.Operations.MetricsAddress)
}

// orLoopback puts loopback before an address without a host.
func orLoopback(addr string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}
