package pack_test

import (
	"strings"
	"testing"
)

// TestMistakes changes one thing of the good description, and wants exactly one mistake, which begins as said.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ old, new, want string }{
		{`version = "1.4.2"`, `verison = "1.4.2"`, `game.verison: is unknown; did you mean version?`},
		{`version = "1.4.2"`, `version = 1.4`, `game.version: is a number; want text in quotes`},
		{`version = "1.4.2"`, `version = "1.4-rc1"`, `game.version: "1.4-rc1" can't be used; want two to four numbers up to 65535 with dots`},
		{`version = "1.4.2"`, `version = "1"`, `game.version: "1" can't be used`},
		{`version = "1.4.2"`, `version = "1.2.3.4.5"`, `game.version: "1.2.3.4.5" can't be used`},
		{`version = "1.4.2"`, `version = "01.2"`, `game.version: "01.2" can't be used`},
		{`version = "1.4.2"`, `version = "1.65536"`, `game.version: 65536 is too large`},
		{`version = "1.4.2"`, `version = "1.256"`, `game.version: MSI can't have 256 there; keep the first two numbers at 255`},
		{`version = "1.4.2"`, ``, `game.version: is missing; want two to four numbers`},
		{`name = "Lathe"`, `name = "The Lathe"`, `game.name: "The Lathe" can't be used; want letters`},
		{`name = "Lathe"`, `name = "L` + strings.Repeat("a", 48) + `"`, `game.name: is longer than 48 bytes`},
		{`nice-name = "The Lathe"`, `nice-name = "The\nLathe"`, `game.nice-name: has line breaks or control characters; want one line`},
		{`nice-name = "The Lathe"`, `nice-name = " The Lathe"`, `game.nice-name: begins or ends with spaces`},
		{`id = "org.example.lathe"`, `id = "lathe"`, `game.id: "lathe" can't be used; want a reverse domain name`},
		{`publisher = "Example Games"`, ``, `game.publisher: is missing`},
		{`maintainer = "Example Games <games@example.org>"`, `maintainer = "games@example.org"`, `game.maintainer: "games@example.org" is no name with a mail address`},
		{`"Turning wood among the stars"`, `"Turning wood among the stars."`, `game.summary: ends with a dot`},
		{`"Turning wood among the stars"`, `"` + strings.Repeat("ab", 51) + `"`, `game.summary: is longer than 100 characters`},
		{`homepage = "https://lathe`, `homepage = "lathe`, `game.homepage: "lathe.example.org" is no web address; want https://host/path`},
		{`icon = "art/icon.png"`, `icon = "art/wide.png"`, `game.icon: the picture has 512 × 256 pixels; want a square of 256 to 2048 pixels`},
		{`icon = "art/icon.png"`, `icon = "art/small.png"`, `game.icon: the picture has 128 × 128 pixels`},
		{`icon = "art/icon.png"`, `icon = "art/icon.jpg"`, `game.icon: art/icon.jpg is no PNG`},
		{`icon = "art/icon.png"`, `icon = "art/icno.png"`, `game.icon: there is no art/icno.png; did you mean art/icon.png?`},
		{`icon = "art/icon.png"`, `icon = "Art/icon.png"`, `game.icon: there is no Art/icon.png; there is no folder Art either`},
		{`icon = "art/icon.png"`, `icon = "../icon.png"`, `game.icon: "../icon.png" lies outside of the project; copy it`},
		{`icon = "art/icon.png"`, `icon = "art/../../icon.png"`, `game.icon: "art/../../icon.png" lies outside`},
		{`icon = "art/icon.png"`, `icon = "/usr/share/icon.png"`, `game.icon: "/usr/share/icon.png" is an absolute path; want one that is relative`},
		{`icon = "art/icon.png"`, `icon = 'C:\art\icon.png'`, `game.icon: "C:\\art\\icon.png" has backslashes; separate folders with slashes`},
		{`icon = "art/icon.png"`, `icon = 'C:/art/icon.png'`, `game.icon: "C:/art/icon.png" is an absolute path`},
		{`icon = "art/icon.png"`, `icon = "art"`, `game.icon: art is a folder; want a file`},
		{`uri-scheme = "lathe"`, `uri-scheme = "lathe://"`, `game.uri-scheme: "lathe://" can't be used; want only the scheme`},
		{`uri-scheme = "lathe"`, `uri-scheme = "Lathe"`, `game.uri-scheme: "Lathe" can't be used`},
		{`uri-scheme = "lathe"`, `uri-scheme = "https"`, `game.uri-scheme: "https" belongs to systems and browsers`},
		{`"Simulation"]`, `"Simulaton"]`, `game.categories[1]: "Simulaton" is unknown; did you mean Simulation?`},
		{`["Game", "Simulation"]`, `["Simulation"]`, `game.categories: has no main category; add "Game"`},
		{`time = 2026-11-22T12:00:00Z`, ``, `game.time: is missing; give it, or set SOURCE_DATE_EPOCH`},
		{`time = 2026-11-22T12:00:00Z`, `time = "yesterday"`, `game.time: "yesterday" is no time; want UTC`},
		{`time = 2026-11-22T12:00:00Z`, `time = 2026-11-22`, `game.time: "2026-11-22" is no time`},
		{`time = 2026-11-22T12:00:00Z`, `time = 2026-11-22T12:00:00.5Z`, `game.time: 2026-11-22T12:00:00.5Z has fractions of a second`},
		{`time = 2026-11-22T12:00:00Z`, `time = 1979-11-22T12:00:00Z`, `game.time: 1979-11-22T12:00:00Z is not between 1980 and 2099`},

		{`server = "update.example.org:4000"`, `server = "update.example.org"`, `client.server: "update.example.org" has no port`},
		{`server = "update.example.org:4000"`, `server = "update.example.org:70000"`, `client.server: "update.example.org:70000" has no good port`},
		{`server = "update.example.org:4000"`, `server = "tlss://update.example.org"`, `client.server: clients don't know tlss://; did you mean tls?`},
		{`server = "update.example.org:4000"`, `server = "tls://me:pass@update.example.org"`, `client.server: has a user name or password; take them out: everybody`},
		{`server = "update.example.org:4000"`, `server = "tls://update.example.org/path"`, `client.server: "tls://update.example.org/path" has a path`},
		{`"https://cdn.example.org/lathe"`, `"https://cdn.example.org/lathe?x=1"`, `client.urls[0]: has a query`},
		{`"https://cdn.example.org/lathe"`, `"github://lathe"`, `client.urls[0]: "github://lathe" is no address of a release folder; want github://OWNER/REPO`},
		{`"https://cdn.example.org/lathe"`, `"oci://ghcr.io/Lathe"`, `client.urls[0]: "oci://ghcr.io/Lathe" is no address of a release folder; want oci://HOST/REPOSITORY`},
		{`"https://cdn.example.org/lathe"`, `"https://me:x@cdn.example.org/lathe"`, `client.urls[0]: has a user name or password`},
		{`trusted-root = "root.json"`, ``, `client.trusted-root: is missing; releases from client.urls`},
		{`trusted-root = "root.json"`, `trusted-root = "server.toml"`, `client.trusted-root: server.toml is no root of signed releases`},
		{`channel = "stable"`, `channel = "stable!"`, `client.channel: "stable!" can't be used`},
		{`channel = "stable"`, `publisher = "x"`, `client.publisher: is unknown in [client]; it belongs into [game]`},
		{`Client.OfflineAfter = "3s"`, `Client.OflineAfter = "3s"`, `client.settings.Client.OflineAfter: the client has no setting Client.OflineAfter; did you mean Client.OfflineAfter?`},
		{`Client.OfflineAfter = "3s"`, `"Client.OfflineAfter" = "soon"`, `client.settings."Client.OfflineAfter": "soon" is no time up to 1h0m0s; want something like "3s"`},
		{`Client.OfflineAfter = "3s"`, `Release.Channel = "beta"`, `client.settings.Release.Channel: has a key of its own; give it as client.channel`},
		{`Client.OfflineAfter = "3s"`, `"no such" = 1`, `client.settings."no such": "no such" is no name of a setting`},
		{`Client.OfflineAfter = "3s"`, `Release.Token = "secret"`, `client.settings.Release.Token: is a secret, and everybody who has the package can read it`},
		{`Client.OfflineAfter = "3s"`, `ClientNetwork.Proxy = "http://me:secret@proxy"`, `client.settings.ClientNetwork.Proxy: has a user name or password`},
		{`Client.OfflineAfter = "3s"`, `ClientNetwork.Proxy = "ftp://proxy"`, `client.settings: clients would not take it: `},

		{"[[resources.pack]]\nname = \"Brain\"", "[[resources.pack]]\nname = \"core\"", `resources.pack[1].name: "Core" and "core" are one file on Windows and macOS`},
		{"[[resources.pack]]\nname = \"Brain\"", "[[resources.pack]]\nname = \"Core\"", `resources.pack[1].name: "Core" is there twice`},
		{`name = "Brain"`, `name = "Brain.zip"`, `resources.pack[1].name: has its extension; write Brain`},
		{`name = "Brain"`, `name = "con"`, `resources.pack[1].name: "con" can't be used`},
		{`name = "Brain"`, `name = "a/b"`, `resources.pack[1].name: "a/b" can't be used`},
		{`name = "Brain"`, `name = "embedded"`, `resources.pack[1].name: "embedded" is what programs have in themselves`},
		{`name = "Brain"`, ``, `resources.pack[1].name: is missing`},
		{`from = "packs/core"`, ``, `resources.pack[0].from: is missing`},
		{`from = "packs/core"`, `from = "packs/core/maps/a.map"`, `resources.pack[0].from: a.map is neither; want a folder, or a finished .zip`},
		{`server-only = true`, `deflate = true`, `resources.pack[1].deflate: a finished zip is taken as it is`},
		{`server-only = true`, `server-only = "yes"`, `resources.pack[1].server-only: is text; want true or false, without quotes`},

		{`name = "Linux-x64"`, `name = "Linux-amd64"`, `target[0].name: "Linux-amd64" is unknown; did you mean Linux-x64?`},
		{`name = "Linux-x64"`, `name = "Linux-x46"`, `target[0].name: "Linux-x46" is unknown; did you mean Linux-x64?`},
		{`name = "Linux-x64"`, `name = "darwin/x86_64"`, `target[0].name: "darwin/x86_64" is unknown; did you mean macOS-x64?`},
		{`name = "Linux-x64"`, `name = "windows-x64"`, `target[0].name: "windows-x64" is unknown; did you mean Windows-win64?`},
		{`name = "Linux-x64"`, `name = "Amiga"`, `target[0].name: "Amiga" is unknown; want Windows-win64, `},
		{`splash = "art/splash.png"`, `splash = "art/huge.png"`, `game.splash: the picture has 2561 × 1 pixels; want at most 2560 each way`},
		{`formats = ["tar.zst", "deb"]`, `formats = ["appimage"]`, `linux.appimage-runtime: is missing; fetch the AppImage project's type2-runtime`},
		{`formats = ["tar.zst", "deb"]`, "formats = [\"appimage\"]\nappimage-runtime = \"out/arm64\"", `linux.appimage-runtime: arm64 is for Linux-arm64, and there are clients for Linux-x64; take appdir`},
		{`formats = ["tar.zst", "deb"]`, `mime-types = ["Save"]`, `linux.mime-types[0]: "Save" can't be used; want small letters`},
		{`formats = ["tar.zst", "deb"]`, `deb-depends = [""]`, `linux.deb-depends[0]: is missing; take it out`},
		{`host = "out/linux/client"`, `host = "out/linux/clientt"`, `target[0].host: there is no out/linux/clientt; did you mean out/linux/client?`},
		{`module = "out/linux/game.so"`, ``, `target[0].module: is missing; name the native module that was built for Linux-x64`},
		{`module = "out/linux/game.so"`, `module = "out/windows/game.dll"`, `target[0].module: game.dll ends in ".dll"; want a file that ends in .so`},
		{`module-pdb = "out/windows/game.pdb"`, ``, `target[1].module-pdb: is missing; name the symbols of the module, or say no-symbols = true`},
		{`module-pdb = "out/windows/game.pdb"`, "module-pdb = \"out/windows/game.pdb\"\nno-symbols = true", `target[1].no-symbols: goes only with a module`},
		{`companions = ["out/linux/libextra.so"]`, `host-pdb = "out/windows/game.pdb"`, `target[0].host-pdb: only Windows has symbols in .pdb files`},
		{`companions = ["out/linux/libextra.so"]`, `companions = ["out/linux/libextra.so", "out/linux/libextra.so"]`, `target[0].companions[1]: libextra.so and libextra.so are one file beside the program`},
		{`module-pdb = "out/windows/game.pdb"`, "module-pdb = \"out/windows/game.pdb\"\ncompanions = [\"out/windows/GAME.dll.pdb\"]\n[[target]]\nname=\"Windows-win64\"\nmodule=\"out/windows/game.dll\"\nno-symbols=true", `target[2].name: "Windows-win64" is there twice`},

		{"[[variant]]\nopengl = true", "[[variant]]\nopengl = false", `variant[0]: is the plain build, which is there without saying so`},
		{`postfix = "Steam"`, `opengl = true`, `variant[1]: is the second one that is called Lathe_OpenGL`},
		{`postfix = "Steam"`, `postfix = "opengl"`, `variant[1].postfix: postfix "opengl" is a word that names have already`},
		{`postfix = "Steam"`, `postfix = "Steam_2"`, `variant[1].postfix: postfix "Steam_2" has '_'; want letters, digits and dashes`},
		{`targets = ["Windows-win64"]`, `targets = ["Windows-win32"]`, `variant[1].targets[0]: "Windows-win32" has no table [[target]]; did you mean Windows-win64?`},
		{"opengl = true", "opengl = true\ntargets = [\"Linux-x64\"]", `variant[0].targets[0]: OpenGL is a variant on Windows only`},
		{`profiling = "total"`, `profiling = "totel"`, `variant[2].profiling: "totel" is unknown; did you mean total?`},
		{`module = "out/linux/game-profiling.so"`, ``, `variant[2].build: nothing was built for the variant profiling on Linux-x64`},
		{"[[variant.build]]\nname = \"Linux-x64\"", "[[variant.build]]\nname = \"Windows-win64\"", `variant[2].build`},

		{`formats = ["tar.gz", "deb"]`, `formats = ["tar.gz", "dep"]`, `server.formats[1]: "dep" is unknown; did you mean deb?`},
		{"[[server.program]]\ntarget = \"Linux-x64\"", "[[server.program]]\ntarget = \"Linux\"", `server.program[0].target: "Linux" is unknown`},
		{`settings = "server.toml"`, ``, `server.compatibility: is missing; name the compatibility version that the module says of itself`},
		{`settings = "server.toml"`, "settings = \"server.toml\"\ncompatibility = \"1\"", `server.compatibility: goes without server.settings`},
		{`settings = "server.toml"`, `compatibility = "` + strings.Repeat("1", 257) + `"`, `server.compatibility: is longer than 2`},
		{`from = "out/linux/collet-server"`, ``, `server.program[0].from: is missing`},
		{`upgrade-code = "9b1f1d32-5c0f-4a83-9a53-0f6f6a6e6a01"`, ``, `windows.upgrade-code: is missing; collet pack init makes one`},
		{`upgrade-code = "9b1f1d32-5c0f-4a83-9a53-0f6f6a6e6a01"`, `upgrade-code = "9b1f1d32"`, `windows.upgrade-code: "9B1F1D32" is no GUID`},
		{`upgrade-code = "9b1f1d32-5c0f-4a83-9a53-0f6f6a6e6a01"`, `upgrade-code = "{9b1f1d32-5c0f-4a83-9a53-0f6f6a6e6a01}"`, `windows.upgrade-code: has braces; write 9B1F1D32`},
		{`upgrade-code = "9b1f1d32-5c0f-4a83-9a53-0f6f6a6e6a01"`, `upgrade-code = "00000000-0000-0000-0000-000000000000"`, `windows.upgrade-code: "00000000-0000-0000-0000-000000000000" is no GUID`},
		{`formats = ["zip", "nsis", "msi"]`, `formats = "zip"`, `windows.formats: is text; want a list in brackets`},
		{`formats = ["tar.zst", "deb"]`, `formats = ["tar.zst", "tar.zst"]`, `linux.formats[1]: "tar.zst" is there twice`},

		{`pkcs12-env = "LATHE_P12"`, `pkcs12-env = "keys/my.p12"`, `signing.windows.pkcs12-env: is no name of an environment variable; name the variable that holds it`},
		{`password-env = "LATHE_P12_PASSWORD"`, `password = "hunter2"`, `signing.windows.password: is not kept in this file; keep secrets in the environment`},
		{`pkcs12-env = "LATHE_P12"`, ``, `signing.windows: has nothing to sign with; add certificate-env`},
		{`pkcs12-env = "LATHE_P12"`, `key-env = "K"`, `signing.windows.certificate-env: is missing`},
		{`pkcs12-env = "LATHE_P12"`, `command = ["sign", "{file}"]`, `signing.windows.command: goes without the variables of keys`},
		{"pkcs12-env = \"LATHE_P12\"\npassword-env = \"LATHE_P12_PASSWORD\"", `command = ["sign", "{files}"]`, `signing.windows.command: has no {file}`},
		{"pkcs12-env = \"LATHE_P12\"\npassword-env = \"LATHE_P12_PASSWORD\"", `command = ["sign", "-pass", "hunter2", "{file}"]`, `signing.windows.command[2]: looks like a secret; let the command read it`},
		{"pkcs12-env = \"LATHE_P12\"\npassword-env = \"LATHE_P12_PASSWORD\"", `command = ["sign", "--token=hunter2", "{file}"]`, `signing.windows.command[1]: looks like a secret`},
		{"pkcs12-env = \"LATHE_P12\"\npassword-env = \"LATHE_P12_PASSWORD\"", `command = ["tools/sign", "{file}"]`, `signing.windows.command[0]: there is no tools/sign`},
	} {
		t.Run(test.want, func(t *testing.T) {
			if strings.Count(good, test.old) == 0 {
				t.Fatalf("good has no %q", test.old)
			}
			got := mistakes(t, strings.Replace(good, test.old, test.new, 1))
			if len(got) == 0 || !strings.Contains(got[0], ": "+test.want) {
				t.Fatalf("got %q", got)
			}
			for _, line := range got {
				if strings.Contains(line, "hunter2") || strings.Contains(line, "my.p12") {
					t.Errorf("it repeats a secret: %s", line)
				}
			}
			if len(got) > 1 && !strings.HasPrefix(test.want, "signing") && !strings.HasPrefix(test.want, "variant[2]") {
				t.Errorf("one mistake is told as %d:\n%s", len(got), strings.Join(got, "\n"))
			}
		})
	}
}
