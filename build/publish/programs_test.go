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

// TestDescribe adds what follows from the other files. Engine generations get no program.
func TestDescribe(t *testing.T) {
	t.Parallel()
	s, dir := newFixture(t), t.TempDir()
	writeTree(t, dir, tree{
		"Resources/Core.zip": "core", "PlatformResources/Linux-x64/bin/lathe": "\x7fELF", "PlatformResources/Linux-x64/.keep/config/a.ini": "a",
		"PlatformResources/Windows-win64/lathe.exe":    "MZ",
		"PlatformBinaries/Windows-win64/Lathe.program": described(t, func(d *program.Description) { d.Program, d.Keep = "lathe.exe", nil }),
	})
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
	if _, err := s.fs.Lstat("plain/Resources"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("engine generations are offered a program: %v", err)
	}
}
