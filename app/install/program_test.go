package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/faultfs"
)

// openProgram opens the install of a program.
func openProgram(fsys platform.FS, ext string) (*install.Program, error) {
	return install.OpenProgram(context.Background(), install.Config{
		FS: install.ProgramView(fsys), Names: install.ProgramNames("Lathe", "", ext), Trust: install.TrustFNV, Log: zerolog.Nop(), Now: later,
	})
}

// trial is one start of a program that updates itself.
type trial struct {
	ext     string // of the program
	content string // the offered content
	outcome string // "proves", "crashes", "sure" for a program that can never run, "vanishes" without a result
}

// on runs a start: open, fetch, try the waiting program, make it live if it works.
func (s trial) on(t testing.TB, fsys platform.FS) error {
	d, err := openProgram(fsys, s.ext)
	if err != nil {
		return err
	}
	_, err = start{mode: update.Binaries, blobs: s.offer()}.update(t, d.Dir)
	if err == nil && d.Waiting() != "" {
		err = s.try(d)
	}
	return errors.Join(err, d.Close())
}

func (s trial) offer() []blob {
	return append(binaries("Lathe"+s.ext, s.content, "Lathe.so", "a module", "Lathe.so.pdb", "x", "Lathe.pdb", "symbols"), packs("Core.zip", "core")...)
}

func (s trial) try(d *install.Program) error {
	allowed, err := d.TrialBegins()
	if err != nil || !allowed {
		return err
	}
	switch s.outcome {
	case "proves":
		return d.Prove(context.Background())
	case "crashes", "sure":
		return d.TrialFailed("exit status 2", s.outcome == "sure")
	}
	return nil
}

// program lists the relevant files of a folder.
func program(files map[string]string) string {
	live := []string{}
	for _, name := range []string{"Lathe", "Lathe.exe", "Lathe-staging", "Lathe-staging.exe", "Lathe.bak", "Lathe.exe.bak", "~Lathe", "~Lathe.exe"} {
		if content, there := files[name]; there {
			live = append(live, name+"="+content)
		}
	}
	return strings.Join(live, " ")
}

// TestProgram runs starts of a program that may replace itself, one after the other in one folder.
func TestProgram(t *testing.T) {
	t.Parallel()
	proves := func(content string) trial { return trial{"", content, "proves"} }
	crashes, vanishes := trial{"", "two", "crashes"}, trial{"", "two", "vanishes"}
	for name, test := range map[string]struct {
		starts []trial
		want   string
	}{
		"the same is offered":               {[]trial{proves("one")}, "Lathe=one"},
		"another one proves itself":         {[]trial{proves("two")}, "Lathe=two Lathe.bak=one"},
		"and the next start clears up":      {[]trial{proves("two"), proves("two")}, "Lathe=two"},
		"one after the other":               {[]trial{proves("two"), proves("three")}, "Lathe=three Lathe.bak=two"},
		"back again":                        {[]trial{proves("two"), proves("one"), proves("one")}, "Lathe=one"},
		"on Windows it keeps its extension": {[]trial{{".exe", "two", "vanishes"}}, "Lathe.exe=one Lathe-staging.exe=two"},
		"and is replaced the same way":      {[]trial{{".exe", "two", "proves"}}, "Lathe.exe=two Lathe.exe.bak=one"},
		"nothing is heard of a trial":       {[]trial{vanishes}, "Lathe=one Lathe-staging=two"},
		"the next trial succeeds":           {[]trial{vanishes, proves("two")}, "Lathe=two Lathe.bak=one"},
		"a crash is tried once more":        {[]trial{crashes, proves("two")}, "Lathe=two Lathe.bak=one"},
		"two crashes are enough":            {[]trial{crashes, crashes, proves("two")}, "Lathe=one ~Lathe=two"},
		"what can't run is not tried again": {[]trial{{"", "two", "sure"}, proves("two")}, "Lathe=one ~Lathe=two"},
		"another one is tried again":        {[]trial{{"", "two", "sure"}, proves("three")}, "Lathe=three Lathe.bak=one"},
		"five trials without a report":      {[]trial{vanishes, vanishes, vanishes, vanishes, vanishes, proves("two"), proves("two")}, "Lathe=one ~Lathe=two"},
		"four are not too many":             {[]trial{vanishes, vanishes, vanishes, vanishes, proves("two")}, "Lathe=two Lathe.bak=one"},
		"what the release took back waits":  {[]trial{vanishes, proves("one")}, "Lathe=one ~Lathe=two"},
		"until there is another one":        {[]trial{vanishes, proves("one"), proves("three")}, "Lathe=three Lathe.bak=one"},
	} {
		t.Run(name, func(t *testing.T) {
			d := faultfs.New(faultfs.Config{})
			plantProgram(t, d, test.starts[0].ext)
			for _, s := range test.starts {
				fsys := d.Open(faultfs.Options{})
				if err := s.on(t, fsys); err != nil {
					t.Fatal(err)
				}
				fsys.Kill()
			}
			if got := program(d.Files()); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			untouched(t, d.Files())
		})
	}
}

func plantProgram(t testing.TB, d *faultfs.Disk, ext string) {
	t.Helper()
	for name, content := range map[string]string{"Lathe" + ext: "one", "Lathe.so": "live", "Resources/mine.txt": "mine", "Cache/hashes": "theirs"} {
		if err := d.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
}

// untouched checks that files other than the program's are unchanged, and that its state has its own place.
func untouched(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range map[string]string{"Lathe.so": "live", "Resources/mine.txt": "mine", "Cache/hashes": "theirs"} {
		if files[name] != content {
			t.Errorf("%s is %q", name, files[name])
		}
	}
	for name := range files {
		if !strings.HasSuffix(name, "/") && strings.HasPrefix(name, install.StateDir+"/") && !strings.HasPrefix(name, install.StateDir+"/host/") {
			t.Errorf("%s is not the program's own", name)
		}
	}
}

// TestProgramCrash cuts the power before, inside and after every operation of an update that proves itself. With an
// exchange of names the live one always holds a working program: the old one, or the proven new one.
func TestProgramCrash(t *testing.T) {
	for _, v := range volumes {
		for _, ext := range []string{"", ".exe"} {
			t.Run(v.name+ext, func(t *testing.T) {
				t.Parallel()
				before := faultfs.New(v.cfg)
				plantProgram(t, before, ext)
				before.Settle()
				n := programStops(t, before, trial{ext, "two, which is longer", "proves"}, !v.cfg.NoExchange)
				t.Logf("%d disks", n)
			})
		}
	}
}

func programStops(t *testing.T, before *faultfs.Disk, s trial, atomic bool) (disks int) {
	whole := before.Clone().Open(faultfs.Options{})
	if err := s.on(t, whole); err != nil {
		t.Fatal(err)
	}
	if whole.Count() < 20 {
		t.Fatalf("an update is %d operations", whole.Count())
	}
	for k := 1; k <= whole.Count(); k += install.Stride() {
		for _, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter} {
			fsys := before.Clone().Open(faultfs.Options{})
			stop(fsys, k)
			if err := s.on(t, fsys); err == nil {
				continue // the stop came after all relevant operations
			}
			for _, c := range append(cuts(k)[:3], faultfs.Keep(50, uint64(k)+7)) {
				disks++
				if err := afterProgramStop(t, fsys.Disk().Crash(c), s, atomic); err != nil {
					t.Fatalf("stopped at %v, %v: %v", whole.Ops()[k-1], c, err)
				}
			}
		}
	}
	return disks
}

// afterProgramStop checks the promise on a disk.
func afterProgramStop(t *testing.T, d *faultfs.Disk, s trial, atomic bool) error {
	live := d.Files()["Lathe"+s.ext]
	if live != "one" && live != s.content && (atomic || live != "") {
		return fmt.Errorf("the live program is %q", live)
	}
	dir, err := openProgram(d.Open(faultfs.Options{}), s.ext)
	if err != nil {
		return err
	}
	if live = d.Files()["Lathe"+s.ext]; live != "one" && live != s.content {
		return fmt.Errorf("after the next start it is %q", live)
	}
	if err := dir.Close(); err != nil {
		return err
	}
	for range 2 {
		if err := s.on(t, d.Open(faultfs.Options{})); err != nil {
			return fmt.Errorf("one more start: %w", err)
		}
	}
	if got, want := program(d.Files()), "Lathe"+s.ext+"="+s.content; got != want {
		return fmt.Errorf("in the end %s, want %s", got, want)
	}
	untouched(t, d.Files())
	return nil
}

// TestUntriedProgramIsNeverLive stops failing trials at every operation: the live name always holds the old program.
func TestUntriedProgramIsNeverLive(t *testing.T) {
	for _, outcome := range []string{"crashes", "sure", "vanishes"} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			before := faultfs.New(faultfs.Config{})
			plantProgram(t, before, "")
			before.Settle()
			s := trial{"", "two", outcome}
			whole := before.Clone().Open(faultfs.Options{})
			if err := s.on(t, whole); err != nil {
				t.Fatal(err)
			}
			for k := 1; k <= whole.Count(); k += install.Stride() {
				fsys := before.Clone().Open(faultfs.Options{})
				fsys.StopBefore(k)
				_ = s.on(t, fsys)
				d := fsys.Disk().Crash(faultfs.Keep(50, uint64(k)))
				for range 3 {
					if err := s.on(t, d.Open(faultfs.Options{})); err != nil {
						t.Fatal(err)
					}
				}
				if live := d.Files()["Lathe"]; live != "one" {
					t.Fatalf("stopped at %v: %s", whole.Ops()[k-1], program(d.Files()))
				}
			}
		})
	}
}

// TestProgramMode checks that a new program has the permissions of the old one, plus all rights of its owner.
func TestProgramMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	for was, want := range map[fs.FileMode]fs.FileMode{0o755: 0o755, 0o700: 0o700, 0o644: 0o744, 0o555: 0o755} {
		f := newFolder(t)
		f.write("Lathe", "one")
		if err := os.Chmod(filepath.Join(f.dir, "Lathe"), was); err != nil {
			t.Fatal(err)
		}
		if err := (trial{"", "two", "proves"}).on(t, f.open()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(f.dir, "Lathe"))
		if err != nil || info.Mode() != want {
			t.Errorf("%v became %v, %v; want %v", was, info.Mode(), err, want)
		}
	}
}

// TestProgramOfAnotherInstallerStays checks that a program replaced by another installer in the meantime stays.
func TestProgramOfAnotherInstallerStays(t *testing.T) {
	f := newFolder(t)
	f.write("Lathe", "one")
	d, err := openProgram(f.open(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := trial{"", "two", ""}
	if _, err := (start{mode: update.Binaries, blobs: s.offer()}).update(t, d.Dir); err != nil {
		t.Fatal(err)
	}
	if d.Waiting() != filepath.Join(f.dir, "Lathe-staging") {
		t.Fatalf("%q waits", d.Waiting())
	}
	f.write("Lathe", "another build")
	if err := d.Prove(context.Background()); !errors.Is(err, install.ErrReplaced) {
		t.Fatal(err)
	}
	if f.files()["Lathe"] != "another build" || d.Waiting() != "" {
		t.Errorf("%s", f.tree())
	}
}

// TestProgramNames checks which offered file is the program, under its own name or the server's.
func TestProgramNames(t *testing.T) {
	for _, test := range []struct {
		base, server, ext, path string
		role                    release.Role
		want                    bool
	}{
		{"Lathe", "", "", "Lathe", release.Binary, true}, {"Lathe", "", "", "Lathe", release.Resource, false},
		{"Lathe", "", "", "Lathe.so", release.Binary, false}, {"Lathe", "", "", "Lathe.exe", release.Binary, false},
		{"Lathe", "", ".exe", "Lathe.exe", release.Binary, true}, {"Lathe", "", ".exe", "Lathe.exe.pdb", release.Binary, false},
		{"Lathe", "", ".exe", "Lathe", release.Binary, false}, {"Lathe", "", ".exe", "Lathe.pdb", release.Binary, false},
		{"MyAlt", "", ".exe", "Lathe.exe", release.Binary, false}, {"MyAlt", "", ".exe", "MyAlt.exe", release.Binary, true},
		{"MyAlt", "Lathe", ".exe", "Lathe.exe", release.Binary, true}, {"MyAlt", "Lathe", ".exe", "MyAlt.exe", release.Binary, false},
		{"MyAlt", "Lathe", "", "Lathe", release.Binary, true}, {"MyAlt", "Lathe", "", "Lathe.so", release.Binary, false},
		{"Lathe", "", "", "sub/Lathe", release.Binary, false}, {"game-1.2", "", "", "game-1.2", release.Binary, true},
	} {
		d, err := install.Open(context.Background(), install.Config{
			FS: install.ProgramView(newFolder(t).open()), Names: install.ProgramNames(test.base, test.server, test.ext), Log: zerolog.Nop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Manages(release.File{Path: test.path, Role: test.role}); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
		d.Close()
	}
}
