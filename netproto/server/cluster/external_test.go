//go:build !nocluster

package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"collet/netproto/server/certificate"
	"collet/netproto/server/cluster"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/operator/storetest"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// natsServer starts a server of NATS as its administrator does, and returns its address.
func natsServer(t testing.TB, change func(*server.Options)) string {
	t.Helper()
	opt := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
	if change != nil {
		change(opt)
	}
	s, err := server.NewServer(opt)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	testwait.Until(t, func() bool { return s.Addr() != nil }, "the NATS server does not listen")
	return "nats://" + s.Addr().String()
}

// client is the configuration of a client of a NATS cluster that keeps one copy.
func client(servers ...string) cluster.Config {
	return cluster.Config{Name: "n", Servers: servers, Replicas: 1, Found: true, Patience: testwait.Limit}
}

// TestExternalStore holds the store in an existing NATS cluster to the contract of every store. Its crash is a copy of the node's file.
func TestExternalStore(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	storetest.Run(t, func(t testing.TB) func() (operator.Store, func()) {
		folder, c := t.TempDir(), client(natsServer(t, nil))
		return func() (operator.Store, func()) {
			s := opened(t, folder, c)
			return s, func() {
				copied := filepath.Join(t.TempDir(), "it")
				copySettled(t, s, folder, copied)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				folder = copied
			}
		}
	})
}

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// written is a file with a text.
func written(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// oldServer speaks like a server of NATS of an earlier version, and answers no request.
func oldServer(t testing.TB, version string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				fmt.Fprintf(conn, "INFO {\"server_id\":\"old\",\"version\":%q,\"headers\":true,\"max_payload\":1048576,\"proto\":1}\r\n", version)
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if lines.Text() == "PING" {
						fmt.Fprint(conn, "PONG\r\n")
					}
				}
			})
		}
	})
	return "nats://" + listener.Addr().String()
}

// TestExternalRefusals: what an existing NATS cluster lacks or refuses ends the first start at once, with a cause and what to do. No secret is
// in an error or in the log.
func TestExternalRefusals(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	const secret = "s3cret-0123456789"
	with := func(c cluster.Config, text string) cluster.Config {
		c.Credentials = written(t, text)
		return c
	}
	for name, of := range map[string]struct {
		config func() cluster.Config
		want   string
	}{
		"no JetStream": {func() cluster.Config { return client(natsServer(t, func(o *server.Options) { o.JetStream = false })) }, "run without JetStream: turn it on"},
		"no JetStream of the account": {func() cluster.Config {
			return with(client(natsServer(t, func(o *server.Options) {
				game := server.NewAccount("GAME")
				o.Accounts, o.Users = []*server.Account{game}, []*server.User{{Username: "collet", Password: secret, Account: game}}
			})), "collet:"+secret)
		}, "the account of these credentials has no JetStream"},
		"wrong password": {func() cluster.Config {
			return with(client(natsServer(t, func(o *server.Options) { o.Username, o.Password = "collet", "another" })), "collet:"+secret+"\n")
		}, "refuses the credentials"},
		"wrong token": {func() cluster.Config {
			return with(client(natsServer(t, func(o *server.Options) { o.Authorization = "another" })), secret)
		}, "refuses the credentials"},
		"no credentials": {func() cluster.Config {
			return client(natsServer(t, func(o *server.Options) { o.Authorization = secret }))
		}, "refuses the credentials"},
		"permission": {func() cluster.Config {
			return with(client(natsServer(t, func(o *server.Options) {
				o.Users = []*server.User{{Username: "collet", Password: secret, Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"$JS.API.INFO"}}}}}
			})), "collet:"+secret)
		}, "does not permit what a node needs"},
		"too old":  {func() cluster.Config { return client(oldServer(t, "2.10.29")) }, `version "2.10.29", and a node needs 2.11`},
		"replicas": {func() cluster.Config { c := client(natsServer(t, nil)); c.Replicas = 3; return c }, "Cluster.Replicas = 3 can't be made there"},
		"another stream": {func() cluster.Config {
			return changedStream(t, func(c *nats.StreamConfig) { c.Subjects, c.RePublish = []string{"orders"}, nil })
		}, "COLLET_LOG is there with another subject"},
		"a stream that forgets": {func() cluster.Config {
			return changedStream(t, func(c *nats.StreamConfig) { c.MaxMsgs = 10 })
		}, "another number of messages"},
		"a stream that becomes full": {func() cluster.Config {
			return changedStream(t, func(c *nats.StreamConfig) { c.MaxBytes = 1 << 20 })
		}, "max_bytes"},
		"a stream for small messages": {func() cluster.Config {
			return changedStream(t, func(c *nats.StreamConfig) { c.MaxMsgSize = 1 << 10 })
		}, "max_msg_size"},
		"a stream with one copy": {func() cluster.Config {
			c := changedStream(t, func(*nats.StreamConfig) {})
			c.Replicas = 3
			return c
		}, "another number of copies"},
		"subject of another": {func() cluster.Config {
			return changedStream(t, func(c *nats.StreamConfig) { c.Name, c.Subjects, c.RePublish = "ALL", []string{"collet.>"}, nil })
		}, "subjects overlap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := &logged{}
			s, err := cluster.OpenNode(t.Context(), always(of.config()), filepath.Join(t.TempDir(), "compat.db"), zerolog.New(said))
			var no *cluster.RefusedError
			if s != nil || !errors.As(err, &no) || !strings.Contains(err.Error(), of.want) {
				t.Errorf("%v, want %q", err, of.want)
			}
			if strings.Contains(fmt.Sprint(err, said), secret) {
				t.Errorf("the secret is in %v\n%s", err, said)
			}
		})
	}
}

// inNATS does something as the administrator of a NATS cluster.
func inNATS(t testing.TB, at string, do func(nats.JetStreamContext) error) {
	t.Helper()
	conn, err := nats.Connect(at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err == nil {
		err = do(js)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// changedStream is the configuration of a client of a NATS cluster whose stream of the log was made by hand, with a fault.
func changedStream(t testing.TB, change func(*nats.StreamConfig)) cluster.Config {
	t.Helper()
	at := natsServer(t, nil)
	inNATS(t, at, func(js nats.JetStreamContext) error {
		c := &nats.StreamConfig{
			Name: "COLLET_LOG", Subjects: []string{"collet.log"}, Discard: nats.DiscardNew, AllowDirect: true,
			RePublish: &nats.RePublish{Source: "collet.log", Destination: "collet.hint.log", HeadersOnly: true},
		}
		change(c)
		_, err := js.AddStream(c)
		return err
	})
	return client(at)
}

// TestExternalNodes: two nodes of a NATS cluster with TLS, a password and the fewest permissions share changes. A third with a history of its own is refused, and one
// that knows its settings serves by them when the password is wrong.
func TestExternalNodes(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	a, dir := newAuthority(t), t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	a.sign(t, cert, key)
	pair, err := certificate.Open(cert, key, zerolog.Nop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	at := natsServer(t, func(o *server.Options) {
		o.TLSConfig, o.TLSTimeout = pair.Config(), 5
		o.Users = []*server.User{{Username: "collet", Password: "right", Permissions: &server.Permissions{ // as docs/OPERATING.md says
			Publish:   &server.SubjectPermission{Allow: []string{"$JS.API.INFO", "$JS.API.STREAM.*.COLLET_LOG", "$JS.API.STREAM.*.COLLET_FLOORS", "$JS.API.DIRECT.GET.*", "collet.log", "collet.floors.*"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "collet.hint.*"}},
		}}}
	})
	password := written(t, "collet:right")
	open := func(name, path string) (operator.Store, error) {
		set := config.Defaults()
		set.CompatibilityVersion, set.Compat.Store = "v", path
		set.Cluster = config.Cluster{Name: name, Servers: []string{at}, Credentials: password, Authority: a.file, Replicas: 1, Found: true}
		if err := set.Validate(); err != nil {
			t.Fatal(err)
		}
		c, err := cluster.FromSettings(set, os.Getenv, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		return cluster.OpenNode(t.Context(), always(c), path, zerolog.Nop())
	}
	must := func(s operator.Store, err error) operator.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	path := filepath.Join(dir, "one.db")
	one := must(open("one", path))
	storetest.Fill(t, one, 1, 2)
	two := must(open("two", filepath.Join(dir, "two.db")))
	storetest.Fill(t, two, 3, 3)
	if err := two.Raise("ann", 7); err != nil {
		t.Error(err)
	}
	testwait.Until(t, func() bool {
		revision, _, err := one.(*cluster.Node).Head()
		floor, err2 := one.Floor("ann")
		return revision == 3 && floor == 7 && errors.Join(err, err2) == nil
	}, "the changes of one node do not come to the other")

	alone, err := operator.OpenStore(filepath.Join(dir, "alone.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	other := storetest.Next(t, alone, 1)
	other.Record.Comment = "another history"
	other.Record = compat.Chain(nil, other.Record)
	if err := errors.Join(alone.Commit(other), alone.Close()); err != nil {
		t.Error(err)
	}
	if s, err := open("three", filepath.Join(dir, "alone.db")); s != nil || !errors.Is(err, cluster.ErrForked) {
		t.Errorf("a node with another history: %v", err)
	}
	for _, s := range []operator.Store{one, two} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(password, []byte("collet:wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	one = must(open("one", path))
	defer one.Close()
	var readOnly *operator.ReadOnlyError
	if floor, err := one.Floor("ann"); floor != 7 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	if err := one.Writable(); !errors.As(err, &readOnly) || !strings.Contains(readOnly.Why, "refuses the credentials") {
		t.Errorf("writable: %v", err)
	}
	if err := os.WriteFile(password, []byte("collet:right"), 0o600); err != nil { // and it is repaired without a restart
		t.Fatal(err)
	}
	testwait.Until(t, func() bool { return one.Writable() == nil }, "the right password does not help")
}

// TestExternalConfig: files that are not there are errors of their setting.
func TestExternalConfig(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]config.Cluster{
		"Cluster.Credentials": {Credentials: filepath.Join(t.TempDir(), "none")},
		"Cluster.Authority":   {Authority: written(t, "none")},
	} {
		set := config.Defaults()
		c.Name, c.Servers = "n", []string{"nats://127.0.0.1:4222"}
		set.Cluster = c
		conf, err := cluster.FromSettings(set, os.Getenv, zerolog.Nop())
		var s operator.Store
		if err == nil {
			ctx, stop := context.WithCancel(t.Context())
			s, err = cluster.OpenNode(ctx, always(conf), filepath.Join(t.TempDir(), "compat.db"), zerolog.Nop())
			stop()
		}
		var fault *config.Error
		if s != nil || !errors.As(err, &fault) || fault.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}
