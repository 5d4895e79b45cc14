package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// WebSocketProtocol is the subprotocol of the byte stream (docs/PROTOCOL.md).
	WebSocketProtocol = "binary"
	// webSocketFarewell is how long Close may take to send the close frame, including a write in progress. It bounds the
	// wait for a peer that no longer reads.
	webSocketFarewell = time.Second
)

// WebSocket is a byte stream in the frames of a WebSocket. Frame boundaries and frame types are ignored; it sends binary
// frames. Pings of the peer's WebSocket are answered during a Read.
//
// After a read or a write ran into its deadline, the stream can't continue in that direction, because it may have
// stopped inside a frame. Close sends a close frame and does not wait for the peer's. Reading, writing and closing may
// happen concurrently, with one goroutine each.
type WebSocket struct {
	net.Conn // the underlying connection: addresses and deadlines
	frames   *websocket.Conn
	message  io.Reader // the unread part of the current message

	mu      sync.Mutex
	closing bool
}

var _ net.Conn = (*WebSocket)(nil)

// NewWebSocket makes a stream of a WebSocket after its handshake; carrier is the underlying connection. A message of the
// peer may have at most limit bytes. A negative limit means no limit, which costs no memory, because messages are streamed.
func NewWebSocket(frames *websocket.Conn, carrier net.Conn, limit int64) *WebSocket {
	frames.SetReadLimit(limit)
	return &WebSocket{Conn: carrier, frames: frames}
}

// Read implements io.Reader. The peer's close frame is io.EOF, unless it reports a fault.
func (w *WebSocket) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if w.message == nil {
			_, message, err := w.frames.Reader(context.Background())
			if err != nil {
				return 0, endOf(err)
			}
			w.message = message
		}
		n, err := w.message.Read(p)
		if errors.Is(err, io.EOF) {
			w.message, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, endOf(err)
		}
	}
	return 0, nil
}

// endOf converts an orderly end of the WebSocket to io.EOF.
func endOf(err error) error {
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return io.EOF
	default:
		return err
	}
}

// Write implements io.Writer: p is one message.
func (w *WebSocket) Write(p []byte) (int, error) {
	if err := w.frames.Write(context.Background(), websocket.MessageBinary, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetReadDeadline implements net.Conn. It does nothing once Close has begun, so that a reader can't delay Close.
func (w *WebSocket) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing {
		return net.ErrClosed
	}
	return w.Conn.SetReadDeadline(t)
}

// Close implements net.Conn. It returns nil: undelivered data is dropped.
func (w *WebSocket) Close() error {
	w.mu.Lock()
	w.closing = true
	_ = w.Conn.SetReadDeadline(longAgo) // a closed carrier needs no deadline
	_ = w.Conn.SetWriteDeadline(time.Now().Add(webSocketFarewell))
	w.mu.Unlock()
	_ = w.frames.Close(websocket.StatusNormalClosure, "") // always a timeout: it does not wait for the peer's answer
	return nil
}

// longAgo as a deadline ends operations in progress at once.
var longAgo = time.Unix(1, 0)
