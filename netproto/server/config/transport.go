package config

import (
	"fmt"
	"path/filepath"
)

// applyTransport copies a layer's settings of the transports.
func (s sources) applyTransport(set *Settings, l *layer, prefix string) {
	setInt(s, prefix, "Network.TlsPort", &set.Network.TlsPort, l.Network.TlsPort)
	setInt(s, prefix, "Network.WebSocketPort", &set.Network.WebSocketPort, l.Network.WebSocketPort)
	setValue(s, prefix, "Network.SecuredWebSockets", &set.Network.SecuredWebSockets, l.Network.SecuredWebSockets)
	setValue(s, prefix, "ServerNetwork.TlsCertificate", &set.ServerNetwork.TlsCertificate, l.ServerNetwork.TlsCertificate)
	setValue(s, prefix, "ServerNetwork.TlsPrivateKey", &set.ServerNetwork.TlsPrivateKey, l.ServerNetwork.TlsPrivateKey)
	setValue(s, prefix, "ServerNetwork.WssCertificate", &set.ServerNetwork.WssCertificate, l.ServerNetwork.WssCertificate)
	setValue(s, prefix, "ServerNetwork.WssPrivateKey", &set.ServerNetwork.WssPrivateKey, l.ServerNetwork.WssPrivateKey)
}

// resolve joins relative files to base. An empty name stays empty.
func (n *ServerNetwork) resolve(base string) {
	for _, file := range []*string{&n.TlsCertificate, &n.TlsPrivateKey, &n.WssCertificate, &n.WssPrivateKey} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(base, *file)
		}
	}
}

// otherPortsFault checks the ports of the other transports.
func (s Settings) otherPortsFault() (key, fault string) {
	taken := map[int]string{s.Network.ServerPort: "Network.ServerPort"}
	for _, port := range []struct {
		key    string
		number int
	}{
		{"Network.TlsPort", s.Network.TlsPort}, {"Network.WebSocketPort", s.Network.WebSocketPort},
	} {
		if port.number == 0 {
			continue
		}
		if port.number < 0 || port.number > 65535 {
			return port.key, "must be a port between 1 and 65535, or 0 for none"
		}
		if other := taken[port.number]; other != "" {
			return port.key, fmt.Sprintf("is the port of %s too: each way to connect needs its own", other)
		}
		taken[port.number] = port.key
	}
	if s.Network.SecuredWebSockets && s.Network.WebSocketPort == 0 {
		return "Network.SecuredWebSockets", "needs Network.WebSocketPort"
	}
	return "", ""
}
