// Package fileset compares the files of installs.
//
// A Set maps the path of each file to its SHA-256, without the files that the updater or the host keeps for itself: Outside and OwnNames know
// their names, as docs/ON-DISK.md lists them. A Promise holds if a folder has exactly the old or exactly the new set. SameFile and Comparer
// compare contents byte for byte. CopyInstall copies an install, and Fill writes the missing bytes of a planned file into one.
//
// Sets and copies do not follow symbolic links. Only CopyInstall and Fill write.
package fileset

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collet/netproto/release"
)

// maxNamed is the number of files that Difference names; it counts the others.
const maxNamed = 12

// Set maps the path of each file, with slashes, to its content: "sha256:<hex>" for a file, "link:<target>" for a symbolic link. Folders have
// no entry. Files of the updater are not part of a set, see OwnNames.
type Set map[string]string

// Read is OwnNames.ReadSet with the default names.
func Read(dir string) (Set, error) { return OwnNames{}.ReadSet(dir) }

// content returns the value of one file in a Set.
func content(file string, entry fs.DirEntry) (string, error) {
	if entry.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(file)
		return "link:" + target, err
	}
	if !entry.Type().IsRegular() {
		return "other:" + entry.Type().String(), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest, err := release.SHA256.DigestOf(f)
	return digest.String(), err
}

// Diff returns one line for each file in which s differs from want, sorted by name; nil if they are equal.
func (s Set) Diff(want Set) []string {
	names := slices.Sorted(maps.Keys(s))
	for name := range want {
		if _, there := s[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var lines []string
	for _, name := range names {
		has, there := s[name]
		wanted, known := want[name]
		switch {
		case !there:
			lines = append(lines, name+": missing")
		case !known:
			lines = append(lines, name+": should not be there")
		case has != wanted:
			lines = append(lines, fmt.Sprintf("%s: is %s, want %s", name, ShortDigest(has), ShortDigest(wanted)))
		}
	}
	return lines
}

// ShortDigest abbreviates a digest for people.
func ShortDigest(content string) string {
	const enough = len("sha256:") + 12
	if strings.HasPrefix(content, "sha256:") && len(content) > enough {
		return content[:enough]
	}
	return content
}

// Promise is the condition that a folder has exactly the set Old or exactly the set New.
type Promise struct{ Old, New Set }

// Kept returns which set s is, "old" or "new" (new if both are equal). If it is neither, the error is a *BrokenError.
func (p Promise) Kept(s Set) (which string, err error) {
	fromNew := s.Diff(p.New)
	if len(fromNew) == 0 {
		return "new", nil
	}
	fromOld := s.Diff(p.Old)
	if len(fromOld) == 0 {
		return "old", nil
	}
	return "", &BrokenError{FromOld: fromOld, FromNew: fromNew}
}

// BrokenError says that a folder has neither the old nor the new set, and names the differing files.
type BrokenError struct {
	FromOld, FromNew []string // as Set.Diff gives them
}

// Error names the files of both comparisons, over several lines.
func (e *BrokenError) Error() string {
	return "neither the old nor the new set\n" +
		"compared with the old set:\n" + Difference(e.FromOld) + "\ncompared with the new set:\n" + Difference(e.FromNew)
}

// Difference indents the lines of a Diff and limits their number.
func Difference(lines []string) string {
	named := lines[:min(len(lines), maxNamed)]
	text := "  " + strings.Join(named, "\n  ")
	if more := len(lines) - len(named); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return text
}

// CopyInstall copies a folder with all its files, including those outside the set. Modes, times and symbolic links are kept. to must not
// exist.
func CopyInstall(to, from string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == from {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if err := copyEntry(filepath.Join(to, name), file, entry); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		return nil
	})
}

func copyEntry(to, from string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	switch {
	case entry.IsDir():
		return os.Mkdir(to, info.Mode().Perm()|0o700)
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !entry.Type().IsRegular():
		return nil // sockets and pipes of a running program
	}
	return copyContent(to, from, info)
}

func copyContent(to, from string, info fs.FileInfo) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
