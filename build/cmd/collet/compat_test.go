package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/build/cmd/collet/console"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/origin"
	"collet/netproto/session"
)

// governed is a real server with an operator, and what a person types on its machine.
type governed struct {
	t        *testing.T
	url      string
	listener net.Listener
	manifest string // file with its own components
}

// manifestFile writes the manifest of a build of the sample components; those that are left out of hashes are not in it.
func manifestFile(t *testing.T, b compat.Build, hashes map[string]uint64) string {
	t.Helper()
	m := compat.Manifest{Mode: compat.ManifestFull, Build: b}
	for i, name := range []string{"Camera", "Mailbox", "Wallet"} {
		if sum := hashes[name]; sum != 0 {
			m.Entries = append(m.Entries, compat.Entry{Name: name, WireID: uint16(i + 1), Hash: sum, ChangedAt: b.Time})
		}
	}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	text, err := compat.EncodeManifest(&m)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, t.TempDir(), "manifest.json", string(text))
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// govern starts a server that supports 5 to 8 and is of 7. Its token is in $COLLET_TOKEN.
func govern(t *testing.T) *governed {
	t.Helper()
	root := t.TempDir()
	writeFile(t, root, "PlatformBinaries/Linux-x64/FoGame.so", "a module")
	writeFile(t, root, "Resources/Core.zip", "a pack")
	g := &governed{t: t, manifest: manifestFile(t, compat.Build{Logic: 7, Time: 1_772_460_300, Seq: 841, ID: "s7", Branch: "main"},
		map[string]uint64{"Camera": 1, "Mailbox": 2, "Wallet": 3})}
	own, err := compat.ParseManifest([]byte(readAll(t, g.manifest)))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, root, "PlatformBinaries/Linux-x64/FoGame.so.compat.json",
		fmt.Sprintf(`{"logic": 7, "patch": 2, "set_hash": "%016x", "build": {"id": "c7"}}`, own.Build.Components))
	set := config.ForFolder(root, "")
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: "5-8", Manifest: g.manifest}
	catalogue, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	op, err := operator.Open(set.Compat.Store, catalogue.Declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		catalogue.Close()
		t.Fatal(err)
	}
	secret, err := op.Tokens.CreateFirst()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLLET_TOKEN", secret)
	s := server.New(catalogue, set, zerolog.Nop())
	s.Govern(op)
	if g.listener, err = server.Listen(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, g.listener) }()
	m := &origin.Monitor{}
	m.Mount(admin.Owns, admin.New(m))
	if err := m.Configure(set, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	m.Watch(s)
	web := httptest.NewServer(m)
	g.url = web.URL
	t.Cleanup(func() {
		web.Close()
		stop()
		if err := errors.Join(<-served, op.Close()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// collet is a command line of `collet compat`: its exit code and what it printed.
func (g *governed) collet(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(append(append([]string{"compat"}, args...), "--server", g.url), &o, &e)
	return code, o.String(), e.String()
}

// says runs a command that has to end with code and print all of the words, on either stream.
func (g *governed) says(code int, words []string, args ...string) string {
	g.t.Helper()
	got, out, errs := g.collet(args...)
	if got != code {
		g.t.Errorf("%q ends with %d, want %d: %s%s", args, got, code, out, errs)
	}
	for _, word := range words {
		if !strings.Contains(out+errs, word) {
			g.t.Errorf("%q says nothing of %q:\n%s%s", args, word, out, errs)
		}
	}
	return out
}

// TestCompatShow looks at a server as it starts.
func TestCompatShow(t *testing.T) {
	g := govern(t)
	g.says(0, []string{"revision", "active        5-8", "enforce", "supported     5-8", "s7", "#841", "Linux-x64", "logic 7 patch 2"}, "show")
	var state operator.State
	if err := json.Unmarshal([]byte(g.says(0, nil, "show", "--json")), &state); err != nil || state.Settings.ActiveMax != 8 || !state.Versioned {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestCompatSet changes settings in every way there is, and reads them again.
func TestCompatSet(t *testing.T) {
	g := govern(t)
	g.says(1, []string{"needs", "--yes and --comment"}, "set", "--active", "6-7")
	g.says(1, []string{"--comment"}, "set", "--active", "6-7", "--yes")
	g.says(1, []string{"--yes"}, "set", "--active", "6-7", "--comment", "8 crashes")
	g.says(0, []string{"revision 2", "active_max", "active_min"}, "set", "--active", "6-7", "--comment", "8 crashes", "--yes")
	g.says(0, []string{"nothing to change"}, "set", "--active", "6-7")
	g.says(0, []string{"revision 3"}, "set", "--components", "enforce", "--manifest", "hashes", "--auto-upgrade", "on",
		"--patch-rule", "7@Linux-*=2", "--redirect", "tls://next.example.org:4001", "--base-url", "https://next.example.org/packs",
		"--maintenance", "on", "--until", "2030-01-02T03:04:05Z", "--download", "off", "--for", "Linux-*",
		"--store-url", "Android-*=https://play.google.com/store/apps/details?id=x", "--message", "P-NEWER=Wait for noon.", "--developers", "ada,grace")
	g.says(0, []string{"6-7", "manifest hashes", "auto-upgrade  on", "logic 7 on Linux-* needs patch 2", "tls://next.example.org:4001",
		"https://next.example.org/packs", "on for Linux-*, until 2030-01-02 03:04Z", "play.google.com", "P-NEWER: Wait for noon.", "ada, grace"}, "show")
	g.says(0, []string{"revision 4"}, "set", "--patch-rule", "none", "--developers", "none", "--redirect", "off", "--maintenance", "off", "--for", "all")
	if out := g.says(0, nil, "show"); strings.Contains(out, "patch rule") || strings.Contains(out, "ada") || strings.Contains(out, "redirect") || strings.Contains(out, "maintenance") {
		t.Errorf("still there:\n%s", out)
	}
	file := writeFile(t, t.TempDir(), "settings.json", `{"revision": 99, "auto_upgrade": false, "manifest": "none"}`)
	var out operator.Outcome
	if err := json.Unmarshal([]byte(g.says(0, nil, "set", "--file", file, "--manifest", "full", "--json")), &out); err != nil {
		t.Fatal(err)
	}
	if out.Settings.Revision != 5 || out.Settings.AutoUpgrade || out.Settings.Manifest != compat.ManifestFull {
		t.Errorf("%+v", out.Settings)
	}
	g.says(1, []string{"revision 5", "look at it"}, "set", "--auto-upgrade", "on", "--revision", "4")
	g.says(1, []string{"active_max"}, "set", "--active", "6-9", "--comment", "x", "--yes")
	g.says(1, []string{"patch_rules"}, "set", "--patch-rule", "99=1")
}

func TestCompatUsage(t *testing.T) {
	g := govern(t)
	for _, args := range [][]string{
		{"set"}, {"set", "--active", "7-6"}, {"set", "--active", "x"}, {"set", "--patch-rule", "7"}, {"set", "--patch-rule", "x=1"},
		{"set", "--redirect", "next:4000"}, {"set", "--redirect", "tcp://next"}, {"set", "--redirect", "tcp://next:0"}, {"set", "--redirect", "tcp://:4"},
		{"set", "--until", "soon"}, {"set", "--message", "P-NEWER"}, {"set", "--components", "maybe"}, {"verdict", "--hash", "12"},
		{"history", "--limit", "-1"}, {"token", "--drop"}, {"rollback"}, {"diff", "server"},
	} {
		if code, out, errs := g.collet(args...); code != console.ExitUsage || errs == "" {
			t.Errorf("%q ends with %d: %s%s", args, code, out, errs)
		}
	}
	for _, url := range []string{"localhost:1", "ftp://x", "http://", "http://u:p@x", "http://x?y"} {
		var out, errs bytes.Buffer
		if code := run([]string{"compat", "show", "--server", url}, &out, &errs); code != console.ExitUsage {
			t.Errorf("--server %s ends with %d: %s", url, code, errs.String())
		}
	}
}

// TestCompatVerdictAndDryRun asks what clients would be told, and what a change would do to one that is connected.
func TestCompatVerdictAndDryRun(t *testing.T) {
	g := govern(t)
	g.says(0, []string{"revision 2"}, "set", "--active", "6-7", "--comment", "8 crashes", "--yes")
	g.says(0, []string{"UPDATE_BINARIES", "R5: below the active range", "logic 7 patch 2"}, "verdict", "--logic", "5", "--hash", "0000000000000005", "--target", "Linux-x64")
	g.says(0, []string{"CLIENT_TOO_NEW", "R4: above"}, "verdict", "--logic", "8", "--target", "Linux-x64")
	g.says(0, []string{"NO_NATIVE_UPDATE"}, "verdict", "--logic", "5", "--target", "Linux-arm64")
	g.says(0, []string{"ACCEPT", "a newer version is active", "are unknown"}, "verdict", "--logic", "6", "--target", "Linux-x64")
	g.says(0, []string{"UPDATER_MISMATCH", "another updater", "also"}, "verdict", "--logic", "5", "--updater", "older")
	var v admin.VerdictAnswer
	if err := json.Unmarshal([]byte(g.says(0, nil, "verdict", "--logic", "9", "--json")), &v); err != nil || v.Rule != 4 {
		t.Errorf("%+v, %v", v, err)
	}
	client := g.connect(6)
	defer client.Close()
	g.says(0, []string{"would change active_min", "ACCEPT", "1 now,      0 then", "UPDATE_BINARIES"}, "dry-run", "--active", "7-7")
	g.says(0, []string{"lowers an end"}, "dry-run", "--active", "5-7")
	g.says(0, []string{"nothing would change"}, "dry-run", "--active", "6-7")
	var f operator.Forecast
	if err := json.Unmarshal([]byte(g.says(0, nil, "dry-run", "--active", "7-7", "--json")), &f); err != nil || f.Then["UPDATE_BINARIES"] != 1 || f.Impact.Sessions != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	g.says(0, []string{"6-7"}, "show")
}

// connect is a client of a logic version that stays.
func (g *governed) connect(logic int32) *session.Client {
	g.t.Helper()
	client, err := session.Dial(g.t.Context(), session.Options{
		Addr: g.listener.Addr().String(), Target: "Linux-x64", Compatibility: compat.Derived(logic, 0x6666),
		Identity: &netproto.HelloTags{Build: compat.Build{Logic: logic, Components: 0x6666}},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return client
}

// TestCompatHistory changes, looks back, checks here and there, and goes back.
func TestCompatHistory(t *testing.T) {
	g := govern(t)
	for i := range 3 {
		g.says(0, nil, "set", "--message", fmt.Sprintf("P-NEWER=Text %d.", i), "--comment", fmt.Sprintf("comment %d", i))
	}
	out := g.says(0, []string{"comment 2", "cli", "messages"}, "history", "--limit", "2")
	if strings.Contains(out, "comment 0") || strings.Count(out, "\n") != 3 {
		t.Errorf("more than two:\n%s", out)
	}
	g.says(0, []string{"records, as they were written"}, "verify")
	exported := g.says(0, nil, "history", "--limit", "0", "--json")
	file := writeFile(t, t.TempDir(), "compat-audit.jsonl", exported)
	g.says(0, []string{fmt.Sprintf("%d records", strings.Count(exported, "\n")), "the last hash is"}, "verify", file)
	altered := writeFile(t, t.TempDir(), "altered.jsonl", strings.Replace(exported, "comment 1", "comment 7", 1))
	g.says(1, []string{"altered"}, "verify", altered)
	g.says(1, []string{`"good": false`}, "verify", altered, "--json")
	g.says(0, []string{"revision 5", "messages"}, "rollback", "2", "--comment", "the text was better")
	g.says(0, []string{"Text 0."}, "show")
	g.says(1, []string{"not found"}, "rollback", "77", "--comment", "x")
	g.says(1, []string{"revision 5"}, "rollback", "3", "--comment", "x", "--revision", "2")
}

// TestCompatManifests prints and compares.
func TestCompatManifests(t *testing.T) {
	g := govern(t)
	client := manifestFile(t, compat.Build{Logic: 7, Time: 1_770_802_200, Seq: 812, ID: "c7", Branch: "main"}, map[string]uint64{"Camera": 9, "Wallet": 3})
	for _, name := range []string{g.manifest, "server"} {
		g.says(0, []string{"3 components", "Mailbox", "0000000000000002", "2026-03-02", "s7 main #841"}, "manifest", name)
	}
	if out := g.says(0, nil, "manifest", "server", "--json"); out != readAll(t, g.manifest) {
		t.Errorf("the server's manifest is\n%s", out)
	}
	g.says(1, []string{"Client is older by 19 days", "~ Camera", "+ Mailbox", "1 components are the same"}, "diff", client, "server")
	g.says(1, []string{"Server is older by 19 days", "- Mailbox"}, "diff", "server", client)
	g.says(1, []string{`"class": "modified"`, `"age": "client_older"`, `"client_hash": "0000000000000009"`}, "diff", client, g.manifest, "--json")
	g.says(0, []string{"3 components, all the same"}, "diff", g.manifest, "server")
	g.says(1, []string{"no such file"}, "manifest", filepath.Join(t.TempDir(), "gone.json"))
	g.says(1, []string{"component manifest"}, "manifest", writeFile(t, t.TempDir(), "odd.json", "{}x"))
}

func readAll(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCompatFloors(t *testing.T) {
	g := govern(t)
	g.says(0, []string{"ada may play with any version"}, "floor", "ada")
	g.says(0, []string{"ada needs logic version 7", "before it was 0"}, "floor", "ada", "7", "--comment", "played the beta")
	g.says(0, []string{"ada needs logic version 7"}, "floor", "ada")
	if code, out, errs := g.collet("floor", "ada", "6", "--comment", "x"); code == 0 && !strings.Contains(out, "needs logic version 7") {
		t.Errorf("lowered without being asked for: %s%s", out, errs)
	}
	g.says(0, []string{`"floor": 7`}, "floor", "ada", "--json")
}

// TestCompatTokens needs a token to make one.
func TestCompatTokens(t *testing.T) {
	g := govern(t)
	secret := strings.TrimSpace(g.says(0, nil, "token", "ada"))
	t.Setenv("COLLET_TOKEN", "")
	if len(secret) < 20 || strings.ContainsAny(secret, " \n") {
		t.Fatalf("token %q", secret)
	}
	g.says(1, []string{"$COLLET_TOKEN"}, "show")
	g.says(1, []string{"$COLLET_TOKEN"}, "token", "grace", "--role", "view")
	file := writeFile(t, t.TempDir(), "token", secret+"\n")
	g.says(0, []string{"revision"}, "show", "--token-file", file)
	t.Setenv("COLLET_TOKEN", secret)
	viewer := strings.TrimSpace(g.says(0, nil, "token", "grace", "--role", "view"))
	g.says(0, []string{"ada", "admin", "grace", "view"}, "token")
	t.Setenv("COLLET_TOKEN", viewer)
	g.says(0, []string{"revision"}, "show")
	g.says(1, []string{"grace", "operate"}, "set", "--manifest", "hashes")
	t.Setenv("COLLET_TOKEN", secret)
	g.says(0, nil, "token", "grace", "--drop")
	if out := g.says(0, nil, "token"); strings.Contains(out, "grace") {
		t.Errorf("grace is still there:\n%s", out)
	}
	t.Setenv("COLLET_TOKEN", "bad\x01token")
	g.says(1, []string{"characters"}, "show")
}

// TestCompatTokenStaysAtHome: no token travels unencrypted to another machine, and none follows a redirect.
func TestCompatTokenStaysAtHome(t *testing.T) {
	t.Setenv("COLLET_TOKEN", "secret")
	var out, errs bytes.Buffer
	if code := run([]string{"compat", "show", "--server", "http://192.0.2.1:9400"}, &out, &errs); code != console.ExitUsage || !strings.Contains(errs.String(), "unencrypted") {
		t.Errorf("%d: %s", code, errs.String())
	}
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	g := &governed{t: t, url: first.URL}
	g.says(1, []string{"it redirects to"}, "show")
	if asked != 0 {
		t.Error("the redirect was followed")
	}
}

// TestCompatStrangeAnswers: what is no collet-server is told in one line that can't touch the terminal.
func TestCompatStrangeAnswers(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"not JSON":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"another server": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[2Jno", http.StatusNotFound) },
		"an error in JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprint(w, `{"error": "bad\u001b[2J thing", "code": "failed"}`)
		},
		"a cut connection": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	} {
		web := httptest.NewServer(answer)
		g := &governed{t: t, url: web.URL}
		for _, args := range [][]string{{"show"}, {"verdict", "--logic", "1"}, {"history"}, {"set", "--active", "6-7"}} {
			code, out, errs := g.collet(args...)
			if code != console.ExitFailed || errs == "" || strings.Contains(out+errs, "\x1b") {
				t.Errorf("%s, %q: %d %q", what, args, code, out+errs)
			}
		}
		web.Close()
	}
	g := &governed{t: t, url: "http://127.0.0.1:1"}
	g.says(1, []string{"no server answers at 127.0.0.1:1", "$COLLET_ADMIN"}, "show")
}
