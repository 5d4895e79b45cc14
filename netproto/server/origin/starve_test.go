package origin_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"collet/netproto/releasetest"
	"collet/netproto/server"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// knocks is a connection to an HTTP port, on which text has been sent.
func knocks(t testing.TB, at, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answers asks for a path on a new connection and wants a status.
func answers(t testing.TB, at, path string, want int, headers string) {
	t.Helper()
	conn := knocks(t, at, "GET "+path+" HTTP/1.1\r\nHost: x\r\n"+headers+"Connection: close\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	answer.Body.Close()
	if answer.StatusCode != want {
		t.Fatalf("%s: %s, want %d", path, answer.Status, want)
	}
}

// TestHalfSentRequestsStarveNoOne: health, the dashboard and the API are answered while many more connections than there are
// places are open with a part of a header, with a part of a form, with nothing, or idle.
func TestHalfSentRequestsStarveNoOne(t *testing.T) {
	testlevel.Slow(t)
	const token = "Authorization: Bearer " + servertest.TokenSecret + "\r\n"
	for name, text := range map[string]string{
		"nothing": "", "half a header": "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"half a form": "POST /admin/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ncsrf=",
		"idle":        "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		for _, exempt := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, exempt %t", name, exempt), func(t *testing.T) {
				set := servertest.VersionedSettings(t)
				if !exempt {
					set.Limits.ExemptAddresses = nil
				}
				h, _ := servertest.StartWithToken(t, set)
				at := servertest.ServeMonitor(t, h, set)
				for range 3 * healthConnections {
					knocks(t, at, text)
				}
				for range 3 {
					answers(t, at, "/healthz", 200, "")
					answers(t, at, "/admin/login", 200, "")
					answers(t, at, "/api/compat", 200, token)
				}
			})
		}
	}
}

// TestHalfSentRequestsOfTheHouse: where a release folder is handed out half-sent headers keep no player out.
func TestHalfSentRequestsOfTheHouse(t *testing.T) {
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	set.Operations.MetricsFrom = []string{"192.0.2.0/24"}
	set.Limits.HTTPConnections = 4
	s := openSite(t, set)
	for range 3 * set.Limits.HTTPConnections {
		knocks(t, s.url, "GET /metadata/timestamp.json HTTP/1.1\r\nX-Slow: ")
	}
	for range 3 {
		answers(t, s.url, "/metadata/timestamp.json", 200, "")
	}
}

// TestMetricsPortIsNotStarved either.
func TestMetricsPortIsNotStarved(t *testing.T) {
	h := servertest.Start(t, servertest.Settings(t))
	m := new(origin.Monitor)
	m.Watch(h.Server)
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + listener.Addr().String()
	serveMetrics(t, m, h, listener)
	for range 3 * healthConnections {
		knocks(t, at, "GET /metrics HTTP/1.1\r\nX-Slow: ")
	}
	answers(t, at, "/metrics", 200, "")
	answers(t, at, "/healthz", 200, "")
}
