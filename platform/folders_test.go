package platform_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/platform"
)

// TestWritableLeavesNothing asks about folders that can be written, and looks into them.
func TestWritableLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plain", "with spaces", "Ünïcödé-日本語"} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := platform.Writable(folder); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("%s: left %v, %v", name, entries, err)
		}
	}
}

func TestWritableSaysWhyNot(t *testing.T) {
	dir := t.TempDir()
	if err := platform.Writable(filepath.Join(dir, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := platform.Writable(file); err == nil {
		t.Error("a file is no folder")
	}
	if runtime.GOOS == "linux" {
		if err := platform.Writable("/proc"); err == nil {
			t.Error("files can't be created in /proc")
		}
	}
}

// TestDataFolder asks this system.
func TestDataFolder(t *testing.T) {
	home := t.TempDir()
	folder, err := platform.DataFolder(func(string) string { return home })
	if err != nil || !filepath.IsAbs(folder) {
		t.Errorf("%q, %v", folder, err)
	}
	if folder, err := platform.DataFolder(func(string) string { return "" }); err == nil {
		t.Errorf("out of nothing came %q", folder)
	}
}

// TestPersonalFolders finds the folders of user-dirs.dirs by the names that they have in the person's language.
func TestPersonalFolders(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if err := os.Mkdir(filepath.Join(home, ".config"), 0o755); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(home, "disk", "Musik")
	lines := "# a comment\nXDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\n  XDG_DOWNLOAD_DIR=\"$HOME/Heruntergeladenes \\\"neu\\\"\"\n" +
		"XDG_MUSIC_DIR=\"" + strings.ReplaceAll(elsewhere, `\`, `\\`) + "\"\nXDG_VIDEOS_DIR=\"relative\"\nXDG_X_DIR=unquoted\nOTHER=\"$HOME/Other\"\nXDG_DESKTOP_DIR=\"$HOME/\""
	if err := os.WriteFile(filepath.Join(home, ".config", "user-dirs.dirs"), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	got := platform.PersonalFolders(getenv)
	for _, want := range []string{filepath.Join(home, "Dokumente"), filepath.Join(home, `Heruntergeladenes "neu"`), elsewhere, home} {
		if !slices.Contains(got, want) {
			t.Errorf("%q are without %q", got, want)
		}
	}
	for _, folder := range got {
		if !filepath.IsAbs(folder) || strings.HasSuffix(folder, "Other") || strings.HasSuffix(folder, "unquoted") {
			t.Errorf("%q is among them", folder)
		}
	}
	if runtime.GOOS != "windows" && platform.PersonalFolders(func(string) string { return "" }) != nil {
		t.Error("folders of a home that does not exist")
	}
}

func TestBelow(t *testing.T) {
	folder := t.TempDir()
	for name, want := range map[string]struct {
		rel    string
		inside bool
	}{
		folder:                          {".", true},
		filepath.Join(folder, "a", "b"): {"a/b", true},
		filepath.Join(folder, "..a"):    {"..a", true},
		filepath.Dir(folder):            {"..", false},
		folder + "2":                    {"../" + filepath.Base(folder) + "2", false},
		filepath.Join(filepath.Dir(folder), "other"): {"../other", false},
	} {
		if rel, inside := platform.Below(folder, name); rel != want.rel || inside != want.inside {
			t.Errorf("%s: %q, %t", name, rel, inside)
		}
	}
}
