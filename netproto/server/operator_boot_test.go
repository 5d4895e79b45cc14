package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// TestT7Baselines is B6: who has one is compared with it, and who has none is told so and plays.
func TestT7Baselines(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	root := t.TempDir()
	set.Compat.Manifest = filepath.Join(root, "manifest.json")
	own := manifestOf(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 8})
	set.Compat.Baselines = filepath.Join(root, "baselines")
	seven := manifestOf(t, filepath.Join(set.Compat.Baselines, "L7.json"), 7, map[string]uint64{"Camera": 7})
	manifestOf(t, filepath.Join(set.Compat.Baselines, "L3.json"), 3, map[string]uint64{"Camera": 3})
	h, o := govern(t, set)
	with := func(sum uint64) func(*netproto.HelloTags) {
		return func(t *netproto.HelloTags) { t.Build.Components, t.Build.Branch, t.Build.Seq = sum, "main", 1 }
	}
	h.expect(t, client(8, "Linux-x64", with(own.Build.Components)), compat.Accept, compat.RuleAccept)
	h.expect(t, client(7, "Linux-x64", with(seven.Build.Components)), compat.Accept, compat.RuleAccept)
	h.expect(t, client(7, "Android-arm64", with(own.Build.Components)), compat.UpdateViaStore, compat.RuleComponents)
	_, j := h.ask(t, client(6, "Linux-x64", with(1)))
	if j.Verdict != compat.Accept || j.Warnings&compat.WarnNoBaseline == 0 || j.Compatibility != compat.Derived(8, own.Build.Components) {
		t.Errorf("without a baseline: %+v", j)
	}
	if b := o.Show().Baselines; len(b) != 4 || b[0].Components != "" || b[2].Components != fmt.Sprintf("%016x", seven.Build.Components) {
		t.Errorf("baselines %+v", b)
	}
	for name, spoil := range map[string]func(){
		"is of logic version 7, and so is": func() {
			manifestOf(t, filepath.Join(set.Compat.Baselines, "again.json"), 7, map[string]uint64{"Camera": 9})
		},
		"component manifest": func() { put(t, filepath.Join(set.Compat.Baselines, "again.json"), "{}") },
	} {
		spoil()
		if err := h.Reload(t.Context(), set); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q: %v", name, err)
		}
	}
	h.expect(t, client(7, "Linux-x64", with(seven.Build.Components)), compat.Accept, compat.RuleAccept)
}

// TestDeclarationFaults are builds that don't know what they are.
func TestDeclarationFaults(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*config.Settings){
		"no range of logic versions":      func(s *config.Settings) { s.Compat.Supported = "8-5" },
		"no range of":                     func(s *config.Settings) { s.Compat.Supported = "-1-5" },
		"Compat.Store: is not set":        func(s *config.Settings) { s.Compat.Store = "" },
		"Compat.Logic: is not in":         func(s *config.Settings) { s.Compat.Logic = "9" },
		"Compat.Logic: is not in Compat":  func(s *config.Settings) { s.Compat.Logic = "eight" },
		"needs Compat.Supported":          func(s *config.Settings) { s.Compat.Supported, s.CompatibilityVersion = "", "x" },
		"Compat.Build: is 65 bytes":       func(s *config.Settings) { s.Compat.Build = strings.Repeat("b", 65) },
		"Compat.Branch: is 33 bytes":      func(s *config.Settings) { s.Compat.Branch = strings.Repeat("b", 33) },
		"compatgen gen writes it":         func(s *config.Settings) { s.Compat.Manifest = filepath.Join(t.TempDir(), "missing") },
		"set Compat.Baselines":            func(s *config.Settings) { s.Compat.Baselines = filepath.Join(t.TempDir(), "missing") },
		"but the manifest is of":          func(s *config.Settings) { s.Compat.Manifest, s.Compat.Logic = manifestAt(t, 8), "7" },
		"but the server's manifest is of": func(s *config.Settings) { s.Compat.Manifest = manifestAt(t, 4) },
		"holds folders like 7/Linux-x64":  func(s *config.Settings) { s.Compat.Payloads = filepath.Join(t.TempDir(), "missing") },
	} {
		set := versioned(t)
		spoil(&set)
		c, err := catalogue.Open(t.Context(), set, (&house{log: &logBook{}}).logger())
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func manifestAt(t *testing.T, logic int32) string {
	path := filepath.Join(t.TempDir(), "manifest.json")
	manifestOf(t, path, logic, map[string]uint64{"Camera": 1})
	return path
}

// TestEnginesBestVerdict speaks the engine's generations to a server that has logic versions: their answers have no room for the
// verdict, and get what they can express. What can't help is not offered.
func TestEnginesBestVerdict(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := govern(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
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
			p := h.dial(t, g)
			m := hello(g)
			m.Compatibility, m.Target = c.version, c.target
			answer, files := p.greet(m)
			if answer.CompatibilityOutdated != c.outdated || answer.UpdaterOutdated || answer.MetadataOutdated {
				t.Errorf("%v %+v: %+v", g, c, answer)
			}
			if got := moduleIn(files); got != len(c.module) {
				t.Errorf("%v %+v: a module of %d bytes is offered", g, c, got)
			}
		}
	}
	change(t, o, func(s *compat.Settings) { s.Maintenance.Enabled = true })
	p := h.dial(t, netproto.G2b)
	m := hello(netproto.G2b)
	m.Compatibility = compat.Derived(7, 1)
	if answer, _ := p.greet(m); !answer.CompatibilityOutdated {
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
	set := versioned(t)
	set.CompatibilityVersion = "spring-2026"
	h, _ := govern(t, set)
	m := client(7, "Linux-x64")
	h.expect(t, m, compat.UpdateBinaries, compat.RuleString)
	m.Compatibility = "spring-2026"
	h.expect(t, m, compat.Accept, compat.RuleAccept)
	p := h.dial(t, netproto.G1)
	old := hello(netproto.G1)
	old.Compatibility = "spring-2026"
	if answer, _ := p.greet(old); answer.CompatibilityOutdated {
		t.Errorf("an engine's client with the game's own version: %+v", answer)
	}
}

// TestUpdateIsNeverADowngrade lists no module for a client that plays with a newer one of its own version.
func TestUpdateIsNeverADowngrade(t *testing.T) {
	t.Parallel()
	set := versioned(t) // it has patch 2 of 7
	h, _ := govern(t, set)
	for patch, want := range map[uint32]string{0: "module", 2: "module", 3: ""} {
		p := h.expect(t, client(7, "Linux-x64", func(s *netproto.HelloTags) { s.Patch = patch }), compat.Accept, compat.RuleAccept)
		if got := moduleIn(next[*netproto.FileList](p).Files); got != len(want) {
			t.Errorf("patch %d is offered a module of %d bytes", patch, got)
		}
	}
}
