package host

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
)

// developers is a real server of a developer, with its operator.
type developers struct {
	*judging // for its way to start a client
	operator *operator.Operator
}

// newDevelopers serves packs under a policy; manifest is that of its build.
func newDevelopers(t *testing.T, manifest compat.Manifest, policy compat.Policy) developers {
	t.Helper()
	root := t.TempDir()
	text, err := compat.EncodeManifest(&manifest)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(root, "manifest.json"), text)
	putFile(t, filepath.Join(root, "Resources", "Core.zip"), []byte("a pack"))
	set := config.ForFolder(root, "")
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: "7", Manifest: filepath.Join(root, "manifest.json"), Development: true}
	offered, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	op, err := operator.Open(set.Compat.Store, offered.Declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		offered.Close()
		t.Fatal(err)
	}
	settings := op.Settings()
	settings.Components, settings.Manifest = policy, compat.ManifestFull
	by := operator.Actor{Name: "test", Role: operator.RoleAdmin, Source: compat.SourceAPI}
	if _, err := op.Change(t.Context(), by, operator.Change{Revision: settings.Revision, Settings: settings}); err != nil {
		t.Fatal(err)
	}
	s := server.New(offered, set, zerolog.Nop())
	s.Govern(op)
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		<-served
		if err := op.Close(); err != nil {
			t.Error(err)
		}
	})
	return developers{&judging{t: t, addr: listener.Addr().String()}, op}
}

// older is a client's build of the same game, three weeks before: without a mailbox, with another camera.
func older(t *testing.T) (client, later compat.Manifest) {
	t.Helper()
	later = sampleManifest(t)
	later.Entries = append(later.Entries, compat.Entry{Name: "Mailbox", WireID: 3, Hash: 33})
	client = sampleManifest(t)
	client.Build.Time, client.Build.Seq, client.Build.ID = client.Build.Time-19*86400-5*3600, 812, "17be003"
	client.Entries[0].Hash++
	for _, m := range []*compat.Manifest{&client, &later} {
		if err := m.Seal(); err != nil {
			t.Fatal(err)
		}
	}
	return client, later
}

// install is a folder with the manifest of a client's build.
func installOf(t *testing.T, client compat.Manifest, more string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := compat.EncodeManifest(&client)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "Lathe.so"+manifestExt), text)
	putFile(t, filepath.Join(dir, "Lathe.toml"), []byte("[Compatibility]\n"+more))
	return dir
}

// TestDevelopersSeeWhatDiffers: a client at a server of another build shows at once, without a download, which components differ, how,
// and which end is older.
func TestDevelopersSeeWhatDiffers(t *testing.T) {
	client, later := older(t)
	d := newDevelopers(t, later, compat.PolicyEnforce)
	got := d.sync(installOf(t, client, ""), compat.Derived(7, client.Build.Components))
	if got.code != 18 || got.end.Outcome != update.ComponentsMismatch.String() {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{
		"Client and server differ", "Client is older by 19 d, rebuild the client.", "17be003 main #812", "9f2ac41 main #841", "~ Camera", "+ Mailbox (new there)",
	} {
		if !strings.Contains(got.aside, want) {
			t.Errorf("standard error lacks %q:\n%s", want, got.aside)
		}
	}
	if strings.Contains(got.aside, "Wallet") {
		t.Errorf("what is the same is listed:\n%s", got.aside)
	}
}

// TestToleratedDifferencesAreTold: under the policy warn the client plays, and one line tells the counts.
func TestToleratedDifferencesAreTold(t *testing.T) {
	client, later := older(t)
	d := newDevelopers(t, later, compat.PolicyWarn)
	got := d.sync(installOf(t, client, ""), compat.Derived(7, client.Build.Components))
	const want = "Components differ. Only server: 1, only client: 0, changed: 1, renumbered: 0\n"
	if got.code != 0 || got.end.Outcome != update.ResourcesReady.String() || got.aside != want {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestPlayersAreNotToldOfDifferences: a client without components shows no differences, unless the settings enable development.
func TestPlayersAreNotToldOfDifferences(t *testing.T) {
	client, later := older(t)
	d := newDevelopers(t, later, compat.PolicyWarn)
	for more, want := range map[string]string{"": "", "Development = true\n": "Components differ, and the server doesn't tell which."} {
		dir := t.TempDir()
		putFile(t, filepath.Join(dir, "Lathe.toml"), []byte("[Compatibility]\n"+more))
		got := d.sync(dir, compat.Derived(7, client.Build.Components))
		if got.code != 0 || want == "" && got.aside != "" || !strings.Contains(got.aside, want) {
			t.Errorf("%q: %+v", more, got)
		}
	}
}
