package install

import (
	"slices"

	"collet/netproto/release"
	"collet/platform"
)

// Contents is what an install holds, for readers: its methods change nothing. It is not safe for concurrent use, except for
// Glance.
type Contents struct {
	*folder
	glanced *glance // the result of Glance, until the next Plan; may be nil
}

// Bare reports whether no live module exists, neither here nor in the base: most likely no set is installed then.
func (c *Contents) Bare() bool { return !c.hasLive(c.names.Library()) }

// Has reports whether a live file of this name exists, here or in the base, whatever its content.
func (c *Contents) Has(f release.File) bool {
	e, known := c.names.entryOf(f)
	return known && c.hasLive(e.Live)
}

func (c *Contents) hasLive(name string) bool {
	for _, fsys := range []platform.FS{c.fs, c.base} {
		if fsys == nil {
			continue
		}
		if _, err := fsys.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// Set is the identity of the live set and its number of files; zero without a transaction. The error is a *update.Fault.
func (c *Contents) Set() (identity release.Digest, files int, err error) {
	if err := c.loadLists(); err != nil {
		return release.Digest{}, 0, c.fault(err)
	}
	return c.journal.lists.Is, len(c.journal.lists.Set), nil
}

// PacksList is the absolute path of a text file with the packs of the live set, relative to the folder of the packs, one
// per line. Of the packs in the base, only those are valid. It is empty if all of them are. The error is a *update.Fault.
func (c *Contents) PacksList() (string, error) {
	if c.base == nil {
		return "", nil
	}
	if err := c.loadLists(); err != nil {
		return "", c.fault(err)
	}
	name := packsName(c.journal.lists.Is)
	there, err := exists(c.fs, name)
	if err != nil || !there || c.journal.lists.Is.IsZero() {
		return "", c.fault(err)
	}
	return c.fs.Path(name), nil
}

// Incomplete lists files of the live set known to be missing or from another release. These are files that a rollback could
// not restore, and packs that are missing or have another size. It reads no contents. The next update repairs such a set;
// without an update the player must confirm the start. A missing module does not count, because the built-in client
// replaces it. The error is a *update.Fault.
func (c *Contents) Incomplete() (files []string, err error) {
	if err := c.loadLists(); err != nil {
		return nil, c.fault(err)
	}
	files = slices.Clone(c.journal.lists.Mixed)
	if c.journal.State == Prepared || c.journal.State == RollingBack {
		return files, nil // the set is not live, and other processes use the previous one
	}
	for _, e := range c.journal.lists.Set {
		if e.Kind != Pack || slices.Contains(files, e.Live) {
			continue
		}
		info, err := c.fs.Lstat(e.Live)
		if err != nil && !IsAbsent(err) {
			return nil, c.fault(err)
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() != e.Size {
			files = append(files, e.Live)
		}
	}
	return files, nil
}
