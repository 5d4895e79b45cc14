package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"collet/build/testprograms"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
)

// leakVariable makes this test program a server with a fault, instead of running tests.
const leakVariable = "COLLET_SOAK_TEST_LEAKS"

func TestMain(m *testing.M) {
	if what, is := os.LookupEnv(leakVariable); is {
		if err := serveBadly(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// needsServer skips where there can't be a soak.
func needsServer(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a soak needs a system that lets open files be replaced")
	}
	return testprograms.Server(t)
}

// leaky lets go of nothing, by what it was told to leak.
type leaky struct {
	net.Listener
	what string
	seen atomic.Int64

	mu   sync.Mutex
	kept []any
}

// leakEvery is how many connections leave one thing behind.
const leakEvery = 3

// Accept implements net.Listener.
func (l *leaky) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil || l.seen.Add(1)%leakEvery != 0 {
		return conn, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.what {
	case "goroutines":
		go func() { select {} }()
	case "descriptors":
		f, err := os.Open(os.DevNull)
		l.kept = append(l.kept, f, err)
	case "heap":
		l.kept = append(l.kept, make([]byte, 1<<18))
	case "answers": // some connections are closed without an answer
		conn.Close()
	}
	return conn, nil
}

// serveBadly is collet-server with the options that a soak gives it, and a fault.
func serveBadly(what string) error {
	file, control := flag.String("config", "", ""), flag.String("control", "", "")
	measured, format := flag.String("metrics", "", ""), flag.String("log-format", "", "")
	var at config.Addresses
	flag.StringVar(&at.TCP, "listen", "", "")
	flag.StringVar(&at.TLS, "listen-tls", "", "")
	flag.StringVar(&at.WebSocket, "listen-ws", "", "")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := zerolog.New(os.Stderr)
	set, err := config.Load(*file, "")
	catalogue, errOpen := catalogue.Open(ctx, set, log)
	players, errPlayers := server.ListenAll(ctx, at, server.Sockets{}, set, log)
	metrics, errMetrics := server.Listen(ctx, *measured)
	asks, errAsks := admin.ListenControl(*control)
	if err := errors.Join(err, errOpen, errPlayers, errMetrics, errAsks); err != nil || *format != "json" {
		return err
	}
	s := server.New(catalogue, set, log)
	defer s.Close()
	var monitor origin.Monitor
	monitor.Watch(s)
	again := set
	if what == "old lists" { // every reload offers what the first catalogue offered
		for _, folder := range []*string{&again.Baking.ClientResources, &again.Baking.PlatformBinaries} {
			kept := filepath.Join(filepath.Dir(*file), "old", filepath.Base(*folder))
			if err := os.CopyFS(kept, os.DirFS(*folder)); err != nil {
				return err
			}
			*folder = kept
		}
	}
	reload := func(ctx context.Context) error { return s.Reload(ctx, again) }
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	var work sync.WaitGroup
	work.Go(func() { monitor.ServeMetrics(ctx, metrics, log) })
	work.Go(func() { admin.ServeControl(ctx, asks, admin.Commands{Reload: reload}, log) })
	work.Go(func() {
		for {
			select {
			case <-hangup:
				reload(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	if what == "dies" {
		time.AfterFunc(3*time.Second, func() { panic("a fault of the server") })
	}
	err = s.Serve(ctx, &leaky{Listener: players, what: what})
	work.Wait()
	return err
}
