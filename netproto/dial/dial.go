package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"
)

// Dialer connects to servers. The zero value is an ordinary TCP dialer. It is safe for concurrent use, and must not be changed while in
// use.
type Dialer struct {
	TLS       *tls.Config // see ClientTLS; nil is no TLS. The default of ServerName is the dialled host
	WebSocket string      // path of the WebSocket, "/" at least; empty: no WebSocket

	Proxy     func(addr string) (*Proxy, error) // returns the proxy for addr, nil for none; nil: never a proxy
	ProxyOnly bool                              // no direct connection if there is a proxy
	// ProxyTimeout limits the connection through a proxy; 0 means DefaultProxyTimeout.
	ProxyTimeout time.Duration

	// PublicOnly rejects addresses of this machine, its link and private networks with a *LocalAddressError, also if a
	// name resolves to them. It is for addresses from a peer. The proxy itself may have such an address.
	PublicOnly bool

	// Direct makes the TCP connections, to the server or the proxy; nil is net.Dialer's DialContext.
	Direct func(ctx context.Context, network, addr string) (net.Conn, error)
	Log    zerolog.Logger
}

// DefaultProxyTimeout limits the connection through a proxy, as in the engine's updater. It
// leaves a third of ConnectTimeout for the direct attempt.
const DefaultProxyTimeout = 10 * time.Second

// ConnectTimeout is how long a client tries to connect, with the lookup of the name. Systems give up after two minutes,
// users earlier; a lost first packet is sent again after 1, 3 and 7 s, which fits.
const ConnectTimeout = 15 * time.Second

// DialContext connects to addr, host:port. The error is ctx's, a *ProxyError, a *TLSError, a *WebSocketError or the
// network's.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, proxy, err := d.connectTCP(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	dressed, err := d.addLayers(ctx, conn, addr)
	if err == nil {
		return dressed, nil
	}
	err = errors.Join(err, ignoreClosed(conn.Close()))
	if proxy != nil {
		err = fmt.Errorf("through the proxy %v: %w", proxy, err)
	}
	return nil, err
}

// ignoreClosed is err, or nil if the connection was already closed.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// connectTCP connects to addr, and returns the proxy used.
func (d *Dialer) connectTCP(ctx context.Context, network, addr string) (net.Conn, *Proxy, error) {
	if host, _, err := net.SplitHostPort(addr); d.PublicOnly && (err != nil || IsLocalHost(host)) {
		return nil, nil, &LocalAddressError{addr}
	}
	proxy, err := d.proxyTo(addr)
	if err == nil && proxy == nil {
		conn, err := d.connectDirect(ctx, network, addr)
		return conn, nil, err
	}
	if err == nil {
		var conn net.Conn
		if conn, err = proxy.dial(ctx, d, addr); err == nil {
			d.Log.Debug().Stringer("proxy", proxy).Str("peer", addr).Msg("connected through a proxy")
			return conn, proxy, nil
		}
	}
	var fault *ProxyError
	if ctx.Err() != nil || d.ProxyOnly || !errors.As(err, &fault) || fault.Fault != ProxyBroken {
		return nil, nil, err
	}
	conn, directly := d.connectDirect(ctx, network, addr)
	if directly != nil {
		return nil, nil, fmt.Errorf("%w; and directly: %w", err, directly)
	}
	d.Log.Warn().Err(err).Str("peer", addr).Msg("the proxy failed; connected directly")
	return conn, nil, nil
}

func (d *Dialer) proxyTo(addr string) (*Proxy, error) {
	if d.Proxy == nil {
		return nil, nil
	}
	return d.Proxy(addr)
}

// connectDirect connects directly to the requested address, which is not a proxy.
func (d *Dialer) connectDirect(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.PublicOnly && d.Direct == nil {
		return (&net.Dialer{Control: onlyPublic}).DialContext(ctx, network, addr)
	}
	conn, err := d.direct(ctx, network, addr)
	if err == nil && d.PublicOnly {
		if err = onlyPublic(network, conn.RemoteAddr().String(), nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, err
}

func (d *Dialer) direct(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.Direct != nil {
		return d.Direct(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// addLayers adds TLS and WebSocket to a connection, if configured.
func (d *Dialer) addLayers(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	if d.TLS == nil && d.WebSocket == "" {
		return conn, nil
	}
	if d.TLS != nil {
		secured, err := secure(ctx, conn, d.TLS, addr)
		if err != nil {
			return nil, err
		}
		conn = secured
	}
	if d.WebSocket != "" {
		stream, err := upgrade(ctx, conn, addr, d.WebSocket)
		if err != nil {
			return nil, err
		}
		conn = stream
	}
	return noWriteDeadline{conn}, nil
}

// noWriteDeadline is a connection without write deadlines. A write that ran into a deadline may have stopped inside a record or a
// frame, and can't be resumed. So a write ends when the connection is closed, which the session does after its idle timeout.
type noWriteDeadline struct{ net.Conn }

// SetDeadline implements net.Conn.
func (u noWriteDeadline) SetDeadline(t time.Time) error { return u.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (u noWriteDeadline) SetWriteDeadline(time.Time) error { return nil }

// withContext runs an exchange on conn until ctx ends; then it aborts the exchange, and the error is ctx's.
func withContext(ctx context.Context, conn net.Conn, talk func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) }) // a closed connection ends talk as well
	err := talk()
	if !stop() {
		return ctx.Err()
	}
	return err
}
