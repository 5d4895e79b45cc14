package publish_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/netproto/release"
	"collet/runtime/program"
)

// described is the description of a program.
func described(t *testing.T, change func(*program.Description)) string {
	t.Helper()
	d := program.Description{Name: "Lathe", Build: "00", Program: "bin/lathe", Ready: program.Ready{Seconds: 10}, Keep: []program.Kept{{Path: "config/a.ini"}}}
	if change != nil {
		change(&d)
	}
	text, err := d.Encode()
	must(t, err)
	return string(text)
}

// programGame is the folder of a game that is a program, for two targets.
func programGame(t *testing.T) tree {
	return tree{
		"Resources/Core.zip": "core", "PlatformBinaries/Linux-x64/Lathe.program": described(t, nil),
		"PlatformResources/Linux-x64/bin/lathe": "\x7fELF", "PlatformResources/Linux-x64/lib/x.so": "\x7fELF2", "PlatformResources/Linux-x64/run": "#!/bin/sh",
		"PlatformResources/Linux-x64/.keep/config/a.ini": "a", "PlatformResources/Linux-x64/.hidden": "h", "PlatformResources/Linux-x64/.DS_Store": "",
		"PlatformBinaries/Windows-win64/Lathe.program": described(t, func(d *program.Description) { d.Program, d.Keep = "lathe.exe", nil }),
		"PlatformResources/Windows-win64/lathe.exe":    "MZ", "PlatformResources/Windows-win64/x.dll": "MZ2",
	}
}

// TestHiddenNames: a name that begins with a dot is the system's, but not below the shipped forms of kept files.
func TestHiddenNames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	files := programGame(t)
	delete(files, "PlatformResources/Linux-x64/.keep/config/a.ini")
	delete(files, "PlatformBinaries/Windows-win64/Lathe.program")
	delete(files, "PlatformResources/Windows-win64/lathe.exe")
	delete(files, "PlatformResources/Windows-win64/x.dll")
	files["Resources/.keep/.lathe/a.ini"], files["Resources/.keep/config/a.ini"], files["Resources/.git/config"], files["Resources/.keep/.DS_Store"] = "k", "a", "g", "d"
	if summary := s.publish(game(t, files), publish.Request{}); len(summary.Ignored) != 3 {
		t.Errorf("ignored %q, want .git/config and two files of a system", summary.Ignored)
	}
	s.wants(query("stable", linux, 0), 1, tree{
		"Core.zip": "core", "Lathe.program": described(t, nil), "bin/lathe": "\x7fELF", "lib/x.so": "\x7fELF2", "run": "#!/bin/sh", ".keep/config/a.ini": "a", ".hidden": "h",
		".keep/.lathe/a.ini": "k",
	})
}

// TestPublishPrograms: the files of a program are resources of one target, those that run have that right, and engine generations get none.
func TestPublishPrograms(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	files := programGame(t)
	summary := s.publish(game(t, files), publish.Request{})
	if len(summary.Ignored) != 1 || !strings.HasSuffix(summary.Ignored[0], ".DS_Store") {
		t.Errorf("ignored %q", summary.Ignored)
	}
	r := s.wants(query("stable", linux, 0), 1, tree{
		"Core.zip": "core", "Lathe.program": described(t, nil), "bin/lathe": "\x7fELF", "lib/x.so": "\x7fELF2", "run": "#!/bin/sh", ".keep/config/a.ini": "a", ".hidden": "h",
	})
	for _, f := range r.listing {
		want := release.ListedFile{Use: release.UseResource, Mode: release.PlainMode}
		switch f.Path {
		case "Lathe.program":
			want.Use, want.Mode = release.UseRuntime, release.ProgramMode
		case "bin/lathe", "lib/x.so", "run":
			want.Mode = release.ProgramMode
		}
		if f.Use != want.Use || f.Mode != want.Mode {
			t.Errorf("%s is %s with mode %o, want %s and %o", f.Path, f.Use, f.Mode, want.Use, want.Mode)
		}
	}
	windows := s.wants(query("stable", windows, 0), 1, tree{
		"Core.zip": "core", "Lathe.program": files["PlatformBinaries/Windows-win64/Lathe.program"], "lathe.exe": "MZ", "x.dll": "MZ2",
	})
	if f, _ := windows.listing.Find("lathe.exe"); f.Mode != release.ProgramMode {
		t.Errorf("the executable has mode %o", f.Mode)
	}
	if _, err := s.fs.Lstat("plain/Resources"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("engine generations are offered a program: %v", err)
	}
}

// TestDescribe adds what follows from the other files.
func TestDescribe(t *testing.T) {
	t.Parallel()
	s, dir := newStage(t), t.TempDir()
	files := programGame(t)
	delete(files, "PlatformBinaries/Linux-x64/Lathe.program")
	delete(files, "PlatformBinaries/Windows-win64/Lathe.program")
	writeTree(t, dir, files)
	described := func(target string, set release.Listing) ([]string, error) {
		name := "PlatformBinaries/" + target + "/Lathe.program"
		sum, err := set.Digest()
		if err != nil || target != linux {
			return nil, err
		}
		writeTree(t, dir, tree{name: described(t, func(d *program.Description) { d.Build = strings.TrimPrefix(sum.String(), "sha256:") })})
		return []string{name}, nil
	}
	s.publish(openDir(t, dir), publish.Request{Describe: described})
	first, err := s.read(s.fs, query("stable", linux, 0))
	must(t, err)
	was, found := first.listing.Find("Lathe.program")
	if !found || was.Use != release.UseRuntime || was.Mode != release.ProgramMode {
		t.Fatalf("the description is listed as %+v", was)
	}
	must(t, os.Remove(dir+"/PlatformBinaries/Linux-x64/Lathe.program"))
	writeTree(t, dir, tree{"PlatformResources/Linux-x64/level": "new"})
	s.publish(openDir(t, dir), publish.Request{Describe: described})
	second, err := s.read(s.fs, query("stable", linux, 0))
	must(t, err)
	if is, _ := second.listing.Find("Lathe.program"); is.Sum == was.Sum || second.Number != 2 {
		t.Errorf("release %d has the description of the first", second.Number)
	}
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
		s, files := newStage(t), programGame(t)
		change(files)
		f := s.open()
		_, err := f.Publish(t.Context(), game(t, files), publish.Request{}, s.keys.online())
		if must(t, f.Close()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
