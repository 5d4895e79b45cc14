package pack_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/build/pack"
)

// goodProgram is a description of a game that is a program of its own.
const goodProgram = game + `icon = "art/icon.png"
time = 2026-11-22T12:00:00Z
[client]
server = "tls://update.example.org:4000"
[program]
args = ["--data", "data"]
env = { LANG = "C" }
folder = "data"
wrapper = ["gamemoderun"]
ready-window = false
ready-seconds = 20
clean-exits = [3, 0]
reload-exits = [75]
[files]
keep = ["config/*.ini"]
keep-new = ["keys.cfg"]
exclude = ["*.log", "saves/**"]
[[target]]
name = "Linux-x64"
folder = "build/linux"
program = "bin/lathe"
[[target]]
name = "Windows-win64"
folder = "build/windows"
program = "lathe.exe"
args = []
env = { B = "2" }
wrapper = []
[[variant]]
postfix = "Steam"
[[variant.build]]
name = "Linux-x64"
program = "bin/lathe-steam"
args = ["--steam"]
`

// programPlace makes the files of goodProgram, and gives the path of the description.
func programPlace(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"collet.toml": text, "art/icon.png": picture(t, 256, 256), "keys/targets-1.key": "-----BEGIN COLLET DEVELOPMENT PRIVATE KEY-----",
		"build/linux/bin/lathe": elf(62), "build/linux/bin/lathe-steam": "#!/bin/sh\n", "build/linux/bin/lathe.arm": elf(183), "build/linux/bin/plain": "echo",
		"build/linux/data/level": "l", "build/linux/config/a.ini": "a", "build/linux/keys.cfg": "k", "build/linux/x.log": "", "build/linux/saves/1/a": "",
		"build/linux/.git/config": "", "build/linux/lib/libx.so": elf(62), "build/windows/lathe.exe": pe(0x8664), "build/windows/data/level": "l",
		"build/windows/run.sh": "#!/bin/sh\n",
	})
	return filepath.Join(dir, "collet.toml")
}

// TestProgram is a description without mistakes: two targets with their differences, and a variant.
func TestProgram(t *testing.T) {
	t.Parallel()
	p, err := pack.Load(programPlace(t, goodProgram), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range p.Builds() {
		got = append(got, strings.Join([]string{b.ModuleName(), b.Program, filepath.Base(b.Folder), strings.Join(b.Launch.Args, " "), strings.Join(b.Launch.Wrapper, " ")}, "|"))
		if !strings.Contains(b.Config, "Client.Kind = 'program'") {
			t.Errorf("%s is not told what the game is: %s", b.Base, b.Config)
		}
	}
	want := []string{
		"Lathe.program|bin/lathe|linux|--data data|gamemoderun", "Lathe_Steam.program|bin/lathe-steam|linux|--steam|gamemoderun",
		"Lathe.program|lathe.exe|windows||", "Lathe_Steam.program|lathe.exe|windows||",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.Server.Compatibility != "1" {
		t.Errorf("the compatibility version is %q", p.Server.Compatibility)
	}
}

// TestProgramMistakes changes one thing of the good description, and wants exactly one mistake, with line, key and advice.
func TestProgramMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ old, new, want string }{
		{`program = "bin/lathe"`, ``, `28: target[0].program: is missing; name the game's executable for Linux-x64 in target.folder`},
		{`program = "bin/lathe"`, `program = "bin/lath"`, `31: target[0].program: there is no executable bin/lath in the game's folder; did you mean bin/lathe?`},
		{`program = "bin/lathe"`, `program = "../lathe"`, `31: target[0].program: path "../lathe": has an element that leaves the folder; want a path in the game's folder`},
		{`program = "bin/lathe"`, `program = "bin/lathe.arm"`, "31: target[0].program: bin/lathe.arm was built for Linux-arm64; did you mean bin/lathe?"},
		{"program = \"bin/lathe\"", "program = \"bin/plain\"\nwrapper = []", `31: target[0].program: bin/plain can't be started: it is neither a program nor a script with #! in its first line; begin a script with a line such as #!/bin/sh`},
		{`program = "bin/lathe"`, `program = "x.log"`, `31: target[0].program: players don't get x.log; change files.exclude`},
		{`program = "bin/lathe"`, `program = "config/a.ini"`, `31: target[0].program: config/a.ini is both the executable and a file that players keep; take it out of files.keep[0]`},
		{`keep = ["config/*.ini"]`, `keep = ["config/*.ini", "bin/**"]`, `25: files.keep[1]: "bin/**" fits bin/lathe, which is code: players would keep the old one for ever`},
		{`keep = ["config/*.ini"]`, `keep = ["["]`, `25: files.keep[0]: "[" is no pattern: its brackets or backslashes don't end`},
		{`keep = ["config/*.ini"]`, `keep = ["a/**b"]`, `25: files.keep[0]: "a/**b" is no pattern: ** stands for whole folders`},
		{`exclude = ["*.log"`, `exclude = ["../x"`, `27: files.exclude[0]: "../x" is no pattern: it leaves the game's folder`},
		{`program = "lathe.exe"`, `program = "run.sh"`, `35: target[1].program: run.sh is a script, which Windows does not start; name a program for Windows`},
		{`folder = "build/linux"`, ``, `28: target[0].folder: is missing; name the folder with all files of the game for Linux-x64`},
		{`folder = "build/linux"`, `folder = "build/lunix"`, `30: target[0].folder: there is no build/lunix; build it first`},
		{`exclude = ["*.log"`, `exclude = ["*"`, `30: target[0].folder: has no files`},
		{`folder = "build/linux"`, `folder = "keys"`, `30: target[0].folder: targets-1.key is a private key; move the keys out of the game's folder`},
		{"program = \"lathe.exe\"", "program = \"lathe.exe\"\nmodule = \"build/linux/lib/libx.so\"", `35: target[1].program: goes without module, module-pdb and no-symbols; name one of the two`},
		{`ready-seconds = 20`, `ready-seconds = 0`, `21: program.ready-seconds: is 0; want 1 to 600`},
		{`ready-seconds = 20`, `ready-seconds = "20"`, `21: program.ready-seconds: is text; want a whole number, without quotes`},
		{`ready-window = false`, `ready-window = 0`, `20: program.ready-window: is a number; want true or false`},
		{`reload-exits = [75]`, `reload-exits = [0]`, `program.clean-exits: has 0, which exit.clean has, too`},
		{`env = { LANG = "C" }`, `env = { COLLET_PIPE = "C" }`, `17: program.env: sets COLLET_PIPE; names that begin with COLLET_ are reserved`},
		{`env = { LANG = "C" }`, `env = { LANG = 1 }`, `17: program.env: the variable LANG is a number; want texts`},
		{`folder = "data"`, `folder = "daten"`, `18: program.folder: there is no folder daten in `},
		{`args = ["--steam"]`, "module = \"x\"", `variant[0].build[0].module: names a module, and the target has a program`},
		{`program = "bin/lathe-steam"`, `folder = "build/windows"`, `variant[0].build[0].folder: all variants of a target share its folder`},
		{`program = "bin/lathe-steam"`, `program = "bin/none"`, `variant[0].build[0].program: there is no executable bin/none in the game's folder`},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			if strings.Count(goodProgram, test.old) == 0 {
				t.Fatalf("goodProgram has no %q", test.old)
			}
			_, err := pack.Load(programPlace(t, strings.Replace(goodProgram, test.old, test.new, 1)), nil)
			list, is := err.(pack.Mistakes)
			if !is || !strings.Contains(list[0].String(), test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if len(list) > 1 && !strings.Contains(test.want, "has no files") {
				t.Errorf("one mistake is reported as %v", list)
			}
		})
	}
}

// TestProgramKeysOfModules refuses keys of programs in the description of a module.
func TestProgramKeysOfModules(t *testing.T) {
	t.Parallel()
	got := mistakes(t, strings.Replace(good, "[[target]]\n", "[program]\nargs = []\n[files]\nkeep = []\n[[target]]\nargs = []\n", 1))
	for _, key := range []string{"program: ", "files: ", "target[0].args: "} {
		if !slices.ContainsFunc(got, func(line string) bool {
			return strings.Contains(line, key+"goes with target.program; leave it out, or name the game's executable")
		}) {
			t.Errorf("%s is not refused in %q", key, got)
		}
	}
}

// TestProgramLinks follows links inside of the game's folder, to files and to folders, and no others.
func TestProgramLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: links need a privilege on Windows")
	}
	for to, want := range map[string]string{
		"lib/libx.so": "", "data": "", "lib/../data": "", ".": "x is a link to a folder in which it lies itself", "../linux": "x is a link to a folder in which it lies itself",
		"../windows/lathe.exe": "x is a link that leads out of the folder; copy what it leads to into its place (cp -RL)", "../windows": "x is a link that leads out of the folder",
		"nothing": "x is a link that leads to nothing", "x": "x is a link that leads to nothing",
	} {
		file := programPlace(t, goodProgram)
		if err := os.Symlink(to, filepath.Join(filepath.Dir(file), "build", "linux", "x")); err != nil {
			t.Fatal(err)
		}
		_, err := pack.Load(file, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", to, err, want)
		}
	}
}

// TestProgramFolderLinks: players get the files of a macOS framework as copies, each at every path that leads to it, but none of Collet's own.
func TestProgramFolderLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: links need a privilege on Windows")
	}
	dir := t.TempDir()
	for _, name := range []string{"L.framework/Versions/A/L", "L.framework/Versions/A/Headers/l.h", "L.framework/Versions/A/log.log", "keys/root.json"} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"L.framework/Versions/Current": "A", "L.framework/L": "Versions/Current/L", "L.framework/Headers": "Versions/Current/Headers", "mine": "keys"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	unfit, good, copies, err := pack.Files{Exclude: []string{"*.log"}}.Unfit(dir, dir)
	want := []string{
		"L.framework/Headers/l.h", "L.framework/L", "L.framework/Versions/A/Headers/l.h", "L.framework/Versions/A/L", "L.framework/Versions/Current/Headers/l.h", "L.framework/Versions/Current/L",
	}
	if err != nil || copies != 3 || !slices.Equal(good, want) {
		t.Errorf("%d copies in %q, %v", copies, good, err)
	}
	if len(unfit) != 1 || unfit[0].Path != "mine" {
		t.Errorf("not fit are %+v", unfit)
	}
}
