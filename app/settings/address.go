package settings

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strings"

	"collet/netproto/dial"
)

// Direct is the word for no proxy.
const Direct = "direct"

// schemes are the transports of a server address, with their default ports.
var schemes = map[string]struct {
	port           string
	secure, socket bool
}{
	"tcp": {port: "4000"}, "tls": {port: "4000", secure: true},
	"ws": {port: "80", socket: true}, "wss": {port: "443", secure: true, socket: true},
}

var errServerForm = errors.New("want HOST:PORT, tls://HOST:PORT, ws://HOST:PORT/PATH or wss://HOST:PORT/PATH")

// ParseServer splits an address into HOST:PORT, whether TLS is used, and the path of a WebSocket, which is empty for other
// transports.
func ParseServer(text string) (addr string, secure bool, path string, err error) {
	if !strings.Contains(text, "://") {
		text = "tcp://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false, "", errServerForm
	}
	scheme, known := schemes[strings.ToLower(u.Scheme)]
	if !known || !scheme.socket && u.Path != "" {
		return "", false, "", errServerForm
	}
	if scheme.socket {
		path = cmp.Or(u.EscapedPath(), "/")
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), scheme.port)), scheme.secure, path, nil
}

// ProxyFault checks the address of a proxy.
func ProxyFault(text string) error {
	if text == "" || text == Direct {
		return nil
	}
	_, err := dial.ParseProxy(text)
	return err
}

// Check finds settings with which a client starts but can never update. Load accepts them, because an installed game can
// still be played; a package should not contain them. Its error is one *Error or several, joined, without place and line.
func (s Settings) Check() error {
	var faults []error
	refuse := func(key string, err error) {
		if err != nil {
			faults = append(faults, &Error{Place: "check", Key: key, Text: err.Error()})
		}
	}
	_, _, _, err := ParseServer(s.Server())
	refuse("ClientNetwork.ServerHost", err)
	refuse("ClientNetwork.Proxy", ProxyFault(s.ClientNetwork.Proxy))
	if s.ClientNetwork.ProxyOnly && s.ClientNetwork.Proxy == Direct {
		refuse("ClientNetwork.ProxyOnly", errors.New("ClientNetwork.Proxy forbids every proxy"))
	}
	refuse("Update.Trust", s.trustFault())
	return errors.Join(faults...)
}
