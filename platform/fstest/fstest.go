// Package fstest holds implementations of platform.FS against its promises. The disk and every fake that stands in for it
// run the same suite, so that a test on the fake says something about the disk. Only tests import it.
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
	// Fresh makes an empty folder; the suite closes nothing, so Fresh registers what has to be cleaned up.
	Fresh func(t *testing.T) platform.FS
	// Link plants a symbolic link, or is nil where there are none.
	Link func(t *testing.T, fsys platform.FS, target, name string)
}

// Run runs every promise of platform.FS as a subtest, each in a folder of its own.
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

// UnderWine reports whether these are the files of Wine, which promises less than Windows in some places.
func UnderWine() bool { return underWine() }

// NotWines skips a test of something that Windows has and Wine has not. reason says what that is.
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

// Get is a file's content, or "-" where there is none.
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

// Listing is the names in a folder, folders with a slash behind. Each entry has to tell its Info.
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
