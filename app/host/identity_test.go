package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/runtime/abi"
)

// sampleManifest is that of a build with two components.
func sampleManifest(t *testing.T) compat.Manifest {
	t.Helper()
	m := compat.Manifest{
		Mode: compat.ManifestFull, Build: compat.Build{Logic: 7, Time: 1_772_460_300, Seq: 841, ID: "9f2ac41", Branch: "main"},
		Entries: []compat.Entry{{Name: "Camera", WireID: 1, Hash: 11}, {Name: "Wallet", WireID: 2, Hash: 22, ChangedAt: 5, Since: 3}},
	}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	return m
}

// componentsOf is the same as a module tells it, in another order.
func componentsOf(m compat.Manifest) *abi.Components {
	c := &abi.Components{
		Logic: m.Build.Logic, Patch: 4, Set: m.Build.Components, BuildTime: m.Build.Time, BuildSeq: m.Build.Seq, BuildID: m.Build.ID,
		Branch: m.Build.Branch, Flags: abi.FlagDevelopment,
	}
	for i := len(m.Entries) - 1; i >= 0; i-- {
		e := m.Entries[i]
		c.Entries = append(c.Entries, abi.Component{Name: e.Name, WireID: e.WireID, Hash: e.Hash, ChangedAt: e.ChangedAt, Since: e.Since})
	}
	return c
}

func knownHost(t *testing.T, meta abi.Metadata) *host {
	t.Helper()
	h := hostWith(setup{base: "Lathe", target: "Linux-x64", log: zerolog.Nop()}, func(h *host) { h.meta = meta })
	h.folder = t.TempDir()
	h.paths = paths{install: h.folder, data: h.folder}
	return h
}

func TestIdentityOfWhatIsKnown(t *testing.T) {
	full := sampleManifest(t)
	version := compat.Derived(7, full.Build.Components)
	six := int32(6)
	meta := func(compatibility string, c *abi.Components) abi.Metadata {
		return abi.Metadata{CompatibilityVersion: compatibility, BuildHash: "b77", Components: c}
	}
	for _, test := range []struct {
		name     string
		meta     abi.Metadata
		set      settings.Compatibility
		beside   bool // the manifest lies beside the module
		announce string
		want     *netproto.HelloTags
		manifest bool
	}{
		{name: "a custom version alone", meta: meta("summer", nil), announce: "summer"},
		{"a derived version", meta(version6, nil), settings.Compatibility{}, false, version6,
			&netproto.HelloTags{Build: compat.Build{Logic: 6, Components: sumOf6, ID: "b77"}}, false},
		{"a derived version that the command line names", meta("summer", nil), settings.Compatibility{}, false, version6,
			&netproto.HelloTags{Build: compat.Build{Logic: 6, Components: sumOf6}}, false},
		{"settings", meta("summer", nil), settings.Compatibility{
			LogicVersion: &six, ClientPatch: 2, BuildTime: time.Unix(77, 0), BuildNumber: 8, BuildId: "id", Branch: "beta", Account: "ada", Development: true,
		}, false, "summer", &netproto.HelloTags{
			Build: compat.Build{Logic: 6, Time: 77, Seq: 8, ID: "id", Branch: "beta"}, Patch: 2, Account: "ada", Flags: compat.FlagDevelopment,
		}, false},
		{"a manifest beside the module", meta(version, nil), settings.Compatibility{}, true, version, &netproto.HelloTags{Build: full.Build}, true},
		{"a manifest of another build", meta(version6, nil), settings.Compatibility{}, true, version6,
			&netproto.HelloTags{Build: compat.Build{Logic: 6, Components: sumOf6, ID: "b77"}}, false},
		{"a manifest and a custom version", meta("summer", nil), settings.Compatibility{}, true, "summer", &netproto.HelloTags{Build: full.Build}, true},
		{"what the module says", meta(version, componentsOf(full)), settings.Compatibility{}, false, version,
			&netproto.HelloTags{Build: full.Build, Patch: 4, Flags: compat.FlagDevelopment}, true},
		{"the settings know the patch better", meta(version, componentsOf(full)), settings.Compatibility{ClientPatch: 9, Branch: "beta"}, false, version,
			&netproto.HelloTags{Build: with1(full.Build, func(b *compat.Build) { b.Branch = "beta" }), Patch: 9, Flags: compat.FlagDevelopment}, true},
		{"a module that contradicts itself", meta(version6, componentsOf(full)), settings.Compatibility{}, false, version6,
			&netproto.HelloTags{Build: compat.Build{Logic: 6, Components: sumOf6, ID: "b77"}}, false},
	} {
		h := knownHost(t, test.meta)
		h.settings.Compatibility = test.set
		if test.beside {
			text, err := compat.EncodeManifest(&full)
			if err != nil {
				t.Fatal(err)
			}
			putFile(t, filepath.Join(h.folder, "Lathe.so"+manifestExt), text)
		}
		got, manifest := h.identity(test.announce)
		if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		if (manifest != nil) != test.manifest {
			t.Errorf("%s: manifest %+v", test.name, manifest)
		}
		if manifest != nil && (manifest.Check() != nil || manifest.Build != got.Build) {
			t.Errorf("%s: manifest of %+v, hello of %+v, %v", test.name, manifest.Build, got.Build, manifest.Check())
		}
	}
}

func with1[T any](value T, change func(*T)) T {
	change(&value)
	return value
}

// TestManifestsThatAreNone: what can't be used is passed over, and nothing is said that is not true.
func TestManifestsThatAreNone(t *testing.T) {
	broken := sampleManifest(t)
	broken.Build.Components++
	h := knownHost(t, abi.Metadata{CompatibilityVersion: "summer", Components: componentsOf(broken)})
	if tags, manifest := h.identity("summer"); tags != nil || manifest != nil {
		t.Errorf("a table that does not hold together: %+v, %+v", tags, manifest)
	}
	for what, put := range map[string]func(name string){
		"no manifest": func(name string) { putFile(t, name, []byte("{}")) },
		"too large": func(name string) {
			putFile(t, name, nil)
			if err := os.Truncate(name, compat.MaxManifestFile+1); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(name string) {
			if err := os.Mkdir(name, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(string) {},
	} {
		h := knownHost(t, abi.Metadata{CompatibilityVersion: "summer"})
		h.settings.Compatibility.Manifest = "named.json"
		put(filepath.Join(h.folder, "named.json"))
		if tags, manifest := h.identity("summer"); tags != nil || manifest != nil {
			t.Errorf("%s: %+v, %+v", what, tags, manifest)
		}
	}
	long := knownHost(t, abi.Metadata{CompatibilityVersion: version6, BuildHash: strings.Repeat("x", compat.MaxBuildID+1)})
	if tags, _ := long.identity(version6); tags.Build.ID != "" {
		t.Errorf("a build that is too long is told: %q", tags.Build.ID)
	}
}

func TestIdentitySettings(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "Lathe.toml")
	putFile(t, name, []byte("[Compatibility]\nManifest = \"m.json\"\nLogicVersion = 0\nClientPatch = 3\nBuildTime = 2026-03-02T14:05:00Z\nBuildNumber = 841\nBuildId = \"b\"\nBranch = \"main\"\nAccount = \"ada\"\nDevelopment = true\n"))
	s, err := (packed{}).settings(name)
	if got := s.Compatibility; err != nil || got.LogicVersion == nil || *got.LogicVersion != 0 || got.BuildTime.Unix() != 1_772_460_300 || got.ClientPatch != 3 || !got.Development {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"LogicVersion = -1":                             "LogicVersion",
		"BuildId = \"" + strings.Repeat("x", 65) + "\"": "BuildId",
		"Branch = \"" + strings.Repeat("x", 33) + "\"":  "Branch",
		"Account = \"" + strings.Repeat("x", 65) + "\"": "Account",
		"LogicVersion = \"seven\"":                      "LogicVersion",
		"Logic = 7":                                     "no such setting",
	} {
		putFile(t, name, []byte("[Compatibility]\n"+text+"\n"))
		if _, err := (packed{}).settings(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
