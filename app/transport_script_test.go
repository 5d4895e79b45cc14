//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
	"collet/netproto/transporttest"
)

// transportCommands are the commands about ways to connect:
//
//	certificate DIR [expired|HOST…]   an authority's ca.pem, and cert.pem and key.pem for this machine or for hosts
//	harbour DIR CERTIFICATES          like serve, in every way: sets SERVER, TLS, WS and WSS
//	renew                             tell that server to reload, and wait until it has taken new files
//	proxy [USER:PASSWORD]             a proxy whose every tunnel leads to SERVER: sets PROXY
//	asked WANT                        what the proxy was last asked for
func (s stage) transportCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"certificate": certificate, "harbour": s.harbour, "renew": renew, "proxy": proxy, "asked": asked,
	}
}

func certificate(ts *testscript.TestScript, _ bool, args []string) {
	authority, err := transporttest.NewAuthority("script authority")
	testscripts.Check(ts, err)
	spec := transporttest.Spec{Hosts: args[1:]}
	if len(args) == 1 {
		spec.Hosts = nil
	}
	if len(args) == 2 && args[1] == "expired" {
		spec = transporttest.Spec{NotAfter: time.Now().Add(-24 * time.Hour)}
	}
	testscripts.Check(ts, authority.Files(ts.MkAbs(args[0]), spec))
}

// harbour reads from the server's log where it listens.
func (s stage) harbour(ts *testscript.TestScript, _ bool, args []string) {
	pem := func(name string) string { return filepath.Join(ts.MkAbs(args[1]), name) }
	const free = "127.0.0.1:0"
	cmd := exec.Command(filepath.Join(s.Programs, "collet-server"), "--config", filepath.Join(ts.MkAbs(args[0]), "server.toml"),
		"--log-format", "json", "--listen", free, "--listen-tls", free, "--listen-ws", free, "--listen-wss", free,
		"--tls-cert", pem("cert.pem"), "--tls-key", pem("key.pem"))
	out, err := cmd.StderrPipe()
	testscripts.Check(ts, err)
	testscripts.Check(ts, cmd.Start())
	lines := bufio.NewScanner(out)
	var rest sync.WaitGroup
	ts.Defer(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		rest.Wait()
		cmd.Wait()
	})
	var line struct{ Message, Address, At string }
	for line.Address == "" {
		if line.Message, line.At = "", ""; !lines.Scan() {
			ts.Fatalf("the server ended before it listened")
		}
		testscripts.Check(ts, json.Unmarshal(lines.Bytes(), &line))
		if way, is := strings.CutPrefix(line.Message, "Listens for "); is {
			ts.Setenv(map[string]string{"TLS": "TLS", "WebSocket": "WS", "WebSocket over TLS": "WSS"}[way], line.At)
		}
	}
	ts.Setenv("SERVER", line.Address)
	d := &docked{cmd: cmd}
	harbours.Store(ts.Getenv("WORK"), d)
	rest.Go(func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Took a new certificate") {
				d.renewed.Store(true)
			}
		}
	})
}

// docked is a server of harbour.
type docked struct {
	cmd     *exec.Cmd
	renewed atomic.Bool
}

// harbours finds the server of a script by its work folder.
var harbours sync.Map

// renew tells the server to reload and waits until it shows another certificate.
func renew(ts *testscript.TestScript, _ bool, _ []string) {
	found, _ := harbours.Load(ts.Getenv("WORK"))
	d, is := found.(*docked)
	if !is {
		ts.Fatalf("renew: no harbour")
	}
	testscripts.Check(ts, d.cmd.Process.Signal(syscall.SIGHUP))
	testscripts.Wait(ts, "the server takes no new certificate", d.renewed.Load)
}

// proxies finds the proxy of a script by its work folder.
var proxies sync.Map

func proxy(ts *testscript.TestScript, _ bool, args []string) {
	options := transporttest.ProxyOptions{Target: ts.Getenv("SERVER")}
	if len(args) > 0 {
		options.User, options.Password, _ = strings.Cut(args[0], ":")
	}
	p, err := transporttest.StartProxy(options)
	testscripts.Check(ts, err)
	ts.Defer(func() { p.Close() })
	ts.Setenv("PROXY", p.Addr())
	proxies.Store(ts.Getenv("WORK"), p)
}

func asked(ts *testscript.TestScript, _ bool, args []string) {
	found, _ := proxies.Load(ts.Getenv("WORK"))
	p, is := found.(*transporttest.Proxy)
	if !is {
		ts.Fatalf("asked: no proxy")
	}
	if all := p.Asked(); len(all) == 0 || all[len(all)-1] != args[0] {
		ts.Fatalf("the proxy was asked for %v, want %s last", all, args[0])
	}
}
