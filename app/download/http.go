package download

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/dial"
	"collet/netproto/release/location"
)

const (
	// MaxRedirects is how many redirects are followed in a row. Object stores and CDNs have one or two.
	MaxRedirects = 5
	// maxName is the longest file name in bytes, as on the updater connection.
	maxName = 128
	// maxHeader is how many bytes the headers of an answer may have. Real ones have about one thousand.
	maxHeader = 64 << 10
	// idleConnection is how long an idle connection stays open: below what servers have (nginx: 75 s).
	idleConnection = 60 * time.Second
	// handshakePatience is how long a TLS handshake may take: longer than three lost packets in a row delay it.
	handshakePatience = 15 * time.Second
	// frameSize is the largest frame of HTTP/2 that servers may send, in bytes: less work for each byte than with the default of
	// 16 KiB.
	frameSize = 256 << 10
	// pingAfter and pingPatience detect a dead HTTP/2 connection, on which several requests would wait.
	pingAfter    = 15 * time.Second
	pingPatience = 15 * time.Second
)

// HTTPOptions configure an HTTPMirror. The zero value is valid.
type HTTPOptions struct {
	Agent string      // version of this program; the user agent is Collet/<Agent>, or Collet alone
	TLS   *tls.Config // as from dial.ClientTLS; nil trusts the system's authorities. The minimum version is 1.2 in any case

	// Proxy returns the proxy for an address; a nil function or result means none. As in dial.Dialer, a failing proxy is bypassed
	// once, unless ProxyOnly is set.
	Proxy     func(addr string) (*dial.Proxy, error)
	ProxyOnly bool
	// PlainProxy is the proxy of an unencrypted request, which gets the full URL (RFC 9112, section 3.2.2): many proxies refuse
	// to connect to port 80. nil is Proxy. See the function PlainProxy.
	PlainProxy func(*url.URL) (*url.URL, error)

	// PublicOnly is dial.Dialer.PublicOnly, for a mirror that a peer named and for its redirects. PlainProxy is not used then: it
	// would resolve names.
	PublicOnly bool

	// Direct opens the TCP connections, to the mirror or the proxy; nil is net.Dialer's DialContext.
	Direct func(ctx context.Context, network, addr string) (net.Conn, error)
	Log    zerolog.Logger

	// Token returns the bearer token for the mirror; nil: none is sent. It goes to the mirror's own origin only, and without TLS only to this
	// machine itself. rejected is a token that the
	// mirror did not take, or empty: another one is wanted, if there is one.
	Token func(ctx context.Context, rejected string) (string, error)

	// Answered is shown the header of each answer before it is checked; nil: nothing is shown. It must not read the body.
	Answered func(name string, answer *http.Response)
}

// HTTPMirror is a mirror that speaks HTTP: a release folder on a web server, or in a service that location.Location knows. The caller
// closes it.
type HTTPMirror struct {
	at        location.Location
	base      *url.URL
	name      string
	registry  *registry // nil unless it is a registry
	agent     string
	client    *http.Client
	transport *http.Transport
	around    *http.Client // without PlainProxy; nil if that is not set or must not be bypassed
	log       zerolog.Logger
	token     func(ctx context.Context, rejected string) (string, error) // may be nil
	answered  func(name string, answer *http.Response)                   // may be nil

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	warm  warmth
}

var _ Mirror = (*HTTPMirror)(nil)

// NewHTTPMirror makes a mirror for the address of a release folder, see location.ParsePrivate. It does not connect before Warm or the first Get.
func NewHTTPMirror(address string, o HTTPOptions) (*HTTPMirror, error) {
	at, err := location.ParsePrivate(address)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	w := &HTTPMirror{at: at, base: at.Base(), name: at.String(), agent: "Collet", log: o.Log, token: o.Token, answered: o.Answered, conns: map[net.Conn]struct{}{}}
	if at.Kind == location.Registry {
		w.registry = newRegistry()
	}
	if w.token != nil && !at.IsSafe() {
		w.token = nil
		o.Log.Warn().Str("mirror", w.name).Msg("the token is not sent there: the connection is not encrypted; use https")
	}
	if o.Agent != "" {
		w.agent += "/" + o.Agent
	}
	w.transport = w.newTransport(o)
	w.client = &http.Client{Transport: w.transport, CheckRedirect: w.redirect}
	if w.transport.Proxy != nil && !o.ProxyOnly {
		direct := w.transport.Clone()
		direct.Proxy = nil
		w.around = &http.Client{Transport: direct, CheckRedirect: w.redirect}
	}
	return w, nil
}

// newTransport makes the transport with the connection pool.
func (w *HTTPMirror) newTransport(o HTTPOptions) *http.Transport {
	config := &tls.Config{}
	if o.TLS != nil {
		config = o.TLS.Clone()
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	dialer := &dial.Dialer{Proxy: o.Proxy, ProxyOnly: o.ProxyOnly, PublicOnly: o.PublicOnly, Direct: o.Direct, Log: o.Log}
	t := &http.Transport{
		TLSClientConfig: config, TLSHandshakeTimeout: handshakePatience, ForceAttemptHTTP2: true,
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost: MaxInFlight, MaxIdleConnsPerHost: MaxInFlight, IdleConnTimeout: idleConnection,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize: frameSize, SendPingTimeout: pingAfter, PingTimeout: pingPatience,
		},
	}
	t.DialContext = w.dial(dialer)
	if w.base.Scheme == "http" && o.PlainProxy != nil && !o.PublicOnly {
		// The connection to this proxy is direct, not through the proxy of encrypted connections.
		t.DialContext = w.dial(&dial.Dialer{Direct: o.Direct, Log: o.Log})
		t.Proxy = func(r *http.Request) (*url.URL, error) { return o.PlainProxy(r.URL) }
	}
	return t
}

// dial connects within dial.ConnectTimeout and registers the connection, so that Close can end it.
func (w *HTTPMirror) dial(d *dial.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		limited, cancel := context.WithTimeout(ctx, dial.ConnectTimeout)
		defer cancel()
		conn, err := d.DialContext(limited, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return w.watch(conn)
	}
}

// watch registers a connection.
func (w *HTTPMirror) watch(conn net.Conn) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conns == nil {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	w.conns[conn] = struct{}{}
	return &watched{Conn: conn, gone: func() { w.forget(conn) }}, nil
}

func (w *HTTPMirror) forget(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, conn)
}

// dialError marks a failed connection attempt, in contrast to an interrupted connection.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// watched is a connection that calls gone when it is closed.
type watched struct {
	net.Conn
	gone func()
}

// Close implements net.Conn.
func (c *watched) Close() error {
	c.gone()
	return c.Conn.Close()
}

// Name implements Mirror: the URL, without user name and password.
func (w *HTTPMirror) Name() string { return w.name }

// Close closes all connections. Requests in flight and later Gets end with an error.
func (w *HTTPMirror) Close() error {
	w.warm.close()
	w.mu.Lock()
	conns := w.conns
	w.conns = nil
	w.mu.Unlock()
	w.transport.CloseIdleConnections()
	if w.around != nil {
		w.around.CloseIdleConnections()
	}
	var err error
	for conn := range conns {
		if closed := conn.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	return err
}

// redirectError says why a redirect is not followed.
type redirectError struct{ text string }

func (e *redirectError) Error() string { return e.text }

// redirect checks whether to follow a redirect. The headers of the first request are sent again, but no credentials to another origin.
func (w *HTTPMirror) redirect(to *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > MaxRedirects:
		return &redirectError{fmt.Sprintf("more than %d in a row", MaxRedirects)}
	case to.URL.Scheme != "http" && to.URL.Scheme != "https":
		return &redirectError{"to another protocol"}
	case from.Scheme == "https" && to.URL.Scheme != "https":
		return &redirectError{"from https to http"}
	}
	for _, earlier := range via {
		if earlier.URL.String() == to.URL.String() {
			return &redirectError{"in circles"}
		}
	}
	if location.OriginOf(to.URL) != w.at.Origin() {
		to.Header.Del("Authorization")
	}
	to.Header.Del("Referer") // net/http makes it of the address that redirects, with a signature in it
	return nil
}

// Get implements Mirror.
func (w *HTTPMirror) Get(ctx context.Context, name string, from, to int64, limit int64) (io.ReadCloser, error) {
	if !fs.ValidPath(name) || len(name) > maxName || from < 0 || to >= 0 && to <= from {
		return nil, fmt.Errorf("mirror: internal error: bytes %d to %d of %q", from, to, name)
	}
	if from == 0 && to < 0 {
		if body, err, is := w.warm.takeAnswer(ctx, name); is {
			return body, err
		}
	}
	return w.request(ctx, name, from, to, limit)
}

// request finds out where the file is, and makes the request.
func (w *HTTPMirror) request(ctx context.Context, name string, from, to int64, limit int64) (io.ReadCloser, error) {
	q := question{mirror: w.name, name: name, from: from, to: to, limit: limit, private: w.token != nil || w.at.HasSignature()}
	if tagged := w.at.SequelURL(name); tagged != nil {
		return w.readTagged(ctx, q, tagged)
	}
	target := w.at.FileURL(name)
	if target == nil {
		f, err := w.findListed(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case f.Data != nil:
			return q.readListed(f.Data)
		}
		target = w.at.BlobURL(f.Sum)
	}
	body, err := w.open(ctx, q, target)
	var missing *MissingError
	if other := w.at.ReplacementURL(name); other != nil && errors.As(err, &missing) {
		if body, otherErr := w.open(ctx, q, other); otherErr == nil {
			return body, nil
		}
	}
	return body, err
}

// open requests a URL and checks the answer.
func (w *HTTPMirror) open(ctx context.Context, q question, target *url.URL) (io.ReadCloser, error) {
	answer, err := w.ask(ctx, q, target)
	if err != nil {
		return nil, err
	}
	if w.answered != nil {
		w.answered(q.name, answer)
	}
	body, err := q.checkAnswer(ctx, answer)
	if err != nil {
		closeRejected(answer)
		return nil, err
	}
	return body, nil
}

// ask requests a URL.
func (w *HTTPMirror) ask(ctx context.Context, q question, target *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", w.agent)
	request.Header.Set("Accept-Encoding", "identity")
	if q.ranged() {
		request.Header.Set("Range", q.header())
	}
	if w.token != nil {
		return w.askSignedIn(ctx, q, request)
	}
	if w.registry != nil {
		return w.askRegistry(ctx, q, request)
	}
	answer, err := w.send(request)
	if err != nil {
		return nil, q.explain(ctx, err)
	}
	return answer, nil
}

// askSignedIn makes a request with the bearer token, and once more with another one if the mirror does not take it: tokens expire while a
// download runs. Without a token the mirror is asked all the same: perhaps it is one that needs none.
func (w *HTTPMirror) askSignedIn(ctx context.Context, q question, request *http.Request) (*http.Response, error) {
	if w.registry != nil {
		request.Header.Set("Accept", registryAccept)
	}
	used, none := w.token(ctx, "")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	answer, err := w.sendWithToken(ctx, q, request, used)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		return answer, err
	}
	if none != nil {
		closeRejected(answer)
		e := q.wrong(WrongSignIn, "there is no token")
		e.Err = none
		return nil, e
	}
	other, err := w.token(ctx, used)
	if err != nil || other == used {
		return answer, nil // which says why
	}
	closeRejected(answer)
	return w.sendWithToken(ctx, q, request.Clone(ctx), other)
}

// shortRefusal is the largest body of a rejected answer that is read to its end, in bytes: a web server's text for a 404 has a few
// hundred, and comes with its header.
const shortRefusal = 4 << 10

// closeRejected closes a rejected answer. It reads a short body to its end, so that the connection can be used again.
func closeRejected(answer *http.Response) {
	if answer.ContentLength > 0 && answer.ContentLength <= shortRefusal {
		_, _ = io.CopyN(io.Discard, answer.Body, answer.ContentLength+1) // the connection is used again only after the end
	}
	_ = answer.Body.Close() // its content is not used
}

// send makes the request, and repeats it without the proxy if the proxy fails.
func (w *HTTPMirror) send(request *http.Request) (*http.Response, error) {
	answer, err := w.client.Do(request)
	var failed *dialError
	if err == nil || w.transport.Proxy == nil || request.Context().Err() != nil || !errors.As(err, &failed) {
		return answer, err
	}
	proxy, none := w.transport.Proxy(request)
	if none != nil || proxy == nil {
		return nil, err
	}
	err = &dial.ProxyError{Proxy: proxy.Redacted(), Fault: dial.ProxyBroken, Text: "can't be reached", Err: failed.err}
	if w.around == nil {
		return nil, err
	}
	answer, direct := w.around.Do(request.Clone(request.Context()))
	if direct != nil {
		return nil, fmt.Errorf("%w; and directly: %w", err, bare(direct))
	}
	w.log.Warn().Err(err).Str("mirror", w.name).Msg("the proxy failed; connecting directly")
	return answer, nil
}
