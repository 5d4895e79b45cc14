package server_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/releasetest"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestT7Baselines is B6: who has one is compared with it, and who has none is told so and plays.
func TestT7Baselines(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	root := t.TempDir()
	set.Compat.Manifest = filepath.Join(root, "manifest.json")
	own := servertest.WriteManifest(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 8})
	set.Compat.Baselines = filepath.Join(root, "baselines")
	seven := servertest.WriteManifest(t, filepath.Join(set.Compat.Baselines, "L7.json"), 7, map[string]uint64{"Camera": 7})
	servertest.WriteManifest(t, filepath.Join(set.Compat.Baselines, "L3.json"), 3, map[string]uint64{"Camera": 3})
	h, o := servertest.StartWithToken(t, set)
	with := func(sum uint64) func(*netproto.HelloTags) {
		return func(t *netproto.HelloTags) { t.Build.Components, t.Build.Branch, t.Build.Seq = sum, "main", 1 }
	}
	h.Expect(t, servertest.VersionHandshake(8, "Linux-x64", with(own.Build.Components)), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", with(seven.Build.Components)), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(7, "Android-arm64", with(own.Build.Components)), compat.UpdateViaStore, compat.RuleComponents)
	_, j := h.Ask(t, servertest.VersionHandshake(6, "Linux-x64", with(1)))
	if j.Verdict != compat.Accept || j.Warnings&compat.WarnNoBaseline == 0 || j.Compatibility != compat.Derived(8, own.Build.Components) {
		t.Errorf("without a baseline: %+v", j)
	}
	if b := o.Show().Baselines; len(b) != 4 || b[0].Components != "" || b[2].Components != fmt.Sprintf("%016x", seven.Build.Components) {
		t.Errorf("baselines %+v", b)
	}
	for name, spoil := range map[string]func(){
		"is of logic version 7, and so is": func() {
			servertest.WriteManifest(t, filepath.Join(set.Compat.Baselines, "again.json"), 7, map[string]uint64{"Camera": 9})
		},
		"component manifest": func() { servertest.WriteFile(t, filepath.Join(set.Compat.Baselines, "again.json"), "{}") },
	} {
		spoil()
		if err := h.Reload(t.Context(), set); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q: %v", name, err)
		}
	}
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", with(seven.Build.Components)), compat.Accept, compat.RuleAccept)
}

// TestEnginesBestVerdict speaks the engine's generations to a server that has logic versions: their answers have no room for the
// verdict, and get what they can express. What can't help is not offered.
func TestEnginesBestVerdict(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		for _, c := range []struct {
			version, target string
			outdated        bool
			module          string // its content; empty: none is offered
		}{
			{compat.Derived(7, 1), "Linux-x64", false, "module"},
			{compat.Derived(6, 1), "Linux-x64", false, "module of 6"},
			{compat.Derived(5, 1), "Linux-x64", true, "module"},
			{compat.Derived(8, 1), "Linux-x64", true, ""},
			{"unheard of", "Linux-x64", true, "module"},
			{compat.Derived(5, 1), "Windows-win64", true, ""},
			{compat.Derived(5, 1), "Android-arm64", true, ""},
		} {
			p := h.Dial(t, g)
			m := servertest.Handshake(g)
			m.Compatibility, m.Target = c.version, c.target
			answer, files := p.Greet(m)
			if answer.CompatibilityOutdated != c.outdated || answer.UpdaterOutdated || answer.MetadataOutdated {
				t.Errorf("%v %+v: %+v", g, c, answer)
			}
			if got := moduleIn(files); got != len(c.module) {
				t.Errorf("%v %+v: a module of %d bytes is offered", g, c, got)
			}
		}
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Maintenance.Enabled = true })
	p := h.Dial(t, netproto.G2b)
	m := servertest.Handshake(netproto.G2b)
	m.Compatibility = compat.Derived(7, 1)
	if answer, _ := p.Greet(m); !answer.CompatibilityOutdated {
		t.Errorf("under maintenance: %+v", answer)
	}
}

// moduleIn is the size of a list's module, 0 for none.
func moduleIn(files []netproto.ListedFile) int {
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".so") || strings.HasSuffix(f.Path, ".dll") {
			return int(f.Size)
		}
	}
	return 0
}

// TestCustomCompatibility is a game with a version of its own beside its logic version: one more rule.
func TestCustomCompatibility(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.CompatibilityVersion = "spring-2026"
	h, _ := servertest.StartWithToken(t, set)
	m := servertest.VersionHandshake(7, "Linux-x64")
	h.Expect(t, m, compat.UpdateBinaries, compat.RuleString)
	m.Compatibility = "spring-2026"
	h.Expect(t, m, compat.Accept, compat.RuleAccept)
	p := h.Dial(t, netproto.G1)
	old := servertest.Handshake(netproto.G1)
	old.Compatibility = "spring-2026"
	if answer, _ := p.Greet(old); answer.CompatibilityOutdated {
		t.Errorf("an engine's client with the game's own version: %+v", answer)
	}
}

// TestUpdateIsNeverADowngrade lists no module for a client that plays with a newer one of its own version.
func TestUpdateIsNeverADowngrade(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t) // it has patch 2 of 7
	h, _ := servertest.StartWithToken(t, set)
	for patch, want := range map[uint32]string{0: "module", 2: "module", 3: ""} {
		p := h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", func(s *netproto.HelloTags) { s.Patch = patch }), compat.Accept, compat.RuleAccept)
		if got := moduleIn(servertest.Next[*netproto.FileList](p).Files); got != len(want) {
			t.Errorf("patch %d is offered a module of %d bytes", patch, got)
		}
	}
}

// TestReleaseFolderWithVersions takes the logic version of a release from its compatibility version, and older modules from beside.
func TestReleaseFolderWithVersions(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	one := releasetest.Standard(1)
	one.Compatibility = compat.Derived(7, 0x7777)
	set := servertest.ReleaseSettings(published(t, one))
	older := t.TempDir()
	servertest.WriteFile(t, filepath.Join(older, "6", "Linux-x64", "Game.so"), "module of 6")
	servertest.WriteFile(t, filepath.Join(older, "6", "Linux-x64", "Game.so.compat.json"), servertest.Sidecar(6, 1))
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: "6-8", Payloads: older}
	h, o := servertest.StartWithToken(t, set)
	p := h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	if got := moduleIn(servertest.Next[*netproto.FileList](p).Files); got == 0 || got == len("module of 6") {
		t.Errorf("a module of %d bytes is offered", got)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMax = 6 })
	p = h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	if got := moduleIn(servertest.Next[*netproto.FileList](p).Files); got != len("module of 6") {
		t.Errorf("a module of %d bytes is offered", got)
	}
	target := servertest.Target(t, o, "Linux-x64")
	if len(target.Payloads) != 2 || target.Payloads[0].Logic != 7 || target.Payloads[0].Active || target.Payloads[1].Patch != 1 {
		t.Errorf("%+v", target)
	}
	if got := h.Catalogue().Compatibility(); got != compat.Derived(8, 0) {
		t.Errorf("the server says %q", got)
	}
}

// TestT11Sidecars offers what sidecars say, and nothing that has none or is of a version that is not active.
func TestT11Sidecars(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	p := h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	files := servertest.Next[*netproto.FileList](p).Files
	if !servertest.IsListed(files, "FoGame.so", "module") || servertest.IsListed(files, "FoGame.so.compat.json", "") {
		t.Errorf("offered %v", files)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMax = 6 })
	p = h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	files = servertest.Next[*netproto.FileList](p).Files
	if !servertest.IsListed(files, "FoGame.so", "module of 6") || !servertest.IsListed(files, "Core.zip", "") {
		t.Errorf("with 7 dormant, offered %v", files)
	}
	at := slices.IndexFunc(files, func(f netproto.ListedFile) bool { return f.Path == "FoGame.so" })
	if at < 0 {
		t.Fatalf("no module among %v", files)
	}
	servertest.Next[*netproto.Ping](p)
	p.Send(&netproto.GetRange{Request: 9, Index: files[at].Index, Length: 1000})
	if got := servertest.Next[*netproto.RangeData](p); string(got.Data) != "module of 6" {
		t.Errorf("the module of 6 is %q", got.Data)
	}
	h.Expect(t, servertest.VersionHandshake(5, "Windows-win64"), compat.NoNativeUpdate, compat.RuleTooOld) // no sidecar
	h.Expect(t, servertest.VersionHandshake(5, "Linux-arm64"), compat.NoNativeUpdate, compat.RuleTooOld)   // nothing
	h.Expect(t, servertest.VersionHandshake(5, "Android-arm64"), compat.UpdateViaStore, compat.RuleTooOld)
	for name, want := range map[string]bool{"Windows-win64": true, "macOS-arm64": true, "Linux-x64": false, "Android-arm64": false} {
		if target := servertest.Target(t, o, name); target.NoBinary != want {
			t.Errorf("%+v, want no binary %t", target, want)
		}
	}
	if why := servertest.Target(t, o, "Windows-win64").Payloads[0].Why; !strings.Contains(why, "FoGame.dll.compat.json") {
		t.Errorf("why there is none: %q", why)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 8, 8 })
	h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.NoNativeUpdate, compat.RuleTooOld) // it would be asked for again and again
}
