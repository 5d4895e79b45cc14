package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"collet/build/qa/process"
	"collet/build/testprograms"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// house is a cluster on this machine.
type house struct {
	program string
	dir     string
	members []string // NAME=HOST:PORT for members
	further []string // the same for further nodes
	nodes   map[string]*node
	wires   *wires // nil: nodes reach each other directly
}

// node is a collet-server with a folder of its own.
type node struct {
	name   string
	dir    string
	listen string // for players
	cmd    *exec.Cmd
	group  int           // of its processes
	pid    *atomic.Int64 // of its last process
	done   chan struct{} // closed when all of them have ended
	log    *bytes.Buffer
	mu     *sync.Mutex // of log
	api    *http.Client
}

// atOnce holds a token for each cluster of a test: more than two at a time would have elections wait for the processor.
var atOnce = make(chan struct{}, 2)

// build founds a cluster of three members a, b and c; nothing runs yet.
func build(t testing.TB, extra ...string) *house {
	t.Helper()
	return buildWith(t, nil, extra...)
}

// buildWith is build with a network between the nodes.
func buildWith(t testing.TB, wires *wires, extra ...string) *house {
	t.Helper()
	testlevel.Lab(t)
	atOnce <- struct{}{}
	t.Cleanup(func() { <-atOnce }) // after the nodes have ended
	h := &house{program: testprograms.Server(t), dir: t.TempDir(), nodes: map[string]*node{}, wires: wires}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		h.members = append(h.members, name+"="+testwait.FreeAddress(t))
		h.further = append(h.further, name+"="+testwait.FreeAddress(t))
	}
	for _, name := range append(names, extra...) {
		h.add(t, name)
	}
	return h
}

// add writes the settings of a node.
func (h *house) add(t testing.TB, name string) {
	t.Helper()
	n := &node{name: name, dir: filepath.Join(h.dir, name), listen: "127.0.0.1:0", pid: &atomic.Int64{}, mu: &sync.Mutex{}, log: &bytes.Buffer{}}
	for _, folder := range []string{"Resources", "PlatformBinaries"} {
		must(t, os.MkdirAll(filepath.Join(n.dir, folder), 0o755))
	}
	cluster, peers := "", h.further
	for i, m := range h.members {
		if of, address, _ := strings.Cut(m, "="); of == name {
			_, nodes, _ := strings.Cut(h.further[i], "=")
			cluster, peers = fmt.Sprintf("Listen = %q\nListenNodes = %q\n", h.wires.behind(t, name, address), h.wires.behind(t, name, nodes)), h.members
		}
	}
	list, err := json.Marshal(peers)
	must(t, err)
	settings := fmt.Sprintf("CompatibilityVersion = \"v\"\n[Compat]\nStore = \"compat.db\"\nSupported = \"5-8\"\n[Operations]\nControlSocket = \"control\"\n[Cluster]\nName = %q\nPeers = %s\n%s", name, list, cluster)
	must(t, os.WriteFile(filepath.Join(n.dir, "server.toml"), []byte(settings), 0o600))
	socket := filepath.Join(n.dir, "control")
	n.api = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	h.nodes[name] = n
	h.wires.know(n)
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("node %s, the end of its log:\n%s", name, tail(n.said(), tailLines))
		}
	})
}

// single takes the cluster out of a node's settings, and returns them with it and without.
func (n *node) single(t testing.TB) (clustered, single string) {
	t.Helper()
	name := filepath.Join(n.dir, "server.toml")
	text, err := os.ReadFile(name)
	must(t, err)
	clustered = string(text)
	single, _, _ = strings.Cut(clustered, "[Cluster]")
	must(t, os.WriteFile(name, []byte(single), 0o600))
	return clustered, single
}

// tailLines is how many lines of each node's log a failed test shows: with the engine's own notices, those of some minutes.
const tailLines = 150

// tail are the last lines of a text.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines-1):], "")
}

// start starts nodes and waits until they serve.
func (h *house) start(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		h.nodes[name].start(t, h.program)
	}
	for _, name := range names {
		h.nodes[name].serves(t)
	}
}

func (n *node) start(t testing.TB, program string, args ...string) {
	t.Helper()
	_ = os.Remove(filepath.Join(n.dir, "control")) // of a killed one
	n.cmd = exec.Command(program, append([]string{"--config", "server.toml", "--listen", n.listen, "--log-level", "debug"}, args...)...)
	n.cmd.Dir, n.cmd.Env = n.dir, append(os.Environ(), "COLLET_CLUSTER_TOKEN=0123456789abcdef", "GOMAXPROCS=1")
	process.OwnGroup(n.cmd)
	out, err := n.cmd.StderrPipe()
	must(t, err)
	n.cmd.Stdout = io.Discard
	must(t, n.cmd.Start())
	n.group = n.cmd.Process.Pid
	n.pid.Store(int64(n.group))
	n.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n.mu.Lock()
			fmt.Fprintln(n.log, lines.Text())
			n.mu.Unlock()
		}
		_ = cmd.Wait() // killed ones end with an error
	}(n.cmd, n.done)
}

// said is what the node has logged.
func (n *node) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// serves waits until the node answers.
func (n *node) serves(t testing.TB) {
	t.Helper()
	testwait.Until(t, func() bool {
		select {
		case <-n.done:
			t.Fatalf("node %s ended:\n%s", n.name, n.said())
		default:
		}
		_, err := n.state()
		return err == nil
	}, "node "+n.name+" does not serve")
}

// kill ends the node as kill -9 does, with a program that it has handed over to, or was about to.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	select {
	case <-n.done:
	default:
		_ = syscall.Kill(-n.group, syscall.SIGKILL)
	}
	<-n.done
	n.cmd = nil
}

func (n *node) signal(t testing.TB, s os.Signal) {
	t.Helper()
	must(t, n.cmd.Process.Signal(s))
}

// stop ends the node in an orderly way.
func (n *node) stop(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGTERM)
	select {
	case <-n.done:
	case <-time.After(changeLimit):
		t.Fatalf("node %s does not end", n.name) // it is killed then
	}
	n.cmd = nil
}

// state is what GET /api/compat says.
type state struct {
	Settings struct {
		Revision  uint64 `json:"revision"`
		ActiveMin int32  `json:"active_min"`
	} `json:"settings"`
	ReadOnly string `json:"read_only"`
}

func (n *node) state() (s state, err error) {
	return s, n.call("GET", "/api/compat", nil, "", &s)
}

// apiError is the answer to a request that was refused.
type apiError struct {
	Status      int
	Code, Error string
}

type refused struct{ apiError }

func (e *refused) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.apiError.Error) }

func (n *node) call(method, path string, body any, match string, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, "http://local"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	got, err := n.api.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode >= 300 {
		var fault apiError
		_ = json.NewDecoder(got.Body).Decode(&fault) // the status says enough
		fault.Status = got.StatusCode
		return &refused{fault}
	}
	return json.NewDecoder(got.Body).Decode(answer)
}

// change changes the settings, with a text that can be found again.
func (n *node) change(revision uint64, comment string) (uint64, error) {
	var out state
	body := map[string]any{"settings": map[string]any{"messages": map[string]string{"P-MAINT": comment}}, "comment": comment, "confirm": true}
	err := n.call("PUT", "/api/compat", body, fmt.Sprintf(`"%d"`, revision), &out)
	return out.Settings.Revision, err
}

// changeLimit is far more than the engine needs to agree on a leader, which is up to nine seconds on an idle machine.
const changeLimit = 90 * time.Second

// changeNow reads the revision and makes a change, until a deadline, as a person would who is told to read again.
func (n *node) changeNow(t testing.TB, comment string) uint64 {
	t.Helper()
	var fault error
	for end := time.Now().Add(changeLimit); ; {
		s, err := n.state()
		if err == nil {
			var revision uint64
			if revision, err = n.change(s.Settings.Revision, comment); err == nil {
				return revision
			}
		}
		fault = errors.Join(err)
		if time.Now().After(end) {
			t.Fatalf("node %s: no change within %v: %v", n.name, changeLimit, fault)
		}
		runtimeYield()
	}
}

// runtimeYield lets a twentieth of a second pass between two requests.
func runtimeYield() { <-time.After(50 * time.Millisecond) }

// reaches waits until a node is at a revision.
func (n *node) reaches(t testing.TB, revision uint64) {
	t.Helper()
	testwait.Until(t, func() bool {
		s, err := n.state()
		return err == nil && s.Settings.Revision >= revision
	}, fmt.Sprintf("node %s does not come to revision %d", n.name, revision))
}

// history verifies the chain of a node, and returns the comments of its records, the oldest first.
func (n *node) history(t testing.TB) (comments []string) {
	t.Helper()
	var verified struct {
		Good bool
		Why  string
	}
	must(t, n.call("GET", "/api/compat/audit/verify", nil, "", &verified))
	if !verified.Good {
		t.Errorf("node %s: %s", n.name, verified.Why)
	}
	for before := uint64(0); ; {
		var page struct {
			Records []struct {
				Comment string
				Seq     uint64
				Sum     string `json:"sha256"`
			}
			Before uint64
		}
		must(t, n.call("GET", fmt.Sprintf("/api/compat/audit?limit=1000&before=%d", before), nil, "", &page))
		for _, r := range page.Records {
			comments = append([]string{r.Sum[:16] + " " + r.Comment}, comments...)
		}
		if before = page.Before; before == 0 {
			return comments
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
