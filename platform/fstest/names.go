package fstest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"collet/platform"
)

func conformRename(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	Put(t, fsys, "b", "two")
	if err := fsys.Rename("a", "b"); err != nil {
		t.Fatal(err)
	}
	if got := Get(t, fsys, "a") + Get(t, fsys, "b"); got != "-one" {
		t.Errorf("renamed over a file: %s", got)
	}
	if err := fsys.MkdirAll("d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename("b", "d/e/c"); err != nil {
		t.Fatal(err)
	}
	if got := Listing(t, fsys, ".") + "|" + Get(t, fsys, "d/e/c"); got != "d/|one" {
		t.Errorf("renamed into a folder: %s", got)
	}
	if err := fsys.Rename("d/e", "f"); err != nil {
		t.Fatal(err)
	}
	if got := Get(t, fsys, "f/c"); got != "one" {
		t.Errorf("a renamed folder holds %q", got)
	}
}

func conformRenameRefused(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "d/x", "two")
	WantError(t, "rename what is missing", fsys.Rename("no", "a"), fs.ErrNotExist)
	WantError(t, "rename into a missing folder", fsys.Rename("a", "no/a"), fs.ErrNotExist)
	if err := fsys.Rename("a", "d"); err == nil {
		t.Error("renamed a file over a folder")
	}
	if UnderWine() {
		t.Log("Wine renames a folder over a file")
	} else if err := fsys.Rename("d", "a"); err == nil {
		t.Error("renamed a folder over a file")
	}
	if got := Listing(t, fsys, ".") + "|" + Get(t, fsys, "a") + Get(t, fsys, "d/x"); got != "a d/|onetwo" {
		t.Errorf("refused renames left %s", got)
	}
}

// conformOpenOverRename holds a file open while its name goes to another one: the reader keeps what it opened.
func conformOpenOverRename(t *testing.T, fsys platform.FS) {
	if runtime.GOOS == "windows" {
		t.Skip("depends on how others opened the file")
	}
	Put(t, fsys, "a", "old")
	Put(t, fsys, "b", "new")
	f, err := fsys.OpenFile("a", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fsys.Rename("b", "a"); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "old" {
		t.Errorf("the reader sees %q, %v", data, err)
	}
	if got := Get(t, fsys, "a"); got != "new" {
		t.Errorf("the name holds %q", got)
	}
}

func conformLink(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "a", "one")
	Put(t, fsys, "b", "two")
	if err := fsys.Link("a", "d/c"); err != nil {
		t.Skip(err)
	}
	WantError(t, "link to a name that is taken", fsys.Link("a", "b"), fs.ErrExist)
	WantError(t, "link what is missing", fsys.Link("no", "e"), fs.ErrNotExist)
	WantError(t, "link into a missing folder", fsys.Link("a", "no/a"), fs.ErrNotExist)
	if err := fsys.Link("d", "e"); err == nil {
		t.Error("a folder has two names")
	}
	f, err := fsys.OpenFile("a", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "!"); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
	if got := Get(t, fsys, "d/c"); got != "one!" {
		t.Errorf("the second name holds %q", got)
	}
	if err := fsys.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if got := Listing(t, fsys, ".") + Listing(t, fsys, "d") + Get(t, fsys, "d/c"); got != "b d/cone!" {
		t.Errorf("without its first name: %s", got)
	}
}

// conformExchangeFolders swaps a folder with one that lies elsewhere.
func conformExchangeFolders(t *testing.T, fsys platform.FS) {
	if err := errors.Join(fsys.MkdirAll("a/deep", 0o755), fsys.MkdirAll("d/b", 0o755)); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "a/deep/x", "one")
	Put(t, fsys, "d/b/y", "two")
	want := "onetwo--"
	if err := fsys.Exchange("a", "d/b"); err == nil {
		want = "--onetwo"
	} else if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	if got := Get(t, fsys, "a/deep/x") + Get(t, fsys, "d/b/y") + Get(t, fsys, "d/b/deep/x") + Get(t, fsys, "a/y"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := fsys.Exchange("d", "d/b"); err == nil {
		t.Error("a folder went into itself")
	}
}

func conformExchange(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "a", "one")
	Put(t, fsys, "b", "two")
	Put(t, fsys, "d/c", "three")
	want := "onetwothree"
	for _, other := range []string{"b", "d/c"} {
		err := fsys.Exchange("a", other)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
		if err == nil {
			want = map[string]string{"b": "twoonethree", "d/c": "threeonetwo"}[other]
		}
		if got := Get(t, fsys, "a") + Get(t, fsys, "b") + Get(t, fsys, "d/c"); got != want {
			t.Errorf("exchange with %s (%v) left %s, want %s", other, err, got, want)
		}
	}
}

func conformExchangeRefused(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	for _, other := range []string{"no", "no/b", "..", "../b", ".", "x/.."} {
		if err := fsys.Exchange("a", other); err == nil {
			t.Errorf("exchanged a with %q", other)
		}
		if err := fsys.Exchange(other, "a"); err == nil {
			t.Errorf("exchanged %q with a", other)
		}
	}
	if err := fsys.Exchange("a", "no"); !errors.Is(err, errors.ErrUnsupported) {
		WantError(t, "exchange with what is missing", err, fs.ErrNotExist)
	}
	if got := Listing(t, fsys, ".") + Get(t, fsys, "a"); got != "aone" {
		t.Errorf("refused exchanges left %s", got)
	}
}

func conformRemove(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "d/a", "one")
	WantError(t, "remove what is missing", fsys.Remove("no"), fs.ErrNotExist)
	if err := fsys.Remove("d"); err == nil {
		t.Error("removed a folder with a file in it")
	}
	if got := Get(t, fsys, "d/a"); got != "one" {
		t.Errorf("a refused removal left %q", got)
	}
	if err := errors.Join(fsys.Remove("d/a"), fsys.Remove("d")); err != nil {
		t.Error(err)
	}
	if got := Listing(t, fsys, "."); got != "" {
		t.Errorf("left: %s", got)
	}
}

func conformFolders(t *testing.T, fsys platform.FS) {
	for range 2 {
		if err := fsys.MkdirAll("d/e/f", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	Put(t, fsys, "d/b", "")
	Put(t, fsys, "d/a", "")
	Put(t, fsys, "d/C", "")
	if got := Listing(t, fsys, "d"); got != "C a b e/" {
		t.Errorf("not sorted by name: %s", got)
	}
	if err := fsys.MkdirAll("d/a/x", 0o755); err == nil {
		t.Error("made a folder below a file")
	}
	if err := fsys.MkdirAll("d/a", 0o755); err == nil {
		t.Error("made a folder where a file is")
	}
	_, err := fsys.ReadDir("no")
	WantError(t, "list what is missing", err, fs.ErrNotExist)
	if _, err := fsys.ReadDir("d/a"); err == nil {
		t.Error("listed a file")
	}
	if err := fsys.MkdirAll(".", 0o755); err != nil {
		t.Error(err)
	}
}

// conformMissing tells a folder that is missing from a file that stands in its place.
func conformMissing(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "file", "one")
	for _, below := range []string{"x", "x/y"} {
		for what, call := range map[string]func(name string) error{
			"Lstat":       func(name string) error { return second(fsys.Lstat(name)) },
			"Stat":        func(name string) error { return second(fsys.Stat(name)) },
			"OpenFile":    func(name string) error { return second(fsys.OpenFile(name, os.O_RDONLY, 0)) },
			"create":      func(name string) error { return second(fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)) },
			"Remove":      fsys.Remove,
			"Rename":      func(name string) error { return fsys.Rename(name, "new") },
			"Rename into": func(name string) error { return fsys.Rename("file", name) },
		} {
			err := call("no/" + below)
			WantError(t, what+" no/"+below, err, fs.ErrNotExist)
			if errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("%s no/%s: says that a file is in the way: %v", what, below, err)
			}
			WantError(t, what+" file/"+below, call("file/"+below), syscall.ENOTDIR)
		}
	}
}

// conformRenameToItself changes nothing, and a folder does not go into itself.
func conformRenameToItself(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	if err := fsys.MkdirAll("d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename("a", "a"); err != nil {
		t.Error(err)
	}
	if err := fsys.Rename("d", "d/e/f"); err == nil {
		t.Error("a folder went into itself")
	}
	if err := fsys.Rename(".", "x"); err == nil {
		t.Error("renamed the folder that is open")
	}
	if err := fsys.Rename("a", "."); err == nil {
		t.Error("replaced the folder that is open")
	}
	if got := Listing(t, fsys, ".") + Listing(t, fsys, "d") + Get(t, fsys, "a"); got != "a d/e/one" {
		t.Errorf("left %s", got)
	}
}

// conformNames uses names that a player's folder has, and the longest a file system takes.
func conformNames(t *testing.T, fsys platform.FS) {
	for i, name := range []string{"a b", "Ünïcödé-日本語", "-staging", "~part", ".hidden", "a.b.c", strings.Repeat("x", 240)} {
		content := strings.Repeat("*", i+1)
		Put(t, fsys, name, content)
		if err := fsys.Rename(name, name+".bak"); err != nil {
			t.Fatal(err)
		}
		if got := Get(t, fsys, name+".bak"); got != content {
			t.Errorf("%q holds %q", name, got)
		}
	}
}

// conformDetours uses names that go out of a folder and back in.
func conformDetours(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "d/../a", "one")
	for _, name := range []string{"a", "./a", "d/../a", "d/e/../../a", "d//..//a"} {
		if got := Get(t, fsys, name); got != "one" {
			t.Errorf("%q holds %q", name, got)
		}
	}
	for _, name := range []string{"no/../a", "a/../a", "a/."} {
		if _, err := fsys.Stat(name); err == nil && runtime.GOOS != "windows" {
			t.Errorf("%q leads somewhere", name)
		}
	}
	if err := fsys.Remove("."); err == nil {
		t.Error("removed the folder that is open")
	}
	_, err := fsys.OpenFile(strings.Repeat("x", 300), os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		t.Error("made a file with a name of 300 bytes")
	}
	if got := Listing(t, fsys, "."); got != "a d/" {
		t.Errorf("holds %s", got)
	}
}
