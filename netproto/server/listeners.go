package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/certificate"
	"collet/netproto/server/config"
)

// Listeners are all listeners of a server as one net.Listener. Accept returns connections in order of arrival, of any transport.
// Handshakes of TLS and WebSocket happen at a connection's first read, so an accepted connection has cost nothing yet, and all
// limits apply to every transport.
//
// Until the first Accept connections wait in the system's queue: another process may take them. Close ends the goroutines that wait for
// connections, one for each listener.
type Listeners struct {
	mu       sync.Mutex // of began, and of closing closed
	began    bool       // the goroutines run
	open     []net.Listener
	sockets  Sockets // below them
	pairs    []*certificate.Pair
	arrivals chan accepted
	closed   chan struct{}
	once     sync.Once
	err      error // of Close
	waiting  sync.WaitGroup
	pause    atomic.Pointer[pause]
}

// pause is the time between Pause and Resume.
type pause struct {
	parked  chan struct{} // has a value for each listener that accepts nothing more
	resumed chan struct{} // closed by Resume
}

// accepted is what one call of Accept returned.
type accepted struct {
	conn net.Conn
	err  error
}

var _ net.Listener = (*Listeners)(nil)

// Sockets are listeners that are already open, for example from the service manager; nil: not given. They carry plain bytes: TLS
// and WebSocket are added on top.
type Sockets struct {
	TCP             net.Listener
	TLS             net.Listener
	WebSocket       net.Listener
	SecureWebSocket net.Listener
}

// Close closes all of them.
func (s Sockets) Close() {
	for _, listener := range s.given() {
		listener.Close()
	}
}

// given are those that are not nil.
func (s Sockets) given() (list []net.Listener) {
	for _, listener := range []net.Listener{s.TCP, s.TLS, s.WebSocket, s.SecureWebSocket} {
		if listener != nil {
			list = append(list, listener)
		}
	}
	return list
}

// endpoint is one address to listen on.
type endpoint struct {
	addr, option string        // option: the option that sets the address
	open         net.Listener  // used instead of addr
	at           *net.Listener // where it is kept when it is open
	name         string        // for the log
	wrap         func(net.Listener) (net.Listener, error)
}

// enabled reports whether to listen here.
func (p endpoint) enabled() bool { return p.addr != "" || p.open != nil }

// ListenAll listens at all given addresses, or fails and listens at none. A socket replaces its address; it belongs to the
// result, or is closed. The settings name the certificates. Errors are *ListenError, *certificate.Error or *config.Error.
func ListenAll(ctx context.Context, at config.Addresses, sockets Sockets, set config.Settings, log zerolog.Logger) (*Listeners, error) {
	l := &Listeners{arrivals: make(chan accepted), closed: make(chan struct{})}
	for _, p := range l.endpoints(at, sockets, set.ServerNetwork, log) {
		if !p.enabled() {
			continue
		}
		if err := l.listen(ctx, p, log); err != nil {
			err = errors.Join(err, l.Close())
			sockets.Close() // those without a place
			return nil, err
		}
	}
	if len(l.open) == 0 {
		return nil, &ListenError{Err: errNowhere}
	}
	return l, nil
}

var errNowhere = errors.New("no address is given")

// endpoints lists the places to listen at. The plain one comes first and gives Addr.
func (l *Listeners) endpoints(at config.Addresses, sockets Sockets, set config.ServerNetwork, log zerolog.Logger) []endpoint {
	secure := func(files [2]string, key string, protocols ...string) func(net.Listener) (net.Listener, error) {
		return func(inner net.Listener) (net.Listener, error) {
			pair, err := l.certificate(files, key, log)
			if err != nil {
				return nil, err
			}
			return tls.NewListener(inner, pair.Config(protocols...)), nil
		}
	}
	own := [2]string{set.TlsCertificate, set.TlsPrivateKey}
	web, webKey := [2]string{set.WssCertificate, set.WssPrivateKey}, "ServerNetwork.WssCertificate"
	if web == [2]string{} {
		web, webKey = own, "ServerNetwork.TlsCertificate"
	}
	asWeb := func(inner net.Listener) (net.Listener, error) { return webSocketListener{inner}, nil }
	asSecureWeb := func(inner net.Listener) (net.Listener, error) {
		outer, err := secure(web, webKey, "http/1.1")(inner)
		return webSocketListener{outer}, err
	}
	return []endpoint{
		{at.TCP, "--listen or Network.ServerPort", sockets.TCP, &l.sockets.TCP, "TCP", nil},
		{at.TLS, "--listen-tls or Network.TlsPort", sockets.TLS, &l.sockets.TLS, "TLS", secure(own, "ServerNetwork.TlsCertificate")},
		{at.WebSocket, "--listen-ws or Network.WebSocketPort", sockets.WebSocket, &l.sockets.WebSocket, "WebSocket", asWeb},
		{at.SecureWebSocket, "--listen-wss or Network.WebSocketPort", sockets.SecureWebSocket, &l.sockets.SecureWebSocket, "WebSocket over TLS", asSecureWeb},
	}
}

// certificate opens a pair of files; the same pair is opened only once.
func (l *Listeners) certificate(files [2]string, key string, log zerolog.Logger) (*certificate.Pair, error) {
	if files[0] == "" || files[1] == "" {
		return nil, &config.Error{Key: key, Text: fmt.Sprintf(
			"TLS needs a certificate and its private key, each a PEM file; got %q and %q (--tls-cert and --tls-key)", files[0], files[1])}
	}
	for _, pair := range l.pairs {
		if pair.Of(files[0], files[1]) {
			return pair, nil
		}
	}
	pair, err := certificate.Open(files[0], files[1], log, time.Now)
	if err != nil {
		return nil, err
	}
	l.pairs = append(l.pairs, pair)
	return pair, nil
}

// listen opens one place. Its log line has no field address: programs wait for that field in the line of Serve.
func (l *Listeners) listen(ctx context.Context, p endpoint, log zerolog.Logger) error {
	inner := p.open
	if inner == nil {
		var err error
		if inner, err = new(net.ListenConfig).Listen(ctx, "tcp", p.addr); err != nil {
			return &ListenError{Addr: p.addr, Option: p.option, Err: err}
		}
	}
	*p.at = inner
	if p.wrap == nil {
		l.open = append(l.open, inner)
		return nil
	}
	outer, err := p.wrap(inner)
	if err != nil {
		return errors.Join(err, inner.Close())
	}
	l.open = append(l.open, outer)
	log.Info().Stringer("at", inner.Addr()).Msgf("Listens for %s", p.name)
	return nil
}

// acceptFrom passes the connections of one listener on until it is closed.
func (l *Listeners) acceptFrom(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if p := l.pause.Load(); p != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			p.parked <- struct{}{}
			select {
			case <-p.resumed:
				continue
			case <-l.closed:
				return
			}
		}
		select {
		case l.arrivals <- accepted{conn, err}:
		case <-l.closed:
			if err == nil {
				conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// begin starts to accept connections.
func (l *Listeners) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return
	default:
	}
	if l.began {
		return
	}
	l.began = true
	for _, listener := range l.open {
		l.waiting.Go(func() { l.acceptFrom(listener) })
	}
}

// Accept implements net.Listener.
func (l *Listeners) Accept() (net.Conn, error) {
	l.begin()
	select {
	case a := <-l.arrivals:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Sockets are the listeners without TLS and WebSocket. They still belong to l.
func (l *Listeners) Sockets() Sockets { return l.sockets }

// errPaused is what Accept returns once during a Pause: whatever was accepted before has been returned by then.
var errPaused = errors.New("paused")

// Pause stops accepting connections: they wait in the system's queue. When it returns, every connection that was accepted has been
// admitted by Serve, which runs. Resume, or Close, follows.
func (l *Listeners) Pause() {
	given := l.sockets.given()
	p := &pause{parked: make(chan struct{}, len(given)), resumed: make(chan struct{})}
	l.pause.Store(p)
	for _, listener := range given {
		setDeadline(listener, longAgo)
	}
	for range given {
		select {
		case <-p.parked:
		case <-l.closed:
			return
		}
	}
	select {
	case l.arrivals <- accepted{err: errPaused}:
	case <-l.closed:
	}
}

// Resume accepts connections again after Pause.
func (l *Listeners) Resume() {
	for _, listener := range l.sockets.given() {
		setDeadline(listener, time.Time{})
	}
	close(l.pause.Swap(nil).resumed)
}

// setDeadline sets the deadline of a listener's Accept. The listeners of package net have one.
func setDeadline(listener net.Listener, at time.Time) {
	if timed, ok := listener.(interface{ SetDeadline(time.Time) error }); ok {
		timed.SetDeadline(at) // of a closed one it does not matter
	}
}

// Addr is the address of the plain listener, or else of the first one.
func (l *Listeners) Addr() net.Addr { return l.open[0].Addr() }

// Addrs are the addresses of all listeners, in the order of config.Addresses.
func (l *Listeners) Addrs() []net.Addr {
	var all []net.Addr
	for _, listener := range l.open {
		all = append(all, listener.Addr())
	}
	return all
}

// CheckCertificates reads the certificates of the addresses that need one, without listening. The errors are those of ListenAll.
func CheckCertificates(at config.Addresses, set config.Settings, log zerolog.Logger) error {
	var l Listeners
	var errs []error
	for _, p := range l.endpoints(at, Sockets{}, set.ServerNetwork, log) {
		if p.addr != "" && p.wrap != nil {
			_, err := p.wrap(nil)
			errs = append(errs, err)
		}
	}
	if o := set.Operations; o.HTTPCertificate != "" {
		_, err := certificate.Open(o.HTTPCertificate, o.HTTPPrivateKey, log, time.Now)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Reload checks the files of the certificates now, instead of within seconds.
func (l *Listeners) Reload() {
	for _, pair := range l.pairs {
		pair.Reload()
	}
}

// Close implements net.Listener. It returns after the waiting goroutines have ended.
func (l *Listeners) Close() error {
	l.once.Do(func() {
		l.mu.Lock() // begin starts nothing any more
		close(l.closed)
		l.mu.Unlock()
		var errs []error
		for _, listener := range l.open {
			errs = append(errs, listener.Close())
		}
		l.err = errors.Join(errs...)
		l.waiting.Wait()
	})
	return l.err
}
