// Package fileset compares the files of installs.
//
// A Set maps the path of each file to its SHA-256, without the files that the updater or the host keeps for itself: Outside and OwnNames know
// their names, as docs/ON-DISK.md lists them. A Promise holds if a folder has exactly the old or exactly the new set. SameFile and Comparer
// compare contents byte for byte. CopyInstall copies an install, and Fill writes the missing bytes of a planned file into one.
//
// Nothing here follows symbolic links. Only CopyInstall and Fill write.
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

// maxNamed is how many files a Difference names before it only counts: a report is read by a person.
const maxNamed = 12

// Set is what an install holds for the player, by hash: the path of each file with slashes, and what is there, as text:
// "sha256:<hex>" for a file, "link:<target>" for a symbolic link. Folders have no entry. What the updater keeps for
// itself is no part of a set, see OwnNames.
type Set map[string]string

// Read hashes every file below dir that is part of a set, with the usual names of what is outside. It follows no symbolic
// links.
func Read(dir string) (Set, error) { return OwnNames{}.ReadSet(dir) }

// content is what a Set says of one file.
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

// Diff says in which files s differs from the set that is wanted, one line a file, sorted by name; nil means equal.
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

// ShortDigest keeps the part of a digest that tells files apart.
func ShortDigest(content string) string {
	const enough = len("sha256:") + 12
	if strings.HasPrefix(content, "sha256:") && len(content) > enough {
		return content[:enough]
	}
	return content
}

// Promise is the one that a set is kept whole: exactly Old or exactly New, whatever happened.
type Promise struct{ Old, New Set }

// Kept says which of the two sets s is, "old" or "new" (new where both are equal), or else returns a *BrokenError.
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

// KeptIn reads the set in a folder and judges it as Kept does.
func (p Promise) KeptIn(dir string) (which string, err error) {
	s, err := Read(dir)
	if err != nil {
		return "", err
	}
	return p.Kept(s)
}

// BrokenError says that a folder holds neither the old nor the new set, and by which files.
type BrokenError struct {
	FromOld, FromNew []string // as Set.Diff gives them
}

// Error names the files of both comparisons, over several lines.
func (e *BrokenError) Error() string {
	return "neither the old nor the new set\n" +
		"compared with the old set:\n" + Difference(e.FromOld) + "\ncompared with the new set:\n" + Difference(e.FromNew)
}

// Difference indents the lines of a Diff and bounds their number.
func Difference(lines []string) string {
	named := lines[:min(len(lines), maxNamed)]
	text := "  " + strings.Join(named, "\n  ")
	if more := len(lines) - len(named); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return text
}

// CopyInstall copies a folder with all that is in it, also what is outside the set: modes and times of files are kept, and
// symbolic links stay links. to must not exist.
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
