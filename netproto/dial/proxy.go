package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// Proxy is an HTTP proxy with CONNECT, or a SOCKS5 proxy. The proxy resolves the server's name. A Proxy never prints its user name and
// password.
type Proxy struct {
	scheme string // "http", "https": TLS to the proxy, "socks5"
	host   string
	port   string
	user   *url.Userinfo // nil: none
}

// proxyPorts are the supported schemes with their default ports.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080"}

var errProxyForm = errors.New("want http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT, with USER:PASSWORD@ before HOST if it asks for them")

// ParseProxy parses a proxy's address in the form of environment variables: a URL with or without "http://". The error
// does not repeat the text, which may contain a password.
func ParseProxy(text string) (*Proxy, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(u.Host, " \r\n") {
		return nil, errProxyForm
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme == "socks5h" { // elsewhere socks5 may resolve the name locally; here the proxy always does
		scheme = "socks5"
	}
	port, known := proxyPorts[scheme]
	if !known {
		return nil, fmt.Errorf("a proxy of kind %q is not spoken here: %w", clipped(u.Scheme), errProxyForm)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	p := &Proxy{scheme: scheme, host: u.Hostname(), port: port, user: u.User}
	if scheme == "socks5" && p.user != nil {
		err = checkSOCKSUser(p.user)
	}
	return p, err
}

// String is the proxy's address without user name and password.
func (p *Proxy) String() string { return p.scheme + "://" + p.addr() }

func (p *Proxy) addr() string { return net.JoinHostPort(p.host, p.port) }

// ProxyFault is why a proxy did not connect.
type ProxyFault uint8

const (
	// ProxyBroken means that the proxy itself fails: it is unreachable, requires other credentials, or breaks the protocol.
	ProxyBroken ProxyFault = 1
	// ProxyForbids means that the proxy works and its rules forbid the connection.
	ProxyForbids ProxyFault = 2
	// ProxyServer means that the proxy works but can't reach the server.
	ProxyServer ProxyFault = 3
)

// ProxyError names the proxy that did not connect, and the reason.
type ProxyError struct {
	Proxy string // without user name and password
	Fault ProxyFault
	Text  string
	Err   error // may be nil
}

func (e *ProxyError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the proxy %s %s: %v", e.Proxy, e.Text, e.Err)
	}
	return fmt.Sprintf("the proxy %s %s", e.Proxy, e.Text)
}

// Unwrap gives the underlying error.
func (e *ProxyError) Unwrap() error { return e.Err }

func brokenProxy(text string, err error) *ProxyError {
	return &ProxyError{Fault: ProxyBroken, Text: text, Err: err}
}

// dial connects to addr through the proxy. The error is ctx's or a *ProxyError.
func (p *Proxy) dial(ctx context.Context, d *Dialer, addr string) (net.Conn, error) {
	patience := d.ProxyTimeout
	if patience <= 0 {
		patience = DefaultProxyTimeout
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := p.openTunnel(limited, d, addr)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	fault := new(ProxyError)
	if limited.Err() != nil {
		fault = brokenProxy(fmt.Sprintf("did not answer within %v", patience), nil)
	} else if !errors.As(err, &fault) {
		fault = brokenProxy("can't be asked for "+addr, err)
	}
	fault.Proxy = p.String()
	return nil, fault
}

// openTunnel connects to the proxy and requests the tunnel to the server.
func (p *Proxy) openTunnel(ctx context.Context, d *Dialer, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conn, err := d.direct(ctx, "tcp", p.addr())
	if err != nil {
		return nil, brokenProxy("can't be reached", err)
	}
	if p.scheme == "https" {
		over, err := secure(ctx, conn, &tls.Config{MinVersion: tls.VersionTLS12}, p.addr())
		if err != nil {
			// The proxy's certificate is not the server's, so the error is not returned as a TLSError.
			return nil, errors.Join(brokenProxy("can't be spoken to: "+err.Error(), nil), ignoreClosed(conn.Close()))
		}
		conn = over
	}
	err = withContext(ctx, conn, func() error {
		if p.scheme == "socks5" {
			return p.requestSOCKS(conn, host, port)
		}
		return p.connect(conn, net.JoinHostPort(host, port))
	})
	if err != nil {
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	return conn, nil
}

// FixedProxy uses p for every server; nil is no proxy.
func FixedProxy(p *Proxy) func(addr string) (*Proxy, error) {
	return func(string) (*Proxy, error) { return p, nil }
}

// ProxyFromEnvironment selects the proxy of HTTPS_PROXY, else of ALL_PROXY, except for addresses of NO_PROXY and of this machine.
// Lower-case names are checked after the upper-case ones. An invalid variable is a *ProxyError with the variable's name.
func ProxyFromEnvironment(getenv func(string) string) func(addr string) (*Proxy, error) {
	name, text := firstOf(getenv, "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
	if text == "" {
		return FixedProxy(nil)
	}
	proxy, err := ParseProxy(text)
	if err != nil {
		err = &ProxyError{Proxy: "of " + name, Fault: ProxyBroken, Text: "can't be understood", Err: err}
	}
	_, except := firstOf(getenv, "NO_PROXY", "no_proxy")
	// The library only decides whether to use a proxy: its errors would repeat the password.
	choose := (&httpproxy.Config{HTTPSProxy: "http://proxy.invalid", NoProxy: except}).ProxyFunc()
	return func(addr string) (*Proxy, error) {
		wanted, fault := choose(&url.URL{Scheme: "https", Host: addr})
		if fault != nil || wanted == nil {
			return nil, fault
		}
		return proxy, err
	}
}

func firstOf(getenv func(string) string, names ...string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}
