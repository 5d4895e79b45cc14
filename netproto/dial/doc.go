// Package dial connects a client to a server: the result is one stream of bytes, whatever carries it.
//
// # Layers
//
// From the inside; Dialer says which are there:
//
//	TCP ─ direct ─────────────────┐
//	TCP ─ proxy: CONNECT, SOCKS5 ─┴─ TLS, if set ─ WebSocket, if set
//
// A server's end of a WebSocket is the same type (NewWebSocket). The frames of a WebSocket carry the stream and mean nothing.
//
// # Proxies
//
// A Proxy comes from a setting (ParseProxy) or from the environment (ProxyFromEnvironment). The proxy resolves the server's name.
// ProxyError.Fault says whose fault a failure is: if the proxy itself fails, the Dialer connects directly, once, unless ProxyOnly
// is set; a proxy that forbids the connection, or that can't reach the server, is final.
//
// # Trust
//
// TLS is version 1.2 or newer. A certificate that does not prove the server's name ends the attempt; there is no way around it.
// With PublicOnly a server's address may not be of this machine or of a private network; of a name this holds for the address that
// it resolves to, if the connection is direct.
//
// Answers of proxies and servers are untrusted. An HTTP answer has at most 16 KiB, and a SOCKS answer states its length before it is
// read. Bytes behind an answer belong to the stream: SOCKS does not take them, a WebSocket keeps them, and a CONNECT proxy must not
// send them before the client has spoken. Errors stay short, whatever a peer says; user names and passwords appear in no error and
// no log line.
//
// # Errors and deadlines
//
// Each layer has an error type, whose text tells a player what to do: ProxyError, TLSError, WebSocketError, LocalAddressError. When
// the context ends, every layer stops and the error is the context's.
//
// A connection over TLS or a WebSocket has no write deadline: a write that was interrupted could not go on inside a record or a
// frame. Close ends such a write.
package dial
