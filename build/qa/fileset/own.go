package fileset

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"collet/app/install"
)

// probeFile matches the temporary file of a client's write test (platform.Writable): a killed client may leave one.
var probeFile = regexp.MustCompile(`^\.collet-[0-9a-f]{16}$`)

// SelectorDir is the folder in a writable root with a selector file for each module, which names the module's path.
const SelectorDir = "ClientRuntimeHost"

// OwnNames are the client's own names in an install that its settings choose; all others are fixed. The zero value has the defaults.
// docs/ON-DISK.md lists them all.
type OwnNames struct {
	Cache    string // cache folder (Baking.CacheResources), with slashes; empty: Cache
	Writable string // the writable root, a folder at the top of the install; empty: the install itself
}

// Outside reports whether a path (with slashes, relative to the install) is outside every set. Such paths are partial files (~name), staged
// and kept files (name-staging, name.bak), and probes. At the top of the install and of the writable root they also include the client's
// folders (.collet, Cache, Recycler, ClientRuntimeHost), logs and settings, which differ between runs.
func (o OwnNames) Outside(name string) bool {
	if below, is := strings.CutPrefix(name, o.Writable+"/"); is && o.Writable != "" {
		name = below
	}
	base := path.Base(name)
	if strings.HasPrefix(base, install.PartPrefix) || strings.HasSuffix(base, install.StagingSuffix) ||
		strings.HasSuffix(base, install.BackupSuffix) || probeFile.MatchString(base) {
		return true
	}
	for _, folder := range []string{install.StateDir, install.Recycler, SelectorDir, cmp.Or(o.Cache, "Cache")} {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return base == name && slices.Contains([]string{".log", ".toml"}, path.Ext(strings.TrimSuffix(base, ".old")))
}

// Outside is OwnNames.Outside with the default names.
func Outside(name string) bool { return OwnNames{}.Outside(name) }

// ReadSet hashes every file below dir that is part of a set. It follows no symbolic links.
func (o OwnNames) ReadSet(dir string) (Set, error) {
	s := Set{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case o.Outside(name) && entry.IsDir():
			return filepath.SkipDir
		case o.Outside(name) || entry.IsDir():
			return nil
		}
		s[name], err = content(file, entry)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the set in %s: %w", dir, err)
	}
	return s, nil
}

// Effective returns the set in use: files in the writable root override delivered ones.
func (o OwnNames) Effective(s Set) Set {
	seen := Set{}
	for name, content := range s {
		if o.Writable == "" || !strings.HasPrefix(name, o.Writable+"/") {
			seen[name] = content
		}
	}
	for name, content := range maps.All(s) {
		if below, is := strings.CutPrefix(name, o.Writable+"/"); is && o.Writable != "" {
			seen[below] = content
		}
	}
	return seen
}
