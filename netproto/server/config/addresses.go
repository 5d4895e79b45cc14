package config

import (
	"net"
	"strconv"
)

// Address is where the settings say to listen.
func (s Settings) Address() string { return net.JoinHostPort("", strconv.Itoa(s.Network.ServerPort)) }

// Addresses say where a server listens for what, each as HOST:PORT; an empty one is not listened on.
type Addresses struct {
	TCP             string
	TLS             string
	WebSocket       string // plain: for a network of one's own, or behind something that speaks TLS
	SecureWebSocket string
}

// Addresses are those of the settings: every address of the machine at the ports that are set.
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

// MonitorAddress is where the settings want health, the dashboard and a release folder to be served: loopback if they name
// no host, "" if they want none.
func (s Settings) MonitorAddress() string { return orLoopback(s.Operations.HTTPAddress) }

// MetricsAddress is where the settings want metrics to be served by themselves: loopback if they name no host, "" if nowhere.
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
