package pack_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"collet/app/settings"
	"collet/build/pack"
	"collet/netproto/product"
)

// TestAllMistakesAtOnce has one of each kind; each is told with its own line, in their order.
func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	got := mistakes(t, `gmae = 1
[game]
name = "Lathe"
version = 2
id = "org.example.lathe"
pubisher = "x"
icon = [
  "a",
]
summary = "x"
maintainer = "A <a@b.c>"
time = "2026-01-01T00:00:00Z"

[client]
server = "x:1"
homepage = "https://x.y"
settings = { Client = { Titel = "x" }, "Client.OfflineAfter" = "x" }

[resources]
pack = [
  { name = "A", from = "packs/core" },
  { name = "a",
    from = "packs/none" },
]

[target]
name = "Linux-x64"

[[variant]]
postfix = "a b"

[[variant]]
opengl = 1

[[variant.build]]
name = "x"
modul = "y"

[windows]
formats = ["zip",
  "zpi",
  7]
`)
	want := []string{
		`collet.toml:1: gmae: is unknown; did you mean game?`,
		`collet.toml:4: game.version: is a number; want text in quotes`,
		`collet.toml:6: game.pubisher: is unknown; did you mean publisher?`,
		`collet.toml:7: game.icon: is a list; want text in quotes`,
		`collet.toml:16: client.homepage: is unknown in [client]; it belongs into [game]`,
		`collet.toml:17: client.settings."Client.OfflineAfter": "x" is no time up to 1h0m0s; want something like "3s", or "never"`,
		`collet.toml:17: client.settings.Client.Titel: the client has no setting Client.Titel; did you mean Client.Title?`,
		`collet.toml:22: resources.pack[1].name: "A" and "a" are one file on Windows and macOS; make them differ by more than case`,
		`collet.toml:23: resources.pack[1].from: there is no packs/none; build it first, or correct the path`,
		`collet.toml:26: target: is a table; there can be several: write [[target]] with two brackets`,
		`collet.toml:30: variant[0].postfix: postfix "a b" has ' '; want letters, digits and dashes`,
		`collet.toml:33: variant[1].opengl: is a number; want true or false, without quotes`,
		`collet.toml:37: variant[1].build[0].modul: is unknown; did you mean module?`,
		`collet.toml:41: windows.formats[1]: "zpi" is unknown; did you mean zip?`,
		`collet.toml:42: windows.formats[2]: is a number; want text in quotes`,
	}
	got = slices.DeleteFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "collet.toml:32: variant[1]: ") || strings.HasPrefix(line, "collet.toml:35: ") || strings.HasPrefix(line, "collet.toml:36: variant[1].build[0].name")
	})
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestNoTOML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[game]\nname = \"Lathe\nversion = 1\n": "collet.toml:2: ",
		"[game]\nname = \"a\"\nname = \"b\"\n":  "collet.toml:3: ",
		"[game]\n[game]\n":                      "collet.toml:",
		"a = \"\xff\"":                          "collet.toml:1: ",
		"[game]\nx = '''\n-----BEGIN RSA PRIVATE KEY-----\nMII\n'''\n":        "collet.toml:3: has a private key in it; keep it in a file",
		"\n# -----BEGIN ENCRYPTED PRIVATE KEY-----":                           "collet.toml:2: has a private key in it",
		"[signing.windows]\npassword-env = \"-----BEGIN PRIVATE KEY-----\"\n": "collet.toml:2: has a private key in it",
	} {
		if got := mistakes(t, text); len(got) != 1 || !strings.HasPrefix(got[0], want) || strings.Contains(got[0], "MII") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	_, err := pack.Load(filepath.Join(t.TempDir(), "collet.toml"), nil)
	if err == nil || !strings.Contains(err.Error(), "make one with `collet wrap DIR` for a game that exists, or with `collet pack init`") {
		t.Errorf("got %v", err)
	}
	large := filepath.Join(t.TempDir(), "collet.toml")
	write(t, filepath.Dir(large), map[string]string{"collet.toml": strings.Repeat("# x\n", 70_000)})
	if _, err := pack.Load(large, nil); err == nil || !strings.Contains(err.Error(), "is longer than 262144 bytes") {
		t.Errorf("got %v", err)
	}
	if _, err := pack.Load(t.TempDir(), nil); err == nil {
		t.Error("a folder was read")
	}
}

// TestEmpty wants to be told of everything that has to be there.
func TestEmpty(t *testing.T) {
	t.Parallel()
	got := strings.Join(mistakes(t, ""), "\n")
	for _, key := range []string{"game.name", "game.id", "game.version", "game.publisher", "game.maintainer", "game.summary", "game.icon", "game.time", "client.server", "target"} {
		if !strings.Contains(got, "collet.toml:1: "+key+": is missing; ") {
			t.Errorf("%s is not missed in\n%s", key, got)
		}
	}
}

func TestManyMistakes(t *testing.T) {
	t.Parallel()
	got := mistakes(t, strings.Repeat("[[variant]]\nfoo = 1\n", 300))
	if last := got[len(got)-1]; len(got) != 201 || !strings.HasSuffix(last, "more mistakes follow") {
		t.Errorf("%d are told, and last %s", len(got), last)
	}
}

func TestTimeOfTheEnvironment(t *testing.T) {
	t.Parallel()
	text := strings.Replace(good, "time = 2026-11-22T12:00:00Z\n", "", 1)
	for value, want := range map[string]string{"1700000000": "2023-11-14T22:13:20Z", "-1": "", "soon": "", "99999999999999": ""} {
		p, err := pack.Load(workplace(t, text), env("SOURCE_DATE_EPOCH="+value))
		switch {
		case want == "":
			if err == nil || !strings.Contains(err.Error(), "game.time: ") {
				t.Errorf("%s: %v", value, err)
			}
		case err != nil:
			t.Errorf("%s: %v", value, err)
		case p.Product().Time.Format("2006-01-02T15:04:05Z07:00") != want:
			t.Errorf("%s is %v", value, p.Product().Time)
		}
	}
	p, err := pack.Load(workplace(t, good), env("SOURCE_DATE_EPOCH=1700000000"))
	if err != nil || p.Product().Time.Year() != 2026 {
		t.Errorf("the description's own time is not the one: %v", err)
	}
}

// TestLinksOutOfTheProject follows links inside, and none that lead out.
func TestLinksOutOfTheProject(t *testing.T) {
	t.Parallel()
	file := workplace(t, good)
	dir, outside := filepath.Dir(file), t.TempDir()
	write(t, outside, map[string]string{"client": "h", "core/x": ""})
	swap := func(name, to string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("SKIPPED: no symbolic links here: %v", err)
		}
	}
	swap("out/linux/client", "../windows/client.exe")
	if _, err := pack.Load(file, env()); err != nil {
		t.Errorf("a link inside of the project: %v", err)
	}
	swap("out/linux/client", filepath.Join(outside, "client"))
	swap("packs/core", filepath.Join(outside, "core"))
	_, err := pack.Load(file, env())
	for _, want := range []string{"target[0].host: out/linux/client is a link that leads out", "resources.pack[0].from: packs/core is a link that leads out"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "out/linux/client")); err != nil {
		t.Fatal(err)
	}
}

// TestConfig reads what clients are told as they do.
func TestConfig(t *testing.T) {
	t.Parallel()
	root, err := trustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(good, `Client.OfflineAfter = "3s"`, "Client.OfflineAfter = \"3s\"\nquality = 'a \"b\" \\'\n\"Client.Language\" = \"\"", 1)
	p, err := pack.Load(workplace(t, text), env())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range p.Builds() {
		s, err := settings.Parse("config", b.Config)
		if err != nil {
			t.Fatalf("%s: %v\n%s", b.Base, err, b.Config)
		}
		store := ""
		if b.Base == "Lathe_Steam" {
			store = "steam://run/1"
		}
		game := map[string]string{"quality": `a "b" \`}
		if b.Variant.OpenGL {
			game["ForceOpenGL"] = "1"
		}
		if s.ClientNetwork.ServerHost != "update.example.org" || s.ClientNetwork.ServerPort != 4000 || s.Client.Title != "The Lathe" || s.Client.GameName != "Lathe" ||
			s.Client.WebsiteUrl != "https://lathe.example.org" || s.Client.StoreUrl != store || s.Client.OfflineAfter != "3s" ||
			!slices.Equal(s.Release.Urls, []string{"https://cdn.example.org/lathe"}) || s.Release.Channel != "stable" || strings.TrimSpace(s.Release.Root) != strings.TrimSpace(root) || !reflect.DeepEqual(s.Game, game) {
			t.Errorf("%s is told %+v by\n%s", b.Base, s, b.Config)
		}
		var flat map[string]any
		if err := toml.Unmarshal([]byte(b.Config+"More = 1\n###"), &flat); err != nil || flat["More"] != int64(1) {
			t.Errorf("%s: nothing can follow: %v", b.Base, err)
		}
	}
}

// TestAddresses are all ways to write where the server is.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"update.example.org:4000": "update.example.org:4000", "[::1]:4000": "[::1]:4000", "192.0.2.1:1": "192.0.2.1:1",
		"tls://update.example.org": "tls://update.example.org", "wss://update.example.org/play": "wss://update.example.org/play", "tcp://x:5": "tcp://x:5",
	} {
		p, err := pack.Load(workplace(t, strings.Replace(good, "update.example.org:4000", address, 1)), env())
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		s, err := settings.Parse("config", p.Builds()[0].Config)
		if err != nil || s.Server() != want {
			t.Errorf("%s is told as %s, %v", address, s.Server(), err)
		}
	}
}

func TestFormatsOfTargets(t *testing.T) {
	t.Parallel()
	p, err := pack.Load(workplace(t, good), env())
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[product.Target][]string{"Windows-win64": {"zip", "nsis", "msi"}, "Linux-x64": {"tar.zst", "deb"}, "macOS-arm64": {"app-zip"}, "Android-arm64": nil} {
		if got := p.Formats(target); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
	if _, ok := p.Build("Linux-x64", "Lathe_OpenGL"); ok {
		t.Error("Linux has OpenGL")
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	p, err := pack.Load(workplace(t, good+"[signing.macos]\ncommand = [\"sign\", \"{file}\"]\n[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\n"), env())
	if err != nil {
		t.Fatal(err)
	}
	s := p.Summary()
	if s.Time != "2026-11-22T12:00:00Z" || !slices.Equal(s.Signed, []string{"Windows", "macOS"}) || len(s.Servers) != 1 || len(s.Packs) != 2 || !s.Packs[1].ServerOnly {
		t.Errorf("%+v", s)
	}
	last := s.Builds[len(s.Builds)-1]
	if last.Target != "Linux-arm64" || len(last.Formats) != 0 || last.Variant != "plain" {
		t.Errorf("a target without a host: %+v", last)
	}
}

// FuzzLoad holds that nothing in a file brings Load down, and that every mistake has a line of the file and says something.
func FuzzLoad(f *testing.F) {
	f.Add(good)
	f.Add("")
	f.Add("[game]\nname = 1\n[[target]]\n[[target.x]]\na.b.c = {d = [1, {e = 2}]}")
	f.Add("client.settings.\"a\\\".b\".c = 1\n[client.settings.x]\ny = [[1],[2]]")
	f.Add("variant = [{build = [{name = \"Linux-x64\"}]}, {}]")
	f.Add("game.time = 2026-01-01\ngame.x = 07:00:00")
	f.Add("[signing.linux]\ncommand = [\"x/y\", \"{a}{file\"]\nenv = [\"\"]")
	dir := f.TempDir()
	write(f, dir, map[string]string{"icon.png": "x", "packs/a": ""})
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(dir, "collet.toml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := pack.Load(file, env())
		var list pack.Mistakes
		switch {
		case err == nil:
			p.Summary()
		case errors.As(err, &list):
			for _, m := range list {
				if m.What == "" || m.Line < 1 || m.Line > strings.Count(text, "\n")+1 {
					t.Errorf("%+v of a file with %d lines", m, strings.Count(text, "\n")+1)
				}
			}
		case !strings.Contains(err.Error(), "longer than"):
			t.Errorf("no mistake: %v", err)
		}
	})
}
