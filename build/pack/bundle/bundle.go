// Package bundle holds the common input of all package formats: the product's texts, and the files of one package.
//
// A Bundle is complete and final: its programs are patched and signed, its paths checked. Every format takes the same Bundle and produces a
// file whose bytes depend on nothing else: not on the clock, the user, the umask, the locale, the order in which folders are read, or the
// project's location. Files are read when they are used, so a Bundle is small.
package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"collet/netproto/product"
	"collet/netproto/release"
)

// Permissions of a package's files. The source file's own mode is ignored.
const (
	Plain   fs.FileMode = 0o644
	Program fs.FileMode = 0o755
)

// Product describes a game to installers and systems. Texts are UTF-8 without control characters.
type Product struct {
	Name        string    // of folders and packages: letters, digits, "-", "_"; for example "Lathe"
	NiceName    string    // displayed name: "The Lathe"
	ID          string    // reverse domain name: "org.example.lathe"
	Version     string    // two to four numbers up to 65535, with dots: "1.4.2"
	Publisher   string    // "Example Games"
	Maintainer  string    // "Name <mail@example.org>"
	Summary     string    // one line
	Description string    // paragraphs, separated by an empty line
	Homepage    string    // a web address; may be empty
	License     string    // SPDX expression: "LicenseRef-proprietary"
	Icon        string    // path of a square PNG, 256 pixels or more
	URIScheme   string    // "lathe" for lathe://… links, which start the game; may be empty
	UpgradeCode string    // GUID in upper case without braces, which must never change; may be empty without Windows installers
	Categories  []string  // of the freedesktop.org menu specification: "Game"
	Time        time.Time // of everything inside packages, in whole seconds, UTC, 1980 or later
}

// Entry is one file, or one symbolic link where Link is set.
type Entry struct {
	Path string      // slash-separated, as release.CheckPath wants it
	Mode fs.FileMode // Plain or Program
	From string      // path of the source file; if empty, Data holds the content
	Data []byte
	Link string // target of a symbolic link, relative to its folder, inside the tree
}

// Open returns the content and its length in bytes. The caller closes it.
func (e Entry) Open() (io.ReadCloser, int64, error) {
	if e.From == "" {
		return io.NopCloser(bytes.NewReader(e.Data)), int64(len(e.Data)), nil
	}
	f, err := os.Open(e.From)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", e.From)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Tree is the files of a package, sorted by path. NewTree makes one.
type Tree []Entry

// NewTree sorts and checks entries. Paths are portable and unique even on a system that ignores case, no file's path is a folder of
// another, and links stay inside.
func NewTree(entries ...Entry) (Tree, error) {
	t := slices.SortedStableFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	files := make([]release.File, len(t))
	for i, e := range t {
		files[i].Path = e.Path
		if err := e.checkEntry(); err != nil {
			return nil, err
		}
	}
	if err := release.CheckSet(files); err != nil {
		return nil, err
	}
	return t, nil
}

// checkEntry validates an entry apart from its path.
func (e Entry) checkEntry() error {
	switch {
	case e.Link == "" && e.Mode != Plain && e.Mode != Program:
		return fmt.Errorf("%s: mode %v is neither %v nor %v", e.Path, e.Mode, Plain, Program)
	case e.Link == "":
		return nil
	case strings.HasPrefix(e.Link, "/") || strings.Contains(e.Link, `\`) || path.Clean(e.Link) != e.Link:
		return fmt.Errorf("%s: link to %q is not relative, with slashes and without detours", e.Path, e.Link)
	}
	if to := path.Join(path.Dir(e.Path), e.Link); to == ".." || strings.HasPrefix(to, "../") {
		return fmt.Errorf("%s: link to %q leaves the package", e.Path, e.Link)
	}
	return nil
}

// With returns the tree with more files.
func (t Tree) With(more ...Entry) (Tree, error) { return NewTree(slices.Concat(t, more)...) }

// Below returns the tree moved into a folder.
func (t Tree) Below(folder string) Tree {
	moved := slices.Clone(t)
	for i := range moved {
		moved[i].Path = folder + "/" + moved[i].Path
	}
	return moved
}

// Bundle is one package, independent of a format.
type Bundle struct {
	Product Product
	Target  product.Target // which system and processor it is for
	Name    string         // base name of the package's file, without version and extension: "Lathe-Client-Windows-win64_OpenGL"
	Base    string         // base name of the host and of its module: "Lathe_OpenGL"
	Tree    Tree           // the portable layout: what lies in the folder that the player unpacks
}
