package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collet/build/qa/fileset"
	"collet/platform/testlevel"
	"collet/runtime/host"
)

// programFolder holds the modules that modules compiles. TestMain makes and removes it.
var programFolder string

func TestMain(m *testing.M) {
	var err error
	if programFolder, err = os.MkdirTemp("", "collet-programs-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(programFolder)
	os.Exit(code)
}

// modules compiles both modules, once for all tests.
var modules = sync.OnceValues(func() (paths []string, err error) {
	return BuildModules(context.Background(), filepath.Join(programFolder, modulesFolder), OwnTarget())
})

// prepare makes a layout with stand-ins for the two programs, which are not run here.
func prepare(t *testing.T, levelsMB int) *Layout {
	t.Helper()
	testlevel.Slow(t) // it compiles the modules
	if _, err := modules(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"collet-client", "collet-server"} {
		if err := os.WriteFile(filepath.Join(programFolder, name+exeExt()), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Prepare(t.Context(), t.TempDir(), programFolder, levelsMB)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPrepare(t *testing.T) {
	l := prepare(t, 2)
	var found []string
	err := filepath.WalkDir(l.Root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			name, _ := filepath.Rel(l.Root, path)
			found = append(found, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"client/Lathe" + exeExt(), "client/" + l.Library(), "client/Resources/Art.zip", "client/Resources/Core.zip",
		"server/PlatformBinaries/" + string(l.Target) + "/" + l.Library(),
		"server/Resources/Art.zip", "server/Resources/Core.zip", "server/Resources/Levels.zip", "server/server.toml",
	}
	if strings.Join(found, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
	for _, pair := range [][2]string{
		{l.LiveModule(), l.New.Module},
		{l.Old.Packs[0], l.New.Packs[0]},
		{l.Old.Packs[1], l.New.Packs[1]},
	} {
		if fileset.SameFile(pair[0], pair[1]) == nil {
			t.Errorf("%s is the same in both releases", filepath.Base(pair[0]))
		}
	}
	if info, err := os.Stat(l.New.Packs[2]); err != nil || info.Size() < 2<<20 || l.New.size() <= info.Size() {
		t.Errorf("Levels.zip: %v, %v; all packs %d", info, err, l.New.size())
	}
}

func TestPrepareMakesTheSamePacksEachTime(t *testing.T) {
	a, b := prepare(t, 1), prepare(t, 1)
	for i := range a.New.Packs {
		if err := fileset.SameFile(a.New.Packs[i], b.New.Packs[i]); err != nil {
			t.Error(err)
		}
	}
	for i := range a.Old.Packs {
		if err := fileset.SameFile(a.Old.Packs[i], b.Old.Packs[i]); err != nil {
			t.Error(err)
		}
	}
}

func TestModulesSayTheirRelease(t *testing.T) {
	l := prepare(t, 0)
	for _, r := range []Release{l.Old, l.New} {
		m, err := host.Load(r.Module)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Metadata().CompatibilityVersion; got != r.Compatibility {
			t.Errorf("release %d says compatibility %q, want %q", r.Number, got, r.Compatibility)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	if _, err := Prepare(t.Context(), t.TempDir(), t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without programs: %v", err)
	}
	for _, size := range []int{-1, maxLevels + 1} {
		_, err := build(t.Context(), edition2(), t.TempDir(), filepath.Join(t.TempDir(), "m"), t.TempDir(), size)
		if err == nil || !strings.Contains(err.Error(), "want 0 to 512") {
			t.Errorf("a large pack of %d MB: %v", size, err)
		}
	}
}

func TestPoint(t *testing.T) {
	l := &Layout{Root: t.TempDir()}
	if err := os.Mkdir(l.Client(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := l.Point(4711, "ru"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(l.Client(), "Lathe.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ServerPort = 4711", `ServerHost = "127.0.0.1"`, `Language = "ru"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("settings lack %s:\n%s", want, data)
		}
	}
}

// TestModulesBuiltBefore: what make build compiled is what the demo installs, to the byte.
func TestModulesBuiltBefore(t *testing.T) {
	testlevel.Slow(t)
	built, err := modules()
	if err != nil || len(built) != 2 {
		t.Fatalf("%v, %v", built, err)
	}
	dir := t.TempDir()
	mine := edition2().prebuilt(dir, filepath.Base(built[1]))
	mark := []byte("built before")
	if err := errors.Join(os.MkdirAll(filepath.Dir(mine), 0o755), os.WriteFile(mine, mark, 0o644)); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), filepath.Base(mine))
	if err := edition2().module(t.Context(), dir, target); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(target); !bytes.Equal(got, mark) {
		t.Errorf("installed %d bytes, not those of the module that was there", len(got))
	}
	again := filepath.Join(t.TempDir(), filepath.Base(built[0]))
	if err := edition1().module(t.Context(), t.TempDir(), again); err != nil {
		t.Fatal(err)
	}
	if err := fileset.SameFile(again, built[0]); err != nil {
		t.Errorf("a module compiled now and one compiled before: %v", err)
	}
}
