package wrap_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pelletier/go-toml/v2"

	"collet/build/pack"
	"collet/build/wrap"
	"collet/netproto/product"
)

// elfFile is the header of a program of Linux, or of a library.
func elfFile(machine uint16, isProgram bool) string {
	head := make([]byte, 256)
	copy(head, "\x7fELF\x02\x01\x01")
	little := binary.LittleEndian
	little.PutUint16(head[16:], 3) // position independent
	little.PutUint16(head[18:], machine)
	little.PutUint64(head[32:], 64) // where the segments are listed
	little.PutUint16(head[54:], 56)
	little.PutUint16(head[56:], 1)
	if isProgram {
		little.PutUint32(head[64:], 3) // the name of an interpreter
	}
	return string(head)
}

// peFile is the header of a program of Windows.
func peFile(machine, characteristics, subsystem uint16) string {
	head := make([]byte, 512)
	copy(head, "MZ")
	little := binary.LittleEndian
	little.PutUint32(head[0x3c:], 128)
	copy(head[128:], "PE\x00\x00")
	little.PutUint16(head[132:], machine)
	little.PutUint16(head[150:], characteristics)
	little.PutUint16(head[128+24+68:], subsystem)
	return string(head)
}

// machoFile is the header of a program of macOS, or of a library.
func machoFile(kind uint32) string {
	head := make([]byte, 64)
	little := binary.LittleEndian
	little.PutUint32(head, 0xfeedfacf)
	little.PutUint32(head[4:], 0x0100000c) // arm64
	little.PutUint32(head[12:], kind)
	return string(head)
}

var (
	linux   = elfFile(62, true)
	arm     = elfFile(183, true)
	riscv   = elfFile(243, true)
	object  = elfFile(62, false)
	windows = peFile(0x8664, 0x22, 2)
	console = peFile(0x8664, 0x22, 3)
	win32   = peFile(0x14c, 0x102, 2)
	dll     = peFile(0x8664, 0x2022, 2)
	mac     = machoFile(2)
	dylib   = machoFile(6)
)

const shell = "#!/bin/sh\nexec \"$(dirname \"$0\")/lathe-bin\"\n"

// picture is a PNG of one size.
func picture(width, height int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	return b.String()
}

// folder is a tree of files; names of programs have the mode of one.
func folder(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(content, "\x7fELF") || strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if target, link := strings.CutPrefix(content, "-> "); link {
			content, mode = target, fs.ModeSymlink|0o777
		}
		tree[name] = &fstest.MapFile{Data: []byte(content), Mode: mode}
	}
	return tree
}

// TestDetect has the layout that each engine builds, as far as it matters.
func TestDetect(t *testing.T) {
	for _, test := range []struct {
		name    string
		files   map[string]string
		options wrap.Options
		engine  string
		title   string
		targets []string // NAME FOLDER PROGRAM
		keep    []string
		exclude []string // beside *.log
	}{
		{
			name: "Unity for two systems, each in its folder",
			files: map[string]string{
				"StandaloneLinux64/Lathe.x86_64": linux, "StandaloneLinux64/UnityPlayer.so": object, "StandaloneLinux64/Lathe_Data/globalgamemanagers": "x",
				"StandaloneLinux64/Lathe_Data/app.info": "Example Games\nThe Lathe", "StandaloneLinux64/Lathe_Data/Plugins/libfmod.so": object,
				"StandaloneWindows64/Lathe.exe": windows, "StandaloneWindows64/UnityCrashHandler64.exe": console, "StandaloneWindows64/UnityPlayer.dll": dll,
				"StandaloneWindows64/Lathe_Data/globalgamemanagers": "x",
			},
			engine: "Unity", title: "The Lathe",
			targets: []string{"Linux-x64 StandaloneLinux64 Lathe.x86_64", "Windows-win64 StandaloneWindows64 Lathe.exe"},
			exclude: []string{"*_BackUpThisFolder_ButDontShipItWithYourGame", "*_BurstDebugInformation_DoNotShip"},
		},
		{
			name: "Unreal",
			files: map[string]string{
				"Lathe.exe": windows, "Engine/Binaries/ThirdParty/a.dll": dll, "Engine/Extras/Redist/en-us/UEPrereqSetup_x64.exe": windows,
				"Lathe/Binaries/Win64/Lathe-Win64-Shipping.exe": windows, "Lathe/Content/Paks/Lathe.pak": "x", "Lathe/Saved/Config/a.ini": "x",
			},
			engine: "Unreal", title: "Lathe", targets: []string{"Windows-win64 . Lathe.exe"}, exclude: []string{"*/Saved/**", "Manifest_*.txt"},
		},
		{
			name: "Unreal for Linux, which a script starts",
			files: map[string]string{
				"Lathe.sh": "#!/bin/sh\nexec Lathe/Binaries/Linux/Lathe-Linux-Shipping Lathe \"$@\"\n", "Engine/Binaries/Linux/CrashReportClient": linux,
				"Lathe/Binaries/Linux/Lathe-Linux-Shipping": linux, "Lathe/Content/Paks/Lathe.pak": "x",
			},
			engine: "Unreal", title: "Lathe", targets: []string{"Linux-x64 . Lathe.sh"}, exclude: []string{"*/Saved/**", "Manifest_*.txt"},
		},
		{
			name:   "Godot with two programs in one folder, and settings",
			files:  map[string]string{"lathe.exe": windows, "lathe.console.exe": console, "lathe.x86_64": linux, "lathe.arm64": arm, "lathe.pck": "GDPC", "override.cfg": "x"},
			engine: "Godot", title: "lathe",
			targets: []string{"Linux-arm64 . lathe.arm64", "Linux-x64 . lathe.x86_64", "Windows-win64 . lathe.exe"}, keep: []string{"override.cfg"},
		},
		{
			name: "Godot with the pack in the program", files: map[string]string{"lathe": linux + "packGDPC"},
			engine: "Godot", title: "lathe", targets: []string{"Linux-x64 . lathe"},
		},
		{
			name: "Ren'Py for all systems",
			files: map[string]string{
				"Lathe.exe": windows, "Lathe.sh": "#!/bin/sh\n", "Lathe.py": "#!/usr/bin/env python3\n", "renpy/bootstrap.py": "x", "game/script.rpyc": "x",
				"game/options.rpy":           "define config.name = _(\"The Lathe\")\n",
				"lib/py3-linux-x86_64/Lathe": linux, "lib/py3-linux-x86_64/librenpython.so": object, "lib/py3-windows-x86_64/pythonw.exe": windows,
				"Lathe.app/Contents/MacOS/Lathe": mac, "Lathe.app/Contents/Info.plist": "<plist/>",
			},
			engine: "Ren'Py", title: "The Lathe",
			targets: []string{"Linux-x64 . Lathe.sh", "Windows-win64 . Lathe.exe", "macOS-arm64 . Lathe.app/Contents/MacOS/Lathe"},
			exclude: []string{"errors.txt", "game/cache/**", "game/saves/**", "log.txt", "traceback.txt"},
		},
		{
			name: "a .love file, which the system's love starts", files: map[string]string{"lathe.love": "PK", "readme.txt": "x"},
			engine: "LÖVE", title: "lathe", targets: []string{"Linux-x64 . lathe.love"},
		},
		{
			name:   "LÖVE joined with the game",
			files:  map[string]string{"lathe.exe": windows, "love.dll": dll, "lovec.exe": console, "SDL2.dll": dll},
			engine: "LÖVE", title: "lathe", targets: []string{"Windows-win64 . lathe.exe"},
		},
		{
			name: "Electron",
			files: map[string]string{
				"lathe": linux, "chrome-sandbox": linux, "chrome_crashpad_handler": linux, "libffmpeg.so": object, "resources/app.asar": "x",
				"resources/app-update.yml": "x", "locales/en-US.pak": "x",
			},
			engine: "Electron", title: "lathe", targets: []string{"Linux-x64 . lathe"}, exclude: []string{"debug.log", "resources/app-update.yml"},
		},
		{
			name: "Electron for two systems, as electron-builder names the folders",
			files: map[string]string{
				"linux-unpacked/lathe": linux, "linux-unpacked/resources/app.asar": "x", "win-unpacked/lathe.exe": windows, "win-unpacked/resources/app.asar": "x",
				"mac-arm64/lathe.app/Contents/MacOS/lathe": mac, "mac-arm64/lathe.app/Contents/Resources/app.asar": "x",
			},
			engine: "Electron", title: "lathe",
			targets: []string{"Linux-x64 linux-unpacked lathe", "Windows-win64 win-unpacked lathe.exe", "macOS-arm64 mac-arm64 lathe.app/Contents/MacOS/lathe"},
			exclude: []string{"debug.log", "resources/app-update.yml"},
		},
		{
			name:   "LÖVE joined for one system, and a .love file for the other",
			files:  map[string]string{"linux/lathe.love": "PK", "windows/lathe.exe": windows, "windows/love.dll": dll},
			engine: "LÖVE", title: "lathe", targets: []string{"Linux-x64 linux lathe.love", "Windows-win64 windows lathe.exe"},
		},
		{
			name:   "NW.js",
			files:  map[string]string{"lathe.exe": windows, "nw.dll": dll, "notification_helper.exe": windows, "package.nw": "x"},
			engine: "NW.js", title: "lathe", targets: []string{"Windows-win64 . lathe.exe"}, exclude: []string{"debug.log"},
		},
		{
			name:   "RPG Maker MZ, whose program is called Game",
			files:  map[string]string{"Game.exe": windows, "nw.dll": dll, "js/rmmz_core.js": "x", "data/System.json": `{"gameTitle":"The Lathe"}`, "save/file0.rmmzsave": "x"},
			engine: "RPG Maker", title: "The Lathe", targets: []string{"Windows-win64 . Game.exe"},
			exclude: []string{"Save*.lsd", "Save*.rvdata", "Save*.rvdata2", "Save*.rxdata", "save/**", "www/save/**"},
		},
		{
			name:   "RPG Maker VX Ace, of 32 bits",
			files:  map[string]string{"Game.exe": win32, "Game.ini": "[Game]\r\nTitle=The Lathe\r\n", "Game.rgss3a": "x", "System/RGSS301.dll": dll},
			engine: "RPG Maker", title: "The Lathe", targets: []string{"Windows-win64 . Game.exe"}, keep: []string{"Game.ini"},
			exclude: []string{"Save*.lsd", "Save*.rvdata", "Save*.rvdata2", "Save*.rxdata", "save/**", "www/save/**"},
		},
		{
			name: "GameMaker", files: map[string]string{"lathe.exe": windows, "data.win": "x", "options.ini": "x", "unins000.exe": windows, "unins000.dat": "x"},
			engine: "GameMaker", title: "lathe", targets: []string{"Windows-win64 . lathe.exe"}, keep: []string{"options.ini"}, exclude: []string{"unins*.dat", "unins*.exe"},
		},
		{
			name: "a tree as packages of Linux have it",
			files: map[string]string{
				"usr/games/lathe": linux, "usr/share/games/lathe/data.pak": "x", "usr/lib/x/helper": linux,
				"usr/share/applications/lathe.desktop": "[Desktop Entry]\nName=The Lathe\nComment=Turns.\nExec=lathe %U\nIcon=lathe\n[Desktop Action x]\nName=No\n",
			},
			engine: "none known", title: "The Lathe", targets: []string{"Linux-x64 . usr/games/lathe"},
		},
		{
			name:   "two programs, of which the .desktop file names one",
			files:  map[string]string{"bin/lathe": linux, "bin/lathe-tool": linux, "lathe.desktop": "[Desktop Entry]\nName=The Lathe\nExec=/opt/lathe/bin/lathe\n"},
			engine: "none known", title: "The Lathe", targets: []string{"Linux-x64 . bin/lathe"},
		},
		{
			name: "a script that starts the program beside it", files: map[string]string{"start": shell, "lathe-bin": linux, "settings.ini": "x", "conf/keybindings.cfg": "x"},
			options: wrap.Options{Folder: "The-Lathe"},
			engine:  "none known", title: "The-Lathe", targets: []string{"Linux-x64 . start"}, keep: []string{"conf/keybindings.cfg", "settings.ini"},
		},
		{
			name: "a script alone", files: map[string]string{"lathe": "#!/usr/bin/perl\n", "lib/Lathe.pm": "x"},
			engine: "none known", title: "lathe", targets: []string{"Linux-x64 . lathe"},
		},
		{
			name: "the folder's name decides", files: map[string]string{"TheLathe.exe": windows, "Config.exe": windows}, options: wrap.Options{Folder: "the lathe"},
			engine: "none known", title: "TheLathe", targets: []string{"Windows-win64 . TheLathe.exe"},
		},
		{
			name: "a window decides", files: map[string]string{"lathe.exe": windows, "packer.exe": console},
			engine: "none known", title: "lathe", targets: []string{"Windows-win64 . lathe.exe"},
		},
		{
			name: "a named one wins", files: map[string]string{"a": linux, "b": linux}, options: wrap.Options{Programs: []string{"a"}},
			engine: "none known", title: "a", targets: []string{"Linux-x64 . a"},
		},
		{
			name: "what another wrap left is not the game", files: map[string]string{"lathe": linux, "packages/setup/game": linux, "keys/k": "x"},
			options: wrap.Options{Skip: pack.IsOwn, Exclude: []string{"*.txt"}},
			engine:  "none known", title: "lathe", targets: []string{"Linux-x64 . lathe"}, exclude: []string{"*.txt"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Default = "Linux-x64"
			g, err := wrap.Detect(folder(test.files), test.options)
			if err != nil {
				t.Fatal(err)
			}
			var targets []string
			for _, one := range g.Targets {
				targets = append(targets, strings.Join([]string{string(one.Name), one.Folder, one.Program}, " "))
			}
			if g.Engine != test.engine || g.NiceName != test.title || !reflect.DeepEqual(targets, test.targets) {
				t.Errorf("%s, %q, %q; want %s, %q, %q", g.Engine, g.NiceName, targets, test.engine, test.title, test.targets)
			}
			var exclude []string
			for _, pattern := range g.Exclude {
				if pattern != "*.log" {
					exclude = append(exclude, pattern)
				}
			}
			if !reflect.DeepEqual(g.Keep, test.keep) || !reflect.DeepEqual(exclude, test.exclude) {
				t.Errorf("keep %q, exclude %q; want %q, %q", g.Keep, exclude, test.keep, test.exclude)
			}
		})
	}
}

// TestDetectRefuses has the folders that can't be wrapped, with what the message names.
func TestDetectRefuses(t *testing.T) {
	for _, test := range []struct {
		name            string
		files           map[string]string
		options         wrap.Options
		file, key, what string
	}{
		{"no executable", map[string]string{"readme.txt": "x", "lib.so": object}, wrap.Options{}, ".", "target.program", "there is no executable"},
		{"a library only", map[string]string{"libgame.dylib": dylib, "game.dll": dll}, wrap.Options{}, ".", "target.program", "there is no executable"},
		{"a project", map[string]string{"project.godot": "x"}, wrap.Options{}, ".", "target.program", "export or build it"},
		{"LÖVE sources", map[string]string{"main.lua": "x"}, wrap.Options{}, ".", "target.program", "zip the folder"},
		{"a script without shebang", map[string]string{"start.sh": "exec game\n"}, wrap.Options{}, "start.sh", "target.program", "begin it with #!/bin/sh"},
		{"a named script without shebang", map[string]string{"game": linux, "start.sh": "exec game\n"}, wrap.Options{Programs: []string{"start.sh"}}, "start.sh", "target.program", "begin it with #!/bin/sh"},
		{"another machine", map[string]string{"game": riscv}, wrap.Options{}, "game", "target.program", "processor that no client has"},
		{"a program that was cut off", map[string]string{"game": "\x7fELF"}, wrap.Options{}, "game", "target.program", "incomplete or damaged"},
		{"a named program that was cut off", map[string]string{"game": linux, "b": "\x7fELF\x02\x01"}, wrap.Options{Programs: []string{"b"}}, "b", "target.program", "incomplete or damaged"},
		{"a named file in another folder", map[string]string{"linux/game": linux}, wrap.Options{Programs: []string{"game"}}, "game", "target.program", "--program linux/game"},
		{"a named file that is missing", map[string]string{"game": linux}, wrap.Options{Programs: []string{"gone"}}, "gone", "target.program", "is not there"},
		{"a named file that is data", map[string]string{"game": linux, "x.dat": "x"}, wrap.Options{Programs: []string{"x.dat"}}, "x.dat", "target.program", "neither a program nor a script"},
		{"keep and code", map[string]string{"game": linux, "mods/a.so": object}, wrap.Options{Keep: []string{"saves/**", "mods/**"}}, "mods/a.so", "files.keep[1]", "is code"},
		{"keep and program", map[string]string{"game": linux}, wrap.Options{Keep: []string{"game"}}, "game", "files.keep[0]", "is code"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Default = "Linux-x64"
			_, err := wrap.Detect(folder(test.files), test.options)
			var fault *wrap.Error
			if !errors.As(err, &fault) || fault.File != test.file || fault.Key != test.key || !strings.Contains(err.Error(), test.what) {
				t.Errorf("%v; want %s: %s: … %s", err, test.file, test.key, test.what)
			}
		})
	}
	_, err := wrap.Detect(folder(map[string]string{"win/a.exe": windows, "win/b.exe": windows, "linux/a": linux}), wrap.Options{})
	var choice *wrap.Choice
	if !errors.As(err, &choice) || !reflect.DeepEqual(choice.Candidates, []string{"win/a.exe", "win/b.exe"}) || choice.Target != "Windows-win64" {
		t.Errorf("%v; want a choice of two", err)
	}
	scripts := map[string]string{"game": "#!/bin/sh\n", "tool.sh": "#!/bin/sh\n"}
	if _, err := wrap.Detect(folder(scripts), wrap.Options{Default: "Linux-x64"}); !errors.As(err, &choice) || !reflect.DeepEqual(choice.Candidates, []string{"game", "tool.sh"}) {
		t.Errorf("%v; want a choice of two scripts", err)
	}
}

// TestIcon finds a picture, uses it as it is if it can be, and makes an icon of it otherwise.
func TestIcon(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		from  string
		asIs  bool
	}{
		{"a good one", map[string]string{"icon.png": picture(256, 256)}, "icon.png", true},
		{"a small one", map[string]string{"icon.png": picture(64, 64)}, "icon.png", false},
		{"an oblong one", map[string]string{"logo.png": picture(300, 200)}, "logo.png", false},
		{"Unity's", map[string]string{"lathe_Data/Resources/UnityPlayer.png": picture(512, 512), "logo.png": picture(64, 64)}, "lathe_Data/Resources/UnityPlayer.png", true},
		{"that of the .desktop file", map[string]string{
			"share/icons/hicolor/48x48/apps/lathe.png": picture(48, 48), "share/icons/hicolor/256x256/apps/lathe.png": picture(256, 256),
			"lathe.desktop": "[Desktop Entry]\nIcon=lathe\nExec=lathe\n"}, "share/icons/hicolor/256x256/apps/lathe.png", true},
		{"a damaged one", map[string]string{"icon.png": "\x89PNG"}, "", false},
		{"none", nil, "", false},
	} {
		files := map[string]string{"lathe": linux}
		for name, content := range test.files {
			files[name] = content
		}
		g, err := wrap.Detect(folder(files), wrap.Options{Default: "Linux-x64"})
		if err != nil {
			t.Fatal(err)
		}
		if g.IconFrom != test.from || (g.Icon != "") != test.asIs || (g.IconPNG != nil) != (test.from != "" && !test.asIs) {
			t.Errorf("%s: icon %q, made %d bytes, from %q; want %q", test.name, g.Icon, len(g.IconPNG), g.IconFrom, test.from)
		}
		if g.IconPNG != nil {
			config, err := png.DecodeConfig(bytes.NewReader(g.IconPNG))
			if err != nil || config.Width != config.Height || config.Width < 256 {
				t.Errorf("%s: the made icon is %v, %v", test.name, config, err)
			}
		}
	}
}

// TestConfig writes what pack reads back, whatever the names are.
func TestConfig(t *testing.T) {
	for _, nice := range []string{"The Lathe", `Öl & "Späne" \ <2>`, "7 days", "日本", "_"} {
		g := wrap.Game{
			Engine: "Unity", Name: pack.NameFrom(nice), NiceName: nice, Version: "1.2", Keep: []string{"a b.ini"}, Exclude: []string{"*.log"},
			Targets: []wrap.Target{{Name: "Linux-x64", Folder: "linux", Program: "lathe's \"bin\""}, {Name: "Windows-win64", Folder: ".", Program: "l.love", Wrapper: []string{"love", "-x"}}},
		}
		place := wrap.Place{Folder: ".", Icon: "icon.png", URL: "https://example.org/lathe"}
		text, err := g.Config(place, rand.NewChaCha8([32]byte{}), time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		var d pack.Description
		if err := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&d); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d.Game.NiceName != nice || d.Targets[0].Program != g.Targets[0].Program || d.Targets[0].Folder != "linux" || !reflect.DeepEqual(d.Targets[1].Wrapper, []string{"love", "-x"}) ||
			!reflect.DeepEqual(d.Files.Keep, g.Keep) || !reflect.DeepEqual(d.Files.Exclude, []string{"*.log", "/root.json", "/collet-icon.png"}) {
			t.Errorf("%+v", d)
		}
		if place.Folder = "build"; true {
			again, err := g.Config(place, rand.NewChaCha8([32]byte{}), time.Unix(1e9, 0))
			if err != nil || !strings.Contains(again, `folder = "build/linux"`) || strings.Contains(again, "/root.json") {
				t.Errorf("in a folder of its own: %v\n%s", err, again)
			}
		}
	}
}

// TestNameWithoutTexts finds a name where no file states one.
func TestNameWithoutTexts(t *testing.T) {
	for _, test := range []struct{ program, other, folder, above, name, from string }{
		{"lathe.sh", "", "build", "x", "lathe", "the program's name"},
		{"turn_it.py", "", "build", "x", "turn_it", "the program's name"},
		{"start.sh", "data/lathe", "The-Lathe", "x", "The-Lathe", "the folder's name"},
		{"start.sh", "data/lathe", "build", "x", "lathe", "the name of data/lathe"},
		{"start.sh", "lib/lathe lib/loader", "build", "Turning", "Turning", "the name of the folder above"},
		{"start.sh", "", "dist", "The-Lathe", "The-Lathe", "the name of the folder above"},
		{"start.sh", "", "Linux_x64", "The-Lathe", "The-Lathe", "the name of the folder above"},
		{"start.sh", "", "LinuxTycoon", "x", "LinuxTycoon", "the folder's name"},
		{"start.sh", "", "out", "build", "out", "the folder's name"},
	} {
		files := map[string]string{test.program: "#!/bin/sh\n"}
		for other := range strings.FieldsSeq(test.other) {
			files[other] = linux
		}
		g, err := wrap.Detect(folder(files), wrap.Options{Folder: test.folder, Above: test.above, Default: "Linux-x64"})
		if err != nil || g.NiceName != test.name || g.NameFrom != test.from {
			t.Errorf("%v: %q from %q, %v", test, g.NiceName, g.NameFrom, err)
		}
	}
}

// TestPrepare leaves out what can't be in a release, and refuses what publishing would refuse.
func TestPrepare(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: other systems have no such names")
	}
	for _, test := range []struct {
		name    string
		files   map[string]string // "-> x" is a link
		url     string
		exclude []string // beside *.log
		refused string   // part of the error
		copies  int
	}{
		{name: "good", files: map[string]string{"a": "x", "b": "-> a"}},
		{name: "links", files: map[string]string{"dead": "-> ../none", "out": "-> /etc/hostname", "dir": "-> data", "data/a": "x"}, exclude: []string{"/dead", "/out"}, copies: 1},
		{name: "a framework", files: map[string]string{
			"L.framework/Versions/A/L": "x", "L.framework/Versions/A/Resources/a": "x", "L.framework/Versions/A/Resources/b": "x",
			"L.framework/Versions/Current": "-> A", "L.framework/L": "-> Versions/Current/L", "L.framework/Resources": "-> Versions/Current/Resources",
		}, copies: 5},
		{name: "loops", files: map[string]string{"all": "-> .", "a/x": "x", "a/b": "-> ../c", "c/d": "-> ../a"}, exclude: []string{"/a/b/d", "/all", "/c/d/b"}, copies: 1},
		{name: "a good file of the same name", files: map[string]string{"data": "-> ../mac", "../mac/data/a": "x"}, refused: "data is a link that leads out of the folder"},
		{name: "a good file that fits the pattern", files: map[string]string{`c\d`: "x", "c d": "x"}, refused: `"c\\d"`},
		{name: "names", files: map[string]string{"CON/a": "x", "CON/b": "x", "a:b[*": "x", "\xff": "x", `c\d`: "x"}, exclude: []string{"/CON", "/a:b[[][*]", "/c?d", "/?"}},
		{name: "twins", files: map[string]string{"B": "x", "b": "x", "C": "x", "c": "x"},
			refused: "target[0].folder: path \"b\": is the same file as \"B\" on some systems; rename one of them, or leave it out with files.exclude (--program or --exclude)\ntarget[0].folder: path \"c\""},
		{name: "a key", files: map[string]string{"k": "-----BEGIN COLLET PRIVATE KEY-----"}, refused: "k is a private key"},
		{name: "the program", files: map[string]string{"lathe": "-> /bin/sh"}, refused: "lathe is a link that leads out of the folder"},
		{name: "a scheme", url: "ftp://a/b", refused: `client.urls[0]: "ftp://a/b" is no web address; want https://host/path (--url)`},
		{name: "no address", url: "foo bar", refused: `"foo bar" is no web address`},
	} {
		project := t.TempDir()
		write := func(name, content string) {
			name = filepath.Join(project, "build", name)
			err := os.MkdirAll(filepath.Dir(name), 0o755)
			if to, link := strings.CutPrefix(content, "-> "); link {
				err = errors.Join(err, os.Symlink(to, name))
			} else {
				err = errors.Join(err, os.WriteFile(name, []byte(content), 0o755))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if test.files["lathe"] == "" {
			write("lathe", linux)
		}
		for name, content := range test.files {
			write(name, content)
		}
		g := wrap.Game{Engine: "none known", Name: "Lathe", NiceName: "Lathe", Version: "1.2", Exclude: []string{"*.log"}, IconPNG: []byte(picture(256, 256)),
			Targets: []wrap.Target{{Name: "Linux-x64", Folder: ".", Program: "lathe"}}}
		if test.files["../mac/data/a"] != "" {
			write("../mac/lathe", linux)
			g.Targets = append(g.Targets, wrap.Target{Name: "Linux-arm64", Folder: "../mac", Program: "lathe"})
		}
		place := wrap.Place{Folder: "build", URL: cmp.Or(test.url, "https://example.org")}
		_, err := g.Prepare(project, place, rand.NewChaCha8([32]byte{}), time.Unix(1e9, 0))
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: %v, want %q", test.name, err, test.refused)
		}
		if _, statErr := os.Stat(filepath.Join(project, wrap.IconFile)); (statErr == nil) != (err == nil) {
			t.Errorf("%s: refused %v, and the icon: %v", test.name, err, statErr)
		}
		if err == nil && !slices.Equal(g.Exclude, append([]string{"*.log"}, test.exclude...)) {
			t.Errorf("%s: leaves out %q, want %q", test.name, g.Exclude, test.exclude)
		}
		if told := slices.ContainsFunc(g.Lines(place), func(l wrap.Line) bool { return l.What == "links" }); err == nil && (g.Copies != test.copies || told != (test.copies > 0)) {
			t.Errorf("%s: %d copies, want %d; told: %t", test.name, g.Copies, test.copies, told)
		}
	}
}

// TestLines has a way to change each finding that can be changed.
func TestLines(t *testing.T) {
	g, err := wrap.Detect(folder(map[string]string{"lathe": linux, "settings.ini": "x", "big.pak": strings.Repeat("x", 2<<20)}), wrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range g.Lines(wrap.Place{Folder: "build", URL: "https://example.org"}) {
		out = append(out, l.What+" | "+l.Found+" | "+l.Change)
	}
	want := []string{
		"engine | none known | ", "name | lathe (from the program's name) | game.nice-name, --name", "base name | Lathe | game.name", "version | 0.1.0 | game.version",
		"Linux-x64 | lathe in build: the only executable | target.program, --program", "ready | with its first window, or after 10 s | program.ready-window, program.ready-seconds",
		"keep | settings.ini: placed once, then the player's | files.keep, --keep", "exclude | *.log | files.exclude, --exclude",
		"packs | 2.1 MB in 1 data files of 1 MiB or more | ", "icon | none found; Collet's stands in for it | game.icon", "address | https://example.org: an EXAMPLE; no player can update from it | client.urls, --url",
	}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(out, "\n"), strings.Join(want, "\n"))
	}
}

// FuzzDetect: no content of a program, script or info file makes detection fail in another way than by its errors.
func FuzzDetect(f *testing.F) {
	for _, head := range []string{linux, windows, mac, shell, riscv, dll, object} {
		f.Add([]byte(head), []byte("[Desktop Entry]\nExec= \nName=x"))
	}
	f.Fuzz(func(t *testing.T, head, info []byte) {
		tree := fstest.MapFS{
			"a": {Data: head, Mode: 0o755}, "b.exe": {Data: head}, "a.desktop": {Data: info}, "a_Data/app.info": {Data: info},
			"icon.png": {Data: info}, "package.json": {Data: info},
		}
		g, err := wrap.Detect(tree, wrap.Options{Default: product.Target("Linux-x64"), Folder: string(info)})
		var fault *wrap.Error
		var choice *wrap.Choice
		if err != nil && !errors.As(err, &fault) && !errors.As(err, &choice) {
			t.Error(err)
		}
		if err == nil {
			if _, err := g.Config(wrap.Place{Folder: "."}, rand.NewChaCha8([32]byte{}), time.Time{}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestScriptsThatAreNotExecutable: scripts of Python and Perl are found by their first line, and what Python writes stays out.
func TestScriptsThatAreNotExecutable(t *testing.T) {
	for _, name := range []string{"run_game.py", "lathe.pl"} {
		tree := fstest.MapFS{
			name: {Data: []byte("#! /usr/bin/env python3\n"), Mode: 0o644}, "lib/main.py": {Data: []byte("import pygame\n"), Mode: 0o644},
			"lib/__pycache__/main.cpython-311.pyc": {Data: []byte("x"), Mode: 0o644},
		}
		game, err := wrap.Detect(tree, wrap.Options{Folder: "lathe", Default: "Linux-x64"})
		if err != nil || len(game.Targets) != 1 || game.Targets[0].Program != name {
			t.Fatalf("%s: %+v, %v", name, game.Targets, err)
		}
		if !slices.Contains(game.Exclude, "__pycache__") {
			t.Errorf("%s: players get everything but %q", name, game.Exclude)
		}
	}
}
