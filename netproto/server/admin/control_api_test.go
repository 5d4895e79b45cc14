package admin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collet/netproto/server/admin"
	"collet/netproto/server/servertest"
)

// locally serves a control socket and returns a function that asks it.
func locally(t *testing.T, h *servertest.Server) func(method, path, body string) (int, string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "collet") // the folders of tests have names that are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	path := filepath.Join(folder, "control")
	listener, err := admin.ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		reload := func(context.Context) error { return nil }
		if err := admin.ServeControl(ctx, listener, admin.Commands{Operator: h.Operator, Reload: reload}, h.Logger()); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	t.Cleanup(func() { stop(); serving.Wait() })
	return func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://local"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", `"1"`)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
}

// TestControlSocketAdministers makes tokens, changes settings and reloads without one, also when there are some already.
func TestControlSocketAdministers(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithoutToken(t, servertest.VersionedSettings(t))
	ask := locally(t, h)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/api/compat", "", 200, `"secured": false`},
		{"POST", "/api/compat/tokens", `{"name": "ops", "role": "edit"}`, 201, `"secret": "collet_`},
		{"PUT", "/api/compat", `{"settings": {"active_min": 6}, "comment": "by hand"}`, 200, `"revision": 2`},
		{"PUT", "/api/compat", `{"settings": {"active_min": 7}}`, 409, `"stale"`},
		{"DELETE", "/api/compat/tokens/ops", "", 204, ""},
		{"POST", "/reload", "", 200, "done"},
		{"GET", "/api/none", "", 404, ""},
	} {
		if status, text := ask(c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	if newest, err := o.Audit.Records(0, 9); err != nil || len(newest) != 4 || newest[1].Actor != "local" || newest[1].Remote != "" {
		t.Errorf("%+v, %v", newest, err)
	}
}

// TestControlSocketWithoutAStore says what is missing.
func TestControlSocketWithoutAStore(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, servertest.Settings(t))
	if status, text := locally(t, h)("GET", "/api/compat", ""); status != 404 || !strings.Contains(text, "Compat.Store") {
		t.Errorf("%d %s", status, text)
	}
}
