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
	"unicode"
	"unicode/utf8"

	"collet/build/pack/bundle"
	"collet/netproto/release"
	launch "collet/runtime/program"
)

// gameFile is one file of a program's folder.
type gameFile struct {
	path   string // in the game's folder, with slashes
	from   string // its path on the disk, links followed
	copied bool   // a link to a folder leads to it
	code   bool   // it is a program, a library or a script
	mode   fs.FileMode
	keep   string // the pattern that makes it the players' own; empty for all others
	isNew  bool   // a new form is placed beside it
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
type folderError struct {
	what, want string
	path       string // of the file that players can't get, relative to the folder; empty if leaving one out is no remedy
}

func (e *folderError) Error() string { return e.what + "; " + e.want }

// folderErrors are the faults of a folder, in the order of its files.
type folderErrors []*folderError

// Error lists them, one a line.
func (l folderErrors) Error() string {
	lines := make([]string, len(l))
	for i, f := range l {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// add keeps a *folderError, and returns all other errors.
func (l *folderErrors) add(err error) error {
	var fault *folderError
	if !errors.As(err, &fault) {
		return err
	}
	*l = append(*l, fault)
	return nil
}

// maxTwins is how many pairs of files that are one on some systems are found in a folder.
const maxTwins = 20

// addTwins adds the files that are the same as another one on some systems, or lie where another one is a file.
func (l *folderErrors) addTwins(list []gameFile) {
	set := make([]release.File, len(list))
	for i, f := range list {
		set[i].Path = f.path
	}
	for range maxTwins {
		var fault *release.PathError
		if !errors.As(release.CheckSet(set), &fault) {
			return
		}
		*l = append(*l, &folderError{what: fault.Error(), want: "rename one of them, or leave it out with files.exclude"})
		set = slices.DeleteFunc(set, func(f release.File) bool { return f.Path == fault.Path })
	}
}

// Unfit is a file of a game's folder that players can't get as it is.
type Unfit struct {
	Path       string // relative to the folder, with slashes; it need not be UTF-8. Of a folder with such a name, the folder
	What, Want string // what is wrong with it, and what to do
	Exclude    string // the pattern of files.exclude for it
}

// Unfit lists the files of a game's folder that can't be in a release and can be left out of it, and the paths of those that are in it.
// copies is how many of these are there because a link to a folder leads to them. project is the folder of the description. What else is wrong is
// left to Load. Errors are those of the disk.
func (f Files) Unfit(project, folder string) (list []Unfit, good []string, copies int, err error) {
	files, err := f.gameFiles(project, folder)
	var faults folderErrors
	if err != nil && !errors.As(err, &faults) {
		return nil, nil, 0, err
	}
	for _, one := range files {
		if good = append(good, one.path); one.copied {
			copies++
		}
	}
	for _, fault := range faults {
		one := Unfit{unfitPart(fault.path), fault.what, fault.want, patternOf(unfitPart(fault.path))}
		if one.Path != "" && (len(list) == 0 || list[len(list)-1].Path != one.Path) {
			list = append(list, one)
		}
	}
	return list, good, copies, nil
}

// unfitPart is a path, or the highest of its folders whose own name can't be in a release.
func unfitPart(name string) string {
	for i, r := range name {
		if r == '/' && release.CheckPath(name[:i]) != nil {
			return name[:i]
		}
	}
	return name
}

// patternOf is a pattern for one path. What a description can't hold, such as bytes that are no letter, is any letter in it.
func patternOf(name string) string {
	out := strings.Builder{}
	out.WriteByte('/')
	for _, r := range name {
		switch {
		case r == utf8.RuneError || r == '\\' || !unicode.IsPrint(r):
			out.WriteByte('?')
		case strings.ContainsRune("*?[", r):
			out.WriteString("[" + string(r) + "]")
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// gameFiles lists the files of a game's folder that players get, by path. project is the folder of the description. Links inside of the folder
// are followed, so that players get copies of what they lead to. Errors are folderErrors, beside which the list has the files without a fault, or
// those of the disk.
func (f Files) gameFiles(project, folder string) ([]gameFile, error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	w := folderWalk{files: f, project: project, folder: folder, root: root}
	if err := w.walk(gameFile{from: root}, nil); err != nil {
		return nil, err
	}
	list, faults := w.list, w.faults
	slices.SortFunc(list, func(a, b gameFile) int { return strings.Compare(a.path, b.path) })
	faults.addTwins(list)
	if len(list) == 0 && len(faults) == 0 {
		faults = folderErrors{{what: "has no files", want: "build the game first, or correct the path"}}
	}
	if len(faults) > 0 {
		return list, faults
	}
	return list, nil
}

// folderWalk collects the files of a game's folder.
type folderWalk struct {
	files                 Files
	project, folder, root string // root is folder without links
	list                  []gameFile
	faults                folderErrors
	folders               int // visited; as links are followed, one may be so more than once
}

// walk adds the files of a folder of the game's. above are the paths on the disk of those above it.
func (w *folderWalk) walk(at gameFile, above []string) error {
	if w.folders++; w.folders > release.MaxSet {
		return folderErrors{{what: fmt.Sprintf("has more than %d folders, some by links", release.MaxSet), want: "leave links out with files.exclude"}}
	}
	entries, err := os.ReadDir(at.from)
	if err != nil {
		return err
	}
	above = append(slices.Clip(above), at.from)
	for _, e := range entries {
		one := gameFile{path: path.Join(at.path, e.Name()), from: filepath.Join(at.from, e.Name()), copied: at.copied}
		if w.files.leavesOut(w.project, w.folder, one.path) {
			continue
		}
		link := e.Type()&fs.ModeSymlink != 0
		if link {
			err = w.follow(&one)
		}
		var info fs.FileInfo
		if err == nil {
			info, err = os.Lstat(one.from)
		}
		switch {
		case err != nil:
		case info.IsDir() && slices.Contains(above, one.from):
			err = &folderError{one.path + " is a link to a folder in which it lies itself", "remove the link, or leave it out with files.exclude", one.path}
		case info.IsDir():
			one.copied = one.copied || link
			err = w.walk(one, above)
		case len(w.list) == release.MaxSet:
			return folderErrors{{what: fmt.Sprintf("has more than %d files", release.MaxSet), want: "put them into archives, or leave some out with files.exclude"}}
		default:
			if err = one.inspect(info); err == nil {
				one.keep, one.isNew = w.files.keeps(one.path)
				w.list = append(w.list, one)
			}
		}
		if err = w.faults.add(err); err != nil {
			return err
		}
	}
	return nil
}

// follow finds what a link inside of the game's folder leads to.
func (w *folderWalk) follow(f *gameFile) error {
	real, err := filepath.EvalSymlinks(f.from)
	if err != nil {
		return &folderError{f.path + " is a link that leads to nothing", "put the file itself in its place, or leave it out with files.exclude", f.path}
	}
	rel, err := filepath.Rel(w.root, real)
	if err != nil || !filepath.IsLocal(rel) || w.files.isOwn(w.project, w.folder, strings.Split(filepath.ToSlash(rel), "/")[0]) {
		return &folderError{f.path + " is a link that leads out of the folder", "copy what it leads to into its place (cp -RL), or leave it out with files.exclude", f.path}
	}
	f.from = real
	return nil
}

// leavesOut reports whether players don't get a file or folder.
func (f Files) leavesOut(project, folder, name string) bool {
	return ignoredInPacks(path.Base(name)) || anyFits(f.Exclude, name) != "" || f.isOwn(project, folder, name)
}

// isOwn reports whether a file or folder of the game's folder is one that commands of Collet wrote there.
func (Files) isOwn(project, folder, name string) bool {
	top := filepath.Join(folder, filepath.FromSlash(name))
	return slices.ContainsFunc(ownFolders, func(own string) bool { return top == filepath.Join(project, own) })
}

// keeps returns the pattern that makes a file the players' own, and whether new forms of it are placed beside it.
func (f Files) keeps(name string) (pattern string, isNew bool) {
	if pattern = anyFits(f.KeepNew, name); pattern != "" {
		return pattern, true
	}
	return anyFits(f.Keep, name), false
}

// inspect reads how the file begins. info is that of what it is, links followed.
func (f *gameFile) inspect(info fs.FileInfo) error {
	if err := release.CheckPath(f.path); err != nil {
		return &folderError{err.Error(), "rename it, or leave it out with files.exclude", f.path}
	}
	if !info.Mode().IsRegular() {
		return &folderError{f.path + " is " + unfitKind(info.Mode()), "put the files themselves in its place, or leave it out with files.exclude", f.path}
	}
	head, err := readHead(f.from)
	if err != nil {
		return err
	}
	if bytes.Contains(head, []byte("-----BEGIN COLLET ")) && bytes.Contains(head, []byte("PRIVATE KEY-----")) {
		return &folderError{what: f.path + " is a private key", want: "move the keys out of the game's folder; players must never get them"}
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
