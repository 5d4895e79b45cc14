// Package fstest is the conformance suite of platform.FS. The disk and every fake run the same suite, so that a test with a fake is
// valid for the disk. Only tests import it.
package fstest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"collet/platform"
)

// Fixture is one implementation of platform.FS under test.
type Fixture struct {
	// Fresh makes an empty folder and registers its clean-up; the suite closes nothing.
	Fresh func(t *testing.T) platform.FS
	// Link creates a symbolic link; nil if links are not supported.
	Link func(t *testing.T, fsys platform.FS, target, name string)
}

// Run tests every promise of platform.FS in a subtest with its own folder.
func Run(t *testing.T, f Fixture) {
	for name, test := range map[string]func(*testing.T, platform.FS){
		"open":               conformOpen,
		"open modes":         conformOpenModes,
		"append":             conformAppend,
		"read and write":     conformReadWrite,
		"past the end":       conformPastTheEnd,
		"truncate":           conformTruncate,
		"two handles":        conformTwoHandles,
		"removed while open": conformRemovedWhileOpen,
		"rename":             conformRename,
		"rename refused":     conformRenameRefused,
		"rename to itself":   conformRenameToItself,
		"open over rename":   conformOpenOverRename,
		"link":               conformLink,
		"exchange":           conformExchange,
		"exchange folders":   conformExchangeFolders,
		"exchange refused":   conformExchangeRefused,
		"remove":             conformRemove,
		"folders":            conformFolders,
		"missing":            conformMissing,
		"stat":               conformStat,
		"identity":           conformIdentity,
		"mode":               conformMode,
		"sync":               conformSync,
		"write file":         conformWriteFile,
		"lock":               conformLock,
		"lock shared":        conformLockShared,
		"lock read-only":     conformLockReadOnly,
		"leaving by name":    conformLeavingByName,
		"path and free":      conformPathAndFree,
		"names that differ":  conformNames,
		"detours":            conformDetours,
		"close":              conformClose,
		"many at once":       conformManyAtOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, f.Fresh(t)) })
	}
	if f.Link != nil {
		t.Run("links", f.conformLinks)
		t.Run("links inside", f.conformLinksInside)
	}
}

// UnderWine reports whether the test runs in Wine, which guarantees less than Windows in some cases.
func UnderWine() bool { return underWine() }

// NotWines skips a test of a feature that Windows has and Wine lacks. reason names it.
func NotWines(t testing.TB, reason string) {
	t.Helper()
	if UnderWine() {
		t.Skip("Wine: " + reason)
	}
}

// Put writes a whole file.
func Put(t *testing.T, fsys platform.FS, name, content string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Get is a file's content, or "-" if it does not exist.
func Get(t *testing.T, fsys platform.FS, name string) string {
	t.Helper()
	data, err := platform.ReadFile(fsys, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Listing is the names in a folder, those of folders with a slash at the end. It checks the Info of each entry.
func Listing(t *testing.T, fsys platform.FS, name string) string {
	t.Helper()
	entries, err := fsys.ReadDir(name)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Name() != e.Name() || info.IsDir() != e.IsDir() {
			t.Errorf("%s in %s: %v, %v", e.Name(), name, info, err)
		}
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		} else {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// WantError checks the class of an error and that it says where it happened.
func WantError(t *testing.T, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: got %v, want %v", what, err, class)
	}
	var path *fs.PathError
	var link *os.LinkError
	if err != nil && !errors.As(err, &path) && !errors.As(err, &link) {
		t.Errorf("%s: %T names no file", what, err)
	}
}
