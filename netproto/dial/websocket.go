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
	// WebSocketProtocol is the subprotocol under which the byte stream travels (fonline reference, section 2.10).
	WebSocketProtocol = "binary"
	// webSocketFarewell is how long the close frame may take to leave, and whatever is being written before it. A peer
	// that takes nothing any more is not waited for.
	webSocketFarewell = time.Second
)

// WebSocket is the byte stream in the frames of a WebSocket. Frame borders mean nothing, and what kind of frame brings
// the bytes is not looked at; it sends binary ones. Pings of the peer's WebSocket are answered while somebody reads.
//
// A read or a write that ran into its deadline may have stopped inside a frame: the stream can't go on in that
// direction. Close tells the peer with a close frame and does not wait for its answer. Reading, writing and closing may
// happen at the same time; each of reading and writing is for one goroutine.
type WebSocket struct {
	net.Conn // what carries the frames: addresses and deadlines are its own
	frames   *websocket.Conn
	message  io.Reader // what is left of the message under way

	mu      sync.Mutex
	closing bool
}

var _ net.Conn = (*WebSocket)(nil)

// NewWebSocket makes a stream of a WebSocket whose handshake is over; carrier is the connection that it took over. A
// message of the peer may have at most limit bytes; a negative limit is none, which costs no memory, as messages are
// not gathered.
func NewWebSocket(frames *websocket.Conn, carrier net.Conn, limit int64) *WebSocket {
	frames.SetReadLimit(limit)
	return &WebSocket{Conn: carrier, frames: frames}
}

// Read implements io.Reader. The peer's close frame is io.EOF, unless it speaks of a fault.
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

// endOf makes an orderly end of the WebSocket the end of the stream.
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

// SetReadDeadline implements net.Conn. It does nothing once Close has begun, so that a reader can't hold Close up.
func (w *WebSocket) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing {
		return net.ErrClosed
	}
	return w.Conn.SetReadDeadline(t)
}

// Close implements net.Conn. It returns nil: what is not delivered any more was not waited for.
func (w *WebSocket) Close() error {
	w.mu.Lock()
	w.closing = true
	_ = w.Conn.SetReadDeadline(longAgo) // a carrier that is closed already needs no deadline
	_ = w.Conn.SetWriteDeadline(time.Now().Add(webSocketFarewell))
	w.mu.Unlock()
	_ = w.frames.Close(websocket.StatusNormalClosure, "") // always a timeout: the peer's answer is not waited for
	return nil
}

// longAgo as a deadline ends what is under way at once.
var longAgo = time.Unix(1, 0)
