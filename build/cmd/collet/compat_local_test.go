package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/product"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
)

// idleServer is a folder with the settings of a server, which ran once if they say so, and does not run.
type idleServer struct {
	t        *testing.T
	settings string
}

func newIdleServer(t *testing.T, started bool, more ...string) *idleServer {
	t.Helper()
	root := t.TempDir()
	writeFile(t, root, "Resources/Core.zip", "a pack")
	writeFile(t, root, "PlatformBinaries/Linux-x64/FoGame.so", "a module")
	writeFile(t, root, "PlatformBinaries/Linux-x64/FoGame.so.compat.json", `{"logic": 7, "patch": 2}`)
	writeFile(t, root, "payloads/6/Linux-x64/FoGame.so", "a module of 6")
	writeFile(t, root, "payloads/6/Linux-x64/FoGame.so.compat.json", `{"logic": 6}`)
	s := &idleServer{t: t, settings: writeFile(t, root, "server.toml",
		strings.Join(append(more, "[Compat]", `Store = "compat.db"`, `Supported = "5-8"`, `Payloads = "payloads"`, `Content = "packs"`, ""), "\n"))}
	if started {
		s.run(func(*server.Server, config.Settings) {})
	}
	return s
}

// run has a server with these settings while with runs.
func (s *idleServer) run(with func(*server.Server, config.Settings)) {
	s.t.Helper()
	set, err := config.Load(s.settings, "")
	if err != nil {
		s.t.Fatal(err)
	}
	catalogue, err := catalogue.Open(s.t.Context(), set, zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}
	defer catalogue.Close()
	o, err := operator.Open(set.Compat.Store, catalogue.Declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}
	running := server.New(catalogue, set, zerolog.Nop())
	running.Govern(o)
	with(running, set)
	if err := o.Close(); err != nil {
		s.t.Error(err)
	}
}

// collet is a command line of `collet compat` with these settings.
func (s *idleServer) collet(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(append(append([]string{"compat"}, args...), "--config", s.settings), &o, &e)
	return code, o.String(), e.String()
}

// says runs a command that has to end with a code, and to print texts.
func (s *idleServer) says(code int, args string, texts ...string) string {
	s.t.Helper()
	words := strings.Fields(args)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "_", " ")
	}
	got, out, errs := s.collet(words...)
	if got != code {
		s.t.Errorf("%s: code %d, want %d: %s%s", args, got, code, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			s.t.Errorf("%s: no %q in\n%s%s", args, text, out, errs)
		}
	}
	return out
}

// TestCompatWithoutAServer does everything with a server that does not run, and the next start of it finds that.
func TestCompatWithoutAServer(t *testing.T) {
	s := newIdleServer(t, true)
	s.says(0, "show", "active        5-8", "supported     5-8", "logic 7 patch 2", "logic 6 patch 0")
	s.says(1, "set --active 5-7", "repeat it with --yes and --comment")
	s.says(0, "set --active 6-7 --comment 8_is_not_ready --yes", "revision 2: changed active_max, active_min")
	s.says(0, "set --maintenance on --until 30m --comment moving", "revision 3")
	s.says(1, "set --active 6-9", "active_max")
	s.says(1, "set --revision 2 --auto-upgrade on", "revision 3")
	s.says(0, "verdict --logic 5 --target Linux-x64", "MAINTENANCE", "R5")
	s.says(0, "dry-run --maintenance off", "would change maintenance")
	s.says(0, "set --maintenance off --comment done")
	s.says(0, "verdict --logic 5 --target Linux-x64", "UPDATE_BINARIES", "logic 7 patch 2")
	s.says(0, "floor player-1 7")
	s.says(0, "verdict --logic 6 --target Linux-x64 --account player-1", "UPDATE_BINARIES", "logic version 7")
	s.says(0, "set --store-url Android-*=https://store.example/a --message P-NEWER=Come_back.")
	s.says(0, "set --store-url iOS-*=https://store.example/i --message P-MAINT=Soon.")
	s.says(0, "show", "Android-*: https://store.example/a", "iOS-*: https://store.example/i", "P-NEWER: Come back.", "P-MAINT: Soon.")
	s.says(0, "dry-run --message P-NEWER=", "would change messages.P-NEWER")
	s.says(0, "set --store-url Android-*= --message P-NEWER=", "changed messages.P-NEWER, store_urls.Android-*")
	if out := s.says(0, "show", "iOS-*", "P-MAINT"); strings.Contains(out, "Android-*:") || strings.Contains(out, "P-NEWER") {
		t.Errorf("what was taken away is there:\n%s", out)
	}
	s.says(2, "set --message P-NEWER", "want NAME=TEXT, or NAME= to take it away")
	s.says(0, "rollback 1 --comment back --yes", "revision 8")
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.says(0, "history", "moving", u.Username+" ", " cli ")
	s.says(0, "history --json --limit 0", `"source":"cli"`, `"actor":"`+u.Username+`"`)
	s.says(0, "verify", " records, as they were written")
	s.says(0, "verify --json", `"good": true`)
	if out := s.says(0, "token ops --role edit"); !strings.Contains(out, "collet_") {
		t.Errorf("no secret in %q", out)
	}
	s.says(0, "show --json", `"secured": true`)
	s.run(func(r *server.Server, _ config.Settings) {
		if got := r.Operator().Settings(); got.Revision != 8 || got.Active() != (compat.Range{Min: 5, Max: 8}) {
			t.Errorf("the next start finds %+v", got)
		}
		if r.Operator().Snapshot().Content == "" {
			t.Error("a running server does not know its packs")
		}
	})
}

// TestCompatBesideAServer: a server that runs has its store for itself. It is asked over its control socket, and where it has none the
// error says what to do.
func TestCompatBesideAServer(t *testing.T) {
	testlevel.Slow(t)
	alone := newIdleServer(t, true)
	alone.run(func(*server.Server, config.Settings) {
		alone.says(1, "show", "the server runs and has ", "--server", "Operations.ControlSocket")
	})
	folder, err := os.MkdirTemp("", "c") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "control")
	s := newIdleServer(t, true, "[Operations]", fmt.Sprintf("ControlSocket = %q", socket))
	s.says(0, "show", "revision      1") // the socket is not there, and the server does not run
	s.run(func(r *server.Server, set config.Settings) {
		s.says(1, "show", "does not answer at its control socket", "--control")
		listener, err := admin.ListenControl(socket)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- admin.ServeControl(ctx, listener, admin.Commands{Operator: r.Operator, Reload: func(context.Context) error { return errors.New("nothing to reload") }}, zerolog.Nop())
		}()
		s.says(0, "show", "only the control socket is answered")
		s.says(0, "token first", "collet_")
		s.says(0, "set --active 6-8 --comment 5_is_over --yes", "revision 2")
		if got := r.Operator().Settings().ActiveMin; got != 6 {
			t.Errorf("the running server has %d", got)
		}
		var out, errs bytes.Buffer
		if code := run([]string{"compat", "verify", "--control", socket}, &out, &errs); code != 0 || !strings.Contains(out.String(), "3 records") {
			t.Errorf("code %d: %s%s", code, &out, &errs)
		}
		s.says(0, "history", "local", "5 is over")
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		out.Reset()
		if code := run([]string{"compat", "verify", "--control", socket}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "is the server running") {
			t.Errorf("code %d: %s%s", code, &out, &errs)
		}
	})
	s.says(0, "show", "active        6-8")
}

// TestCompatOfStoresThatAreNone changes nothing where there is nothing to change, or nothing to trust.
func TestCompatOfStoresThatAreNone(t *testing.T) {
	fresh := newIdleServer(t, false)
	fresh.says(1, "show", "is not there", "start collet-server")
	if _, err := os.Stat(filepath.Join(filepath.Dir(fresh.settings), "compat.db")); err == nil {
		t.Error("looking made a store")
	}
	damaged := newIdleServer(t, true)
	store := filepath.Join(filepath.Dir(damaged.settings), "compat.db")
	if err := os.Truncate(store, 5000); err != nil {
		t.Fatal(err)
	}
	damaged.says(1, "set --active 6-8 --comment x --yes", "the newest good copy is")
	plain := &idleServer{t: t, settings: writeFile(t, t.TempDir(), "server.toml", "CompatibilityVersion = \"1\"\n")}
	plain.says(1, "show", "Compat.Store", "no store")
	broken := &idleServer{t: t, settings: writeFile(t, t.TempDir(), "server.toml", "[Compat]\nSupported = \"8-5\"\n")}
	broken.says(1, "show", "Compat.S")
	for args, want := range map[string]string{"--control /nowhere": "name one of them", "--sub-config Live --server http://127.0.0.1:1": ""} {
		got, out, errs := newIdleServer(t, true).collet(append([]string{"show"}, strings.Fields(args)...)...)
		if want != "" && (got != 2 || !strings.Contains(errs, want)) {
			t.Errorf("%s: code %d: %s%s", args, got, out, errs)
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"compat", "show", "--sub-config", "Live"}, &out, &errs); code != 2 || !strings.Contains(errs.String(), "goes with --config") {
		t.Errorf("code %d: %s%s", code, &out, &errs)
	}
}

// TestT13Idle: a store without its server judges as the server does.
func TestT13Idle(t *testing.T) {
	s := newIdleServer(t, true)
	asked := map[string]compat.Hello{}
	for logic := int32(4); logic < 10; logic++ {
		for _, target := range []string{"Linux-x64", "Windows-win64", "Android-arm64"} {
			asked[fmt.Sprintf("verdict --json --logic %d --target %s --content none", logic, target)] = compat.Hello{
				Build: compat.Build{Logic: logic}, Target: target, Tagged: true, Content: "none", Store: !product.Target(target).CanSelfUpdate(),
			}
		}
	}
	idle := map[string]string{}
	for args := range asked {
		idle[args] = s.says(0, args)
	}
	s.run(func(r *server.Server, _ config.Settings) {
		for args, hello := range asked {
			j, err := r.Operator().Evaluate(hello, "")
			if err != nil {
				t.Fatal(err)
			}
			want := j.Verdict
			if want == compat.UpdateResources { // what its packs are only a running server knows
				want = compat.Accept
			}
			if !strings.Contains(idle[args], fmt.Sprintf(`"verdict": %q`, want)) {
				t.Errorf("%s: %v, and without the server %s", args, j.Verdict, idle[args])
			}
		}
	})
}
