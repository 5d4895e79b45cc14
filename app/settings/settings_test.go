package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"collet/app/settings"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		server     string
		says       string // empty: accepted
	}{
		{"nothing", "", "127.0.0.1:4000", ""},
		{"tables", "[ClientNetwork]\nServerHost = \"game.test\"\nServerPort = 4100\n", "game.test:4100", ""},
		{"dotted", "ClientNetwork.ServerHost = \"::1\"\n", "[::1]:4000", ""},
		{"a way to connect", "ClientNetwork.ServerHost = \"wss://game.test/x\"\n", "wss://game.test/x", ""},
		{"filled up", "ClientNetwork.ServerHost = \"game.test\"\n" + strings.Repeat("#", 5000), "game.test:4000", ""},
		{"filled up, no line end", "ClientNetwork.ServerHost = \"game.test\"####", "game.test:4000", ""},
		{"unknown", "# a\n[ClientNetwork]\nServerHots = \"x\"\n", "", "Lathe.toml:3: ClientNetwork.ServerHots: no such setting"},
		{"unknown table", "[Clients]\nTitle = \"x\"\n", "", "Lathe.toml:1: Clients: no such setting"},
		{"unknown, dotted", "\nClients.Title = \"x\"\n", "", "Lathe.toml:2: Clients.Title: no such setting"},
		{"unknown tables", "[[Clients]]\nTitle = \"x\"\n", "", "no such setting"},
		{"type", "\nClientNetwork.ServerPort = \"x\"\n", "", "Lathe.toml:2: ClientNetwork.ServerPort: "},
		{"port", "[ClientNetwork]\n\nServerPort = 70000\n", "", "Lathe.toml:3: ClientNetwork.ServerPort: it is 70000; want 1 to 65535"},
		{"port, dotted", "\n\n\nClientNetwork.ServerPort = -1\n", "", "Lathe.toml:4: ClientNetwork.ServerPort: it is -1"},
		{"port, other case", "\nclientnetwork.serverport = -1\n", "", "Lathe.toml:2: ClientNetwork.ServerPort: it is -1"},
		{"broken", "[ClientNetwork\n", "", "Lathe.toml:1"},
		{"twice", "Client.Title = \"a\"\nClient.Title = \"b\"\n", "", "Lathe.toml:2"},
		{"huge", strings.Repeat("# a comment\n", 100_000), "", "longer than"},
		{"urls", "[Release]\nUrls = [\"here\"]", "", "Lathe.toml:2: Release.Urls: want http://"},
		{"bandwidth", "[Release]\nBandwidth = \"x\"", "", "Lathe.toml:2: Release.Bandwidth: "},
		{"offline", "[Client]\nOfflineAfter = \"3\"", "", "Lathe.toml:2: Client.OfflineAfter: "},
		{"kind", "[Client]\nKind = \"programme\"", "", "Lathe.toml:2: Client.Kind: \"programme\" is unknown; want \"module\" or \"program\""},
		{"kinds", "[Client]\nKind = \"program\"", "127.0.0.1:4000", ""},
		{"stop", "[Client]\nStopWithin = \"2m\"", "", "Lathe.toml:2: Client.StopWithin: \"2m\" is no time up to 1m0s"},
		{"stop at once", "[Client]\nStopWithin = \"0s\"", "127.0.0.1:4000", ""},
		{"kind", "[Client]\nKind = \"game\"", "", "Lathe.toml:2: Client.Kind: \"game\" is unknown; want \"module\" or \"program\""},
		{"program", "[Client]\nKind = \"program\"\n[Update]\nWhilePlaying = \"10m\"", "127.0.0.1:4000", ""},
		{"while playing", "[Update]\nWhilePlaying = \"10ms\"", "", "Lathe.toml:2: Update.WhilePlaying: \"10ms\" is no time from 1s to 24h0m0s"},
		{"root", "Release.Root = '''{\n  \"signed\": {}\n}'''", "127.0.0.1:4000", ""},
		{"root that is none", "Release.Root = 'root.json'", "", "Lathe.toml:1: Release.Root: it is no JSON"},
		{"logic", "Compatibility.LogicVersion = -1", "", "Lathe.toml:1: Compatibility.LogicVersion: it is -1"},
		{"branch", "Compatibility.Branch = \"" + strings.Repeat("b", 300) + "\"", "", "Lathe.toml:1: Compatibility.Branch: it has 300 bytes"},
		{"a list for the game", "A = [1]", "", "Lathe.toml:1: A: a setting of the game is text"},
		{"a time for the game", "A = 2026-01-01", "", "Lathe.toml:1: A: a setting of the game is text"},
		{"two lines for the game", "A = \"x\\ny\"", "", "Lathe.toml:1: A: a setting of the game is one line"},
		{"no argument", "\"-A B\" = 1", "", "a setting of the game becomes an argument"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := settings.Parse("Lathe.toml", test.text)
			switch {
			case test.says == "" && err != nil:
				t.Fatal(err)
			case test.says == "" && s.Server() != test.server:
				t.Errorf("server %q, want %q", s.Server(), test.server)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "Lathe.toml")):
				t.Errorf("error %v, want %q in it", err, test.says)
			}
			if e := new(settings.Error); err != nil && (!errors.As(err, &e) || e.Place != "Lathe.toml") {
				t.Errorf("%#v is not the typed error", err)
			}
		})
	}
}

// TestAllFaultsAtOnce checks that one error lists all faults.
func TestAllFaultsAtOnce(t *testing.T) {
	for text, want := range map[string]int{
		"Clients.Title = 1\nClient.Titel = 2\nB = []\n":                        3,
		"ClientNetwork.ServerPort = 0x10000\nRelease.Bandwidth = \"x\"\nA = 1": 2,
	} {
		_, err := settings.Parse("here", text)
		joined, is := err.(interface{ Unwrap() []error })
		if !is || len(joined.Unwrap()) != want {
			t.Errorf("%s: %v, want %d faults", text, err, want)
		}
	}
}

// TestLayers merges several sources.
func TestLayers(t *testing.T) {
	inside := settings.Layer{Name: "internal config", Text: `
ClientNetwork.ServerHost = "play.example"
ClientNetwork.ServerPort = 4100
Client.Title = "The Lathe"
Client.GameName = "Lathe"
Release.Urls = ["https://a.example/r", "https://b.example/r"]
Release.Channel = "beta"
Release.Root = '{"inside": 1}'
ForceOpenGL = 1
Remote.Profiles.small.Arguments = ["--small"]
`}
	tests := map[string]struct {
		text  string
		check func(s settings.Settings) bool
	}{
		"nothing": {"", func(s settings.Settings) bool {
			return s.Server() == "play.example:4100" && s.NamesServer && s.Game["ForceOpenGL"] == "1"
		}},
		"one name":          {`Client.Title = "Mine"`, func(s settings.Settings) bool { return s.Client.Title == "Mine" && s.Client.GameName == "Lathe" }},
		"half an address":   {`ClientNetwork.ServerHost = "localhost"`, func(s settings.Settings) bool { return s.Server() == "localhost:4100" }},
		"a list for a list": {`Release.Urls = ["http://c.example"]`, func(s settings.Settings) bool { return reflect.DeepEqual(s.Release.Urls, []string{"http://c.example"}) }},
		"an empty list":     {`Release.Urls = []`, func(s settings.Settings) bool { return len(s.Release.Urls) == 0 && s.Release.Channel == "beta" }},
		"a file for a text": {`Release.TrustedRoot = "root.json"`, func(s settings.Settings) bool { return s.Release.TrustedRoot == "root.json" && s.Release.Root == "" }},
		"a text for a text": {`Release.Root = '{"mine": 1}'`, func(s settings.Settings) bool { return s.Release.Root == `{"mine": 1}` }},
		"both":              {"Release.Root = '{}'\nRelease.TrustedRoot = \"r\"", func(s settings.Settings) bool { return s.Release.Root == "{}" && s.Release.TrustedRoot == "r" }},
		"the game's":        {"ForceOpenGL = false\nSpeed = 1.5", func(s settings.Settings) bool { return s.Game["ForceOpenGL"] == "false" && s.Game["Speed"] == "1.5" }},
		"one more profile":  {`Remote.Profiles.large.Arguments = ["--large"]`, func(s settings.Settings) bool { return len(s.Remote.Profiles) == 2 }},
		"the root stays": {`Release.Channel = "stable"`, func(s settings.Settings) bool {
			return s.Release.Root == `{"inside": 1}` && s.Release.Channel == "stable"
		}},
		"a default taken back": {`Baking.ClientResources = "Packs"`, func(s settings.Settings) bool {
			return s.Baking.ClientResources == "Packs" && s.Baking.CacheResources == "Cache"
		}},
		"another way to connect": {`ClientNetwork.ServerHost = "tls://x.example:1"`, func(s settings.Settings) bool { return s.Server() == "tls://x.example:1" }},
	}
	for title, test := range tests {
		s, err := settings.Load(inside, settings.Layer{Name: "Lathe.toml", Text: test.text})
		if err != nil || !test.check(s) {
			t.Errorf("%s: %v, %+v", title, err, s)
		}
	}
}

// TestLayerIsBlamed checks that an error names the source of the fault, not one of higher priority.
func TestLayerIsBlamed(t *testing.T) {
	good, bad := "ClientNetwork.ServerPort = 4100", "\nClientNetwork.ServerPort = 70000"
	for _, test := range []struct{ inside, file, want string }{
		{bad, "", "settings internal config:2: ClientNetwork.ServerPort"},
		{good, bad, "settings Lathe.toml:2: ClientNetwork.ServerPort"},
		{bad, good, ""},
	} {
		_, err := settings.Load(settings.Layer{Name: "internal config", Text: test.inside}, settings.Layer{Name: "Lathe.toml", Text: test.file})
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.toml")
	if l, err := settings.ReadFile(name); err != nil || l.Text != "" || l.Name != name {
		t.Errorf("a file that is not there: %+v, %v", l, err)
	}
	for _, size := range []int{0, 5, settings.MaxText, settings.MaxText + 1} {
		if err := os.WriteFile(name, []byte(strings.Repeat("#", size)), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := settings.ReadFile(name)
		if large := size > settings.MaxText; large != (err != nil) || !large && len(l.Text) != size {
			t.Errorf("%d bytes: %d, %v", size, len(l.Text), err)
		}
	}
	if _, err := settings.ReadFile(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func TestCheck(t *testing.T) {
	for text, key := range map[string]string{
		"":                                     "",
		`ClientNetwork.ServerHost = "a.org"`:   "",
		`ClientNetwork.ServerHost = "ftp://a"`: "ClientNetwork.ServerHost",
		`ClientNetwork.ServerHost = "a b"`:     "ClientNetwork.ServerHost",
		`ClientNetwork.Proxy = "direct"`:       "",
		`ClientNetwork.Proxy = "gopher://x:1"`: "ClientNetwork.Proxy",
		"[ClientNetwork]\nProxy = \"direct\"\nProxyOnly = true": "ClientNetwork.ProxyOnly",
	} {
		s, err := settings.Parse("here", "Update.Trust = \"sha256\"\n"+text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		e := new(settings.Error)
		if err := s.Check(); (err == nil) != (key == "") || err != nil && (!errors.As(err, &e) || e.Key != key) {
			t.Errorf("%s: %v, want %q blamed", text, err, key)
		}
	}
}

// TestNames checks that every listed name is read, and that every name that is read is listed.
func TestNames(t *testing.T) {
	list := settings.Names()
	for _, want := range []string{"ClientNetwork.ServerHost", "Client.Title", "Release.Root", "Compatibility.BuildTime", "Remote.Profiles"} {
		if !strings.Contains(strings.Join(list, " "), want) {
			t.Errorf("%s is not listed", want)
		}
	}
	for _, name := range list {
		_, err := settings.Parse("here", name+" = nan") // NaN has no setting's type
		if err == nil || strings.Contains(err.Error(), "no such setting") {
			t.Errorf("%s: %v", name, err)
		}
		if table, _, dotted := strings.Cut(name, "."); !dotted || table == "Game" || table == "NamesServer" {
			t.Errorf("%s would be a setting of the game", name)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1": 1, "500K": 500_000, "500k": 500_000, "2M": 2_000_000, "1.5M": 1_500_000, "1G": 1_000_000_000} {
		if got, err := settings.ParseRate(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "-1", "fast", "M", "0.1", "NaN", "1e30", "2MB", "Inf"} {
		if got, err := settings.ParseRate(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestParseOfflineAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Minute, "never": 0, "3s": 3 * time.Second, "250ms": 250 * time.Millisecond} {
		if got, err := settings.ParseOfflineAfter(text, time.Minute); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"3", "61m", "soon", "-1s", "0s"} {
		if got, err := settings.ParseOfflineAfter(text, 0); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// FuzzParse checks that any text is either parsed or rejected with its place, and that a parsed text can be applied twice.
func FuzzParse(f *testing.F) {
	f.Add("ClientNetwork.ServerHost = \"game.test\"\nForceOpenGL = 1\n####")
	f.Add("[Release]\nUrls = [\"https://a/b\"]\nRoot = '''{}'''\n[[x]]\n")
	f.Add("Compatibility.BuildTime = 2026-01-01T00:00:00Z\n\"a b\" = 1\n[Client.x]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := settings.Parse("here", text)
		if err != nil {
			if e := new(settings.Error); !errors.As(err, &e) || e.Place != "here" && e.Place != "defaults" || e.Line < 0 {
				t.Errorf("%#v", err)
			}
			return
		}
		again, err := settings.Load(settings.Layer{Name: "a", Text: text}, settings.Layer{Name: "b", Text: text})
		if err != nil || again.Server() != s.Server() || len(again.Game) != len(s.Game) || again.Release.Root != s.Release.Root {
			t.Errorf("over itself: %v", err)
		}
	})
}
