package install

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
	"collet/platform"
)

// respell handles names of the set that differ from the offered ones only in case. If the file system treats both as one
// name, it is the same file and is renamed to the offered spelling. On other systems they are two files.
func (p *planning) respell() error {
	p.spelled = map[string]string{}
	if len(p.set) == 0 {
		return nil
	}
	var news []string
	for _, c := range p.offered {
		if p.set[c.entry.Live].Digest.IsZero() {
			news = append(news, c.entry.Live)
		}
	}
	if len(news) == 0 {
		return nil // the spelling of all names is unchanged
	}
	folded := make(map[string]string, len(p.set))
	for live := range p.set {
		folded[release.Fold(live)] = live
	}
	for _, name := range news {
		old := folded[release.Fold(name)]
		if old == "" || old == name {
			continue
		}
		one, err := isOneName(p.fs, old, name)
		if err == nil && one {
			err = respellFile(p.fs, old, name)
		}
		if err != nil {
			return err
		}
		if one {
			e := p.set[old]
			delete(p.set, old)
			e.Live = name
			p.set[e.Live], p.spelled[old] = e, e.Live
		}
	}
	return nil
}

// isOneName reports whether two spellings denote one file: both exist, but their folder lists only one of them.
func isOneName(fsys platform.FS, a, b string) (bool, error) {
	if a == b {
		return true, nil
	}
	if one, err := isOneName(fsys, path.Dir(a), path.Dir(b)); !one || err != nil {
		return false, err
	}
	if path.Base(a) == path.Base(b) {
		return true, nil
	}
	for _, name := range []string{a, b} {
		if there, err := exists(fsys, name); !there || err != nil {
			return false, err
		}
	}
	both, err := countListed(fsys, path.Dir(a), path.Base(a), path.Base(b))
	return err == nil && both < 2, err
}

// countListed is the number of these names that a folder lists in exactly this spelling.
func countListed(fsys platform.FS, folder string, names ...string) (n int, err error) {
	entries, err := fsys.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	return len(slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(names, e.Name()) })), nil
}

// respellFile renames a file, and the folders above it, to another spelling of the same name where necessary.
func respellFile(fsys platform.FS, old, spelling string) error {
	at := "."
	words := strings.Split(spelling, "/")
	for i, word := range strings.Split(old, "/") {
		from, to := path.Join(at, word), path.Join(at, words[i])
		if n, err := countListed(fsys, at, words[i]); err != nil {
			return err
		} else if n == 0 {
			if err := fsys.Rename(from, to); err != nil {
				return err
			}
		}
		at = to
	}
	return nil
}
