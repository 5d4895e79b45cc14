package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"

	"github.com/coder/websocket"

	"collet/netproto/server/metrics"
)

// transportOf is the transport of the listener that accepted a connection. It works before the handshake as well.
func transportOf(conn net.Conn) metrics.Transport {
	web, isWeb := conn.(*webSocketConn)
	if isWeb {
		conn = web.Conn
	}
	_, isSecure := conn.(*tls.Conn)
	switch {
	case isWeb && isSecure:
		return metrics.SecureWebSocket
	case isWeb:
		return metrics.WebSocket
	case isSecure:
		return metrics.TLS
	default:
		return metrics.TCP
	}
}

// isForeignProtocol reports whether a connection did not begin with the handshake of its port's transport. Network failures and clients
// that left do not count.
func isForeignProtocol(conn net.Conn, err error) bool {
	var plain *NoWebSocketError
	if errors.As(err, &plain) {
		return true
	}
	if web, is := conn.(*webSocketConn); is {
		conn = web.Conn
	}
	secured, is := conn.(*tls.Conn)
	if !is || secured.ConnectionState().HandshakeComplete || errors.Is(err, io.EOF) {
		return false
	}
	var network *net.OpError
	return !errors.As(err, &network) || network.Op == "remote error" // crypto/tls marks alerts of the peer this way
}

// violatesTransport reports whether a connection ended because the peer violated its transport: altered TLS records, invalid or too long
// WebSocket frames. The peer was notified by an alert or a close frame.
func violatesTransport(conn net.Conn, err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "local error" // crypto/tls marks its own refusals this way
	}
	_, is := conn.(*webSocketConn)
	return is && websocket.CloseStatus(err) < 0 && !isAny(err, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded)
}

func isAny(err error, of ...error) bool {
	for _, one := range of {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
