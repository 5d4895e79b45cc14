package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"

	"github.com/coder/websocket"
)

// transport is what carries a connection's bytes: the value of a metric's label, and the name of a socket that the service
// manager hands over.
type transport string

// The transports. What is neither TLS nor WebSocket counts as plain.
const (
	overTCP             transport = "tcp"
	overTLS             transport = "tls"
	overWebSocket       transport = "ws"
	overSecureWebSocket transport = "wss"
	overHTTP            transport = "http" // files of a release folder
	overHTTPS           transport = "https"
)

// transports are those of the updater connection, in the order of Addresses.
func transports() []transport {
	return []transport{overTCP, overTLS, overWebSocket, overSecureWebSocket}
}

// transportOf tells by which listener a connection came. The handshake need not be over.
func transportOf(conn net.Conn) transport {
	web, isWeb := conn.(*webSocketConn)
	if isWeb {
		conn = web.Conn
	}
	_, isSecure := conn.(*tls.Conn)
	switch {
	case isWeb && isSecure:
		return overSecureWebSocket
	case isWeb:
		return overWebSocket
	case isSecure:
		return overTLS
	default:
		return overTCP
	}
}

// strange reports whether what a connection began with was no handshake of its port's transport. Networks that broke and
// clients that left are something else.
func strange(conn net.Conn, err error) bool {
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
	return !errors.As(err, &network) || network.Op == "remote error" // as crypto/tls marks what the peer said
}

// garbled reports whether a connection ended because the peer broke the rules of its transport: records of TLS that were
// tampered with, frames of WebSocket that are none or too long. It has been told by an alert or a close frame.
func garbled(conn net.Conn, err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "local error" // as crypto/tls marks what it refused
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
