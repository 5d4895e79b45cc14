package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/netproto"
	"collet/netproto/compat"
)

// get asks the monitor over HTTP until the answer matches: a client has its bytes before they are counted.
func get(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	addr := p.web
	if addr == "" {
		addr = p.find(ts, `http=([^" \n]+)`)[1]
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err := client.Get("http://" + addr + args[0])
		ts.Check(err)
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		ts.Check(err)
		if regexp.MustCompile(args[1]).Match(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: no %q in\n%s", args[0], args[1], text)
		}
	}
}

// activate starts the server as systemd would: through a process that becomes it, with open sockets.
func activate(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	if p.players == nil {
		p.players, p.monitor = handOver(ts), handOver(ts)
	}
	players, web := p.players, p.monitor
	os.Remove(ts.Getenv("NOTIFY")) // of the process before
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ts.Getenv("NOTIFY"), Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { told.Close() })
	script := `LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=players:http exec collet-server "$@"`
	*p = process{cmd: exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...), told: told, players: players, monitor: web, waiting: p.waiting}
	p.cmd.Dir, p.cmd.Stderr = ts.MkAbs("."), p
	p.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+ts.Getenv("NOTIFY"))
	p.cmd.ExtraFiles = []*os.File{file(ts, players), file(ts, web)}
	ts.Check(p.cmd.Start())
	ts.Defer(func() { p.cmd.Process.Kill() })
	p.web = web.Addr().String()
	// Nothing has to be waited for: the sockets queue who comes before the server is up.
	ts.Setenv("ADDR", players.Addr().String())
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

// handOver opens a socket that is meant for another process.
func handOver(ts *testscript.TestScript) *net.TCPListener {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	return listener
}

func file(ts *testscript.TestScript, listener *net.TCPListener) *os.File {
	f, err := listener.File()
	ts.Check(err)
	ts.Defer(func() { f.Close() })
	return f
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
