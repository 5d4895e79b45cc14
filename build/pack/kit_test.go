//go:build unix

package pack_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"collet/build/pack"
	"collet/platform/testlevel"
)

// A kit is a project whose programs are real: compiled here, with areas, and for Windows with symbols. Its description takes
// everything that there is on this machine.

const kitGame = game + `icon = "icon.png"
splash = "splash.png"
uri-scheme = "lathe"
time = 2026-11-22T12:00:00Z
[client]
server = "update.example.org:4000"
[client.settings]
Update.Trust = "sha256"
[[resources.pack]]
name = "Core"
from = "core"
[[resources.pack]]
name = "Art"
from = "art"
deflate = true
[[resources.pack]]
name = "Brain"
from = "brain"
server-only = true
`

const kitLinux = `
[[target]]
name = "Linux-x64"
host = "linux/client"
module = "linux/game.so"
companions = ["linux/libextra.so"]
[[variant]]
profiling = "total"
targets = ["Linux-x64"]
[[variant.build]]
name = "Linux-x64"
module = "linux/profiling.so"
[linux]
formats = ["tar.gz", "tar.zst", "deb", "rpm", "appdir"]
[server]
formats = ["tar.gz", "tar.zst", "deb", "container"]
compatibility = "lathe-2"
[[server.program]]
target = "Linux-x64"
from = "linux/collet-server"
`

const kitWindows = `
[[target]]
name = "Windows-win64"
host = "windows/client.exe"
host-pdb = "windows/client-with-room-for-names.pdb"
module = "windows/game.dll"
module-pdb = "windows/game-with-room-for-names.pdb"
companions = ["windows/extra.dll"]
[[variant]]
opengl = true
[windows]
formats = [%s]
upgrade-code = "9B1F1D32-5C0F-4A83-9A53-0F6F6A6E6A01"
`

const kitMac = `
[[target]]
name = "macOS-arm64"
host = "mac/client"
module = "mac/game.dylib"
`

// areas is a module in C. Programs differ by their answer.
const areas = `#include "client_areas.h"
#ifdef _WIN32
__declspec(dllexport)
#endif
int answer(void) { return ANSWER; }
#ifdef PROGRAM
int main(void) { return answer() == ANSWER ? 0 : 1; }
#endif
`

// built is what was compiled, by its path in the kit; empty texts are not there because a tool is missing.
var built = sync.OnceValues(func() (map[string]string, error) {
	dir, err := os.MkdirTemp("", "kit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files := map[string]string{}
	header, err := filepath.Abs(filepath.Join("..", "..", "runtime", "abi"))
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"areas.c": areas, "host.rc": "1 VERSIONINFO\nBEGIN\nEND\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for i, c := range compilations(dir) {
		if _, err := exec.LookPath(c.tool); err != nil {
			continue
		}
		out := filepath.Join(dir, filepath.Base(c.out))
		args := append(c.args, "-g", "-O1", "-I", header, fmt.Sprintf("-DANSWER=%d", i), "-o", out, filepath.Join(dir, "areas.c"))
		cmd := exec.Command(c.tool, args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", c.out, err, said)
		}
		for _, file := range append(c.more, c.out) {
			data, err := os.ReadFile(filepath.Join(dir, filepath.Base(file)))
			if err != nil {
				return nil, err
			}
			files[file] = string(data)
		}
	}
	return files, nil
})

type compilation struct {
	tool, out string
	args      []string
	more      []string
}

func compilations(dir string) []compilation {
	list := []compilation{
		{tool: "cc", out: "linux/client", args: []string{"-DPROGRAM"}},
		{tool: "cc", out: "linux/game.so", args: []string{"-shared", "-fPIC"}},
		{tool: "cc", out: "linux/profiling.so", args: []string{"-shared", "-fPIC"}},
		{tool: "cc", out: "linux/libextra.so", args: []string{"-shared", "-fPIC"}},
	}
	gcc, err := exec.Command("x86_64-w64-mingw32-gcc", "-print-libgcc-file-name").Output()
	if err != nil {
		return list
	}
	resources := filepath.Join(dir, "host.o") // as hosts have them; a linker that makes none may leave no room for them
	if said, err := exec.Command("x86_64-w64-mingw32-windres", filepath.Join(dir, "host.rc"), "-O", "coff", "-o", resources).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("windres: %v\n%s", err, said))
	}
	lib := filepath.Dir(strings.TrimSpace(string(gcc)))
	link := func(pdb string, more ...string) []string {
		return append(more, "--target=x86_64-w64-mingw32", "-gcodeview", "-fuse-ld=lld", "-static-libgcc", "-L"+lib, "-Wl,--pdb="+filepath.Join(dir, pdb))
	}
	return append(list,
		compilation{"clang", "windows/client.exe", link("client-with-room-for-names.pdb", "-DPROGRAM", resources), []string{"windows/client-with-room-for-names.pdb"}},
		compilation{"clang", "windows/game.dll", link("game-with-room-for-names.pdb", "-shared"), []string{"windows/game-with-room-for-names.pdb"}},
		compilation{"clang", "windows/extra.dll", link("extra.pdb", "-shared"), nil},
	)
}

// apple is what looks like a program for a Mac, with areas.
func apple(kind byte) string {
	head := "\xcf\xfa\xed\xfe\x0c\x00\x00\x01" + strings.Repeat("\x00", 4) + string(kind) + strings.Repeat("\x00", 40)
	resources := make([]byte, 200_000)
	for i := range resources {
		resources[i] = byte((i + 42) % 200)
	}
	fence := "###"
	config := fence + "InternalConfig" + fence + strings.Repeat("1234567890", 900) + fence + "InternalConfigEnd" + fence
	name := fence + "NotPackaged" + fence
	return head + string(resources) + config + name + strings.Repeat("\x00", 128-len(name)) + "end"
}

// file is one more file of a kit.
type file struct{ name, text string }

// kit makes a project and loads it. change may rewrite the description; nil leaves it.
func kit(t *testing.T, change func(string) string, more ...file) *pack.Project {
	t.Helper()
	p, err := pack.Load(kitFile(t, change, more...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kitFile makes a project and gives the path of its description.
func kitFile(t *testing.T, change func(string) string, more ...file) string {
	t.Helper()
	testlevel.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: the kit's programs are for Linux")
	}
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if programs["linux/client"] == "" {
		t.Skip("NOT TESTED: no cc on this machine; make setup installs it")
	}
	dir, text := t.TempDir(), kitGame+kitLinux+kitMac
	if programs["windows/client.exe"] == "" {
		t.Log("NOT TESTED: Windows, which needs clang, lld and mingw-w64; make setup installs them")
	} else {
		text += fmt.Sprintf(kitWindows, strings.Join(windowsFormats(t), ", "))
	}
	if change != nil {
		text = change(text)
	}
	write(t, dir, map[string]string{
		"collet.toml": text, "icon.png": picture(t, 256, 256), "splash.png": picture(t, 420, 240),
		"core/game.txt": "a game\n", "core/maps/first.map": strings.Repeat("map ", 1000), "core/.git/config": "not packed",
		"core/Thumbs.db": "not packed", "art/wood.txt": strings.Repeat("wood ", 1000), "brain/monsters.txt": "clever\n",
		"linux/collet-server": programs["linux/client"], "mac/client": apple(2), "mac/game.dylib": apple(6),
	})
	write(t, dir, programs)
	for _, f := range more {
		write(t, dir, map[string]string{f.name: f.text})
	}
	return filepath.Join(dir, "collet.toml")
}

// windowsFormats are those whose tools are there, and installers only in make test-all.
func windowsFormats(t *testing.T) []string {
	t.Helper()
	list := []string{`"zip"`}
	if !testlevel.Full() {
		return list // makers of installers take seconds each
	}
	for format, tools := range map[string][]string{"nsis": {"makensis"}, "msi": {"wixl", "msibuild", "msiinfo"}} {
		there := true
		for _, tool := range tools {
			if _, err := exec.LookPath(tool); err != nil {
				t.Logf("NOT TESTED: %s, which needs %s; make setup installs it", format, tool)
				there = false
			}
		}
		if there {
			list = append(list, fmt.Sprintf("%q", format))
		}
	}
	return list
}

// read is a file's bytes.
func read(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names are what lies in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
