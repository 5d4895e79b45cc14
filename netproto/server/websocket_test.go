package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"collet/netproto"
	"collet/netproto/dial"
	"collet/netproto/server/servertest"
)

// request writes text to the WebSocket port and reads an HTTP answer.
func request(t *testing.T, addr, text string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: strings.Fields(text + " GET")[0]})
	if err != nil {
		t.Fatalf("%.40q: %v", text, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// asks is a correct request for a WebSocket with some of its lines left out or replaced.
func asks(replace ...string) string {
	text := "GET / HTTP/1.1\r\nHost: game.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nOrigin: https://elsewhere.test\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat, binary\r\n\r\n"
	return strings.NewReplacer(replace...).Replace(text)
}

// TestPlainHTTP wants a short answer in HTTP to whatever is no WebSocket handshake.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	tests := []struct {
		name, text string
		status     int
		says       string
	}{
		{"a browser", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 426, "for a game's updater"},
		{"HTTP 1.0", "GET / HTTP/1.0\r\n\r\n", 426, "for a game's updater"},
		{"a form", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 426, "for a game's updater"},
		{"a head", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", 426, ""},
		{"HTTP 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 426, "for a game's updater"},
		{"not HTTP", "\x22\x94\x1E\x01 what\r\n\r\n", 400, "no HTTP request"},
		{"endless line", "GET /" + strings.Repeat("a", 16<<10) + " HTTP/1.1\r\n", 431, "too long"},
		{"endless header", "GET / HTTP/1.1\r\n" + strings.Repeat("X-Filler: 0123456789\r\n", 1000), 431, "too long"},
		{"wrong subprotocol", asks("chat, binary", "chat"), 400, "only \"binary\""},
		{"wrong version", asks("Version: 13", "Version: 8"), 400, "version"},
		{"no key", asks("Sec-WebSocket-Key", "X-Key"), 400, "Sec-WebSocket-Key"},
		{"bad key", asks("dGhlIHNhbXBsZSBub25jZQ==", "short"), 400, "Sec-WebSocket-Key"},
		{"no connection", asks("keep-alive, Upgrade", "close"), 426, "Upgrade"},
		{"posted", asks("GET", "POST"), 405, "GET"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer, body := request(t, h.ws, test.text)
			if answer.StatusCode != test.status || !strings.Contains(body, test.says) || len(body) > 300 || (body == "") != (test.says == "") {
				t.Errorf("status %d, body %q; want %d and %q", answer.StatusCode, body, test.status, test.says)
			}
			if answer.StatusCode == http.StatusUpgradeRequired && answer.Header.Get("Upgrade") != "websocket" {
				t.Errorf("no word of what to upgrade to: %v", answer.Header)
			}
		})
	}
}

// TestHandshakeAnswers checks the answer against the example of RFC 6455, section 1.3, with and without a subprotocol.
func TestHandshakeAnswers(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	for offered, chosen := range map[string]string{"Sec-WebSocket-Protocol: chat, binary\r\n": "binary", "": ""} {
		answer, _ := request(t, h.ws, asks("Sec-WebSocket-Protocol: chat, binary\r\n", offered))
		got := answer.Header
		if answer.StatusCode != 101 || got.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" ||
			got.Get("Sec-WebSocket-Protocol") != chosen || got.Get("Sec-WebSocket-Extensions") != "" {
			t.Errorf("offered %q: %d %v", offered, answer.StatusCode, got)
		}
	}
}

// page is a client that uses WebSocket as it likes.
func page(t *testing.T, addr string) (*websocket.Conn, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	frames, _, err := websocket.Dial(ctx, "ws://"+addr, &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{"binary"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { frames.CloseNow() })
	frames.SetReadLimit(-1)
	return frames, ctx
}

// encoded is what a client of C1 sends, as bytes.
func encoded(t *testing.T, ms ...netproto.Message) []byte {
	t.Helper()
	var out bytes.Buffer
	wire := netproto.NewConn(struct {
		io.Reader
		io.Writer
		io.Closer
	}{nil, &out, io.NopCloser(nil)}, netproto.ClientSide, netproto.Limits{})
	if err := wire.SetGeneration(netproto.C1); err != nil {
		t.Fatal(err)
	}
	if err := wire.Write(ms...); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFrameBordersMeanNothing sends a session in messages of every odd size and kind.
func TestFrameBordersMeanNothing(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	stream := encoded(t, servertest.Handshake(netproto.C1), &netproto.GetRange{Request: 1, Index: 2, Length: 4})
	for _, size := range []int{1, 7, len(stream)} {
		for _, kind := range []websocket.MessageType{websocket.MessageBinary, websocket.MessageText} {
			t.Run(fmt.Sprint(size, kind), func(t *testing.T) {
				frames, ctx := page(t, h.ws)
				for rest := stream; len(rest) > 0; {
					n := min(size, len(rest))
					for _, message := range [][]byte{rest[:n], nil} { // an empty one in between
						if err := frames.Write(ctx, kind, message); err != nil {
							t.Fatal(err)
						}
					}
					rest = rest[n:]
				}
				var got bytes.Buffer
				for !bytes.Contains(got.Bytes(), []byte("\x04\x00\x00\x00tiny")) {
					kind, data, err := frames.Read(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if kind != websocket.MessageBinary {
						t.Fatalf("got a message of kind %v", kind)
					}
					got.Write(data)
				}
			})
		}
	}
}

// TestFragments sends one message in several frames.
func TestFragments(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	frames, ctx := page(t, h.ws)
	writer, err := frames.Writer(ctx, websocket.MessageBinary)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range encoded(t, servertest.Handshake(netproto.C1)) {
		if _, err := writer.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, data, err := frames.Read(ctx); err != nil || len(data) < 9 || data[8] != byte(netproto.IDHandshakeAnswer) {
		t.Errorf("answer % x, %v", data, err)
	}
}

// TestWebSocketPing is answered by the server's end of the WebSocket, before the hello too.
func TestWebSocketPing(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	frames, ctx := page(t, h.ws)
	reading := make(chan error, 1)
	go func() {
		_, _, err := frames.Read(ctx)
		reading <- err
	}()
	if err := frames.Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := frames.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("the closing handshake: %v", err)
	}
	if err := <-reading; err == nil {
		t.Error("data came from nowhere")
	}
}

// TestMessageTooLong is told so by the status of the close frame.
func TestMessageTooLong(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	frames, ctx := page(t, h.ws)
	if err := frames.Write(ctx, websocket.MessageBinary, encoded(t, servertest.Handshake(netproto.C1))); err != nil {
		t.Fatal(err)
	}
	// An unknown message that is long enough; what follows it would be one as well.
	unknown := append([]byte{0x22, 0x94, 0x1E, 0x01, 0, 0, 0xF, 0, 200}, make([]byte, 0xF0000-9)...)
	sent := make(chan error, 1)
	go func() { sent <- frames.Write(ctx, websocket.MessageBinary, append(unknown, unknown...)) }()
	var err error
	for err == nil {
		_, _, err = frames.Read(ctx)
	}
	if status := websocket.CloseStatus(err); status != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v: %v", status, err)
	}
	<-sent // whether all of it left before the end is chance
	h.WaitForNoClients(t)
	h.Log.Has(t, "warn", "Invalid network data from host '127.0.0.1'", "message too big")
	if got := takeAll(t, netproto.C1, h.ws, &dial.Dialer{WebSocket: "/"}); got["Tiny.zip"] != "tiny" {
		t.Errorf("afterwards: %q", got)
	}
}

// TestCloseFrame is how a WebSocket ends that the server closes.
func TestCloseFrame(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	frames, ctx := page(t, h.ws)
	if err := frames.Write(ctx, websocket.MessageBinary, []byte("this is no hello of any generation")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := frames.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("closed with %v", err)
	}
}

// TestFramesThatAreNone come after the handshake of the WebSocket, before and after that of ours.
func TestFramesThatAreNone(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	for _, begin := range [][]byte{nil, encoded(t, servertest.Handshake(netproto.C1))} {
		carrier, err := net.Dial("tcp", h.ws)
		if err != nil {
			t.Fatal(err)
		}
		defer carrier.Close()
		carrier.SetDeadline(time.Now().Add(2 * time.Minute))
		frame := []byte{0x82, 0x80 | 126, byte(len(begin) >> 8), byte(len(begin)), 0, 0, 0, 0} // one binary message, masked with 0
		frame = append(frame, begin...)
		if begin == nil {
			frame = nil
		}
		if _, err := carrier.Write(append([]byte(asks()), append(frame, bytes.Repeat([]byte{0xFF}, 32)...)...)); err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, carrier)
		carrier.Close()
	}
	h.WaitForNoClients(t)
	h.Log.Has(t, "warn", "Invalid handshake data from host '127.0.0.1'", `"error"`)
	h.Log.Has(t, "warn", "Invalid network data from host '127.0.0.1'", `"error"`)
}
