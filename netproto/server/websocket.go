package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"collet/netproto/dial"
)

const (
	// maxHTTPHeader is the longest request in bytes on the WebSocket port. Browsers send about one KB, more with cookies of a
	// site on the same host; web servers limit them to 8 to 16 KB.
	maxHTTPHeader = 16 << 10
	// maxWebSocketMessage is the longest message of a client in bytes, as in the newer source. Message boundaries have no
	// meaning, so a client may split longer data.
	maxWebSocketMessage = 1 << 20
	// refusalTimeout is how long a refused HTTP client may take to read its answer and to close.
	refusalTimeout = 2 * time.Second
	// maxRefused is how many bytes of a refused HTTP client are discarded while waiting for it to close.
	maxRefused = 64 << 10
	// upgradeTimeout is how long the client may take to receive the answer of the handshake, a few hundred bytes.
	upgradeTimeout = 10 * time.Second
	// webSocketBuffer is the size in bytes of a WebSocket's buffers, one for each direction. Every idle connection has them;
	// requests are small, and portions bypass them.
	webSocketBuffer = 1 << 10
)

// webSocketListener accepts connections that begin with the handshake of a WebSocket.
type webSocketListener struct{ net.Listener }

// Accept implements net.Listener. The handshake is not awaited here.
func (l webSocketListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &webSocketConn{Conn: conn}, nil
}

// webSocketConn is the server's end of a WebSocket. The handshake is part of the first Read, as with TLS: it has the same limits
// as a hello and does not delay the accept loop.
type webSocketConn struct {
	net.Conn // carries the frames: TCP or TLS

	once   sync.Once
	fault  error // error of the handshake; set by once
	stream atomic.Pointer[dial.WebSocket]
}

// NetConn is the connection that carries the frames.
func (c *webSocketConn) NetConn() net.Conn { return c.Conn }

// Read implements io.Reader; the first call performs the handshake.
func (c *webSocketConn) Read(p []byte) (int, error) {
	c.once.Do(func() { c.fault = c.performHandshake() })
	if c.fault != nil {
		return 0, c.fault
	}
	return c.stream.Load().Read(p)
}

var errNoHandshake = errors.New("the WebSocket handshake is not over")

// Write implements io.Writer. The client speaks first, so nothing is written before the first Read has ended.
func (c *webSocketConn) Write(p []byte) (int, error) {
	stream := c.stream.Load()
	if stream == nil {
		return 0, errNoHandshake
	}
	return stream.Write(p)
}

// Close implements net.Conn.
func (c *webSocketConn) Close() error {
	if stream := c.stream.Load(); stream != nil {
		return stream.Close()
	}
	return c.Conn.Close()
}

// performHandshake performs the handshake.
func (c *webSocketConn) performHandshake() error {
	watched := &watchedReader{Reader: c.Conn}
	limited := &io.LimitedReader{R: watched, N: maxHTTPHeader}
	buffered := bufio.NewReaderSize(limited, webSocketBuffer)
	request, err := http.ReadRequest(buffered)
	switch {
	case err != nil && watched.err != nil:
		return watched.err
	case err != nil && limited.N <= 0:
		return c.refuse(newUpgradeResponse(c.Conn, nil), http.StatusRequestHeaderFieldsTooLarge, "the request is too long")
	case err != nil:
		return c.refuse(newUpgradeResponse(c.Conn, nil), http.StatusBadRequest, "that is no HTTP request")
	}
	answer := newUpgradeResponse(c.Conn, buffered)
	if status, text := checkUpgrade(request); status != 0 {
		answer.head = request.Method == http.MethodHead
		return c.refuse(answer, status, text)
	}
	frames, err := websocket.Accept(answer, request, &websocket.AcceptOptions{
		Subprotocols: []string{dial.WebSocketProtocol},
		// A web build of the game may come from any site; there are no cookies here that another site could abuse.
		InsecureSkipVerify: true,
	})
	if err != nil {
		return c.refuse(answer, 0, err.Error())
	}
	c.stream.Store(dial.NewWebSocket(frames, c.Conn, maxWebSocketMessage))
	return nil
}

// watchedReader keeps the error of the connection: a parser reports only what was missing.
type watchedReader struct {
	io.Reader
	err error
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.err = err
	}
	return n, err
}

// checkUpgrade is the status and text for a request that gets no WebSocket; status 0 leaves the remaining checks to the library.
func checkUpgrade(r *http.Request) (status int, text string) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return http.StatusUpgradeRequired, "this port is for a game's updater, by WebSocket with the subprotocol \"binary\"; there is nothing to see here"
	}
	var offered []string
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			offered = append(offered, strings.TrimSpace(name))
		}
	}
	if len(offered) > 0 && !slices.Contains(offered, dial.WebSocketProtocol) {
		return http.StatusBadRequest, "of WebSocket subprotocols only \"binary\" is spoken here"
	}
	return 0, ""
}

// NoWebSocketError says that a client of the WebSocket port sent something else, with the answer that it received.
type NoWebSocketError struct {
	Status int // of the HTTP answer
	Text   string
}

func (e *NoWebSocketError) Error() string {
	return fmt.Sprintf("no WebSocket handshake, answered with HTTP status %d: %s", e.Status, e.Text)
}

// refuse answers, unless the library already has, and waits briefly for the client to read it: closing with unread data would
// destroy the answer in transit.
func (c *webSocketConn) refuse(answer *upgradeResponse, status int, text string) error {
	if status != 0 {
		answer.Header().Set("Upgrade", "websocket")
		http.Error(answer, text, status)
	}
	fault := &NoWebSocketError{Status: answer.status, Text: text}
	if err := c.Conn.SetDeadline(time.Now().Add(refusalTimeout)); err != nil {
		return fault
	}
	if err := answer.flush(); err != nil {
		return fault
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return fault
	}
	io.CopyN(io.Discard, c.Conn, maxRefused) // until the client closes, or is too slow
	return fault
}

// upgradeResponse is the answer to the one request of a connection: an http.ResponseWriter that buffers everything until flush, and hands
// the connection over to a WebSocket.
type upgradeResponse struct {
	conn     net.Conn
	buffered *bufio.Reader
	header   http.Header
	status   int
	body     bytes.Buffer
	head     bool // the client wants no body
}

var _ http.Hijacker = (*upgradeResponse)(nil)

func newUpgradeResponse(conn net.Conn, buffered *bufio.Reader) *upgradeResponse {
	return &upgradeResponse{conn: conn, buffered: buffered, header: http.Header{}}
}

// Header implements http.ResponseWriter.
func (r *upgradeResponse) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *upgradeResponse) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *upgradeResponse) Write(p []byte) (int, error) { return r.body.Write(p) }

// Hijack implements http.Hijacker: it sends the answer and gives the connection to the caller.
func (r *upgradeResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if err := r.conn.SetWriteDeadline(time.Now().Add(upgradeTimeout)); err != nil {
		return nil, nil, err
	}
	if err := r.flush(); err != nil {
		return nil, nil, err
	}
	return r.conn, bufio.NewReadWriter(r.buffered, bufio.NewWriterSize(r.conn, webSocketBuffer)), nil
}

// flush sends the answer.
func (r *upgradeResponse) flush() error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %d %s\r\n", r.status, http.StatusText(r.status))
	if r.status != http.StatusSwitchingProtocols {
		r.header.Set("Connection", "close")
		r.header.Set("Content-Length", fmt.Sprint(r.body.Len()))
	}
	if err := r.header.Write(&text); err != nil {
		return err
	}
	text.WriteString("\r\n")
	if !r.head {
		text.Write(r.body.Bytes())
	}
	_, err := r.conn.Write(text.Bytes())
	return err
}
