package main

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/netproto"
	"collet/netproto/compat"
)

// get asks the monitor over HTTP until the answer matches: a client has its bytes before they are counted. It says the script's
// token.
func get(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	port := "http"
	if args[0] == "/metrics" {
		port = "metrics"
	}
	addr := ""
	if own := p.inherited[port]; own != nil {
		addr = own.Addr().String()
	} else {
		addr = p.find(ts, port+`=([^" \n]+)`)[1]
	}
	ts.Setenv(strings.ToUpper(port), addr)
	said, client := "", &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for end, pattern := time.Now().Add(patience), regexp.MustCompile(args[1]); !pattern.MatchString(said); {
		if time.Now().After(end) {
			ts.Fatalf("%s has no %s in\n%s", args[0], args[1], said)
		}
		ask, err := http.NewRequest(http.MethodGet, "http://"+addr+args[0], nil)
		ts.Check(err)
		ask.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
		answer, err := client.Do(ask)
		ts.Check(err)
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		ts.Check(err)
		said = string(text)
	}
}

// beacons sends beacons to the server, which must take them.
func beacons(ts *testscript.TestScript, neg bool, args []string) {
	addr := background(ts).find(ts, `http=([^" \n]+)`)[1]
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, query := range args {
		answer, err := client.Get("http://" + addr + "/beacon?" + query)
		ts.Check(err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			ts.Fatalf("%s: %s", query, answer.Status)
		}
	}
}

// token keeps the first token, which the server logs once.
func token(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv("TOKEN", background(ts).find(ts, `token=(collet_[A-Za-z0-9_-]{43})`)[1])
}

// knock connects and greets as a client does, without waiting for an answer.
func knock(ts *testscript.TestScript, neg bool, args []string) {
	conn, err := net.Dial("tcp", ts.Getenv("ADDR"))
	ts.Check(err)
	ts.Defer(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	p := background(ts)
	p.waiting = netproto.NewConn(conn, netproto.ClientSide, netproto.Limits{})
	ts.Check(p.waiting.SetGeneration(netproto.C1))
	ts.Check(p.waiting.Write(&netproto.Handshake{Version: netproto.VersionC1, Compatibility: args[0], Target: args[1]}))
}

// answered waits for the answer to the last knock, which a server process gives that was not there yet.
func answered(ts *testscript.TestScript, neg bool, args []string) {
	waiting := background(ts).waiting
	defer waiting.Close()
	m, err := waiting.Read()
	ts.Check(err)
	if answer, ok := m.(*netproto.HandshakeAnswer); !ok || answer.Verdict != compat.Accept {
		ts.Fatalf("got %+v", m)
	}
}

func notified(ts *testscript.TestScript, neg bool, args []string) {
	told := background(ts).told
	told.SetReadDeadline(time.Now().Add(patience))
	state := make([]byte, 256)
	n, err := told.Read(state)
	ts.Check(err)
	if got := strings.TrimSpace(string(state[:n])); got != args[0] {
		ts.Fatalf("told %q, want %q", got, args[0])
	}
}
