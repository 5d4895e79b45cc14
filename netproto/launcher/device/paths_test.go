package device_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// TestDeviceIsConfined: no path leads out of the data folder, or into its own folder, by any request.
func TestDeviceIsConfined(t *testing.T) {
	outside := t.TempDir()
	launchertest.Plant(t, outside, map[string]string{"victim": "v"})
	root, o := newData(t, map[string]string{"a/b": "1"})
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	launchertest.Plant(t, root, map[string]string{"file": "->" + filepath.Join(outside, "victim")})
	desk := greeted(t, o)
	desk.layout()
	up := strings.Repeat("../", 30)
	for _, path := range []string{
		"../victim", "a/../../x", up + strings.TrimPrefix(outside, "/") + "/victim", outside + "/victim", "link/victim", "link/new", "/x", "", ".",
		"a//b", `a\b`, "c:x", wire.StateFolder + "/lock", wire.StateFolder, "nul", "a/con.txt", "x\x00y", strings.Repeat("x/", 300),
	} {
		desk.answers(&wire.RequestWriteFile{Path: path, FileSize: 1, BlockSize: 1, BlockCount: 1}, &wire.ResponseWriteFile{Path: path, Result: wire.Failure})
		desk.answers(&wire.SendFileData{Path: path, Data: []byte("x")}, &wire.FileDataReceived{Path: path, Result: wire.Failure})
		desk.answers(&wire.RequestFinishWriteFile{Path: path, Hash: wire.HashOf([]byte("x"))}, &wire.ResponseFinishWriteFile{Path: path, Result: wire.Failure})
		desk.answers(&wire.RequestDeleteFile{Path: path}, &wire.ResponseDeleteFile{Path: path, Result: wire.Failure})
		desk.answers(&wire.RequestFileBlockHashes{Path: path, BlockSize: 1}, &wire.ResponseFileBlockHashes{Path: path, Hashes: []wire.Hash{}})
	}
	if r := desk.write("file", "mine", 10); r != wire.Success {
		t.Errorf("a link in the place of a file: %v", r)
	}
	expectDisk(t, outside, map[string]string{"victim": "v"})
	expectDisk(t, root, map[string]string{"a/": "", "a/b": "1", "link": "->" + outside, "file": "mine"})
	desk.answers(&wire.RequestDeleteFile{Path: "link"}, &wire.ResponseDeleteFile{Path: "link"})
	expectDisk(t, outside, map[string]string{"victim": "v"})
}

// TestFoldersAndFilesChangePlaces: a file where a folder was, and the reverse; folders go when they are empty.
func TestFoldersAndFilesChangePlaces(t *testing.T) {
	root, o := newData(t, map[string]string{"x/y/z": "1", "x/y/w": "2", "f": "3", "keep/k": "4"})
	desk := greeted(t, o)
	desk.layout()
	remove := func(path string, want wire.Result) {
		t.Helper()
		desk.answers(&wire.RequestDeleteFile{Path: path}, &wire.ResponseDeleteFile{Path: path, Result: want})
	}
	remove("x/y/z", wire.Success)
	expectDisk(t, root, map[string]string{"x/": "", "x/y/": "", "x/y/w": "2", "f": "3", "keep/": "", "keep/k": "4"})
	remove("x/y", wire.Failure) // holds a file
	if r := desk.write("x", "no", 10); r == wire.Success {
		t.Error("a folder with a file in it was replaced")
	}
	remove("x/y/w", wire.Success)
	expectDisk(t, root, map[string]string{"f": "3", "keep/": "", "keep/k": "4"})
	if r := desk.write("x", "file now", 10); r != wire.Success {
		t.Error(r)
	}
	if r := desk.write("f/g/h", "folder now", 10); r != wire.Success {
		t.Error(r)
	}
	remove("x/behind/a/file", wire.Success)
	expectDisk(t, root, map[string]string{"x": "file now", "f/": "", "f/g/": "", "f/g/h": "folder now", "keep/": "", "keep/k": "4"})
	if err := os.MkdirAll(filepath.Join(root, "empty", "er"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := desk.write("empty", "file", 10); r != wire.Success {
		t.Errorf("empty folders were not replaced: %v", r)
	}
	if err := os.MkdirAll(filepath.Join(root, "hollow"), 0o755); err != nil {
		t.Fatal(err)
	}
	remove("hollow", wire.Success)
	if err := os.RemoveAll(filepath.Join(root, "keep")); err != nil {
		t.Fatal(err)
	}
	if r := desk.write("keep/again", "5", 10); r != wire.Success {
		t.Errorf("a folder that was removed meanwhile: %v", r)
	}
	expectDisk(t, root, map[string]string{"x": "file now", "f/": "", "f/g/": "", "f/g/h": "folder now", "empty": "file", "keep/": "", "keep/again": "5"})
}

// TestModeStays: a program that is replaced can still be run.
func TestModeStays(t *testing.T) {
	root, o := newData(t, map[string]string{"run": "1"})
	if err := os.Chmod(filepath.Join(root, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(root, "run"))
	if err != nil {
		t.Fatal(err)
	}
	desk := greeted(t, o)
	desk.layout()
	desk.write("run", "22", 10)
	if after, err := os.Stat(filepath.Join(root, "run")); err != nil || after.Mode() != before.Mode() {
		t.Errorf("mode %v became %v, %v", before.Mode(), after.Mode(), err)
	}
}
