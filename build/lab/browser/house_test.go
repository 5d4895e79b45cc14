package browser_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/dashboard"
	"collet/netproto/server/metrics"
	"collet/netproto/server/operator"
	"collet/netproto/server/origin"
	"collet/netproto/server/releases"
	"collet/netproto/server/signin"
	"collet/netproto/server/signintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a running server with a dashboard.
type house struct {
	operator *operator.Operator
	addr     string // of clients
	at       string // of the dashboard: http://HOST:PORT
	secret   string // of a token that may change everything
}

// start runs a server until the test ends that supports a range of versions, with modules of 7 in place and of 6 beside.
// People sign in with the provider, if there is one.
func start(t *testing.T, supported string, provider ...*signintest.Provider) *house {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"Resources/Core.zip":                                    "core",
		"PlatformBinaries/Linux-x64/FoGame.so":                  "module",
		"PlatformBinaries/Linux-x64/FoGame.so.compat.json":      sidecar(7, 2),
		"PlatformBinaries/Windows-win64/FoGame.dll":             "windows module",
		"PlatformBinaries/Android-arm64/libmain.so":             "store only",
		"PlatformBinaries/Android-arm64/libmain.so.compat.json": sidecar(7, 2),
		"PlatformBinaries/macOS-arm64/FoGame.debuginfo":         "no module",
		"Payloads/6/Linux-x64/FoGame.so":                        "module of 6",
		"Payloads/6/Linux-x64/FoGame.so.compat.json":            sidecar(6, 0),
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set := config.ForFolder(root, "")
	set.Limits.PingTime = 10 * time.Minute // the clients of these tests answer no pings
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: supported, Payloads: filepath.Join(root, "Payloads"), Build: "server-8"}
	catalogue, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	o, err := operator.Open(set.Compat.Store, catalogue.Declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		catalogue.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	s := server.New(catalogue, set, zerolog.Nop())
	s.Govern(o)
	t.Cleanup(func() { s.Close() })
	h := &house{operator: o}
	if h.secret, err = o.Tokens.Create(editor(), "test", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	m := &origin.Monitor{}
	m.Mount(admin.Owns, admin.New(m))
	folder, err := releasetest.New(filepath.Join(t.TempDir(), "release"))
	for n := 1; n <= 3 && err == nil; n++ {
		r := releasetest.Standard(n)
		if n == 3 {
			r.Channel = "beta"
		}
		r.Note = fmt.Sprintf("Release %d: a faster lathe.\nThe chuck no longer slips.", n)
		err = folder.Publish(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	about := dashboard.About{Name: "Lathe EU-1", Releases: &releases.Board{Folder: folder.Dir, Proposals: filepath.Join(t.TempDir(), "proposals")}}
	about.ClientsOf = func(e release.Entry) metrics.Clients {
		return metrics.Clients{Checks: 1234 * e.Number, Verdicts: map[string]uint64{"ACCEPT": 981, "UPDATE_BINARIES": 17}}
	}
	if err := m.Configure(set, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	m.Watch(s)
	h.addr = serves(t, func(ctx context.Context, listener net.Listener) error { return s.Serve(ctx, listener) })
	h.at = "http://" + serves(t, func(ctx context.Context, listener net.Listener) error {
		for _, p := range provider {
			client := config.Defaults().SignIn
			client.Issuer, client.ClientID, client.Admin = p.URL, signintest.ID, []string{"admins"}
			client.RedirectURL = "http://" + listener.Addr().String() + config.SignInPath
			about.SignIn = signin.New(client, signintest.Secret)
		}
		m.Mount(dashboard.Owns, dashboard.New(m, about, zerolog.Nop()))
		return m.ServeMonitor(ctx, listener, zerolog.Nop())
	})
	return h
}

// serves lets something serve a port of loopback until the test ends. It returns the address.
func serves(t *testing.T, serve func(context.Context, net.Listener) error) string {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait() })
	return listener.Addr().String()
}

// sidecar lies beside a module and tells its versions.
func sidecar(logic, patch int) string {
	return fmt.Sprintf(`{"logic": %d, "patch": %d, "set_hash": "%016x", "build": {"id": "client-%d.%d", "branch": "main", "time": 1772460300, "seq": %d}}`,
		logic, patch, logic, logic, patch, 800+logic)
}

// comes connects a client of a version, for an account if that is not "", and keeps it connected to the end of the test.
func (h *house) comes(t *testing.T, logic int32, target, account string) {
	t.Helper()
	raw, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(20 * time.Second)) // a hang is a failure, not a stuck test run
	wire := netproto.NewConn(raw, netproto.ClientSide, netproto.Limits{})
	if err := wire.SetGeneration(netproto.C1); err != nil {
		t.Fatal(err)
	}
	said := netproto.HelloTags{Build: compat.Build{Logic: logic}, Account: account}
	m := &netproto.Handshake{Version: netproto.C1.Version(), Compatibility: compat.Derived(logic, said.Build.Components), Target: target, Capabilities: netproto.CapPipeline}
	if err := m.Say(said); err != nil {
		t.Fatal(err)
	}
	if err := wire.Write(m); err != nil {
		t.Fatal(err)
	}
	if answer, err := wire.Read(); err != nil {
		t.Fatal(err)
	} else if _, is := answer.(*netproto.HandshakeAnswer); !is {
		t.Fatalf("got %+v", answer)
	}
	t.Cleanup(func() { runtime.KeepAlive(wire) })
}

// busy is a server with clients on it.
func busy(t *testing.T) (*house, *operator.Operator, string) {
	t.Helper()
	h := start(t, "5-8")
	change(t, h.operator, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 6, 8
		s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Windows-*", MinPatch: 2}, {Logic: 7, Target: "Windows-win64", MinPatch: 1}}
	})
	for target, count := range map[string][3]int{"Linux-x64": {2, 9, 4}, "Windows-win64": {0, 0, 6}, "Android-arm64": {1, 3, 0}} {
		for i, n := range count {
			for range n {
				h.comes(t, int32(6+i), target, "")
			}
		}
	}
	seven := int32(7)
	if err := h.operator.Games.Tell("eu-1", []operator.GameSessions{{Logic: &seven, Count: 40}, {Count: 2}}); err != nil {
		t.Fatal(err)
	}
	h.comes(t, 5, "Linux-x64", "")
	h.comes(t, 5, "Android-arm64", "")
	return h, h.operator, h.at
}

// enters logs in.
func (h *house) enters(t *testing.T, ctx context.Context) {
	t.Helper()
	does(t, ctx, chromedp.Navigate(h.at+"/admin/login"), chromedp.WaitVisible(chromedp.CSS("input[name=token]")), chromedp.SendKeys(chromedp.CSS("input[name=token]"), h.secret+kb.Enter), chromedp.WaitVisible(chromedp.CSS("nav")))
}

// editor is who may change everything.
func editor() operator.Actor {
	return operator.Actor{Name: "ops", Role: operator.RoleAdmin, Source: compat.SourceAPI, Remote: "192.0.2.1"}
}

// change changes the settings or fails the test.
func change(t *testing.T, o *operator.Operator, edit func(*compat.Settings)) {
	t.Helper()
	s := o.Settings()
	edit(&s)
	if _, err := o.Change(t.Context(), editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "a test", Confirm: true}); err != nil {
		t.Fatal(err)
	}
}

// floors gives accounts their floors.
func floors(t *testing.T, o *operator.Operator, all map[string]int32) {
	t.Helper()
	for account, floor := range all {
		if _, err := o.Floors.Set(editor(), account, floor, "", false); err != nil {
			t.Fatal(err)
		}
	}
}

// ends takes the token of a browser away and gives it another, as if its session had ended.
func ends(t *testing.T, o *operator.Operator) (secret string) {
	t.Helper()
	if err := o.Tokens.Drop(editor(), "ops"); err != nil {
		t.Fatal(err)
	}
	secret, err := o.Tokens.Create(editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
