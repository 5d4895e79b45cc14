package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collet/platform/testwait"
)

// raiseFloors raises floors at a node, one after the other, until stop is called, and counts those that were acknowledged.
func raiseFloors(n *node) (stop func() (acknowledged []string)) {
	end := make(chan struct{})
	var raising sync.WaitGroup
	var acknowledged []string
	raising.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			account := fmt.Sprintf("player-%d", i)
			var floor struct{ Floor int32 }
			if n.call("POST", "/api/players/"+account+"/floor", map[string]any{"floor": 7}, "", &floor) == nil {
				acknowledged = append(acknowledged, account)
			} else {
				runtimeYield() // it is killed, or moves
			}
		}
	})
	return func() []string {
		close(end)
		raising.Wait()
		return acknowledged
	}
}

// move asks a node to move its store, and waits as long as that may take.
func (n *node) move(from, to string) error {
	patient := *n
	patient.api = &http.Client{Timeout: changeLimit, Transport: n.api.Transport}
	return patient.call("POST", "/api/compat/store", map[string]any{"from": from, "to": to}, "", &struct{}{})
}

// TestMoveUnderLoad moves the store of a server into a cluster and out of it while floors are raised there, with a kill -9 in the middle of each
// move and once without. Nothing that was acknowledged is lost, at no node, and the chain verifies.
func TestMoveUnderLoad(t *testing.T) {
	t.Parallel()
	h := build(t)
	a, b, c := h.nodes["a"], h.nodes["b"], h.nodes["c"]
	settings := filepath.Join(a.dir, "server.toml")
	clustered, single := a.single(t)
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(settings, []byte(text), 0o600))
	}
	h.start(t, "a")
	a.changeNow(t, "alone")
	stop := raiseFloors(a)
	moves := func(from, to string) error {
		err := a.move(from, to)
		for again := 0; err != nil && again < 10; again++ { // on a busy machine the cluster may not answer in time
			runtimeYield()
			err = a.move(from, to)
		}
		return err
	}
	killedAt := func(line, from, to string) { // moves, and is killed when it has logged that
		t.Helper()
		before := strings.Count(a.said(), line)
		answer := make(chan error, 1)
		go func() { answer <- moves(from, to) }()
		testwait.Until(t, func() bool { return strings.Count(a.said(), line) > before }, fmt.Sprintf("node a does not say %q", line))
		a.kill()
		<-answer
	}

	b.start(t, h.program) // both wait for the founding
	c.start(t, h.program)
	write(clustered)
	killedAt("The store is being moved into the cluster", "bolt", "nats")
	h.start(t, "a") // which completes the move
	b.serves(t)
	c.serves(t)
	a.changeNow(t, "in the cluster")

	write(single)
	a.kill() // before the move was asked for: the store is still the cluster's
	h.start(t, "a")
	s, err := a.state()
	must(t, err)
	if s.ReadOnly == "" {
		t.Error("node a goes on by itself")
	}
	b.changeNow(t, "at b")
	a.kill()
	write(clustered)
	h.start(t, "a")
	a.changeNow(t, "again in the cluster")
	write(single)
	killedAt("The store leaves the cluster", "nats", "bolt")
	h.start(t, "a") // its record was there
	a.changeNow(t, "alone again")
	b.readOnly(t)

	write(clustered)
	must(t, moves("bolt", "nats"))
	a.changeNow(t, "back in the cluster")
	acknowledged := stop()
	last := c.changeNow(t, "the end")
	history := agree(t, last, a, b, c)
	for _, comment := range []string{"alone", "in the cluster", "at b", "again in the cluster", "alone again", "back in the cluster", "the end"} {
		if !strings.Contains(strings.Join(history, "\n")+"\n", " "+comment+"\n") {
			t.Errorf("the change %q is lost", comment)
		}
	}
	t.Logf("%d floors were acknowledged", len(acknowledged))
	if len(acknowledged) == 0 {
		t.Error("no floor was acknowledged")
	}
	for _, n := range h.nodes {
		for _, account := range acknowledged {
			var floor struct{ Floor int32 }
			testwait.Until(t, func() bool {
				return n.call("GET", "/api/players/"+account+"/floor", nil, "", &floor) == nil && floor.Floor == 7
			}, fmt.Sprintf("node %s does not have the floor of %s", n.name, account))
		}
	}
}
