package pack_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/pack"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
)

// TestOtherMistakes adds something to the good description, and wants one mistake that has this text.
func TestOtherMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ more, want string }{
		{"[[target]]", `target[2].name: is missing; want Windows-win64, `},
		{"[[target]]\nname = \"Linux-x64\"\nmodule = \"out/linux/game.so\"", `target[2].name: "Linux-x64" is there twice; put both into one table`},
		{"[[target]]\nname = \"Android-arm64\"\nmodule = \"out/linux/game.so\"", `target[2].name: "Android-arm64" is unknown`},
		{"[[target]]\nname = \"macOS-arm64\"\nmodule = \"out/linux/game.so\"", `game.so ends in ".so"; want a file that ends in .dylib`},
		{"[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\nno-symbols = true", `target[2].no-symbols: goes only with`},
		{"[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\ncompanions = [\"out/linux/libextra.so\", \"bad/con.so\"]", `target[2].companions[1]: not every system takes "con.so" for a file`},
		{"[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\ncompanions = [\"bad/LATHE.SO\"]", `target[2].companions[0]: Lathe.so and LATHE.SO are one file beside the program`},
		{"[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\ncompanions = [\"bad/installed\"]", `INSTALLED and installed are one file`},
		{"[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\ncompanions = [\"bad/Lathe.toml\"]", `Lathe.toml and Lathe.toml are one file`},
		{"[[target]]\nname = \"Linux-arm64\"\nmodule = \"out/linux/game-arm64.so\"\ncompanions = [\"\"]", `target[2].companions[0]: is missing; take it out`},

		{"[[variant]]\nheadless = true\ntargets = [\"Linux-x64\"]\n[[variant.build]]", `variant[3].build[0].name: is missing; want Linux-x64`},
		{"[[variant]]\npostfix = \"A\"\n[[variant.build]]\nname = \"Linux-x46\"", `variant[3].build[0].name: the variant has no target "Linux-x46"; did you mean Linux-x64?`},
		{"[[variant]]\npostfix = \"A\"\n[[variant.build]]\nname = \"Linux-x64\"\n[[variant.build]]\nname = \"Linux-x64\"", `variant[3].build[1].name: "Linux-x64" is there twice`},
		{"[[variant]]\npostfix = \"A\"\n[[variant.build]]\nname = \"Windows-win64\"\nmodule = \"out/windows/game.dll\"", `variant[3].build[0].module-pdb: is missing; name the symbols of the variant's own module`},
		{"[[variant]]\npostfix = \"steam\"", `variant[3]: is the second one that is called Lathe_steam`},
		{"[[variant]]\nheadless = true", `nothing was built for the variant headless on Linux-x64`},
		{"[[variant]]\npostfix = \"A\"\nsettings = { Client.Titel = \"x\" }", `variant[3].settings.Client.Titel: the client has no setting Client.Titel`},
		{"[[variant]]\npostfix = \"A\"\nsettings = { \"Client.Language\" = 7 }", `variant[3].settings."Client.Language": `},
		{"[[variant]]\npostfix = \"A\"\nsettings = { ClientNetwork.ServerPort = 70000 }", `variant[3].settings.ClientNetwork.ServerPort: it is 70000; want 1 to 65535`},
		{"[[variant]]\npostfix = \"A\"\nsettings = { Motto = [1] }", `a setting of the game is text, a number, true or false`},

		{"[[server.program]]", `server.program[1].`},
		{"[[server.program]]\ntarget = \"Linux-x64\"\nfrom = \"out/linux/collet-server\"", `server.program[1].target: "Linux-x64" is there twice; take one out`},
		{"[[server.program]]\ntarget = \"Linux-arm64\"\nfrom = \"out/linux\"", `server.program[1].from: out/linux is a folder; want a file`},
		{"[[server.program]]\ntarget = \"Linux-x64x\"\nfrom = \"out/linux/collet-server\"", `server.program[1].target: "Linux-x64x" is unknown; did you mean Linux-x64?`},

		{"[macos]\nbundle-id = \"lathe\"", `macos.bundle-id: "lathe" can't be used`},
		{"[macos]\nminimum-system = \"Monterey\"", `macos.minimum-system: "Monterey" can't be used; want a version`},
		{"[macos]\ncategory = \"games\"", `macos.category: "games" can't be used`},
		{"[macos]\nformats = [\"dmg\"]", `macos.formats[0]: "dmg" is unknown; want app-zip`},
		{"[macos]\nformats = []", ``},
		{"[windos]\nscope = \"user\"", `windos: is unknown; did you mean windows?`},
		{"[android]\nformats = [\"apk\"]", `android: is unknown; the file has game, client, `},
		{"[extra]\nhomepage = \"x\"", `extra: is unknown`},
	} {
		file := workplace(t, good+test.more+"\n")
		write(t, filepath.Dir(file), map[string]string{"bad/con.so": "", "bad/LATHE.SO": "", "bad/installed": "", "bad/Lathe.toml": ""})
		_, err := pack.Load(file, env())
		switch {
		case test.want == "" && err != nil, test.want != "" && err == nil:
			t.Errorf("%s\ngot %v, want %q", test.more, err, test.want)
		case err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%s\ngot %v, want %q", test.more, err, test.want)
		}
	}
}

// TestKindsOfValues gives keys what TOML has and they don't want.
func TestKindsOfValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`game = "Lathe"`:                     "game: is text; want a table: [game]",
		`game.name = ["Lathe"]`:              "game.name: is a list; want text in quotes",
		`game.name = {}`:                     "game.name: is a table; want text in quotes",
		`game.name = 07:32:00`:               "game.name: is a time; want text in quotes",
		`game.time = 2026-11-22T12:00:00`:    `game.time: "2026-11-22T12:00:00" is no time`,
		`game.time = 07:32:00`:               "game.time: is a time; want text in quotes",
		`game.categories = [["Game"]]`:       "game.categories[0]: is a list; want text in quotes",
		`client.settings = "x"`:              "client.settings: is text; want a table: [client.settings]",
		`client.weak-root = 1.5`:             "client.weak-root: is a number; want true or false",
		`target = ["Linux-x64"]`:             "target[0]: is text; want a table in braces, or of its own",
		`client.weak-root = true`:            "client.weak-root: goes without trusted-root",
		`client.urls = [""]`:                 "client.urls[0]: is missing; take it out",
		`client.store = "not an address"`:    `client.store: "not an address" is no address`,
		`client.store = "steam://run/1"`:     "",
		`windows.scope = "everybody"`:        `windows.scope[0]: "everybody" is unknown`,
		`game.description = "a\u0007"`:       "game.description: has control characters",
		`game.license = "<mine>"`:            `game.license: "<mine>" can't be used`,
		`game.categories = ["Game", "A;B"]`:  `game.categories[1]: "A;B" can't be used`,
		`game.categories = ["Game", "Rare"]`: "",
	} {
		got := strings.Join(mistakes(t, text), "\n")
		key, _, _ := strings.Cut(want, ":")
		want = strings.ReplaceAll(want, "goes without trusted-root", "goes with trusted-root")
		if want != "" && !strings.Contains(got, "collet.toml:1: "+want) {
			t.Errorf("%s: got\n%s\nwant %s", text, got, want)
		}
		if own, _, _ := strings.Cut(text, " "); want == "" && strings.Contains(got, own+": ") || strings.Count(got, ": "+key+": ") > 1 {
			t.Errorf("%s: got\n%s", text, got)
		}
	}
}

// weakRoot is the root of one person with development keys, made at a time.
func weakRoot(t *testing.T, now time.Time) string {
	t.Helper()
	var keys []*trust.PrivateKey
	plan := trust.RootPlan{}
	for _, role := range trust.KeyRoles() {
		key, err := trust.GenerateKey(true)
		if err != nil {
			t.Fatal(err)
		}
		keys, plan[role] = append(keys, key), trust.RolePlan{Keys: []trust.PublicKey{key.Public()}, Threshold: 1}
	}
	repo, err := trust.CreateRepo(releasetest.Store(t.TempDir()), plan, keys, trust.RepoOptions{
		Now: func() time.Time { return now }, Allow: trust.Allow{Development: true, SingleRoot: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(repo.Root())
}

// TestWeakRoot has the root of one person.
func TestWeakRoot(t *testing.T) {
	t.Parallel()
	packed := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	file := workplace(t, good)
	write(t, filepath.Dir(file), map[string]string{"root.json": weakRoot(t, packed)})
	_, err := pack.Load(file, env())
	if err == nil || !strings.Contains(err.Error(), "client.trusted-root: this root is not fit for players: 4 of its keys are development keys") {
		t.Errorf("a weak root: %v", err)
	}
	text := strings.Replace(good, "trusted-root =", "weak-root = true\ntrusted-root =", 1)
	write(t, filepath.Dir(file), map[string]string{"collet.toml": text})
	if _, err = pack.Load(file, env()); err != nil {
		t.Errorf("a weak root that is meant: %v", err)
	}
	write(t, filepath.Dir(file), map[string]string{"root.json": weakRoot(t, packed.AddDate(-2, 0, 0))})
	if _, err = pack.Load(file, env()); err == nil || !strings.Contains(err.Error(), "client.trusted-root: root.json expired on 2025-11-22, before the packages' time; renew it with collet keys rotate") {
		t.Errorf("a root that has expired: %v", err)
	}
	write(t, filepath.Dir(file), map[string]string{"root.json": strings.Repeat(" ", trust.MaxRoot+1)})
	if _, err = pack.Load(file, env()); err == nil || !strings.Contains(err.Error(), "client.trusted-root: root.json is longer than") {
		t.Errorf("a long root: %v", err)
	}
}

// TestInstallersOfOneProcessor: clients for other processors are packed as archives, and only on request.
func TestInstallersOfOneProcessor(t *testing.T) {
	t.Parallel()
	const arm = "Windows-arm64"
	text := good + "[[target]]\nname = \"" + arm + "\"\nhost = \"out/windows/client.exe\"\nmodule = \"out/windows/game-arm64.dll\"\nno-symbols = true\n"
	p, err := pack.Load(workplace(t, text), env())
	if err != nil {
		t.Fatal(err)
	}
	if arm, x64 := p.Formats(arm), p.Formats("Windows-win64"); !slices.Equal(arm, []string{"zip"}) || !slices.Equal(x64, []string{"zip", "nsis", "msi"}) {
		t.Errorf("%v and %v", arm, x64)
	}
	got := mistakes(t, strings.Replace(text, `["zip", "nsis", "msi"]`, `["nsis"]`, 1))
	if len(got) != 1 || !strings.Contains(got[0], `windows.formats: installers are made for Windows-win64 only, and there are clients for Windows-arm64; add "zip"`) {
		t.Errorf("%q", got)
	}
}

// TestOddFiles has what is neither file nor folder, and what can't be looked at.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	text := strings.Replace(good, `"packs/core"`, `"`+strings.Repeat("a", 199)+`"`, 1)
	if got := mistakes(t, text); len(got) != 1 || !strings.Contains(got[0], "resources.pack[0].from: ") {
		t.Errorf("a long name: %q", got)
	}
	text = strings.Replace(good, `"packs/core"`, `"art/icon.png/core"`, 1)
	if got := mistakes(t, text); len(got) != 1 || !strings.Contains(got[0], "resources.pack[0].from: art/icon.png/core can't be looked at: not a directory") {
		t.Errorf("a folder that is a file: %q", got)
	}
	file := workplace(t, strings.Replace(good, `"packs/core"`, `"null"`, 1))
	if err := os.Symlink(os.DevNull, filepath.Join(filepath.Dir(file), "null")); err != nil {
		t.Skipf("SKIPPED: no symbolic links here: %v", err)
	}
	_, err := pack.Load(file, env())
	var list pack.Mistakes
	if !errors.As(err, &list) || len(list) != 1 || !strings.Contains(list[0].What, "null is a device or a pipe") {
		t.Errorf("a device: %v", err)
	}
}
