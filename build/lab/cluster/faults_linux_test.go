package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/platform/testwait"
)

// readOnly waits until a node says that nothing can be changed there, and checks that it refuses a change and still judges players.
func (n *node) readOnly(t testing.TB) {
	t.Helper()
	var s state
	testwait.Until(t, func() (is bool) {
		var err error
		s, err = n.state()
		return err == nil && s.ReadOnly != ""
	}, "node "+n.name+" does not say that it is read-only")
	var fault *refused
	if _, err := n.change(s.Settings.Revision, "lost at "+n.name); !errors.As(err, &fault) || fault.Status != http.StatusServiceUnavailable || fault.Code != "read-only" || !strings.Contains(fault.apiError.Error, "since 20") {
		t.Errorf("a change at node %s, which is cut off: %v", n.name, err)
	}
	var verdict struct{ Verdict struct{ Verdict string } }
	must(t, n.call("POST", "/api/compat/evaluate", map[string]any{"hello": map[string]any{"target": "Linux-x64", "compatibility": "v", "logic": 7}}, "", &verdict))
	if verdict.Verdict.Verdict != "ACCEPT" {
		t.Errorf("node %s, which is cut off, tells a player %+v", n.name, verdict)
	}
}

// agree waits until all nodes are at a revision, and checks that they have one history, with whole chains. It is node a's.
func agree(t testing.TB, revision uint64, nodes ...*node) []string {
	t.Helper()
	for _, n := range nodes {
		n.reaches(t, revision)
	}
	want := nodes[0].history(t)
	for _, n := range nodes[1:] {
		if got := n.history(t); !slices.Equal(got, want) {
			t.Errorf("node %s has %q, node %s %q", n.name, got, nodes[0].name, want)
		}
	}
	return want
}

// TestCut cuts the network between three members and a further node in several ways. A side without a majority refuses changes, says since
// when, and judges players by what it knows; the other side goes on. When the network is whole again all have one history.
func TestCut(t *testing.T) {
	t.Parallel()
	w := newWires(t)
	h := buildWith(t, w, "d")
	h.start(t, "a", "b", "c", "d")
	all := []*node{h.nodes["a"], h.nodes["b"], h.nodes["c"], h.nodes["d"]}
	before := h.nodes["a"].changeNow(t, "before")
	agree(t, before, all...)

	for _, cut := range []struct{ minority, majority string }{ // each member, and so the leader, is on the smaller side once
		{"a", "b c d"}, {"b", "c a d"}, {"c d", "a b"},
	} {
		w.split(cut.minority, cut.majority)
		began := time.Now()
		first, _, _ := strings.Cut(cut.majority, " ")
		last := h.nodes[first].changeNow(t, "without "+cut.minority)
		t.Logf("without %s: a change after %.1f s", cut.minority, time.Since(began).Seconds())
		for _, name := range strings.Fields(cut.majority) {
			h.nodes[name].reaches(t, last)
		}
		for _, name := range strings.Fields(cut.minority) {
			h.nodes[name].readOnly(t)
			if s, err := h.nodes[name].state(); err != nil || s.Settings.Revision >= last {
				t.Errorf("node %s, which is cut off, is at %d of %d, %v", name, s.Settings.Revision, last, err)
			}
		}
		w.heal()
		began = time.Now()
		agree(t, last, all...)
		t.Logf("one history %.1f s after the heal", time.Since(began).Seconds())
		agree(t, h.nodes[strings.Fields(cut.minority)[0]].changeNow(t, "whole again, at "+cut.minority), all...)
	}

	w.split("a", "b", "c", "d")
	for _, n := range all {
		n.readOnly(t)
	}
	w.heal()
	history := agree(t, h.nodes["b"].changeNow(t, "the end"), all...)
	for _, record := range history {
		if strings.Contains(record, "lost at") {
			t.Errorf("a change that was refused is in the history: %s", record)
		}
	}
}

// TestKills makes changes while one member after the other is ended by kill -9, also in the middle of a change: what was confirmed is not
// lost, nothing is out of order, and all nodes have one history.
func TestKills(t *testing.T) {
	t.Parallel()
	changeUnderKills(t, 100)
}

// changeUnderKills makes that many changes, with a kill for every ten.
func changeUnderKills(t testing.TB, changes int) {
	h := build(t, "d")
	h.start(t, "a", "b", "c", "d")
	a, b, c, d := h.nodes["a"], h.nodes["b"], h.nodes["c"], h.nodes["d"]
	members := []*node{a, b, c}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	confirmed := map[string]bool{} // comments
	var slowest time.Duration
	var victim *node
	last := uint64(0)
	for i := range changes {
		switch i % 10 {
		case 2: // one is killed while it makes a change
			victim = members[random.IntN(len(members))]
			comment := fmt.Sprintf("at the killed %d", i)
			s, err := victim.state()
			must(t, err)
			answer := make(chan error)
			go func() {
				_, err := victim.change(s.Settings.Revision, comment)
				answer <- err
			}()
			late := time.NewTimer(time.Duration(random.IntN(20)) * time.Millisecond)
			<-late.C
			victim.kill()
			confirmed[comment] = <-answer == nil
		case 7: // and comes back while others make changes
			victim.start(t, h.program)
		}
		at := []*node{a, b, c, d}[random.IntN(4)]
		if i%10 >= 2 && at == victim {
			at = d
		}
		began := time.Now()
		comment := fmt.Sprintf("change %d", i)
		last = at.changeNow(t, comment)
		confirmed[comment] = true
		slowest = max(slowest, time.Since(began))
		if i%10 == 9 {
			victim.serves(t)
			victim.reaches(t, last)
		}
	}
	t.Logf("%d changes, the slowest took %.1f s", changes, slowest.Seconds())
	history := agree(t, last, a, b, c, d)
	at := 0
	for _, record := range history {
		_, comment, _ := strings.Cut(record, " ")
		var n int
		if got, _ := fmt.Sscanf(comment, "change %d", &n); got == 1 {
			if n != at && n != at-1 { // one that was not confirmed was made again
				t.Errorf("change %d comes after change %d", n, at-1)
			}
			at = n + 1
		}
		delete(confirmed, comment)
	}
	for comment, is := range confirmed {
		if is {
			t.Errorf("%q was confirmed, and is lost", comment)
		}
	}
}
