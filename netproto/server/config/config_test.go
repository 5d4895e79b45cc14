package config_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// writeSettings puts a settings file into a fresh folder.
func writeSettings(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.toml")
	writeFile(t, path, text)
	return path
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultsAreTheSources(t *testing.T) {
	path := writeSettings(t, `CompatibilityVersion = "v1"`)
	got, err := config.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(path)
	want := config.Settings{
		CompatibilityVersion: "v1",
		Network:              config.Network{ServerPort: 4000, UpdateFileMaxPortionSize: 1_000_000, CongestionControl: "auto", SpreadConnections: 4},
		Baking: config.Baking{
			PlatformBinaries: filepath.Join(base, "PlatformBinaries"),
			ClientResources:  filepath.Join(base, "Resources"),
			CacheResources:   filepath.Join(base, "Cache"),
		},
		Release: config.Release{Channel: "stable", CacheSize: 64 << 30, HTTPPrefix: "/"},
		Limits:  config.DefaultLimits(),
		SignIn:  config.Defaults().SignIn,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if root := config.ForFolder(base, "v1"); !reflect.DeepEqual(root, want) {
		t.Errorf("ForFolder: got %+v\nwant %+v", root, want)
	}
	if got.Address() != ":4000" || got.Storage() != "disk" {
		t.Errorf("address %q, storage %q", got.Address(), got.Storage())
	}
}

func TestLoadReadsEveryName(t *testing.T) {
	absolute := filepath.Join(t.TempDir(), "elsewhere")
	path := writeSettings(t, `
CompatibilityVersion = "0123456789abcdef"
Network.ServerPort = 4100
[Network]
UpdateFileMaxPortionSize = 5_000_000
DisableZlibCompression = true
CongestionControl = "reno"
SpreadConnections = 2
[ServerNetwork]
UpdateFilesInMemory = true
[Baking]
PlatformBinaries = '`+absolute+`'
ClientResources = "packs/client"
CacheResources = "tmp"
ClientResourceEntries = ["Core", "Embedded", "maps/World"]
`)
	_, err := config.Load(path, "")
	if err == nil {
		t.Fatal("a table opened twice was accepted")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("Network.ServerPort = 4100\n[Network]"), []byte("[Network]\nServerPort = 4100"), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(path)
	want := config.Settings{
		CompatibilityVersion: "0123456789abcdef",
		Network:              config.Network{ServerPort: 4100, UpdateFileMaxPortionSize: 5_000_000, DisableZlibCompression: true, CongestionControl: "reno", SpreadConnections: 2},
		ServerNetwork:        config.ServerNetwork{UpdateFilesInMemory: true},
		Baking: config.Baking{
			PlatformBinaries:      absolute,
			ClientResources:       filepath.Join(base, "packs", "client"),
			CacheResources:        filepath.Join(base, "tmp"),
			ClientResourceEntries: []string{"Core", "Embedded", "maps/World"},
		},
		Release: config.Release{Channel: "stable", CacheSize: 64 << 30, HTTPPrefix: "/"},
		Limits:  config.DefaultLimits(),
		SignIn:  config.Defaults().SignIn,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

const overlaid = `
CompatibilityVersion = "base"
ServerNetwork.UpdateFilesInMemory = false
Network.UpdateFileMaxPortionSize = 1000

[SubConfig.PublicGame]
ServerNetwork.UpdateFilesInMemory = true

[SubConfig.DailyTest]
Parent = "PublicGame"
CompatibilityVersion = "daily"
[SubConfig.DailyTest.Network]
UpdateFileMaxPortionSize = 3000

[SubConfig.Lean]
Parent = "DailyTest"
ServerNetwork = { UpdateFilesInMemory = false }
Baking.ClientResourceEntries = []
`

func TestSubConfigLiesOverItsParentsAndTheFile(t *testing.T) {
	tests := []struct {
		name     string
		compat   string
		portion  int
		inMemory bool
		entries  []string
	}{
		{"", "base", 1000, false, nil},
		{"PublicGame", "base", 1000, true, nil},
		{"DailyTest", "daily", 3000, true, nil},
		{"Lean", "daily", 3000, false, []string{}},
	}
	path := writeSettings(t, overlaid)
	for _, test := range tests {
		t.Run("sub-config "+test.name, func(t *testing.T) {
			got, err := config.Load(path, test.name)
			if err != nil {
				t.Fatal(err)
			}
			if got.CompatibilityVersion != test.compat || got.Network.UpdateFileMaxPortionSize != test.portion ||
				got.ServerNetwork.UpdateFilesInMemory != test.inMemory ||
				!reflect.DeepEqual(got.Baking.ClientResourceEntries, test.entries) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSettingsFaultsNameFileLineAndRemedy(t *testing.T) {
	const compat = "CompatibilityVersion = \"v\"\n" // line 1 of most
	tests := []struct {
		name, text, sub string
		line            int
		key, want       string
	}{
		{"unknown name", compat + "[Network]\nServerProt = 1\n", "", 3, "Network.ServerProt", "unknown setting; did you mean Network.ServerPort?"},
		{"unknown table", compat + "[Sound]\nVolume = 1\n", "", 2, "Sound", "unknown setting"},
		{"wrong table", compat + "ServerPort = 1\n", "", 2, "ServerPort", "did you mean Network.ServerPort?"},
		{"unknown in sub-config", compat + "[SubConfig.A]\nServerNetwork.UpdateFileInMemory = true\n", "", 3,
			"SubConfig.A.ServerNetwork.UpdateFileInMemory", "did you mean ServerNetwork.UpdateFilesInMemory?"},
		{"text for number", compat + "Network.ServerPort = \"4000\"\n", "", 2, "Network.ServerPort", "type string, want a whole number"},
		{"fraction", compat + "Network.ServerPort = 1.5\n", "", 2, "Network.ServerPort", "type float, want a whole number"},
		{"number for text", "CompatibilityVersion = 3\n", "", 1, "CompatibilityVersion", "type integer, want a text in quotes"},
		{"number for truth", compat + "ServerNetwork.UpdateFilesInMemory = 1\n", "", 2, "ServerNetwork.UpdateFilesInMemory", "want true or false"},
		{"text for list", compat + "Baking.ClientResourceEntries = \"Core Maps\"\n", "", 2, "Baking.ClientResourceEntries", "want a list of texts"},
		{"number in list", compat + "Baking.ClientResourceEntries = [\"Core\",\n 7]\n", "", 3, "Baking.ClientResourceEntries", "want a list of texts"},
		{"value for table", compat + "Network = 5\n", "", 2, "Network", "want a table of settings"},
		{"parent is no text", compat + "[SubConfig.A]\nParent = 1\n", "", 3, "SubConfig.A.Parent", "want a text in quotes"},
		{"list of sub-configs", compat + "[[SubConfig]]\nName = \"A\"\n", "", 2, "SubConfig", "want a table of settings"},
		{"no value", compat + "Network.ServerPort =\n", "", 2, "", "unexpected character"},
		{"twice", compat + compat, "", 2, "CompatibilityVersion", "already defined"},
		{"not set", "Network.ServerPort = 1\n", "", 0, "CompatibilityVersion", "is not set"},
		{"empty", "CompatibilityVersion = \"\"\n", "", 1, "CompatibilityVersion", "is not set"},
		{"long", "CompatibilityVersion = \"" + strings.Repeat("x", 257) + "\"\n", "", 1, "CompatibilityVersion", "257 bytes long"},
		{"control", "CompatibilityVersion = \"a\\nb\"\n", "", 1, "CompatibilityVersion", "control characters"},
		{"port 0", compat + "Network.ServerPort = 0\n", "", 2, "Network.ServerPort", "between 1 and 65535"},
		{"port high", compat + "\n\n[Network]\nServerPort = 65_536\n", "", 5, "Network.ServerPort", "between 1 and 65535"},
		{"port beyond int64", compat + "Network.ServerPort = 99999999999999999999\n", "", 2, "Network.ServerPort", "too large"},
		{"portion 0", compat + "Network = { UpdateFileMaxPortionSize = 0 }\n", "", 2, "Network.UpdateFileMaxPortionSize", "between 1 and"},
		{"portion negative", compat + "network.updatefilemaxportionsize = -1\n", "", 2, "Network.UpdateFileMaxPortionSize", "between 1 and"},
		{"portion huge", compat + "Network.UpdateFileMaxPortionSize = 16777217\n", "", 2, "Network.UpdateFileMaxPortionSize", "between 1 and 16777216"},
		{"fault of the overlay", compat + "Network.ServerPort = 1\n[SubConfig.A]\nNetwork.ServerPort = -4\n", "A", 4, "SubConfig.A.Network.ServerPort", "between 1"},
		{"no folder", compat + "Baking.ClientResources = \"\"\n", "", 2, "Baking.ClientResources", "must name a folder"},
		{"entry leaves", compat + "Baking.ClientResourceEntries = [\"../x\"]\n", "", 2, "Baking.ClientResourceEntries", "leaves the folder"},
		{"entry with extension", compat + "Baking.ClientResourceEntries = [\"Core.zip\"]\n", "", 2, "Baking.ClientResourceEntries", "leave \".zip\" out"},
		{"entry twice", compat + "Baking.ClientResourceEntries = [\"Core\", \"core\"]\n", "", 2, "Baking.ClientResourceEntries", "same file"},
		{"no such sub-config", compat + "[SubConfig.PublicGame]\n[SubConfig.Staging]\n", "PublicGam", 0, "SubConfig.PublicGam", "did you mean PublicGame?; the file has PublicGame, Staging"},
		{"no sub-configs", compat, "A", 0, "SubConfig.A", "the file has none"},
		{"no such parent", compat + "[SubConfig.A]\nParent = \"B\"\n", "A", 3, "SubConfig.A.Parent", "no sub-config \"B\""},
		{"own parent", compat + "[SubConfig.A]\nParent = \"B\"\n[SubConfig.B]\nParent = \"A\"\n", "A", 5, "SubConfig.B.Parent", "\"A\" is a parent of itself"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := writeSettings(t, test.text)
			_, err := config.Load(path, test.sub)
			var fault *config.Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a *Error", err)
			}
			if fault.File != path || fault.Line != test.line || fault.Key != test.key || !strings.Contains(fault.Text, test.want) {
				t.Errorf("got line %d, key %q, text %q\nwant line %d, key %q, …%q…", fault.Line, fault.Key, fault.Text, test.line, test.key, test.want)
			}
			if !strings.HasPrefix(err.Error(), path) {
				t.Errorf("message %q doesn't begin with the file", err)
			}
		})
	}
}

func TestEveryUnknownSettingIsReported(t *testing.T) {
	_, err := config.Load(writeSettings(t, "CompatibilityVersion = \"v\"\nA = 1\nB = 2\n"), "")
	if err == nil || strings.Count(err.Error(), "unknown setting") != 2 {
		t.Errorf("got %v, want two faults", err)
	}
}

func TestSettingsFileThatIsNone(t *testing.T) {
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.toml"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := config.Load(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "no settings file") {
		t.Errorf("folder: %v", err)
	}
	if _, err := config.Load(writeSettings(t, strings.Repeat("#", 1<<20+1)), ""); err == nil || !strings.Contains(err.Error(), "no settings file") {
		t.Errorf("file of a megabyte: %v", err)
	}
}

func TestSettingsReferenceIsComplete(t *testing.T) {
	var fields []string
	collect(reflect.TypeFor[config.Settings](), "", &fields)
	names := config.Names()
	for _, field := range fields {
		if !contains(names, field) {
			t.Errorf("%s has no row", field)
		}
	}
	if len(names) != len(fields) {
		t.Errorf("%d rows for %d settings", len(names), len(fields))
	}
	var text bytes.Buffer
	if err := config.Describe(&text); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(text.String(), name+" ") {
			t.Errorf("help lacks %s", name)
		}
	}
}

func collect(structure reflect.Type, prefix string, to *[]string) {
	for field := range structure.Fields() {
		if field.Type.Kind() == reflect.Struct {
			collect(field.Type, prefix+field.Name+".", to)
			continue
		}
		*to = append(*to, prefix+field.Name)
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

func FuzzSettings(f *testing.F) {
	f.Add(overlaid, "Lean")
	f.Add("CompatibilityVersion = \"v\"\nNetwork = { ServerPort = -1 }\n", "")
	f.Add("[SubConfig.A]\nParent = \"A\"\n", "A")
	f.Fuzz(func(t *testing.T, text, sub string) {
		path := filepath.Join(t.TempDir(), "s.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := config.Load(path, sub)
		if err == nil && set.Validate() != nil {
			t.Errorf("loaded settings that don't validate: %+v", set)
		}
		if err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Errorf("fault without its file: %v", err)
		}
	})
}

func TestCongestionControlSetting(t *testing.T) {
	for value, valid := range map[string]bool{
		"auto": true, "system": true, "bbr": true, "cubic": true, "dctcp-2": true,
		"": false, "BBR": false, "two words": false, "sixteenletters__": false,
	} {
		set := config.Defaults()
		set.CompatibilityVersion = "1"
		set.Network.CongestionControl = value
		err := set.Validate()
		var fault *config.Error
		if valid && err != nil || !valid && (!errors.As(err, &fault) || fault.Key != "Network.CongestionControl") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
