package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/netproto/transporttest"
	"collet/platform/testlevel"
)

const (
	// idleVariable names the package folder that a process of this test program serves until its input ends.
	idleVariable = "COLLET_TEST_SERVES"
	// keysVariable names the folder with its certificate.
	keysVariable = "COLLET_TEST_KEYS"
)

// alone is a server in a process of its own.
type alone struct {
	harbour // of which only the addresses and the authority's folder are known here
	pid     int
}

// TestServesAlone is such a process: it does nothing in an ordinary run.
func TestServesAlone(t *testing.T) {
	root := os.Getenv(idleVariable)
	if root == "" {
		t.Skip("no server was requested")
	}
	set := config.ForFolder(root, servertest.Compatibility)
	set.Limits.PingTime = time.Minute // the clients of these tests don't answer
	keys := os.Getenv(keysVariable)
	set.ServerNetwork.TlsCertificate, set.ServerNetwork.TlsPrivateKey = filepath.Join(keys, "cert.pem"), filepath.Join(keys, "key.pem")
	catalogue, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	at := config.Addresses{TCP: anywhere, TLS: anywhere, WebSocket: anywhere, SecureWebSocket: anywhere}
	listeners, err := server.ListenAll(t.Context(), at, server.Sockets{}, set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	h := &servertest.Server{Server: server.New(catalogue, set, zerolog.Nop()), Done: make(chan error, 1)}
	h.ServeOn(t, listeners)
	for _, addr := range listeners.Addrs() {
		fmt.Print(addr, " ")
	}
	fmt.Println()
	io.Copy(io.Discard, os.Stdin)
}

// startAlone serves a folder from another process until the test ends. Tests that call it belong to the lab, which runs without the
// race detector: under it memory and speed are not a server's.
func startAlone(t testing.TB, root string) *alone {
	t.Helper()
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	a := &alone{harbour: harbour{dir: t.TempDir()}}
	if err := authority.Files(a.dir, transporttest.Spec{}); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run=^TestServesAlone$", "-test.timeout=5m")
	command.Env = append(os.Environ(), idleVariable+"="+root, keysVariable+"="+a.dir)
	command.Stderr = os.Stderr
	in, errIn := command.StdinPipe()
	out, errOut := command.StdoutPipe()
	if err := errors.Join(errIn, errOut, command.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the server's process: %v", err)
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	addrs := strings.Fields(line)
	if err != nil || len(addrs) != 4 {
		t.Fatalf("the server's process says %q, %v", line, err)
	}
	a.tcp, a.tls, a.ws, a.wss = addrs[0], addrs[1], addrs[2], addrs[3]
	a.pid = command.Process.Pid
	return a
}

// resident is how many bytes of memory the process occupies.
func (a *alone) resident(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.pid), "status"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system does not tell the memory of a process")
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// crowd connects n clients of a generation, each of which shakes hands, takes the list, asks one ping question, has its
// answer, and then does nothing.
func (a *alone) crowd(t testing.TB, w way, g netproto.Generation, n int) {
	t.Helper()
	for range n {
		raw, err := w.dialer.DialContext(t.Context(), "tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		p := servertest.NewPeer(t, raw, g)
		p.Greet(servertest.Handshake(g))
		p.Send(&netproto.Ping{})
		if m := servertest.Next[*netproto.Ping](p); !m.Answer {
			t.Fatal("a second question")
		}
		if g.Engine() {
			servertest.Next[*netproto.TimeSync](p)
		}
	}
}

// TestIdleConnectionsAreCheap opens many connections of each kind to a server in a process of its own, engine generations
// with compression, and divides what the process has grown by.
func TestIdleConnectionsAreCheap(t *testing.T) {
	testlevel.Lab(t)
	const (
		clients = 400
		warm    = 50       // pools, and what a process takes once
		bound   = 40 << 10 // bytes for one connection
		dressed = 40 << 10 // bytes for what TLS and WebSocket need beside it: the buffers of their libraries
	)
	measure := func(name string, g netproto.Generation, bound int64) {
		a := startAlone(t, servertest.WriteFolder(t, servertest.Files()))
		ways := a.ways(t)
		w := ways[slices.IndexFunc(ways, func(w way) bool { return w.name == name })]
		a.crowd(t, w, g, warm)
		before := a.resident(t)
		a.crowd(t, w, g, clients)
		each := (a.resident(t) - before) / clients
		t.Logf("%v over %s: %d bytes for an idle connection", g, name, each)
		if each > bound {
			t.Errorf("%v over %s: %d bytes for an idle connection, at most %d are allowed", g, name, each, bound)
		}
	}
	for _, g := range []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b} {
		measure("tcp", g, bound)
	}
	for _, name := range []string{"tls", "ws", "wss"} {
		measure(name, netproto.C1, bound+dressed)
	}
}
