package dentest_test

import (
	"context"
	"testing"
	"time"

	"collet/build/lab/dentest"
)

// within is a context for one step of a test.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is a temporary folder with a tree in it.
func folder(t testing.TB, tree map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	must(t, dentest.WriteTree(root, tree))
	return root
}

// proxied puts a proxy before a server and prints the recording when the test fails.
func proxied(t testing.TB, server *dentest.ReferenceServer, o dentest.ProxyOptions) *dentest.Proxy {
	t.Helper()
	p, err := dentest.NewProxy(server.Addr(), o)
	must(t, err)
	t.Cleanup(func() {
		p.Close()
		if t.Failed() && !o.Quiet {
			t.Logf("recorded:\n%s", tail(p.Text(), 6000))
		}
	})
	return p
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

func server(t testing.TB, o dentest.ServerOptions) *dentest.ReferenceServer {
	t.Helper()
	s, err := dentest.NewReferenceServer(o)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func client(t testing.TB, o dentest.ClientOptions) *dentest.ReferenceClient {
	t.Helper()
	c := dentest.NewReferenceClient(o)
	t.Cleanup(c.Close)
	return c
}
