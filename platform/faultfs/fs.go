package faultfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"collet/platform"
)

var _ platform.FS = (*FS)(nil)

// missing reports whether a name stands for nothing.
func (f *FS) missing(name string) bool {
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	p, err := f.disk.walk(name, true)
	return err == nil && p.node == nil
}

// OpenFile implements platform.FS.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	o := Op{Verb: Open, Name: name}
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		switch missing := f.missing(name); {
		case missing && flag&os.O_CREATE != 0:
			o.Verb, o.Made = Create, true
		case !missing && flag&os.O_TRUNC != 0:
			o.Verb = Truncate
		}
	}
	opened := &file{process: &f.process, name: name, flag: flag}
	err := f.modify(o, func() error {
		n, err := f.disk.openFile(name, flag, perm)
		if err != nil {
			return err
		}
		opened.node = n
		n.opened++
		f.files[opened] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// Rename implements platform.FS.
func (f *FS) Rename(oldName, newName string) error {
	return f.modify(Op{Verb: Rename, Name: oldName, To: newName}, func() error { return f.disk.rename(oldName, newName) })
}

// Link implements platform.FS.
func (f *FS) Link(oldName, newName string) error {
	return f.modify(Op{Verb: Link, Name: oldName, To: newName}, func() error { return f.disk.link(oldName, newName) })
}

// Exchange implements platform.FS.
func (f *FS) Exchange(a, b string) error {
	return f.modify(Op{Verb: Exchange, Name: a, To: b}, func() error { return f.disk.exchange(a, b) })
}

// Remove implements platform.FS.
func (f *FS) Remove(name string) error {
	return f.modify(Op{Verb: Remove, Name: name}, func() error { return f.disk.remove(name) })
}

// MkdirAll implements platform.FS.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	o := Op{Verb: Mkdir, Name: name, Made: f.absent(name)}
	return f.modify(o, func() error { return f.disk.mkdirAll(name, perm) })
}

// absent reports whether there is no folder of that name.
func (f *FS) absent(name string) bool {
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	_, err := f.disk.findFolder(name)
	return err != nil
}

// ReadDir implements platform.FS.
func (f *FS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = f.query(Op{Verb: List, Name: name}, func() (err error) { list, err = f.disk.list(name); return err })
	return list, err
}

// Stat implements platform.FS.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.stat(name, true) }

// Lstat implements platform.FS.
func (f *FS) Lstat(name string) (fs.FileInfo, error) { return f.stat(name, false) }

func (f *FS) stat(name string, follow bool) (info fs.FileInfo, err error) {
	err = f.query(Op{Verb: Stat, Name: name}, func() (err error) { info, err = f.disk.stat(name, follow); return err })
	return info, err
}

// Chmod implements platform.FS.
func (f *FS) Chmod(name string, mode fs.FileMode) error {
	return f.modify(Op{Verb: Chmod, Name: name}, func() error { return f.disk.chmod(name, mode) })
}

// SyncDir implements platform.FS. As on the disk it syncs a file, too, if the name is one's.
func (f *FS) SyncDir(name string) error {
	return f.modify(Op{Verb: SyncFolder, Name: name}, func() error {
		p, err := f.disk.findExisting(name, true)
		if err == nil {
			f.disk.sync(p.node)
		}
		return err
	})
}

// Free implements platform.FS.
func (f *FS) Free() (free uint64, err error) {
	err = f.query(Op{Verb: Free, Name: "."}, func() error {
		free = uint64(max(f.disk.cfg.Capacity-f.disk.used, 0))
		if f.disk.claimed != nil {
			free = *f.disk.claimed
		}
		return nil
	})
	return free, err
}

// FreeFiles implements platform.FS: names take no room here.
func (f *FS) FreeFiles() (uint64, error) {
	return 0, &fs.PathError{Op: "freefiles", Path: ".", Err: errors.ErrUnsupported}
}

// MayWrite implements platform.FS: it is always nil.
func (f *FS) MayWrite(string) error { return nil }

// Path implements platform.FS. The path exists nowhere.
func (f *FS) Path(name string) string {
	return filepath.Join(f.disk.cfg.Path, filepath.FromSlash(name))
}

// Close implements platform.FS.
func (f *FS) Close() error {
	return Op{Verb: Close, Name: "."}.wrap(f.writing(func() error { f.closed = true; return nil }))
}
