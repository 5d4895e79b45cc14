package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/netproto/dial"
)

// route is the address of a server and how to connect to it.
type route struct {
	addr   string // HOST:PORT
	dialer *dial.Dialer
	err    error // why no connection is possible; reported when one is opened, because the installed game can be played without it
}

// routeError says that the settings allow no connection to the server. It is permanent.
type routeError struct{ err error }

func (e *routeError) Error() string { return e.err.Error() }

func (e *routeError) Unwrap() error { return e.err }

// dial fits session.Options.
func (r route) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if r.err != nil {
		return nil, &routeError{r.err}
	}
	return r.dialer.DialContext(ctx, network, addr)
}

var errProxyOnly = errors.New("a direct connection is forbidden (--proxy-only or ClientNetwork.ProxyOnly), and --proxy or ClientNetwork.Proxy is \"direct\"")

// newRoute reads a server's address and connection settings: flags override settings, settings override the environment.
func newRoute(server string, opt Options, s settings.Settings, folder string, env func(string) string, log zerolog.Logger) route {
	addr, secure, path, err := settings.ParseServer(server)
	if err != nil {
		return route{addr: server, err: fmt.Errorf("server %q: %w", server, err)}
	}
	n := s.ClientNetwork
	r := route{addr: addr, dialer: &dial.Dialer{WebSocket: path, ProxyOnly: opt.ProxyOnly || n.ProxyOnly, Log: log}}
	if r.dialer.Proxy, r.err = chooseProxy(cmp.Or(opt.Proxy, n.Proxy), env); r.err != nil {
		return r
	}
	if r.dialer.Proxy == nil && r.dialer.ProxyOnly {
		r.err = errProxyOnly
		return r
	}
	if secure || opt.Tls || n.Tls {
		r.dialer.TLS, r.err = clientTLS(opt, s, folder)
	}
	return r
}

// web dials other web servers, through the same proxies; nil without a usable route.
func (r route) web() *dial.Dialer {
	if r.err != nil {
		return nil
	}
	return &dial.Dialer{Proxy: r.dialer.Proxy, ProxyOnly: r.dialer.ProxyOnly, Log: r.dialer.Log}
}

// authorityFile is the file of the certificate authorities; empty for those of the system. One from the settings is relative to the install
// folder, one from the command line to the working folder.
func authorityFile(opt Options, s settings.Settings, folder string) string {
	file := s.ClientNetwork.TlsCa
	if opt.TlsCa != "" || file == "" || filepath.IsAbs(file) {
		return cmp.Or(opt.TlsCa, file)
	}
	return filepath.Join(folder, file)
}

// clientTLS reads the certificate authorities.
func clientTLS(opt Options, s settings.Settings, folder string) (*tls.Config, error) {
	return dial.ClientTLS(authorityFile(opt, s, folder), cmp.Or(opt.TlsName, s.ClientNetwork.TlsName))
}

// chooseProxy returns nil for direct connections.
func chooseProxy(text string, env func(string) string) (func(addr string) (*dial.Proxy, error), error) {
	switch text {
	case "":
		return dial.ProxyFromEnvironment(env), nil
	case settings.Direct:
		return nil, nil
	}
	proxy, err := dial.ParseProxy(text)
	if err != nil {
		return nil, fmt.Errorf("ClientNetwork.Proxy: %w", err)
	}
	return dial.FixedProxy(proxy), nil
}
