package main

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/netproto"
	"collet/netproto/releasetest"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// patience is how long a script waits for something that comes at once on an idle machine.
const patience = 2 * time.Minute

// quick keeps the race detector from sleeping for a second whenever a program ends.
const quick = "atexit_sleep_ms=10"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"collet-server": main})
}

// TestScripts runs testdata/script, one topic a file. Beside testscript's own commands there are:
//
//	start ARGS…              run collet-server, or PROGRAM, in the background until it listens; sets ADDR
//	logged PATTERN           wait until a line of its log matches
//	signal INT|TERM|HUP|USR2 send it a signal
//	replaced                 wait until it has handed over to a new process and ended; that one is the server from now on, and SUCCESSOR its id
//	crowd COMPAT TARGET      let clients come to ADDR, one after the other
//	crowded                  wait until one more has come, and end them; each must have been judged, or told to come again
//	stopped                  wait for its end, which must be a success
//	failed PATTERN           wait for its end, which must be a failure that matches
//	fetch GEN COMPAT TARGET FILE WANT   get a file as a client does and compare it with the script's file WANT
//	verdict GEN COMPAT TARGET WANT      compare the server's verdict
//	get PATH PATTERN         ask the server's monitor, with TOKEN; the answer must match
//	beacons QUERY…           send beacons, which the server must take
//	token                    keep the first token that the server has logged in TOKEN
//	activate ARGS…           start with inherited sockets of the names in NAMES, the same each time; sets ADDR to that of players
//	certify                  write a certificate to cert.pem, its key to key.pem, and who vouches for it to ca.pem
//	through SCHEME NAME      fetch by tcp, tls, ws or wss from now on, at the inherited socket of that name
//	knock COMPAT TARGET      greet the server without waiting for its answer
//	answered                 wait for the answer to the last knock
//	notified STATE           wait until the server has told the service manager so
//	metadata COMPAT TARGET WANT         compare the metadata version that a G2b client is told
//	bare FILE TEXT           write a file without a newline at its end
//	publish FOLDER NUMBER COMPAT TREE [plain|PERCENT]   publish TREE/<target>/… in a release folder, which is made if need be
//	expired FOLDER           sign its timestamp as it was a month ago
//	object COMPAT NAME FILE  get a file of the release folder by its name and compare it with FILE
//	occupy                   listen on a port until the script ends; sets TAKEN
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts send signals")
	}
	testlevel.Slow(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "logged": logged, "signal": send, "replaced": replaced, "crowd": crowd, "crowded": crowded, "stopped": stopped, "failed": failed,
			"publish": publish, "expired": expired, "object": object,
			"fetch": fetch, "verdict": verdict, "metadata": metadata, "bare": bare, "occupy": occupy,
			"get": get, "beacons": beacons, "token": token, "activate": activate, "certify": certify, "through": through, "notified": notified, "knock": knock, "answered": answered,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", quick)
			e.Values[key{}], e.Values[folders{}] = &process{}, map[string]*releasetest.Folder{}
			folder, err := os.MkdirTemp("", "collet") // the folders of tests have names that are too long for sockets
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(folder) })
			e.Setenv("SOCK", filepath.Join(folder, "control"))
			e.Setenv("NOTIFY", filepath.Join(folder, "notify"))
			return nil
		},
	})
}

// key finds a script's server in its environment.
type key struct{}

// process is a server in the background, and what it has logged so far.
type process struct {
	cmd       *exec.Cmd
	told      *net.UnixConn
	inherited map[string]*net.TCPListener // by name
	waiting   *netproto.Conn              // of a client that knocked
	successor *os.Process                 // has taken over from cmd
	crowd     []*visitors
	mu        sync.Mutex
	log       bytes.Buffer
	grew      chan struct{} // closed when the log grows
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.grew)
	p.grew = make(chan struct{})
	return p.log.Write(b)
}

func (p *process) text() string {
	text, _ := p.look()
	return text
}

// look gives the log, and what is closed when it grows.
func (p *process) look() (string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String(), p.grew
}

// find waits until the log matches and returns the groups of the first match.
func (p *process) find(ts *testscript.TestScript, pattern string) []string {
	expression := regexp.MustCompile(`(?m)` + pattern)
	late := time.After(patience)
	for {
		text, grew := p.look()
		if found := expression.FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-grew:
		case <-late:
			ts.Fatalf("nothing in the log matches %q:\n%s", pattern, text)
		}
	}
}

func background(ts *testscript.TestScript) *process { return ts.Value(key{}).(*process) }

func start(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	*p = process{cmd: exec.Command(cmp.Or(ts.Getenv("PROGRAM"), "collet-server"), args...), grew: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Env = ts.MkAbs("."), p, append(os.Environ(), "GORACE="+quick)
	ts.Check(p.cmd.Start())
	ts.Defer(func() { p.cmd.Process.Kill() })
	ts.Setenv("ADDR", p.find(ts, `(?:Listening.* address=|"address":")([^" \n]+)`)[1])
}

func logged(ts *testscript.TestScript, neg bool, args []string) { background(ts).find(ts, args[0]) }

func send(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	for _, s := range upgradeSignals() {
		signals["USR2"] = s
	}
	p := background(ts)
	ts.Check(cmp.Or(p.successor, p.cmd.Process).Signal(signals[args[0]]))
}

func replaced(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	ts.Setenv("SUCCESSOR", p.find(ts, `Handed over.* process=(\d+)`)[1])
	pid, err := strconv.Atoi(ts.Getenv("SUCCESSOR"))
	ts.Check(err)
	p.successor, err = os.FindProcess(pid)
	ts.Check(err)
	successor := p.successor
	ts.Defer(func() { successor.Kill() })
	if end, err := p.cmd.Process.Wait(); err != nil || !end.Success() {
		ts.Fatalf("the old process: %v, %v:\n%s", end, err, p.text())
	}
}

func stopped(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	if err := p.cmd.Wait(); err != nil && p.successor == nil { // a successor is no child: the end of its log is its end
		ts.Fatalf("%v:\n%s", err, p.text())
	}
	if p.successor != nil && !regexp.MustCompile(`(?s)Handed over.* Stopped.* Stopped`).MatchString(p.text()) {
		ts.Fatalf("the new process has not stopped:\n%s", p.text())
	}
}

func failed(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	if err := p.cmd.Wait(); err == nil || !regexp.MustCompile(args[0]).MatchString(p.text()) {
		ts.Fatalf("%v, want a failure that matches %q:\n%s", err, args[0], p.text())
	}
}

// connect opens a session as a client of a generation.
func connect(ts *testscript.TestScript, generation, compatibility, target string) (*session.Client, context.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ts.Defer(cancel)
	g, err := netproto.ParseGeneration(generation)
	ts.Check(err)
	dialer, addr := dialerTo(ts, ts.Getenv("ADDR"))
	client, err := session.Dial(ctx, session.Options{
		Addr: addr, Generation: g, Compatibility: compatibility, Target: target, Dial: dialer.DialContext,
	})
	ts.Check(err)
	return client, ctx
}

func fetch(ts *testscript.TestScript, neg bool, args []string) {
	client, ctx := connect(ts, args[0], args[1], args[2])
	defer client.Close()
	offers, err := client.List(ctx)
	ts.Check(err)
	at := slices.IndexFunc(offers, func(o session.Offer) bool { return o.Path == args[3] })
	if (at < 0) != neg {
		ts.Fatalf("offered: %v", offers)
	}
	if neg {
		return
	}
	var content strings.Builder
	ask := []session.FetchRange{{Index: offers[at].Index, Size: offers[at].Size}}
	ts.Check(client.Fetch(ctx, ask, func(_ int, data []byte) error {
		content.Write(data)
		return nil
	}))
	if want := ts.ReadFile(args[4]); content.String() != want {
		ts.Fatalf("got %q, want %q", content.String(), want)
	}
}

func verdict(ts *testscript.TestScript, neg bool, args []string) {
	client, _ := connect(ts, args[0], args[1], args[2])
	defer client.Close()
	if got := client.Judgement().Verdict.String(); got != args[3] {
		ts.Fatalf("got %s, want %s", got, args[3])
	}
}

func metadata(ts *testscript.TestScript, neg bool, args []string) {
	client, _ := connect(ts, "G2b", args[0], args[1])
	defer client.Close()
	if got := client.Metadata(); got != args[2] {
		ts.Fatalf("got %s, want %s", got, args[2])
	}
}

func occupy(ts *testscript.TestScript, neg bool, args []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	ts.Setenv("TAKEN", listener.Addr().String())
}

func bare(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, []byte(args[1]), 0o644))
}
