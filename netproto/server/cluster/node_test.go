//go:build !nocluster

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/cluster"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// governed is a server's operator, whose settings a test changes.
type governed struct {
	*operator.Operator
	store operator.Store
	now   atomic.Pointer[cluster.Config]
}

var admin = operator.Actor{Name: "ada", Role: operator.RoleAdmin, Source: compat.SourceCLI}

// serving opens a server with a store at path, whose settings have a cluster or none.
func serving(t testing.TB, path string, c cluster.Config, log zerolog.Logger) *governed {
	t.Helper()
	s := &governed{}
	s.now.Store(&c)
	var err error
	if s.store, err = cluster.OpenNode(t.Context(), func() (cluster.Config, error) { return *s.now.Load(), nil }, path, log); err != nil {
		t.Fatal(err)
	}
	d := &compat.Declared{Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Build: compat.Build{Logic: 8, ID: "b"}}
	if s.Operator, err = operator.New(s.store, d, operator.Options{}, log); err != nil {
		t.Fatal(errors.Join(err, s.store.Close()))
	}
	return s
}

func (s *governed) closed(t testing.TB) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// says changes a text of the settings.
func (s *governed) says(text string) error {
	set := s.Settings()
	set.Messages = maps.Clone(set.Messages)
	if set.Messages == nil {
		set.Messages = map[string]string{}
	}
	set.Messages["P-MAINT"] = text
	_, err := s.Change(context.Background(), admin, operator.Change{Revision: set.Revision, Settings: set})
	return err
}

// hears waits until a text of the settings is there.
func (s *governed) hears(t testing.TB, text string) {
	t.Helper()
	testwait.Until(t, func() bool { return s.Settings().Messages["P-MAINT"] == text }, fmt.Sprintf("%q did not come", text))
}

// moves moves the store, with the settings written before.
func (s *governed) moves(t testing.TB, to string, c cluster.Config) operator.Moved {
	t.Helper()
	s.now.Store(&c)
	from := map[string]string{operator.KindBolt: operator.KindNATS, operator.KindNATS: operator.KindBolt}[to]
	moved, err := s.MoveStore(t.Context(), admin, operator.Move{From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

func noError(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestMove moves a store into a cluster while floors are raised, out of it, and back. Nothing is lost, the other node sees all of it, and
// reads only while the first one has the store for itself.
func TestMove(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, at, log := t.TempDir(), natsServer(t, nil), zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	config := func(name string) cluster.Config {
		c := client(at)
		c.Name = name
		return c
	}
	a := serving(t, filepath.Join(dir, "a.db"), cluster.Config{}, log)
	defer a.closed(t)
	noError(t, a.says("alone"))
	if _, err := a.Tokens.Create(admin, "ops", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}

	raised := 0
	raise, stop := context.WithCancel(t.Context())
	var raising sync.WaitGroup
	defer raising.Wait()
	defer stop()
	raising.Go(func() {
		for ; raise.Err() == nil; raised++ {
			if err := a.store.Raise(fmt.Sprint("player-", raised), 7); err != nil {
				t.Error(err)
				return
			}
		}
	})
	moved := a.moves(t, operator.KindNATS, config("a"))
	if moved.Node != "a" || moved.Revision != 2 || moved.Records != 4 {
		t.Errorf("moved %+v", moved)
	}
	b := serving(t, filepath.Join(dir, "b.db"), config("b"), log)
	defer b.closed(t)
	b.hears(t, "alone")
	if !b.Tokens.Exist() {
		t.Error("the tokens did not come")
	}
	noError(t, b.says("by b"))
	a.hears(t, "by b")
	moved = a.moves(t, operator.KindBolt, cluster.Config{})
	if moved.Revision != 3 || moved.Records != 6 {
		t.Errorf("moved back %+v", moved)
	}
	noError(t, a.says("alone again"))
	testwait.Until(t, func() bool { return b.store.Writable() != nil }, "b can be written to")
	var readOnly *operator.ReadOnlyError
	if err := b.says("lost"); !errors.As(err, &readOnly) || !strings.Contains(err.Error(), `to node "a" by itself`) {
		t.Errorf("a change in the cluster that was left: %v", err)
	}
	noError(t, b.store.Raise("guest", 8))
	if _, err := b.MoveStore(t.Context(), admin, operator.Move{From: operator.KindBolt, To: operator.KindNATS}); err == nil || !strings.Contains(err.Error(), `node "a" has had the store`) {
		t.Errorf("b takes the store of a: %v", err)
	}
	single, c := cluster.Config{}, config("b")
	b.now.Store(&single)
	if _, err := b.MoveStore(t.Context(), admin, operator.Move{From: operator.KindNATS, To: operator.KindBolt}); err == nil || !strings.Contains(err.Error(), `node "a" has had the store`) {
		t.Errorf("b, too, leaves the cluster that a has left: %v", err)
	}
	b.now.Store(&c)

	a.moves(t, operator.KindNATS, config("a"))
	b.hears(t, "alone again")
	testwait.Until(t, func() bool { return b.store.Writable() == nil }, "b can't be written to")
	noError(t, b.says("together"))
	a.hears(t, "together")
	stop()
	raising.Wait()
	for _, s := range []*governed{a, b} {
		testwait.Until(t, func() bool {
			floors := s.store.Floors()
			return floors[7] == raised && floors[8] == 1
		}, fmt.Sprintf("of %d floors and one of a guest there are %v", raised, s.store.Floors()))
		if _, err := s.Audit.Verify(); err != nil {
			t.Error(err)
		}
	}

	a.moves(t, operator.KindBolt, cluster.Config{}) // and a is lost with it: b takes over
	testwait.Until(t, func() bool { return b.store.Writable() != nil }, "b can be written to")
	if _, err := b.MoveStore(t.Context(), admin, operator.Move{From: operator.KindBolt, To: operator.KindNATS, Confirm: true}); err != nil {
		t.Error(err)
	}
	noError(t, b.says("without a"), a.says("of its own"))
	c = config("a")
	a.now.Store(&c)
	if _, err := a.MoveStore(t.Context(), admin, operator.Move{From: operator.KindBolt, To: operator.KindNATS}); !errors.Is(err, cluster.ErrForked) {
		t.Errorf("a comes back with another history: %v", err)
	}
	noError(t, a.says("goes on"))
}

// TestMoveRefused: a move that can't be made changes nothing, and says why.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir := t.TempDir()
	s := serving(t, filepath.Join(dir, "compat.db"), cluster.Config{}, zerolog.Nop())
	defer s.closed(t)
	three := cluster.Config{Name: "a", Listen: testwait.FreeAddress(t), Members: []string{"a", "b", "c"}, Folder: filepath.Join(dir, "three"), Token: "0123456789abcdef"}
	three.Peers = []string{three.Listen, testwait.FreeAddress(t), testwait.FreeAddress(t)}
	view := admin
	view.Role = operator.RoleOperate
	for _, of := range []struct {
		by       operator.Actor
		from, to string
		config   cluster.Config
		want     string
	}{
		{admin, "nats", "bolt", cluster.Config{}, `is "bolt" already`},
		{admin, "bolt", "bolt", cluster.Config{}, "moves from"},
		{admin, "bolt", "etcd", cluster.Config{}, "moves from"},
		{view, "bolt", "nats", alone(dir), `needs the role "admin"`},
		{admin, "bolt", "nats", cluster.Config{}, "have no [Cluster]"},
		{admin, "bolt", "nats", client(oldServer(t, "2.9.0")), "needs 2.11"},
		{admin, "bolt", "nats", three, "interrupted"},
	} {
		s.now.Store(&of.config)
		limit := testwait.Limit
		if of.want == "interrupted" {
			limit = 2 * time.Second // as Ctrl-C does
		}
		ctx, stop := context.WithTimeout(t.Context(), limit)
		_, err := s.MoveStore(ctx, of.by, operator.Move{From: of.from, To: of.to})
		stop()
		if err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s to %s: %v, want %q", of.from, of.to, err, of.want)
		}
		noError(t, s.says(of.want))
	}
	s.moves(t, operator.KindNATS, alone(dir))
	if _, err := s.MoveStore(t.Context(), admin, operator.Move{From: operator.KindNATS, To: operator.KindBolt}); err == nil || !strings.Contains(err.Error(), "take it out of them first") {
		t.Errorf("with [Cluster] in the settings: %v", err)
	}
	noError(t, s.says("in the cluster"))
}

// moving is the environment variable that makes TestMoveKilled the process that is killed: FOLDER:LINE.
const moving = "COLLET_TEST_MOVING"

// killer is a log whose nth line ends the process as kill -9 does.
type killer struct{ left atomic.Int64 }

func (k *killer) Write(p []byte) (int, error) {
	if k.left.Add(-1) == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
	return len(p), nil
}

// TestMoveKilled kills a server at each line of its log while its store moves into a cluster and back. The next start, by the settings as they are
// then, has all that was acknowledged, and can be changed; if the move out was not recorded yet, after that was done again, or confirmed.
func TestMoveKilled(t *testing.T) {
	testlevel.Slow(t)
	if of := os.Getenv(moving); of != "" {
		moveAndTell(t, of)
		return
	}
	t.Parallel()
	for line := 1; ; line += testlevel.Stride(17, 0) {
		dir := t.TempDir()
		child := exec.Command(os.Args[0], "-test.run=^TestMoveKilled$")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s", moving, line, dir))
		said, err := child.Output()
		told := string(said)
		if bytes.Contains(said, []byte("all done")) {
			if line == 1 {
				t.Fatal("the log has no lines")
			}
			return
		}
		if child.ProcessState.ExitCode() != -1 {
			t.Fatalf("line %d: %v: %s", line, err, told)
		}
		c := cluster.Config{}
		if strings.LastIndex(told, "settings with") > strings.LastIndex(told, "settings without") {
			c = alone(dir)
		}
		s := serving(t, filepath.Join(dir, "compat.db"), c, zerolog.Nop())
		for i, text := range []string{"before", "in the cluster", "after"} {
			if strings.Contains(told, "changed "+text) {
				if got, err := s.Revision(uint64(i + 2)); err != nil || got.Messages["P-MAINT"] != text {
					t.Errorf("line %d: the change %q is lost: %v", line, text, err)
				}
			}
			if floor, err := s.store.Floor(text); strings.Contains(told, "raised "+text) && floor != 7 || err != nil {
				t.Errorf("line %d: the floor of %q is %d, %v", line, text, floor, err)
			}
		}
		if _, err := s.Audit.Verify(); err != nil {
			t.Errorf("line %d: %v", line, err)
		}
		if s.store.Writable() != nil {
			if c.Name != "" {
				t.Errorf("line %d: the cluster can't be written to: %v", line, s.store.Writable())
			}
			again := line%2 == 0
			if again {
				s.closed(t)
				s = serving(t, filepath.Join(dir, "compat.db"), alone(dir), zerolog.Nop())
			}
			noError(t, s.tries(operator.KindBolt, !again, cluster.Config{}))
		}
		noError(t, s.says("and on"), s.store.Raise("late", 7))
		s.closed(t)
		s = serving(t, filepath.Join(dir, "compat.db"), alone(dir), zerolog.Nop()) // and once more into the cluster
		noError(t, s.says("at last"))
		if floor, err := s.store.Floor("late"); floor != 7 || err != nil {
			t.Errorf("line %d: the floor is %d, %v", line, floor, err)
		}
		s.closed(t)
	}
}

// moveAndTell does what is killed, and tells each thing that is done.
func moveAndTell(t *testing.T, of string) {
	var line int64
	number, dir, _ := strings.Cut(of, ":")
	if _, err := fmt.Sscan(number, &line); err != nil {
		t.Fatal(err)
	}
	k := &killer{}
	s := serving(t, filepath.Join(dir, "compat.db"), cluster.Config{}, zerolog.New(k))
	change := func(text string) {
		noError(t, s.says(text))
		fmt.Println("changed", text)
		noError(t, s.store.Raise(text, 7))
		fmt.Println("raised", text)
	}
	change("before")
	k.left.Store(line)
	fmt.Println("settings with")
	s.moves(t, operator.KindNATS, alone(dir))
	change("in the cluster")
	fmt.Println("settings without")
	s.moves(t, operator.KindBolt, cluster.Config{})
	change("after")
	s.closed(t)
	fmt.Println("all done")
}
