package main

import (
	"cmp"
	"path/filepath"

	"collet/netproto/server/config"
)

// transport has the options of the transports other than plain TCP.
type transport struct {
	ListenTLS string `name:"listen-tls" group:"where" placeholder:"ADDR" help:"Listen for TLS on HOST:PORT, in place of Network.TlsPort."`
	ListenWS  string `name:"listen-ws" group:"where" placeholder:"ADDR" help:"Listen for WebSocket on HOST:PORT, in place of Network.WebSocketPort."`
	ListenWSS string `name:"listen-wss" group:"where" placeholder:"ADDR" help:"The same over TLS."`
	TLSCert   string `name:"tls-cert" group:"where" placeholder:"FILE" help:"Certificate chain in PEM, as ServerNetwork.TlsCertificate. A changed file is used within seconds."`
	TLSKey    string `name:"tls-key" group:"where" placeholder:"FILE" help:"Its private key in PEM, as ServerNetwork.TlsPrivateKey."`
}

// lay applies the options to the settings. Paths of the command line are relative to the working folder.
func (t transport) lay(set *config.Settings) {
	set.ServerNetwork.TlsCertificate = cmp.Or(absolute(t.TLSCert), set.ServerNetwork.TlsCertificate)
	set.ServerNetwork.TlsPrivateKey = cmp.Or(absolute(t.TLSKey), set.ServerNetwork.TlsPrivateKey)
}

// absolute keeps an empty name empty.
func absolute(name string) string {
	if name == "" {
		return ""
	}
	if full, err := filepath.Abs(name); err == nil {
		return full
	}
	return name
}

// over puts the addresses that were given over those of the settings. One of the two kinds of WebSocket stands for the
// one port that settings have for it.
func (t transport) over(at config.Addresses) config.Addresses {
	at.TLS = cmp.Or(t.ListenTLS, at.TLS)
	if t.ListenWS != "" || t.ListenWSS != "" {
		at.WebSocket, at.SecureWebSocket = t.ListenWS, t.ListenWSS
	}
	return at
}

// overrides names the settings that options were given in place of.
func (t transport) overrides() map[string]string {
	given := map[string]string{}
	for _, option := range []struct{ value, key, name string }{
		{t.ListenTLS, "Network.TlsPort", "default, but --listen-tls " + t.ListenTLS},
		{t.ListenWS, "Network.WebSocketPort", "default, but --listen-ws " + t.ListenWS},
		{t.ListenWSS, "Network.WebSocketPort", "default, but --listen-wss " + t.ListenWSS},
		{t.TLSCert, "ServerNetwork.TlsCertificate", "--tls-cert"},
		{t.TLSKey, "ServerNetwork.TlsPrivateKey", "--tls-key"},
	} {
		if option.value != "" {
			given[option.key] = option.name
		}
	}
	return given
}
