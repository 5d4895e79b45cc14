package game_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/build/publish/game"
	"collet/netproto/release"
	"collet/platform"
	"collet/runtime/program"
)

const (
	linux   = "Linux-x64"
	windows = "Windows-win64"
)

// tree is a folder as text.
type tree map[string]string

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a tree to a folder.
func write(t testing.TB, files tree) platform.FS {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	d, err := platform.OpenDir(dir)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// read reads a tree as a publication does. The sets are by target.
func read(t testing.TB, files tree, target string) (*game.Folder, map[string]release.Listing, error) {
	t.Helper()
	g, err := game.Read(write(t, files), target)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range g.All() {
		f.Sum = release.ObjectOf([]byte(files[f.Name])).Sum
	}
	sets := map[string]release.Listing{}
	for _, target := range g.Targets() {
		if err := g.CheckDescriptions(target); err != nil {
			return nil, nil, err
		}
		if sets[target], err = g.Set(target); err != nil {
			return nil, nil, err
		}
	}
	return g, sets, nil
}

// uses are the files of a set with their use, and "+" for those that may be run.
func uses(l release.Listing) map[string]string {
	list := map[string]string{}
	for _, f := range l {
		if list[f.Path] = string(f.Use); f.Mode == release.ProgramMode {
			list[f.Path] += "+"
		}
	}
	return list
}

// wants compares the files of a set.
func wants(t testing.TB, l release.Listing, want map[string]string) {
	t.Helper()
	if is := uses(l); !maps.Equal(is, want) {
		t.Errorf("the set is\n%v, want\n%v", is, want)
	}
}

// engine is a game with native modules for two targets.
func engine(more tree) tree {
	files := tree{
		"Resources/Core.zip": "core", "Resources/Lathe.bin": "a pack may have any name", "notes/en.md": "news", "notes/read.me": "", "readme": "",
		"PlatformBinaries/Linux-x64/Lathe": "host", "PlatformBinaries/Linux-x64/Lathe.so": "module", "PlatformBinaries/Linux-x64/README": "text",
		"PlatformBinaries/Windows-win64/Lathe.exe": "host", "PlatformBinaries/Windows-win64/Lathe.dll": "module",
		"PlatformBinaries/Windows-win64/tool.exe": "tool", "PlatformBinaries/stray": "",
	}
	maps.Copy(files, more)
	return files
}

// TestEngine reads modules, their hosts and other files, notes, and what is left out. A target may be chosen.
func TestEngine(t *testing.T) {
	t.Parallel()
	g, sets, err := read(t, engine(nil), "")
	must(t, err)
	wants(t, sets[linux], map[string]string{"Core.zip": "resource", "Lathe.bin": "resource", "Lathe": "host+", "Lathe.so": "runtime+", "README": "companion"})
	wants(t, sets[windows], map[string]string{"Core.zip": "resource", "Lathe.bin": "resource", "Lathe.exe": "host+", "Lathe.dll": "runtime+", "tool.exe": "companion"})
	if slices.Sort(g.Ignored); !slices.Equal(g.Ignored, []string{"PlatformBinaries/stray", "notes/read.me", "readme"}) {
		t.Errorf("ignored %q", g.Ignored)
	}
	if len(g.Notes) != 1 || string(g.Notes["en"]) != "news" || g.IsProgram(linux) {
		t.Errorf("notes %q, program %v", g.Notes, g.IsProgram(linux))
	}
	if g, _, err = read(t, engine(nil), windows); err != nil || !slices.Equal(g.Targets(), []string{windows}) {
		t.Errorf("%v", err)
	}
}

// TestInstall reads the module of an install and what is named after it.
func TestInstall(t *testing.T) {
	t.Parallel()
	g, sets, err := read(t, tree{
		"Resources/Core.zip": "core", "Lathe.so": "module", "Lathe.so.dbg": "symbols", "Lathe": "host", "Lathe.toml": "settings",
		"Lathe.so-staging": "staged", "other.txt": "x", ".hidden": "", "Resources/.DS_Store": "",
	}, linux)
	must(t, err)
	wants(t, sets[linux], map[string]string{"Core.zip": "resource", "Lathe.so": "runtime+", "Lathe.so.dbg": "companion"})
	if len(g.Ignored) != 6 {
		t.Errorf("ignored %q", g.Ignored)
	}
}

// TestPlain lists the plain files of a release folder, each with its name there.
func TestPlain(t *testing.T) {
	t.Parallel()
	fsys := write(t, tree{
		"plain/Resources/Core.zip": "core", "plain/PlatformBinaries/Linux-x64/Lathe.so": "module", "plain/Resources/.DS_Store": "", "objects/x": "",
	})
	list, err := game.Plain(fsys)
	must(t, err)
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"plain/Resources/Core.zip", "plain/PlatformBinaries/Linux-x64/Lathe.so"}) {
		t.Errorf("%q", names)
	}
}

// TestBadNames: all files that can't be in a release are named at once, up to a number.
func TestBadNames(t *testing.T) {
	t.Parallel()
	refused := func(files tree) string {
		t.Helper()
		_, _, err := read(t, files, "")
		if err == nil {
			t.Fatal("accepted")
		}
		return err.Error()
	}
	files := engine(tree{"Resources/a:b": "", "PlatformBinaries/Linux-x64/nul": "", "PlatformResources/Linux-x64/x?": ""})
	if got := refused(files); strings.Count(got, "can't be in a release") != 3 || strings.Count(got, "\n") != 2 || !strings.Contains(got, "rename or remove it") {
		t.Error(got)
	}
	for i := range 40 {
		files[fmt.Sprintf("Resources/%d*", i)] = ""
	}
	if got := refused(files); strings.Count(got, "can't be in a release") != 20 || !strings.HasSuffix(got, "\nand 23 more") {
		t.Error(got)
	}
	twins := engine(tree{"Resources/one": "", "Resources/ONE": "", "Resources/two": "", "Resources/TWO": "", "Resources/Two": "", "Resources/Lathe.so": ""})
	if got := refused(twins); strings.Count(got, "is the same file as") != 4 {
		t.Error(got)
	}
}

// TestNoGame has folders that are not those of a game.
func TestNoGame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		files        tree
		target, want string
	}{
		{tree{"readme": ""}, "", "has no PlatformBinaries; name the target"},
		{tree{"Resources/a": ""}, linux, "no native module *.so"},
		{engine(nil), "macOS-arm64", "has no PlatformBinaries/macOS-arm64; it has Linux-x64, Windows-win64"},
		{engine(tree{"notes/en.md": strings.Repeat("x", release.MaxNote+1)}), "", "read the release notes"},
	} {
		if _, _, err := read(t, test.files, test.target); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// described is the description of a program.
func described(t testing.TB, change func(*program.Description)) string {
	t.Helper()
	d := program.Description{
		Name: "Lathe", Build: "00", Program: "bin/lathe", Ready: program.Ready{Seconds: 10}, Keep: []program.Kept{{Path: "config/a.ini"}},
	}
	if change != nil {
		change(&d)
	}
	text, err := d.Encode()
	must(t, err)
	return string(text)
}

// programs is the folder of a game that is a program, for two targets.
func programs(t testing.TB) tree {
	return tree{
		"Resources/Core.zip": "core", "PlatformBinaries/Linux-x64/Lathe.program": described(t, nil),
		"PlatformResources/Linux-x64/bin/lathe": "\x7fELF", "PlatformResources/Linux-x64/lib/x.so": "\x7fELF2", "PlatformResources/Linux-x64/run": "#!/bin/sh",
		"PlatformResources/Linux-x64/.keep/config/a.ini": "a", "PlatformResources/Linux-x64/.hidden": "h", "PlatformResources/Linux-x64/.DS_Store": "",
		"PlatformBinaries/Windows-win64/Lathe.program": described(t, func(d *program.Description) { d.Program, d.Compatibility, d.Keep = "lathe.exe", "v2", nil }),
		"PlatformResources/Windows-win64/lathe.exe":    "MZ", "PlatformResources/Windows-win64/x.dll": "MZ2",
	}
}

// TestPrograms: the files of a program are resources of one target, and those that run have that right.
func TestPrograms(t *testing.T) {
	t.Parallel()
	g, sets, err := read(t, programs(t), "")
	must(t, err)
	if len(g.Ignored) != 1 || !strings.HasSuffix(g.Ignored[0], ".DS_Store") {
		t.Errorf("ignored %q", g.Ignored)
	}
	wants(t, sets[linux], map[string]string{
		"Core.zip": "resource", "Lathe.program": "runtime+", "bin/lathe": "resource+", "lib/x.so": "resource+", "run": "resource+",
		".keep/config/a.ini": "resource", ".hidden": "resource",
	})
	wants(t, sets[windows], map[string]string{"Core.zip": "resource", "Lathe.program": "runtime+", "lathe.exe": "resource+", "x.dll": "resource"})
	if !g.IsProgram(linux) || g.Compatibility[windows] != "v2" || !slices.Equal(g.Programs[linux], []string{"bin/lathe"}) {
		t.Errorf("%v, %v", g.Compatibility, g.Programs)
	}
}

// TestAddDescription: a host that lies beside an added description is one.
func TestAddDescription(t *testing.T) {
	t.Parallel()
	files := programs(t)
	const name = "PlatformBinaries/Linux-x64/Lathe.program"
	late := files[name]
	delete(files, name)
	files["PlatformBinaries/Linux-x64/Lathe"] = "host"
	fsys := write(t, files)
	g, err := game.Read(fsys, linux)
	must(t, err)
	if _, err := g.AddDescription(linux, name); err == nil {
		t.Error("a description that is not there was added")
	}
	must(t, platform.WriteFile(fsys, name, []byte(late)))
	f, err := g.AddDescription(linux, name)
	if must(t, err); f.Path != "Lathe.program" || f.Info.Size() != int64(len(late)) {
		t.Errorf("%+v", f)
	}
	must(t, g.CheckDescriptions(linux))
	for _, f := range g.All() {
		f.Sum = release.ObjectOf([]byte(f.Name)).Sum
	}
	l, err := g.Set(linux)
	if must(t, err); uses(l)["Lathe"] != "host+" || uses(l)["Lathe.program"] != "runtime+" {
		t.Errorf("%v", uses(l))
	}
}

// TestHiddenNames: a name that begins with a dot is the system's, but not below the shipped forms of kept files.
func TestHiddenNames(t *testing.T) {
	t.Parallel()
	files := programs(t)
	delete(files, "PlatformResources/Linux-x64/.keep/config/a.ini")
	files["Resources/.keep/.lathe/a.ini"], files["Resources/.keep/config/a.ini"], files["Resources/.git/config"], files["Resources/.keep/.DS_Store"] = "k", "a", "g", "d"
	g, sets, err := read(t, files, linux)
	must(t, err)
	if len(g.Ignored) != 3 {
		t.Errorf("ignored %q, want .git/config and two files of a system", g.Ignored)
	}
	wants(t, sets[linux], map[string]string{
		"Core.zip": "resource", "Lathe.program": "runtime+", "bin/lathe": "resource+", "lib/x.so": "resource+", "run": "resource+",
		".keep/config/a.ini": "resource", ".keep/.lathe/a.ini": "resource", ".hidden": "resource",
	})
}

// TestProgramFaults has folders that no client could play.
func TestProgramFaults(t *testing.T) {
	t.Parallel()
	const description = "PlatformBinaries/Linux-x64/Lathe.program"
	for want, change := range map[string]func(tree){
		"names the executable bin/lathe, which is not there; put it into PlatformResources/Linux-x64": func(f tree) { delete(f, "PlatformResources/Linux-x64/bin/lathe") },
		"names the file .keep/config/a.ini, which is not there":                                       func(f tree) { delete(f, "PlatformResources/Linux-x64/.keep/config/a.ini") },
		"says that players keep config/a.ini":                                                         func(f tree) { f["PlatformResources/Linux-x64/config/a.ini"] = "b" },
		"not in canonical form":                                                                       func(f tree) { f[description] += "\n" },
		"core.ZIP are one file of a player; remove one of them":                                       func(f tree) { f["PlatformResources/Linux-x64/core.ZIP"] = "" },
		"is the same file as":                                                                         func(f tree) { f["PlatformResources/Linux-x64/lathe.program"] = "" },
		"can't be in a release":                                                                       func(f tree) { f["PlatformResources/Linux-x64/~x"] = "" },
	} {
		files := programs(t)
		change(files)
		if _, _, err := read(t, files, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// enlarged is a folder in which one file seems to have another size.
type enlarged struct {
	platform.FS
	name string
	size int64
}

func (e enlarged) ReadDir(folder string) ([]fs.DirEntry, error) {
	list, err := e.FS.ReadDir(folder)
	for i, entry := range list {
		if path.Join(folder, entry.Name()) == e.name {
			list[i] = enlargedEntry{entry, e.size}
		}
	}
	return list, err
}

type enlargedEntry struct {
	fs.DirEntry
	size int64
}

func (e enlargedEntry) Info() (fs.FileInfo, error) {
	info, err := e.DirEntry.Info()
	return enlargedInfo{info, e.size}, err
}

type enlargedInfo struct {
	fs.FileInfo
	size int64
}

func (e enlargedInfo) Size() int64 { return e.size }

// TestTooLarge: a file that may not fit into an object is refused before anything is made of it, in all layouts.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"Resources/A.zip": "", "PlatformBinaries/" + linux + "/Lathe.so": "", "Lathe.so": linux} {
		module := "PlatformBinaries/" + linux + "/Lathe.so"
		if target != "" {
			module = "Lathe.so"
		}
		folder := write(t, tree{"Resources/A.zip": "a", module: "m"})
		if _, err := game.Read(enlarged{folder, name, release.MaxObject}, target); err != nil {
			t.Errorf("%s, the largest: %v", name, err)
		}
		_, err := game.Read(enlarged{folder, name, release.MaxObject + 1}, target)
		if err == nil || !strings.Contains(err.Error(), filepath.FromSlash(name)+" can't be in a release") || !strings.Contains(err.Error(), "split it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
