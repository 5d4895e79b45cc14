package main

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/netproto/dial"
	"collet/netproto/transporttest"
)

// activate starts the server as systemd would: through a process that becomes it, with open sockets.
func activate(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	if p.inherited == nil {
		p.inherited = map[string]*net.TCPListener{}
	}
	names := strings.Split(ts.Getenv("NAMES"), ":")
	files := make([]*os.File, len(names))
	for i, name := range names {
		if p.inherited[name] == nil {
			p.inherited[name] = handOver(ts)
		}
		files[i] = file(ts, p.inherited[name])
	}
	os.Remove(ts.Getenv("NOTIFY")) // of the process before
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ts.Getenv("NOTIFY"), Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { told.Close() })
	script := `LISTEN_PID=$$ exec collet-server "$@"`
	*p = process{cmd: exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...), told: told, inherited: p.inherited, waiting: p.waiting, grew: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stderr = ts.MkAbs("."), p
	p.cmd.Env = append(os.Environ(), "GORACE="+quick, "NOTIFY_SOCKET="+ts.Getenv("NOTIFY"),
		"LISTEN_FDS="+strconv.Itoa(len(names)), "LISTEN_FDNAMES="+ts.Getenv("NAMES"))
	p.cmd.ExtraFiles = files
	ts.Check(p.cmd.Start())
	ts.Defer(func() { p.cmd.Process.Kill() })
	// Nothing has to be waited for: the sockets queue who comes before the server is up.
	if players := p.inherited["players"]; players != nil {
		ts.Setenv("ADDR", players.Addr().String())
	}
}

// certify makes a certificate for loopback.
func certify(ts *testscript.TestScript, neg bool, args []string) {
	authority, err := transporttest.NewAuthority("test authority")
	ts.Check(err)
	ts.Check(authority.Files(ts.MkAbs("."), transporttest.Spec{}))
}

// through sends the clients that follow to another of the inherited sockets.
func through(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv("ADDR", args[0]+"://"+background(ts).inherited[args[1]].Addr().String())
}

// dialerTo is how a client connects to HOST:PORT, or to SCHEME://HOST:PORT.
func dialerTo(ts *testscript.TestScript, where string) (*dial.Dialer, string) {
	scheme, addr, found := strings.Cut(where, "://")
	if !found {
		return new(dial.Dialer), where
	}
	dialer := new(dial.Dialer)
	if scheme == "tls" || scheme == "wss" {
		config, err := dial.ClientTLS(ts.MkAbs("ca.pem"), "")
		ts.Check(err)
		dialer.TLS = config
	}
	if scheme == "ws" || scheme == "wss" {
		dialer.WebSocket = "/"
	}
	return dialer, addr
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
