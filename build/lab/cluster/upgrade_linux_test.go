package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/build/testprograms"
	"collet/netproto"
	"collet/netproto/session"
	"collet/platform/testwait"
)

// earlier is the last commit whose server can't hand over.
const earlier = "1cb492eab299e71a0f9a5a9d55fc8b4a85642e00"

// newer is the version of the program that today's one hands over to.
const newer = "99.1.0"

// TestRollingUpgrade upgrades three members, one after the other, while players connect and settings change: from the version before, which
// is stopped while the other nodes serve, and from today's one, which hands over. No connection is turned away, no change is lost, and all nodes have
// one history.
func TestRollingUpgrade(t *testing.T) {
	h := build(t)
	old := testprograms.Earlier(t, earlier, map[string]string{"collet-server": "./netproto/cmd/collet-server"})
	today, next := h.program, buildNewer(t)
	h.program = filepath.Join(t.TempDir(), "collet-server")
	install(t, filepath.Join(old, "collet-server"), h.program)
	metrics := map[string]string{}
	nodes := []*node{h.nodes["a"], h.nodes["b"], h.nodes["c"]}
	for _, n := range nodes {
		n.listen, metrics[n.name] = testwait.FreeAddress(t), testwait.FreeAddress(t)
		n.edit(t, "[Operations]\n", fmt.Sprintf("[Operations]\nMetricsAddress = %q\n", metrics[n.name]))
	}
	h.start(t, "a", "b", "c")
	load := startLoad(t, nodes)

	install(t, today, h.program)
	for _, n := range nodes {
		n.stop(t)
		n.start(t, h.program)
		n.serves(t)
		n.writable(t)
		load.goesOn(t)
	}
	load.strict.Store(true)
	install(t, next, h.program)
	for _, n := range nodes { // the newer program lacks the lowest logic version, so the first one changes the settings
		n.edit(t, `Supported = "5-8"`, `Supported = "6-8"`)
		n.handOver(t, h.program)
		n.writable(t)
		load.goesOn(t)
		if got := n.metrics(t, metrics[n.name]); !strings.Contains(got, `version="`+newer+`"`) {
			t.Errorf("node %s is not version %s:\n%s", n.name, newer, got)
		}
	}
	confirmed := load.end(t)
	history := agree(t, nodes[1].changeNow(t, "the end"), nodes...)
	if n := strings.Count(strings.Join(history, "\n"), "B3: "); n != 1 {
		t.Errorf("%d nodes raised the lower end of the range", n)
	}
	for _, comment := range confirmed {
		if !slices.ContainsFunc(history, func(r string) bool { return strings.HasSuffix(r, " "+comment) }) {
			t.Errorf("%q was confirmed, and is lost", comment)
		}
	}
}

// edit replaces a part of a node's settings.
func (n *node) edit(t testing.TB, old, new string) {
	t.Helper()
	file := filepath.Join(n.dir, "server.toml")
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
}

// buildNewer builds today's server with another version.
func buildNewer(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	must(t, err)
	dir, name := t.TempDir(), filepath.Join(root, "FyneApp.toml")
	text, err := os.ReadFile(name)
	must(t, err)
	changed, overlay, program := filepath.Join(dir, "FyneApp.toml"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "collet-server")
	must(t, os.WriteFile(changed, regexp.MustCompile(`(?m)^(\s*Version\s*=\s*).*$`).ReplaceAll(text, []byte(`${1}"`+newer+`"`)), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{name: changed}})
	must(t, err)
	must(t, os.WriteFile(overlay, list, 0o600))
	must(t, testprograms.Build(root, program, "./netproto/cmd/collet-server", "-overlay", overlay))
	return program
}

// install puts a copy of a program in the place of another one, by renaming.
func install(t testing.TB, from, to string) {
	t.Helper()
	bytes, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to+".new", bytes, 0o700))
	must(t, os.Rename(to+".new", to))
}

// handOver upgrades a node, and waits until the old process has ended.
func (n *node) handOver(t testing.TB, program string) {
	t.Helper()
	began := time.Now()
	known := len(n.said())
	for try := 1; ; try++ {
		ask := exec.Command(program, "upgrade", "--control", "control")
		ask.Dir = n.dir
		said, err := ask.CombinedOutput()
		if err == nil {
			break
		}
		if try == 3 || !strings.Contains(string(said), "goes on") { // on a busy machine an election may take longer than a new program waits
			t.Fatalf("node %s: %v\n%s", n.name, err, said)
		}
	}
	var found []string
	testwait.Until(t, func() bool { // the answer may be here before the line
		found = regexp.MustCompile(`Handed over.* process=(\d+)`).FindStringSubmatch(n.said()[known:])
		return found != nil
	}, "node "+n.name+" does not say that it has handed over")
	pid, err := strconv.Atoi(found[1])
	must(t, err)
	before := n.cmd.Process
	n.cmd.Process, err = os.FindProcess(pid)
	must(t, err)
	n.pid.Store(int64(pid))
	if end, err := before.Wait(); err != nil || !end.Success() {
		t.Errorf("the old process of node %s: %v, %v", n.name, end, err)
	}
	t.Logf("node %s was upgraded in %.1f s", n.name, time.Since(began).Seconds())
}

// writable waits until a node takes changes.
func (n *node) writable(t testing.TB) {
	t.Helper()
	testwait.Until(t, func() bool {
		s, err := n.state()
		return err == nil && s.ReadOnly == ""
	}, "node "+n.name+" takes no changes")
}

func (n *node) metrics(t testing.TB, address string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	return string(text)
}

// load are players who connect, and an operator who changes settings, until end.
type load struct {
	strict  atomic.Bool // each player is received by the node that they ask first
	stop    context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	came      map[string]int // to each node first
	confirmed []string       // comments of changes
	longest   time.Duration  // wait of a player during hand-overs
	turned    error          // of the first one who was turned away
}

// startLoad lets players come to each node first, one after the other.
func startLoad(t testing.TB, nodes []*node) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{stop: stop, came: map[string]int{}}
	t.Cleanup(func() { stop(); l.running.Wait() })
	for i := range nodes {
		order := append(slices.Clone(nodes[i:]), nodes[:i]...)
		l.running.Go(func() {
			for ctx.Err() == nil {
				l.play(ctx, order)
				loadPause()
			}
		})
	}
	l.running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			l.change(nodes[i%len(nodes)], fmt.Sprintf("change %d.", i))
			loadPause()
		}
	})
	return l
}

// loadPause leaves the processor to the servers between two requests.
func loadPause() { <-time.After(10 * time.Millisecond) }

// play is a player, who asks the other nodes if one does not answer.
func (l *load) play(ctx context.Context, order []*node) {
	began, strict := time.Now(), l.strict.Load()
	var faults []error
	for tries := 0; tries < len(order); tries++ {
		err := greet(ctx, order[tries].listen)
		if told := new(session.RefusedError); errors.As(err, &told) && told.Reason == netproto.RefuseGoingDown {
			err = greet(ctx, order[tries].listen) // who has not said hello when a node hands over is told to come again
		}
		if err == nil {
			faults = nil
			break
		}
		faults = append(faults, fmt.Errorf("node %s: %w", order[tries].name, err))
		if strict {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case faults == nil:
		l.came[order[0].name]++
		if strict {
			l.longest = max(l.longest, time.Since(began))
		}
	case l.turned == nil:
		l.turned = errors.Join(faults...)
	}
}

// greet connects to a node, and is judged.
func greet(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client, err := session.Dial(ctx, session.Options{Addr: address, Generation: netproto.C1, Compatibility: "v", Target: "Linux-x64"})
	if err != nil {
		return err
	}
	return client.Close()
}

// change makes a change at a node, if it takes any.
func (l *load) change(n *node, comment string) {
	s, err := n.state()
	if err == nil {
		_, err = n.change(s.Settings.Revision, comment)
	}
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed = append(l.confirmed, comment)
}

// count is how much has happened: players by their first node, and changes.
func (l *load) count() (players map[string]int, changes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	players = map[string]int{}
	for name, n := range l.came {
		players[name] = n
	}
	return players, len(l.confirmed)
}

// goesOn waits until further players have come to each node first, and settings were changed.
func (l *load) goesOn(t testing.TB) {
	t.Helper()
	before, changes := l.count()
	testwait.Until(t, func() bool {
		now, changed := l.count()
		for _, name := range []string{"a", "b", "c"} {
			if now[name] < before[name]+2 {
				return false
			}
		}
		return changed > changes
	}, "players or changes come no more")
}

// end ends the load, and returns the confirmed changes.
func (l *load) end(t testing.TB) []string {
	t.Helper()
	l.stop()
	l.running.Wait()
	if l.turned != nil {
		t.Errorf("a player was turned away: %v", l.turned)
	}
	t.Logf("%v players, of whom one waited for %.1f s while nodes handed over, and %d changes", l.came, l.longest.Seconds(), len(l.confirmed))
	return l.confirmed
}
