package qa

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"collet/app/install"
)

// probeFile is what a client makes and removes to find out whether it may write (platform.Writable): a stop may leave one.
var probeFile = regexp.MustCompile(`^\.collet-[0-9a-f]{16}$`)

// OwnNames are the names that a client keeps for itself in an install, as far as its settings choose them; the others are
// fixed. The zero value are the usual ones. docs/ON-DISK.md has them all.
type OwnNames struct {
	Cache    string // folder of the cache (Baking.CacheResources), with slashes; empty: Cache
	Writable string // a folder at the top of the install that is the writable root; empty: the install is
}

// Outside reports whether a path (with slashes, relative to the install) is no part of any set: bytes on their way
// (~name), what waits or was kept (name-staging, name.bak), probes, and at the top of the install and of the writable root
// the client's folders (.collet, Cache, Recycler, ClientRuntimeHost), logs and settings, which differ from one run to the
// next.
func (o OwnNames) Outside(name string) bool {
	if below, is := strings.CutPrefix(name, o.Writable+"/"); is && o.Writable != "" {
		name = below
	}
	base := path.Base(name)
	if strings.HasPrefix(base, install.PartPrefix) || strings.HasSuffix(base, install.StagingSuffix) ||
		strings.HasSuffix(base, install.BackupSuffix) || probeFile.MatchString(base) {
		return true
	}
	for _, folder := range []string{install.StateDir, install.Recycler, selectorDir, cmp.Or(o.Cache, "Cache")} {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return base == name && slices.Contains([]string{".log", ".toml"}, path.Ext(strings.TrimSuffix(base, ".old")))
}

// Outside is OwnNames.Outside with the usual names.
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
