package dial

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// answering is a peer that answers with the same bytes whatever it is asked, and then closes.
type answering struct {
	net.Conn
	answer bytes.Reader
	asked  bytes.Buffer
	accept bool // ACCEPT in the answer stands for what a WebSocket server computes from the key that it was sent
}

func (a *answering) Write(p []byte) (int, error) {
	n, err := a.asked.Write(p)
	if key := websocketKey.FindSubmatch(a.asked.Bytes()); a.accept && key != nil && a.answer.Len() == int(a.answer.Size()) {
		rest, _ := io.ReadAll(&a.answer)
		sum := sha1.Sum([]byte(string(key[1]) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455, section 1.3
		a.answer.Reset(bytes.ReplaceAll(rest, []byte("ACCEPT"), []byte(base64.StdEncoding.EncodeToString(sum[:]))))
		a.accept = false
	}
	return n, err
}

var websocketKey = regexp.MustCompile(`(?i)Sec-WebSocket-Key: (\S+)\r\n`)

func (a *answering) Read(p []byte) (int, error)       { return a.answer.Read(p) }
func (a *answering) Close() error                     { return nil }
func (a *answering) SetDeadline(time.Time) error      { return nil }
func (a *answering) SetReadDeadline(time.Time) error  { return nil }
func (a *answering) SetWriteDeadline(time.Time) error { return nil }

func answers(data []byte) *answering {
	a := new(answering)
	a.answer.Reset(data)
	return a
}

// proxyFault holds an error to what a player may be shown: it is the proxy's, short, and repeats no password.
func proxyFault(t *testing.T, err error, answer []byte) {
	var fault *ProxyError
	if !errors.As(err, &fault) || fault.Text == "" || fault.Fault < ProxyBroken || fault.Fault > ProxyServer {
		t.Fatalf("%q: %T %v", answer, err, err)
	}
	if text := err.Error(); len(text) > 500 || strings.Contains(text, "secret") {
		t.Fatalf("%q: %q", answer, text)
	}
}

// FuzzSOCKS5: answers of a SOCKS5 proxy never take a byte that belongs to the server behind it.
func FuzzSOCKS5(f *testing.F) {
	const server = "hello"
	for _, answer := range []string{"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x0f\xa0" + server, "\x05\x02\x01\x00\x05\x00\x00\x03\x01x\x00\x00" + server,
		"\x05\x00\x05\x00\x00\x04" + strings.Repeat("\x00", 18) + server, "\x05\xff", "\x04\x00", "\x05\x02\x01\x01", "\x05\x00\x05\x05\x00\x01", "\x05\x00\x05\x00\x00\x09", ""} {
		f.Add([]byte(answer), answer != "" && strings.HasPrefix(answer, "\x05\x02"))
	}
	f.Fuzz(func(t *testing.T, answer []byte, login bool) {
		p, conn := &Proxy{scheme: "socks5", host: "proxy", port: "1080"}, answers(answer)
		if login {
			p.user = url.UserPassword("me", "secret")
		}
		if err := p.requestSOCKS(conn, "play.example.org", "4000"); err != nil {
			proxyFault(t, err, answer)
			return
		}
		taken := answer[:len(answer)-conn.answer.Len()]
		again := answers(taken)
		if err := p.requestSOCKS(again, "play.example.org", "4000"); err != nil || again.answer.Len() != 0 {
			t.Fatalf("%q: the %d bytes that were taken are not the answer: %v", answer, len(taken), err)
		}
	})
}

// FuzzConnect: answers of an HTTP proxy to CONNECT.
func FuzzConnect(f *testing.F) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 407 No\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Basic realm=x\r\n\r\n",
		"HTTP/1.1 403 \x1b[31m\r\n\r\n", "HTTP/1.1 502 Bad\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "SSH-2.0-x\r\n", ""} {
		f.Add([]byte(answer), false)
	}
	f.Add([]byte("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, answer []byte, login bool) {
		p, conn := &Proxy{scheme: "http", host: "proxy", port: "80"}, answers(answer)
		if login {
			p.user = url.UserPassword("me", "secret")
		}
		err := p.connect(conn, "play.example.org:4000")
		if taken := len(answer) - conn.answer.Len(); taken > maxProxyAnswer {
			t.Fatalf("%d bytes were read", taken)
		}
		if err != nil {
			proxyFault(t, err, answer)
		} else if !bytes.HasPrefix(answer, []byte("HTTP/")) || conn.answer.Len() != 0 {
			t.Fatalf("%q was taken for a tunnel, %d bytes unread", answer, conn.answer.Len())
		}
	})
}

// FuzzUpgrade: answers of a server that is asked for a WebSocket, and the frames behind them.
func FuzzUpgrade(f *testing.F) {
	const agreed = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Protocol: " + WebSocketProtocol + "\r\n\r\n"
	for _, answer := range []string{agreed + "\x82\x05hello", agreed + "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", agreed + "\x88\x02\x03\xe8", agreed + "\x09\x00\x8a\x00", agreed,
		"HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", strings.ReplaceAll(agreed, "ACCEPT", "wrong"), ""} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		raw := answers(answer)
		raw.accept = true
		conn, err := upgrade(context.Background(), raw, "play.example.org:4000", "/collet")
		if err != nil {
			var fault *WebSocketError
			if !errors.As(err, &fault) || len(err.Error()) > 1000 {
				t.Fatalf("%q: %T %v", answer, err, err)
			}
			return
		}
		if !bytes.HasPrefix(answer, []byte("HTTP/")) {
			t.Fatalf("%q was taken", answer)
		}
		n, _ := io.Copy(io.Discard, conn)
		if n > int64(len(answer)) {
			t.Fatalf("%d bytes came out of %d", n, len(answer))
		}
		_ = conn.Close() // the peer is gone
	})
}
