package crash

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/app/install"
	"collet/build/qa/fileset"
	"collet/netproto/release"
)

const (
	// maxFile is the size in bytes to which files are cut: enough for several writes of several 4096-byte pages, each of which may
	// survive alone. Larger files would add no cases, and each stop hashes all files.
	maxFile = 15_000
	// maxFiles limits the files of a release: each costs several operations, all of which are stopped.
	maxFiles = 8
)

// Set is a release in the install's layout: content by name, relative to the install, with slashes. It is read-only once it is passed
// on.
type Set map[string]string

// Names returns the names of an install with the default folders.
func Names(library string) install.Names {
	ext := path.Ext(library)
	return install.Names{Runtime: strings.TrimSuffix(library, ext), Ext: ext, Resources: "Resources", Cache: "Cache"}
}

// ReadSets reads two releases from folders with a module and a folder Resources. Large files are cut, and of many files some are
// selected, differing ones first; comments describe that.
func ReadSets(oldDir, newDir string) (o Options, comments []string, err error) {
	var libraries []string
	for _, side := range []struct {
		dir string
		to  *Set
	}{{oldDir, &o.Old}, {newDir, &o.New}} {
		set, library, err := readSet(side.dir)
		if err != nil {
			return o, nil, err
		}
		*side.to = set
		libraries = append(libraries, library)
	}
	library := cmp.Or(libraries...)
	if library == "" {
		return o, nil, fmt.Errorf("%s and %s: no module (a file .so, .dll, .dylib or .program) in either", oldDir, newDir)
	}
	if libraries[0] != "" && libraries[1] != "" && libraries[0] != libraries[1] {
		return o, nil, fmt.Errorf("%s has the module %s, %s has %s: want one name", oldDir, libraries[0], newDir, libraries[1])
	}
	o.Names = Names(library)
	o.Old, o.New, comments = cutSets(o.Old, o.New)
	return o, comments, nil
}

// readSet reads the module, the files named after it, and the packs.
func readSet(dir string) (set Set, library string, err error) {
	top, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	for _, e := range top {
		if slices.Contains([]string{".so", ".dll", ".dylib", ".program"}, path.Ext(e.Name())) && e.Type().IsRegular() {
			if library != "" {
				return nil, "", fmt.Errorf("%s: %s and %s are two modules: want one", dir, library, e.Name())
			}
			library = e.Name()
		}
	}
	set = Set{}
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		name = filepath.ToSlash(name)
		ours := strings.HasPrefix(name, "Resources/") || library != "" && (name == library || strings.HasPrefix(name, library+"."))
		if !ours || fileset.Outside(name) {
			return nil
		}
		data, err := os.ReadFile(file)
		set[name] = string(data)
		return err
	})
	return set, library, err
}

// cutSets reduces two releases to a size for many thousands of runs. Cut files keep their differences.
func cutSets(from, to Set) (oldSet, newSet Set, comments []string) {
	oldSet, newSet = maps.Clone(from), maps.Clone(to)
	left, cut := oldSet.leaveOut(newSet), 0
	for _, set := range []Set{oldSet, newSet} {
		for name, content := range set {
			if len(content) > maxFile {
				digest, _ := release.SHA256.DigestOf(strings.NewReader(content)) // memory can be read
				set[name] = content[:maxFile-len(digest.String())] + digest.String()
				cut++
			}
		}
	}
	if cut > 0 {
		comments = append(comments, fmt.Sprintf("%d large files were cut to %d kB, which makes no difference to a crash", cut, maxFile>>10))
	}
	if left > 0 {
		comments = append(comments, fmt.Sprintf("%d further files of the releases were left out", left))
	}
	return oldSet, newSet, comments
}

// leaveOut removes packs above the limit from both sets, equal ones first.
func (s Set) leaveOut(other Set) (left int) {
	all := maps.Clone(s)
	maps.Copy(all, other)
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.rank(other, a), s.rank(other, b)), cmp.Compare(a, b))
	})
	for _, name := range names[min(len(names), maxFiles):] {
		delete(s, name)
		delete(other, name)
		left++
	}
	return left
}

// rank orders files by importance: modules first, then files that differ.
func (s Set) rank(other Set, name string) int {
	a, in := s[name]
	b, inOther := other[name]
	switch {
	case !strings.Contains(name, "/"):
		return 0
	case in != inOther || a != b:
		return 1
	default:
		return 2
	}
}

// with returns a copy with changes; empty names are skipped.
func (s Set) with(changes Set) Set {
	c := maps.Clone(s)
	if c == nil {
		c = Set{}
	}
	maps.Copy(c, changes)
	return c
}

// without returns a copy that lacks some names.
func (s Set) without(names ...string) Set {
	c := maps.Clone(s)
	for _, name := range names {
		delete(c, name)
	}
	return c
}

// changed returns a copy in which the chosen files have other content of the same size.
func (s Set) changed(mark string, chosen func(name string) bool) Set {
	c := maps.Clone(s)
	for name, content := range s {
		if chosen(name) {
			c[name] = mark + content[min(len(content), len(mark)):]
		}
	}
	return c
}

// packs returns the names of the packs, sorted.
func (s Set) packs(n install.Names) []string {
	return slices.Sorted(maps.Keys(s.filter(func(name string) bool { return strings.HasPrefix(name, n.Resources+"/") })))
}

func (s Set) filter(chosen func(name string) bool) Set {
	c := Set{}
	for name, content := range s {
		if chosen(name) {
			c[name] = content
		}
	}
	return c
}

// offer returns the release as a server lists it.
func (s Set) offer(n install.Names) []release.File {
	var files []release.File
	for _, name := range slices.Sorted(maps.Keys(s)) {
		digest, _ := release.SHA256.DigestOf(strings.NewReader(s[name])) // memory can be read
		f := release.File{Path: name, Size: int64(len(s[name])), Digest: digest, Role: release.Binary, Index: uint32(len(files))}
		if below, is := strings.CutPrefix(name, n.Resources+"/"); is {
			f.Path, f.Role = below, release.Resource
		}
		files = append(files, f)
	}
	return files
}

// diff is Set.Diff of two sets by content.
func (s Set) diff(want Set) []string {
	var lines []string
	all := s.with(want)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		has, there := s[name]
		wanted, known := want[name]
		switch {
		case !there:
			lines = append(lines, name+": missing")
		case !known:
			lines = append(lines, fmt.Sprintf("%s: should not be there (%d bytes)", name, len(has)))
		case has != wanted:
			lines = append(lines, fmt.Sprintf("%s: is %s, want %s", name, brief(has), brief(wanted)))
		}
	}
	return lines
}

// brief abbreviates a content to its digest.
func brief(content string) string {
	digest, _ := release.SHA256.DigestOf(strings.NewReader(content)) // memory can be read
	return fmt.Sprintf("%s (%d bytes)", fileset.ShortDigest(digest.String()), len(content))
}
