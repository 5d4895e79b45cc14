package launcher_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/launcher"
)

// TestDeviceIsConfined: no path leads out of the data folder, or into its own folder, by any request.
func TestDeviceIsConfined(t *testing.T) {
	outside := t.TempDir()
	plant(t, outside, map[string]string{"victim": "v"})
	root, o := newData(t, map[string]string{"a/b": "1"})
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	plant(t, root, map[string]string{"file": "->" + filepath.Join(outside, "victim")})
	desk := greeted(t, o)
	desk.layout()
	up := strings.Repeat("../", 30)
	for _, path := range []string{
		"../victim", "a/../../x", up + strings.TrimPrefix(outside, "/") + "/victim", outside + "/victim", "link/victim", "link/new", "/x", "", ".",
		"a//b", `a\b`, "c:x", launcher.StateFolder + "/lock", launcher.StateFolder, "nul", "a/con.txt", "x\x00y", strings.Repeat("x/", 300),
	} {
		desk.answers(&launcher.RequestWriteFile{Path: path, FileSize: 1, BlockSize: 1, BlockCount: 1}, &launcher.ResponseWriteFile{Path: path, Result: launcher.Failure})
		desk.answers(&launcher.SendFileData{Path: path, Data: []byte("x")}, &launcher.FileDataReceived{Path: path, Result: launcher.Failure})
		desk.answers(&launcher.RequestFinishWriteFile{Path: path, Hash: launcher.HashOf([]byte("x"))}, &launcher.ResponseFinishWriteFile{Path: path, Result: launcher.Failure})
		desk.answers(&launcher.RequestDeleteFile{Path: path}, &launcher.ResponseDeleteFile{Path: path, Result: launcher.Failure})
		desk.answers(&launcher.RequestFileBlockHashes{Path: path, BlockSize: 1}, &launcher.ResponseFileBlockHashes{Path: path, Hashes: []launcher.Hash{}})
	}
	if r := desk.write("file", "mine", 10); r != launcher.Success {
		t.Errorf("a link in the place of a file: %v", r)
	}
	expectDisk(t, outside, map[string]string{"victim": "v"})
	expectDisk(t, root, map[string]string{"a/": "", "a/b": "1", "link": "->" + outside, "file": "mine"})
	desk.answers(&launcher.RequestDeleteFile{Path: "link"}, &launcher.ResponseDeleteFile{Path: "link"})
	expectDisk(t, outside, map[string]string{"victim": "v"})
}

// TestFoldersAndFilesChangePlaces: a file where a folder was, and the reverse; folders go when they are empty.
func TestFoldersAndFilesChangePlaces(t *testing.T) {
	root, o := newData(t, map[string]string{"x/y/z": "1", "x/y/w": "2", "f": "3", "keep/k": "4"})
	desk := greeted(t, o)
	desk.layout()
	remove := func(path string, want launcher.Result) {
		t.Helper()
		desk.answers(&launcher.RequestDeleteFile{Path: path}, &launcher.ResponseDeleteFile{Path: path, Result: want})
	}
	remove("x/y/z", launcher.Success)
	expectDisk(t, root, map[string]string{"x/": "", "x/y/": "", "x/y/w": "2", "f": "3", "keep/": "", "keep/k": "4"})
	remove("x/y", launcher.Failure) // holds a file
	if r := desk.write("x", "no", 10); r == launcher.Success {
		t.Error("a folder with a file in it was replaced")
	}
	remove("x/y/w", launcher.Success)
	expectDisk(t, root, map[string]string{"f": "3", "keep/": "", "keep/k": "4"})
	if r := desk.write("x", "file now", 10); r != launcher.Success {
		t.Error(r)
	}
	if r := desk.write("f/g/h", "folder now", 10); r != launcher.Success {
		t.Error(r)
	}
	remove("x/behind/a/file", launcher.Success)
	expectDisk(t, root, map[string]string{"x": "file now", "f/": "", "f/g/": "", "f/g/h": "folder now", "keep/": "", "keep/k": "4"})
	if err := os.MkdirAll(filepath.Join(root, "empty", "er"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := desk.write("empty", "file", 10); r != launcher.Success {
		t.Errorf("empty folders were not replaced: %v", r)
	}
	if err := os.MkdirAll(filepath.Join(root, "hollow"), 0o755); err != nil {
		t.Fatal(err)
	}
	remove("hollow", launcher.Success)
	if err := os.RemoveAll(filepath.Join(root, "keep")); err != nil {
		t.Fatal(err)
	}
	if r := desk.write("keep/again", "5", 10); r != launcher.Success {
		t.Errorf("a folder that somebody removed meanwhile: %v", r)
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
