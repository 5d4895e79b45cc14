package dial_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/dial"
	"collet/netproto/transporttest"
	"collet/platform/testwait"
)

// scripted is a listener on loopback whose every connection is served by talk, which may leave it open: it is closed
// when the test ends. met counts connections.
func scripted(t *testing.T, talk func(conn net.Conn)) (addr string, met *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	met = new(atomic.Int32)
	var work sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			met.Add(1)
			work.Go(func() { talk(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return listener.Addr().String(), met
}

// says reads one request, of whatever length, answers with text and closes.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		conn.Read(make([]byte, 4<<10))
		io.WriteString(conn, text)
		conn.Close()
	}
}

// replies reads and answers in turn, and closes.
func replies(texts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for _, text := range texts {
			conn.Read(make([]byte, 4<<10))
			io.WriteString(conn, text)
		}
		conn.Close()
	}
}

// silent reads and never answers.
func silent(conn net.Conn) { io.Copy(io.Discard, conn) }

// endless answers without end.
func endless(start string) func(net.Conn) {
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, start)
		for err == nil {
			_, err = io.WriteString(conn, "X-Filler: 0123456789\r\n")
		}
	}
}

// via is a dialer through a proxy.
func via(t *testing.T, proxy string) *dial.Dialer {
	t.Helper()
	p, err := dial.ParseProxy(proxy)
	if err != nil {
		t.Fatal(err)
	}
	return &dial.Dialer{Proxy: dial.FixedProxy(p), ProxyTimeout: time.Minute}
}

const (
	credentials = "me:secret@"
	basicSecret = "bWU6c2VjcmV0"
)

// TestProxyThatFails covers every failure of a proxy. It is bypassed only if the fault is its own and ProxyOnly is not
// set. The error always names it, and never its password.
func TestProxyThatFails(t *testing.T) {
	const ok = "\x05\x00"
	tests := []struct {
		name, scheme, user string
		talk               func(net.Conn) // nil: nothing listens
		fault              dial.ProxyFault
		says               string
	}{
		{"refused", "http", "", nil, dial.ProxyBroken, "can't be reached"},
		{"refused SOCKS", "socks5", "", nil, dial.ProxyBroken, "can't be reached"},
		{"wants a password", "http", "", says("HTTP/1.1 407 Go away\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n"), dial.ProxyBroken, "wants a user name and a password (status 407)"},
		{"wrong password", "http", credentials, says("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n"), dial.ProxyBroken, "doesn't accept the user name and password"},
		{"NTLM", "http", credentials, says("HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n"), dial.ProxyBroken, "authentication by Negotiate, NTLM"},
		{"NTLM or Basic", "http", "", says("HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: basic realm=x\r\n\r\n"), dial.ProxyBroken, "USER:PASSWORD@HOST"},
		{"garbage", "http", "", says("\x05\xFF\x00\x01 what is this\r\n\r\n"), dial.ProxyBroken, "not HTTP"},
		{"endless header", "http", "", endless("HTTP/1.1 200 OK\r\n"), dial.ProxyBroken, "more than 16384 bytes"},
		{"endless line", "http", "", says("HTTP/1.1 200 " + strings.Repeat("a", 20<<10)), dial.ProxyBroken, "more than 16384 bytes"},
		{"silent", "http", "", silent, dial.ProxyBroken, "did not answer within 200ms"},
		{"cut", "http", "", says("HTTP/1.1 200 OK\r\nVia: "), dial.ProxyBroken, "before its answer was complete"},
		{"nothing", "http", "", says(""), dial.ProxyBroken, "before its answer was complete"},
		{"early bytes", "http", "", says("HTTP/1.1 200 OK\r\n\r\n\x22\x94"), dial.ProxyBroken, "unrequested bytes"},
		{"not a proxy", "http", "", says("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"), dial.ProxyBroken, "status 405"},
		{"elsewhere", "http", "", says("HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\n\r\n"), dial.ProxyBroken, "status 302"},
		{"forbidden", "http", "", says("HTTP/1.1 403 Forbidden\r\n\r\n<html>"), dial.ProxyForbids, "forbids connections to"},
		{"bad gateway", "http", "", says("HTTP/1.1 502 x\r\n\r\n"), dial.ProxyServer, "can't reach"},
		{"unavailable", "http", "", says("HTTP/1.1 503 x\r\n\r\n"), dial.ProxyServer, "can't reach"},
		{"no TLS", "https", "", says("HTTP/1.1 400 Bad Request\r\n\r\n"), dial.ProxyBroken, "doesn't speak TLS"},

		{"SOCKS silent", "socks5", "", silent, dial.ProxyBroken, "did not answer within"},
		{"SOCKS nothing", "socks5", "", says(""), dial.ProxyBroken, "before its answer was complete"},
		{"SOCKS is HTTP", "socks5", "", says("HTTP/1.1 400 Bad Request\r\n\r\n"), dial.ProxyBroken, "doesn't speak SOCKS5"},
		{"SOCKS wants a password", "socks5", "", says("\x05\xFF"), dial.ProxyBroken, "wants a user name and a password"},
		{"SOCKS wants GSSAPI", "socks5", credentials, says("\x05\x01"), dial.ProxyBroken, "a way to authenticate"},
		{"SOCKS wrong password", "socks5", credentials, replies("\x05\x02", "\x01\x01"), dial.ProxyBroken, "doesn't accept"},
		{"SOCKS asks unasked", "socks5", "", says("\x05\x02"), dial.ProxyBroken, "a way to authenticate"},
		{"SOCKS cut", "socks5", "", replies(ok, "\x05\x00\x00"), dial.ProxyBroken, "before its answer was complete"},
		{"SOCKS cut address", "socks5", "", replies(ok, "\x05\x00\x00\x03\x09abc"), dial.ProxyBroken, "before its answer was complete"},
		{"SOCKS odd address", "socks5", "", replies(ok, "\x05\x00\x00\x09aaaaaaaaaa"), dial.ProxyBroken, "no known kind"},
		{"SOCKS other version", "socks5", "", replies(ok, "\x04\x00\x00\x01aaaaaa"), dial.ProxyBroken, "doesn't speak SOCKS5"},
		{"SOCKS general failure", "socks5", "", replies(ok, "\x05\x01\x00\x01aaaaaa"), dial.ProxyServer, "general failure"},
		{"SOCKS forbidden", "socks5", "", replies(ok, "\x05\x02\x00\x01aaaaaa"), dial.ProxyForbids, "forbids connections to"},
		{"SOCKS unreachable", "socks5", "", replies(ok, "\x05\x04\x00\x01aaaaaa"), dial.ProxyServer, "the host is unreachable"},
		{"SOCKS refused", "socks5", "", replies(ok, "\x05\x05\x00\x01aaaaaa"), dial.ProxyServer, "the connection was refused"},
		{"SOCKS without connect", "socks5", "", replies(ok, "\x05\x07\x00\x01aaaaaa"), dial.ProxyBroken, "reply 7"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, met := scripted(t, silent)
			addr := closedPort(t)
			if test.talk != nil {
				addr, _ = scripted(t, test.talk)
			}
			var log bytes.Buffer
			d := via(t, test.scheme+"://"+test.user+addr)
			d.ProxyOnly, d.Log = true, zerolog.New(&log)
			if strings.HasSuffix(test.name, "silent") {
				d.ProxyTimeout = 200 * time.Millisecond
			}
			_, err := d.DialContext(t.Context(), "tcp", server)
			var fault *dial.ProxyError
			if !errors.As(err, &fault) || fault.Fault != test.fault || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.scheme+"://"+addr) {
				t.Errorf("says %v, want fault %d, %q, and the proxy's address", err, test.fault, test.says)
			}
			if met.Load() != 0 {
				t.Error("connected directly although that is forbidden")
			}
			d.ProxyOnly = false
			conn, again := d.DialContext(t.Context(), "tcp", server)
			if around := again == nil; around != (test.fault == dial.ProxyBroken) {
				t.Errorf("gone around: %v (%v)", around, again)
			}
			if conn != nil {
				conn.Close()
				if !strings.Contains(log.String(), "connected directly") || !strings.Contains(log.String(), addr) {
					t.Errorf("the log says %q", &log)
				}
			}
			if all := err.Error() + log.String(); strings.Contains(all, "secret") || strings.Contains(all, basicSecret) {
				t.Errorf("the password is told: %s", all)
			}
		})
	}
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	return testwait.FreeAddress(t)
}

// TestBothWaysFail names the proxy and the error of the direct attempt.
func TestBothWaysFail(t *testing.T) {
	proxy, server := closedPort(t), closedPort(t)
	_, err := via(t, "http://"+credentials+proxy).DialContext(t.Context(), "tcp", server)
	if err == nil {
		t.Fatal("connected to nothing")
	}
	for _, word := range []string{"http://" + proxy, "and directly", server} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("says %q, want %q in it", err, word)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("tells the password: %v", err)
	}
}

// TestWhatProxiesAreAsked compares the bytes sent to a proxy.
func TestWhatProxiesAreAsked(t *testing.T) {
	const greet, login = "050100", "05020002" + "01026d6506736563726574"
	tests := []struct{ proxy, server, want string }{
		{"http://", "game.test:4000", "CONNECT game.test:4000 HTTP/1.1\r\nHost: game.test:4000\r\n\r\n"},
		{"http://", "[2001:db8::1]:4000", "CONNECT [2001:db8::1]:4000 HTTP/1.1\r\nHost: [2001:db8::1]:4000\r\n\r\n"},
		{"http://" + credentials, "game.test:1", "CONNECT game.test:1 HTTP/1.1\r\nHost: game.test:1\r\nProxy-Authorization: Basic " + basicSecret + "\r\n\r\n"},
		{"socks5://", "game.test:4000", greet + "05010003" + "09" + hex.EncodeToString([]byte("game.test")) + "0fa0"},
		{"socks5h://", "192.0.2.7:65535", greet + "05010001" + "c0000207" + "ffff"},
		{"socks5://" + credentials, "[2001:db8::1]:80", login + "05010004" + "20010db8000000000000000000000001" + "0050"},
		{"socks5://", "[::ffff:192.0.2.7]:80", greet + "05010001" + "c0000207" + "0050"},
	}
	for _, test := range tests {
		t.Run(test.proxy+test.server, func(t *testing.T) {
			got := make(chan []byte, 1)
			addr, _ := scripted(t, func(conn net.Conn) {
				var all []byte
				buffer := make([]byte, 4<<10)
				for _, answer := range []string{"\x05" + map[bool]string{true: "\x02", false: "\x00"}[strings.Contains(test.proxy, "@")], "\x01\x00", ""} {
					n, err := conn.Read(buffer)
					all = append(all, buffer[:n]...)
					if err != nil || strings.HasPrefix(string(all), "CONNECT") || len(all) >= len(test.want)/2 {
						break
					}
					io.WriteString(conn, answer)
				}
				got <- all
				conn.Close()
			})
			d := via(t, test.proxy+addr)
			d.ProxyOnly = true
			if conn, err := d.DialContext(t.Context(), "tcp", test.server); err == nil {
				conn.Close()
				t.Error("connected to nothing")
			}
			all := <-got
			if text := string(all); text != test.want && hex.EncodeToString(all) != test.want {
				t.Errorf("sent %q (% x), want %q", text, all, test.want)
			}
		})
	}
}

// TestThroughProxy connects to a peer whose name only the proxy can resolve.
func TestThroughProxy(t *testing.T) {
	server, _ := scripted(t, func(conn net.Conn) { io.Copy(conn, conn) })
	proxy, err := transporttest.StartProxy(transporttest.ProxyOptions{User: "me", Password: "secret", Target: server})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	d := via(t, "socks5://"+credentials+proxy.Addr())
	conn, err := d.DialContext(t.Context(), "tcp", "game.invalid:4000")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	said, heard := []byte("hello"), make([]byte, 5)
	if _, err := conn.Write(said); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, heard); err != nil || !bytes.Equal(heard, said) {
		t.Errorf("%q came back, %v", heard, err)
	}
	if asked := proxy.Asked(); len(asked) != 1 || asked[0] != "game.invalid:4000" {
		t.Errorf("the proxy was asked for %v", asked)
	}
}

// TestCancelledOnTheWay cancels while a proxy, TLS or a WebSocket is waited for.
func TestCancelledOnTheWay(t *testing.T) {
	reached := make(chan struct{}, 1)
	addr, _ := scripted(t, func(conn net.Conn) {
		conn.Read(make([]byte, 1))
		reached <- struct{}{}
		silent(conn)
	})
	config, err := dial.ClientTLS("", "")
	if err != nil {
		t.Fatal(err)
	}
	connect, socks, secured := via(t, "http://"+addr), via(t, "socks5://"+addr), via(t, "https://"+addr)
	for name, d := range map[string]*dial.Dialer{
		"CONNECT": connect, "SOCKS5": socks, "TLS to the proxy": secured, "TLS": {TLS: config}, "WebSocket": {WebSocket: "/"},
	} {
		t.Run(name, func(t *testing.T) {
			d.ProxyTimeout = time.Minute
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-reached; cancel() }()
			if _, err := d.DialContext(ctx, "tcp", addr); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that it was cancelled", err)
			}
		})
	}
}
