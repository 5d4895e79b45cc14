//go:build !nocluster

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/cluster"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// named is the configuration of a node with a name in a NATS cluster.
func named(name, at string) cluster.Config {
	c := client(at)
	c.Name = name
	return c
}

// tries asks for a move, with the settings written before.
func (s *governed) tries(to string, confirm bool, c cluster.Config) error {
	s.now.Store(&c)
	from := map[string]string{operator.KindBolt: operator.KindNATS, operator.KindNATS: operator.KindBolt}[to]
	_, err := s.MoveStore(context.Background(), admin, operator.Move{From: from, To: to, Confirm: confirm})
	return err
}

// wants checks an error.
func wants(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %q", err, text)
	}
}

// refusesStart checks that a server does not start.
func refusesStart(t testing.TB, path string, c cluster.Config, text string) {
	t.Helper()
	s, err := cluster.OpenNode(t.Context(), always(c), path, zerolog.Nop())
	if s != nil {
		t.Error("it starts", s.Close())
	}
	wants(t, err, text)
}

// logLength is the number of records in a NATS cluster.
func logLength(t testing.TB, at string) (n uint64) {
	t.Helper()
	inNATS(t, at, func(js nats.JetStreamContext) error {
		i, err := js.StreamInfo("COLLET_LOG")
		if err == nil {
			n = i.State.LastSeq
		}
		return err
	})
	return n
}

// TestStillANode: a node that is killed between the edit of its settings and the record of its move out does not go on by itself: its store is
// read, floors are kept for the cluster, and nothing is changed. It comes back with [Cluster], or goes on alone if it is told that the others are
// lost.
func TestStillANode(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at := t.TempDir(), natsServer(t, nil)
	path := filepath.Join(dir, "a.db")
	a := serving(t, path, named("a", at), zerolog.Nop())
	b := serving(t, filepath.Join(dir, "b.db"), named("b", at), zerolog.Nop())
	defer b.closed(t)
	noError(t, a.says("together"))
	b.hears(t, "together") // its next change is one of what it has read
	a.closed(t)

	a = serving(t, path, cluster.Config{}, zerolog.Nop())
	var readOnly *operator.ReadOnlyError
	if err := a.says("a fork"); !errors.As(err, &readOnly) || !strings.Contains(err.Error(), `that of node "a" of a cluster`) {
		t.Errorf("a change: %v", err)
	}
	if err := a.store.Writable(); !errors.As(err, &readOnly) {
		t.Errorf("it can be written: %v", err)
	}
	noError(t, a.store.Raise("guest", 8), b.says("by b"))
	wants(t, a.tries(operator.KindBolt, false, cluster.Config{}), "Write [Cluster] back")
	a.closed(t)

	a = serving(t, path, named("a", at), zerolog.Nop())
	a.hears(t, "by b")
	testwait.Until(t, func() bool { floor, err := b.store.Floor("guest"); return floor == 8 && err == nil }, "the floor does not come")
	a.moves(t, operator.KindBolt, cluster.Config{})
	noError(t, a.says("alone"))
	a.moves(t, operator.KindNATS, named("a", at))
	a.closed(t)

	a = serving(t, path, cluster.Config{}, zerolog.Nop()) // once more, and now all others are said to be lost
	noError(t, a.tries(operator.KindBolt, true, cluster.Config{}), a.says("by itself"))
	a.closed(t)
	a = serving(t, path, cluster.Config{}, zerolog.Nop())
	noError(t, a.says("still by itself"))
	if _, err := a.Audit.Verify(); err != nil {
		t.Error(err)
	}
	a.closed(t)
	testwait.Until(t, func() bool { return b.says("not lost") == nil }, "b can't be changed")
	refusesStart(t, path, named("a", at), "another history")
}

// TestTwoMoveOut: of two nodes that move out at the same moment one does, and the other is told of it.
func TestTwoMoveOut(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at := t.TempDir(), natsServer(t, nil)
	nodes := map[string]*governed{}
	for _, name := range []string{"a", "b"} {
		nodes[name] = serving(t, filepath.Join(dir, name), named(name, at), zerolog.Nop())
		defer nodes[name].closed(t)
	}
	for round := range 3 {
		start, errs := make(chan struct{}), map[string]error{}
		var both sync.WaitGroup
		var mu sync.Mutex
		for name, s := range nodes {
			both.Go(func() {
				<-start
				err := s.tries(operator.KindBolt, false, cluster.Config{})
				mu.Lock()
				defer mu.Unlock()
				errs[name] = err
			})
		}
		close(start)
		both.Wait()
		first, second := "a", "b"
		if errs["a"] != nil {
			first, second = "b", "a"
		}
		if errs[first] != nil {
			t.Fatal(errs)
		}
		wants(t, errs[second], fmt.Sprintf("node %q has had the store for itself", first))
		wants(t, nodes[second].tries(operator.KindNATS, false, named(second, at)), fmt.Sprintf("nothing was moved: from: node %q has had the store for itself", first))
		text := fmt.Sprint("alone ", round)
		noError(t, nodes[first].says(text))
		nodes[first].moves(t, operator.KindNATS, named(first, at))
		nodes[second].hears(t, text)
	}
}

// TestClosedLog: what a node made by itself does not follow in a log that another node has closed, unless that node is said to be lost.
func TestClosedLog(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at := t.TempDir(), natsServer(t, nil)
	path := filepath.Join(dir, "b.db")
	a := serving(t, filepath.Join(dir, "a.db"), named("a", at), zerolog.Nop())
	defer a.closed(t)
	b := serving(t, path, named("b", at), zerolog.Nop())
	noError(t, b.says("together"))
	a.hears(t, "together")
	a.moves(t, operator.KindBolt, cluster.Config{})
	noError(t, a.says("alone"))
	closed := logLength(t, at)
	testwait.Until(t, func() bool { return b.store.Writable() != nil }, "b can be written to")
	b.closed(t)

	b = serving(t, path, cluster.Config{}, zerolog.Nop())
	noError(t, b.tries(operator.KindBolt, true, cluster.Config{}), b.says("by itself"))
	b.closed(t)
	refusesStart(t, path, named("b", at), `node "a" has had the store for itself`)
	b = serving(t, path, cluster.Config{}, zerolog.Nop())
	defer b.closed(t)
	wants(t, b.tries(operator.KindNATS, false, named("b", at)), `node "a" has had the store for itself`)
	noError(t, b.says("of its own"))
	if n := logLength(t, at); n != closed {
		t.Errorf("the log has grown from %d to %d records", closed, n)
	}
	noError(t, b.tries(operator.KindNATS, true, named("b", at)), b.says("without a"))
	wants(t, a.tries(operator.KindNATS, false, named("a", at)), "another history")
	noError(t, a.says("goes on"))
}

// TestRefusedRecord: if the cluster refuses the last record of a history nothing is moved, and the server goes on.
func TestRefusedRecord(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	at := natsServer(t, func(o *server.Options) { o.MaxPayload = 8 << 10 })
	s := serving(t, filepath.Join(t.TempDir(), "compat.db"), cluster.Config{}, zerolog.Nop())
	defer s.closed(t)
	noError(t, s.says("small"))
	set := s.Settings()
	set.Messages = map[string]string{}
	for _, popup := range []string{"P-STORE", "P-NOBIN", "P-NEWER", "P-UPDATER", "P-PIN", "P-MAINT", "P-LOOP", "P-DEV"} {
		set.Messages[popup] = strings.Repeat("x", 400)
	}
	if _, err := s.Change(t.Context(), admin, operator.Change{Revision: set.Revision, Settings: set}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wants(t, s.tries(operator.KindNATS, false, named("a", at)), "raise their max_payload")
		if n := logLength(t, at); n != 2 {
			t.Errorf("the log has %d records", n)
		}
		noError(t, s.store.Writable())
	}
}

// holding passes on what a client sends to a server, and holds the first packet back that has a text until it is let go.
type holding struct {
	at   string
	held chan struct{} // closed when it is held back
	free func()        // lets it go
}

func hold(t testing.TB, to, text string) *holding {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	h := &holding{at: "nats://" + listener.Addr().String(), held: make(chan struct{}), free: sync.OnceFunc(func() { close(free) })}
	var running sync.WaitGroup
	t.Cleanup(func() { h.free(); listener.Close(); running.Wait() })
	var once sync.Once
	running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", strings.TrimPrefix(to, "nats://"))
			if err != nil {
				from.Close()
				return
			}
			running.Go(func() { io.Copy(from, onward); from.Close() })
			running.Go(func() {
				defer onward.Close()
				var seen []byte
				for buffer := make([]byte, 1<<16); ; {
					n, err := from.Read(buffer)
					if seen = append(seen, buffer[:n]...); bytes.Contains(seen, []byte(text)) {
						once.Do(func() { close(h.held); <-free })
					}
					seen = seen[max(0, len(seen)-len(text)):]
					if _, err2 := onward.Write(buffer[:n]); errors.Join(err, err2) != nil {
						return
					}
				}
			})
		}
	})
	return h
}

// TestFloorWhileLeaving changes a floor at one node in the moment in which another one leaves with the store: its record is in the history that
// leaves, and the floor is not in that node's file. Who changed it is told so.
func TestFloorWhileLeaving(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at := t.TempDir(), natsServer(t, nil)
	h := hold(t, at, "PUB collet.floors.")
	a := serving(t, filepath.Join(dir, "a.db"), named("a", at), zerolog.Nop())
	defer a.closed(t)
	b := serving(t, filepath.Join(dir, "b.db"), named("b", h.at), zerolog.Nop())
	defer b.closed(t)
	answer := make(chan error, 1)
	go func() {
		_, err := b.Floors.Set(admin, "ann", 8, "in the last moment", false)
		answer <- err
	}()
	select {
	case <-h.held: // its record is in the log
	case err := <-answer:
		t.Fatalf("nothing was held back: %v", err)
	}
	began := time.Now()
	a.moves(t, operator.KindBolt, cluster.Config{})
	slow := time.Since(began) > cluster.QuietTime/2 // then b may not have heard the cluster for too long, and says that
	h.free()
	var silent *operator.ReadOnlyError
	if err := <-answer; err == nil || !strings.Contains(err.Error(), `the store was moved out of the cluster, to node "a"`) && !(slow && errors.As(err, &silent)) {
		t.Errorf("%v", err)
	}
	if floor, err := a.store.Floor("ann"); floor != 0 || err != nil {
		t.Errorf("the floor is %d, %v: this test holds nothing back", floor, err)
	}
}

// TestExternalFounding: an empty node waits for one with a history, whichever starts first, and says what a new game needs.
func TestExternalFounding(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at, said := t.TempDir(), natsServer(t, nil), &logged{}
	empty := named("empty", at)
	empty.Found = false
	waiting := make(chan operator.Store, 1)
	go func() {
		s, err := cluster.OpenNode(t.Context(), always(empty), filepath.Join(dir, "empty.db"), zerolog.New(said))
		if err != nil {
			t.Error(err)
		}
		waiting <- s
	}()
	testwait.Until(t, func() bool { return strings.Contains(said.String(), "set Cluster.Found = true") }, "it does not say what is missing")
	old := serving(t, filepath.Join(dir, "old.db"), cluster.Config{}, zerolog.Nop())
	defer old.closed(t)
	noError(t, old.says("old"))
	c := named("old", at)
	c.Found = false
	old.moves(t, operator.KindNATS, c)
	s := <-waiting
	if s == nil {
		return
	}
	defer s.Close()
	if revision, _, err := s.(*cluster.Node).Head(); revision != 2 || err != nil {
		t.Errorf("it has revision %d, %v", revision, err)
	}
}

// TestExternalRestore restores a backup that founds the cluster in existing NATS servers anew: not while their streams are still there, which would
// undo it.
func TestExternalRestore(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at := t.TempDir(), natsServer(t, nil)
	path, backup := filepath.Join(dir, "a.db"), filepath.Join(dir, "backup.db")
	a := serving(t, path, named("a", at), zerolog.Nop())
	noError(t, a.says("good"), a.store.Raise("ann", 7))
	var whole bytes.Buffer
	noError(t, a.Backup(admin, &whole), os.WriteFile(backup, whole.Bytes(), 0o600), a.says("bad"))
	forgotten := serving(t, filepath.Join(dir, "f.db"), named("f", at), zerolog.Nop())
	forgotten.hears(t, "bad")
	forgotten.closed(t)
	a.closed(t)
	if sum, err := operator.Restore(operator.Restoring{Backup: backup, Path: path, Aside: ".before", Founder: "a"}); sum != (operator.Summary{Revision: 2, Records: 2, Floors: 1}) || err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	for range 2 { // the streams have as many records as the backup now has, and other ones
		refusesStart(t, path, named("a", at), "remove the streams COLLET_LOG and COLLET_FLOORS")
	}
	inNATS(t, at, func(js nats.JetStreamContext) error {
		return errors.Join(js.DeleteStream("COLLET_LOG"), js.DeleteStream("COLLET_FLOORS"))
	})
	a = serving(t, path, named("a", at), zerolog.Nop())
	refusesStart(t, filepath.Join(dir, "f.db"), named("f", at), "founded anew from a backup") // it would bring "bad" back
	noError(t, a.says("anew"))
	a.closed(t)
	a = serving(t, path, named("a", at), zerolog.Nop())
	defer a.closed(t)
	b := serving(t, filepath.Join(dir, "b.db"), named("b", at), zerolog.Nop())
	defer b.closed(t)
	b.hears(t, "anew")
	testwait.Until(t, func() bool { floor, err := b.store.Floor("ann"); return floor == 7 && err == nil }, "the floor of the backup does not come")
	if b.Settings().Revision != 3 {
		t.Errorf("revision %d", b.Settings().Revision)
	}
}

// TestReopen: a node that had closed its store for another program opens it where the last move had brought it, whatever its settings say.
func TestReopen(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	at := natsServer(t, nil)
	a := serving(t, filepath.Join(t.TempDir(), "a.db"), cluster.Config{}, zerolog.Nop())
	reopened := func(want string) {
		t.Helper()
		a.closed(t)
		var err error
		if a.store, err = cluster.ReopenNode(t.Context(), a.store, cluster.Patience); err != nil {
			t.Fatal(err)
		}
		d := &compat.Declared{Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Build: compat.Build{Logic: 8, ID: "b"}}
		if a.Operator, err = operator.New(a.store, d, operator.Options{After: a.Operator}, zerolog.Nop()); err != nil {
			t.Fatal(errors.Join(err, a.store.Close()))
		}
		if kind, _ := a.store.(operator.Mover).Kind(); kind != want {
			t.Errorf("the store is %s, want %s", kind, want)
		}
		if place, err := a.store.(operator.Mover).Place(); err != nil || place.Kind != want {
			t.Errorf("the history says %+v, want %s: %v", place, want, err)
		}
		noError(t, a.says("reopened as "+want))
	}
	a.moves(t, operator.KindNATS, named("a", at))
	a.now.Store(&cluster.Config{})
	reopened(operator.KindNATS)
	a.moves(t, operator.KindBolt, cluster.Config{})
	c := named("a", at)
	a.now.Store(&c)
	reopened(operator.KindBolt)
	a.closed(t)
}
