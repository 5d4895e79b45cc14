package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/build/pack/bundle"
	"collet/netproto/release"
	launch "collet/runtime/program"
)

// gameFile is one file of a program's folder.
type gameFile struct {
	path  string // in the game's folder, with slashes
	from  string // its path on the disk, links followed
	code  bool   // it is a program, a library or a script
	mode  fs.FileMode
	keep  string // the pattern that makes it the players' own; empty for all others
	isNew bool   // a new form is placed beside it
}

// entry is the file in the folder of a target's resources.
func (f gameFile) entry() bundle.Entry {
	e := bundle.Entry{Path: f.path, Mode: f.mode, From: f.from}
	if f.keep != "" {
		e.Path = launch.Kept{Path: f.path}.Shipped()
	}
	return e
}

// ownFolders are what commands of Collet write at the top of a project, when they are not told otherwise: the description, keys, a release
// folder, and packages. A game whose folder is the project's does not contain them.
var ownFolders = []string{DescriptionFile, "keys", "release", "packages"}

// folderError is a fault of a game's folder that its author can correct.
type folderError struct{ what, want string }

func (e *folderError) Error() string { return e.what + "; " + e.want }

// maxFaults is how many files an error names.
const maxFaults = 20

// folderErrors are the faults of many files.
type folderErrors []*folderError

// add keeps a *folderError, and returns all other errors.
func (l *folderErrors) add(err error) error {
	var fault *folderError
	if !errors.As(err, &fault) {
		return err
	}
	*l = append(*l, fault)
	return nil
}

// err makes one error of them, or nil.
func (l folderErrors) err() error {
	if len(l) == 0 {
		return nil
	}
	var what, want []string
	for _, f := range l[:min(len(l), maxFaults)] {
		what = append(what, f.what)
		if !slices.Contains(want, f.want) {
			want = append(want, f.want)
		}
	}
	if more := len(l) - maxFaults; more > 0 {
		what = append(what, fmt.Sprintf("and %d more", more))
	}
	return &folderError{strings.Join(what, "; "), strings.Join(want, "; ")}
}

// gameFiles lists the files of a game's folder that players get, by path. project is the folder of the description. Errors are *folderError
// or those of the disk.
func (f Files) gameFiles(project, folder string) ([]gameFile, error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	var list []gameFile
	var faults folderErrors
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, name)
		if err = errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		one := gameFile{path: filepath.ToSlash(rel), from: name}
		if f.leavesOut(project, folder, one.path) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			return nil
		}
		if len(list) == release.MaxSet {
			return &folderError{fmt.Sprintf("has more than %d files", release.MaxSet), "put them into archives, or leave some out with files.exclude"}
		}
		if err := one.inspect(root, e); err != nil {
			return faults.add(err)
		}
		one.keep, one.isNew = f.keeps(one.path)
		list = append(list, one)
		return nil
	})
	if err == nil {
		err = faults.err()
	}
	if err == nil && len(list) == 0 {
		err = &folderError{"has no files", "build the game first, or correct the path"}
	}
	slices.SortFunc(list, func(a, b gameFile) int { return strings.Compare(a.path, b.path) })
	return list, err
}

// leavesOut reports whether players don't get a file or folder.
func (f Files) leavesOut(project, folder, name string) bool {
	top := filepath.Join(folder, filepath.FromSlash(name))
	return ignoredInPacks(path.Base(name)) || anyFits(f.Exclude, name) != "" ||
		slices.ContainsFunc(ownFolders, func(own string) bool { return top == filepath.Join(project, own) })
}

// keeps returns the pattern that makes a file the players' own, and whether new forms of it are placed beside it.
func (f Files) keeps(name string) (pattern string, isNew bool) {
	if pattern = anyFits(f.KeepNew, name); pattern != "" {
		return pattern, true
	}
	return anyFits(f.Keep, name), false
}

// inspect follows a link inside of the game's folder, and reads how the file begins.
func (f *gameFile) inspect(root string, e fs.DirEntry) error {
	if err := release.CheckPath(f.path); err != nil {
		return &folderError{err.Error(), "rename it, or leave it out with files.exclude"}
	}
	if e.Type()&fs.ModeSymlink != 0 {
		real, err := filepath.EvalSymlinks(f.from)
		rel, relErr := filepath.Rel(root, real)
		if err != nil || relErr != nil || !filepath.IsLocal(rel) {
			return &folderError{f.path + " is a link that leads out of the folder", "put the file itself in its place, or leave it out with files.exclude"}
		}
		f.from = real
	}
	info, err := os.Stat(f.from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		what := unfitKind(info.Mode())
		if info.IsDir() {
			what = "a link to a folder"
		}
		return &folderError{f.path + " is " + what, "put the files themselves in its place, or leave it out with files.exclude"}
	}
	head, err := readHead(f.from)
	if err != nil {
		return err
	}
	if bytes.Contains(head, []byte("-----BEGIN COLLET ")) && bytes.Contains(head, []byte("PRIVATE KEY-----")) {
		return &folderError{f.path + " is a private key", "move the keys out of the game's folder; players must never get them"}
	}
	f.code, f.mode = isCode(head), bundle.Plain
	if f.code || info.Mode()&0o111 != 0 {
		f.mode = bundle.Program
	}
	return nil
}

// headSize is how many bytes are read of each file: enough to know programs, scripts and keys.
const headSize = 64

func readHead(name string) ([]byte, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(in, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], errors.Join(err, in.Close())
}

// isCode reports whether a file begins like a program or library of a system, or like a script.
func isCode(head []byte) bool {
	return release.BeginsProgram(head) || bytes.HasPrefix(head, []byte("MZ"))
}

// anyFits returns the first pattern that fits a path or one of its folders, or empty.
func anyFits(patterns []string, name string) string {
	for _, pattern := range patterns {
		if fits(pattern, name) {
			return pattern
		}
	}
	return ""
}

// fits reports whether a pattern of [files] fits a path or one of its folders.
func fits(pattern, name string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return fitsElements(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
}

// fitsElements compares element by element. A pattern that is used up fits the folder, and so all below it.
func fitsElements(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == "**" && len(pattern) == 1:
		return len(name) > 0
	case pattern[0] == "**":
		for i := range name {
			if fitsElements(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	case len(name) == 0:
		return false
	}
	is, err := path.Match(pattern[0], name[0])
	return is && err == nil && fitsElements(pattern[1:], name[1:])
}

// checkPattern reports a pattern that can't fit anything.
func checkPattern(pattern string) error {
	switch _, err := path.Match(pattern, ""); {
	case err != nil:
		return errors.New("its brackets or backslashes don't end")
	case strings.Trim(pattern, "/") == "" || strings.Contains(pattern, "//"):
		return errors.New("it has an empty name")
	case strings.Contains(pattern, `\`):
		return errors.New("it has backslashes")
	}
	for element := range strings.SplitSeq(pattern, "/") {
		if element == "." || element == ".." {
			return errors.New("it leaves the game's folder")
		}
		if strings.Contains(element, "**") && element != "**" {
			return errors.New("** stands for whole folders")
		}
	}
	return nil
}

// Fits reports whether a pattern of [files] fits a path in the game's folder, or one of its folders.
func Fits(pattern, name string) bool { return fits(pattern, name) }

// IsOwn reports whether a name at the top of a project belongs to Collet, and not to a game in the same folder.
func IsOwn(name string) bool { return slices.Contains(ownFolders, name) }
