package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"collet/build/testprograms"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// TestThreeNodes goes through what can happen to three members and a further node: changes at each of them, a killed member, a
// stopped one, no majority, and all of them again.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	h := build(t, "d")
	h.start(t, "a", "b", "c", "d")
	a, b, c, d := h.nodes["a"], h.nodes["b"], h.nodes["c"], h.nodes["d"]
	all := []*node{a, b, c, d}

	for i, n := range all { // a change at one is at all of them
		revision := n.changeNow(t, fmt.Sprint("change ", i))
		for _, other := range all {
			other.reaches(t, revision)
		}
	}
	s, err := b.state()
	must(t, err)
	var fault *refused
	if _, err := b.change(s.Settings.Revision-1, "late"); !errors.As(err, &fault) || fault.Status != http.StatusConflict || fault.Code != "stale" {
		t.Errorf("a change of an old revision: %v", err)
	}

	c.kill() // one member: changes go on
	for i, n := range []*node{a, b, d} {
		n.changeNow(t, fmt.Sprint("without c ", i))
	}
	h.start(t, "c")
	c.reaches(t, s.Settings.Revision+3)

	a.signal(t, syscall.SIGSTOP) // one member that is there and silent
	b.changeNow(t, "without a")
	last := d.changeNow(t, "without a, at d")
	a.signal(t, syscall.SIGCONT)
	a.reaches(t, last)

	b.kill() // no majority: what is known counts, and nothing changes
	c.kill()
	testwait.Until(t, func() bool { s, err := a.state(); return err == nil && s.ReadOnly != "" }, "a does not say that it is read-only")
	const wait = 10 * time.Second // of a change, for a majority
	began := time.Now()
	if _, err := a.change(last, "lost"); !errors.As(err, &fault) || fault.Status != http.StatusServiceUnavailable || fault.Code != "read-only" || !strings.Contains(fault.apiError.Error, "since 20") {
		t.Errorf("a change without a majority: %v", err)
	}
	if took := time.Since(began); took >= wait {
		t.Errorf("a refusal took %v, as if it had waited for a majority", took)
	}
	var verdict struct{ Verdict struct{ Verdict string } }
	must(t, a.call("POST", "/api/compat/evaluate", map[string]any{"hello": map[string]any{"target": "Linux-x64", "compatibility": "v", "logic": 7}}, "", &verdict))
	if verdict.Verdict.Verdict != "ACCEPT" {
		t.Errorf("without a majority a client is told %+v", verdict)
	}
	a.stop(t)
	a.start(t, h.program) // also after a start by itself
	a.serves(t)
	if s, err := a.state(); err != nil || s.Settings.Revision != last || s.ReadOnly == "" {
		t.Errorf("after a start without a majority: %+v, %v", s, err)
	}

	h.start(t, "b", "c") // and all is well again
	last = a.changeNow(t, "healed")
	want := a.history(t)
	for _, n := range all {
		n.reaches(t, last)
		if got := n.history(t); !slices.Equal(got, want) {
			t.Errorf("node %s has %q, node a %q", n.name, got, want)
		}
	}
	for _, comment := range []string{"change 0", "change 3", "without c 2", "without a", "without a, at d", "healed"} {
		if found := slices.IndexFunc(want, func(r string) bool { return strings.HasSuffix(r, " "+comment) }); found < 0 {
			t.Errorf("%q is lost", comment)
		}
	}
}

// TestFromOneNodeToThree founds a cluster with the store of a single server, loses the engine's files of all members, and goes back.
func TestFromOneNodeToThree(t *testing.T) {
	t.Parallel()
	h := build(t)
	a := h.nodes["a"]
	settings := filepath.Join(a.dir, "server.toml")
	clustered, single := a.single(t)
	h.start(t, "a")
	a.changeNow(t, "alone")
	var floor struct{ Floor int32 }
	must(t, a.call("POST", "/api/players/ann/floor", map[string]any{"floor": 7}, "", &floor))
	a.stop(t)

	must(t, os.WriteFile(settings, []byte(clustered), 0o600))
	h.start(t, "a", "b", "c")
	for _, n := range h.nodes {
		testwait.Until(t, func() bool {
			return n.call("GET", "/api/players/ann/floor", nil, "", &floor) == nil && floor.Floor == 7
		}, "the floor did not come to "+n.name)
	}
	testwait.Until(t, func() bool { // there may be no leader yet
		return h.nodes["b"].call("POST", "/api/players/ann/floor", map[string]any{"floor": 6, "lower": true, "comment": "b lowers"}, "", &floor) == nil
	}, "b does not lower the floor")
	testwait.Until(t, func() bool {
		return a.call("GET", "/api/players/ann/floor", nil, "", &floor) == nil && floor.Floor == 6
	}, "the lowered floor did not come to a")
	last := h.nodes["c"].changeNow(t, "together")
	a.reaches(t, last)
	want := a.history(t)

	for _, n := range h.nodes { // the drill: what is in the nodes' stores makes a new log
		n.stop(t)
		must(t, os.RemoveAll(filepath.Join(n.dir, "compat.db.cluster")))
	}
	h.start(t, "a", "b", "c")
	for _, n := range h.nodes {
		n.reaches(t, last)
		if got := n.history(t); !slices.Equal(got, want) {
			t.Errorf("node %s has %q, want %q", n.name, got, want)
		}
		must(t, n.call("GET", "/api/players/ann/floor", nil, "", &floor))
		if floor.Floor != 6 {
			t.Errorf("node %s has the floor %d", n.name, floor.Floor)
		}
	}
	h.nodes["b"].changeNow(t, "after the drill")

	c := h.nodes["c"] // a node with another history is not let in
	c.stop(t)
	must(t, os.WriteFile(filepath.Join(c.dir, "single.toml"), []byte(single), 0o600))
	for _, name := range []string{"compat.db", "compat.db.copy"} {
		must(t, os.Remove(filepath.Join(c.dir, name)))
	}
	c.start(t, h.program, "--config", "single.toml")
	c.serves(t)
	c.changeNow(t, "another history")
	c.stop(t)
	c.start(t, h.program)
	<-c.done
	if !strings.Contains(c.said(), "another history") || c.cmd.ProcessState.ExitCode() == 0 {
		t.Errorf("a node with another history: %s", c.said())
	}
	c.cmd = nil
	for _, name := range []string{"compat.db", "compat.db.copy"} { // with an empty store it is
		must(t, os.Remove(filepath.Join(c.dir, name)))
	}
	h.start(t, "c")
	if got, want := c.history(t), a.history(t); !slices.Equal(got, want) {
		t.Errorf("the new node has %q, want %q", got, want)
	}

	a.stop(t) // back to one server
	must(t, os.WriteFile(settings, []byte(single), 0o600))
	h.start(t, "a")
	move := map[string]any{"from": "nats", "to": "bolt"}
	var fault *refused
	if err := a.call("POST", "/api/compat/store", move, "", nil); !errors.As(err, &fault) || fault.Code != "read-only" {
		t.Errorf("a goes on by itself: %v", err)
	}
	move["confirm"] = true // the others are lost
	must(t, a.call("POST", "/api/compat/store", move, "", &struct{}{}))
	a.changeNow(t, "alone again")
}

// TestPorts counts the ports that a server opens: one for players, and none more without a cluster.
func TestPorts(t *testing.T) {
	testlevel.Lab(t)
	h := &house{program: testprograms.Server(t), dir: t.TempDir(), nodes: map[string]*node{}}
	h.add(t, "x")
	x := h.nodes["x"]
	x.single(t)
	h.start(t, "x")
	if n := listening(t, x.cmd.Process.Pid); n != 1 {
		t.Errorf("a server without a cluster listens at %d ports", n)
	}
	if _, err := os.Stat(filepath.Join(x.dir, "compat.db.cluster")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has a folder of an engine: %v", err)
	}
}

// listening counts the sockets at which a process listens for TCP.
func listening(t *testing.T, pid int) (n int) {
	t.Helper()
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		must(t, err)
		for line := range strings.Lines(string(text)) {
			const listens = "0A"
			if f := strings.Fields(line); len(f) > 9 && f[3] == listens {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	must(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil && inodes[to] {
			n++
		}
	}
	return n
}
