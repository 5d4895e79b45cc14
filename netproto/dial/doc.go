// Package dial connects a client to a server. The result is one byte stream, whatever the transport.
//
// # Layers
//
// From the inside; Dialer selects the layers:
//
//	TCP ─ direct ─────────────────┐
//	TCP ─ proxy: CONNECT, SOCKS5 ─┴─ TLS, if set ─ WebSocket, if set
//
// NewWebSocket makes the same type for a server's end. The frame boundaries of a WebSocket carry no meaning.
//
// # Proxies
//
// A Proxy comes from a setting (ParseProxy) or from the environment (ProxyFromEnvironment). The proxy resolves the
// server's name. ProxyError.Fault classifies failures: if the proxy itself fails, the Dialer connects directly, once,
// unless ProxyOnly is set. If the proxy forbids the connection, or can't reach the server, the error is final.
//
// # Trust
//
// TLS is version 1.2 or newer. A certificate that does not prove the server's name ends the attempt; this can't be
// overridden. With PublicOnly a server's address must not be of this machine or of a private network. For a name this
// applies to the resolved address, if the connection is direct.
//
// Answers of proxies and servers are untrusted. An HTTP answer has at most 16 KiB, and a SOCKS answer declares its
// length before the rest is read. Bytes after an answer belong to the stream: SOCKS does not read them, a WebSocket
// keeps them, and a CONNECT proxy must not send any before the client's first bytes. Error texts are short, whatever a
// peer sends. User names and passwords appear in no error and no log line.
//
// # Errors and deadlines
//
// Each layer has an error type whose text tells the user what to do: ProxyError, TLSError, WebSocketError,
// LocalAddressError. When the context ends, every layer stops and the error is the context's.
//
// A connection over TLS or a WebSocket has no write deadline: an interrupted write could not be resumed inside a record
// or a frame. Close ends such a write.
package dial
