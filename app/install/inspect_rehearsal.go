package install

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"collet/platform"
)

// rehearsal is an install folder on which everything can be done and nothing happens: what would change is kept in memory.
// The recovery runs on it unchanged, so that what is told about the next start is what the next start does. It is not
// safe for concurrent use, and knows no links to folders.
type rehearsal struct {
	real  platform.FS
	names map[string]*ghost // what differs from the disk
	wait  bool              // somebody uses the set now: the first attempt to have it alone fails
}

// ghost is what a name stands for in a rehearsal. The zero value stands for nothing.
type ghost struct {
	from   string  // a file that lies under this name on the disk
	data   *[]byte // or one that was written
	folder bool    // or a folder
}

var _ platform.FS = (*rehearsal)(nil)

func newRehearsal(real platform.FS, wait bool) *rehearsal {
	return &rehearsal{real: real, names: map[string]*ghost{}, wait: wait}
}

// at is what a name stands for.
func (r *rehearsal) at(name string) (*ghost, error) {
	name = path.Clean(name)
	if g, known := r.names[name]; known {
		if *g == (ghost{}) {
			return g, fs.ErrNotExist
		}
		return g, nil
	}
	info, err := r.real.Lstat(name)
	if err != nil {
		return nil, err
	}
	return &ghost{from: name, folder: info.IsDir()}, nil
}

// Lstat implements platform.FS.
func (r *rehearsal) Lstat(name string) (fs.FileInfo, error) {
	g, err := r.at(name)
	switch {
	case err != nil:
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: bare(err)}
	case g.from != "":
		return r.real.Lstat(g.from)
	default:
		return ghostInfo{name: path.Base(name), ghost: *g}, nil
	}
}

// bare is an error without the name that it is about.
func bare(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}

// Stat implements platform.FS.
func (r *rehearsal) Stat(name string) (fs.FileInfo, error) {
	if g, err := r.at(name); err == nil && g.from != "" {
		return r.real.Stat(g.from)
	}
	return r.Lstat(name)
}

// OpenFile implements platform.FS. Only files of which there are small ones alone may be opened for writing: they are read
// whole.
func (r *rehearsal) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	g, err := r.at(name)
	missing := isAbsent(err)
	if err != nil && !(missing && flag&os.O_CREATE != 0) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0
	if !writes && g.data == nil {
		return r.real.OpenFile(g.from, flag, perm)
	}
	var data []byte
	switch {
	case missing || flag&os.O_TRUNC != 0:
	case g.data != nil:
		data = *g.data
	default:
		if data, err = platform.ReadFile(r.real, g.from, maxLists); err != nil {
			return nil, err
		}
	}
	if g == nil || g.data == nil {
		g = &ghost{data: &data}
	}
	*g.data = data
	r.names[path.Clean(name)] = g
	return &ghostFile{name: name, data: g.data}, nil
}

// Rename implements platform.FS, for files.
func (r *rehearsal) Rename(oldName, newName string) error {
	g, err := r.at(oldName)
	if target, missing := r.at(newName); err == nil && missing == nil && target.folder {
		err = syscall.EISDIR
	}
	if parent, missing := r.at(path.Dir(newName)); err == nil && (missing != nil || !parent.folder) {
		err = errors.Join(fs.ErrNotExist, missing)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: bare(err)}
	}
	r.names[path.Clean(newName)], r.names[path.Clean(oldName)] = g, &ghost{}
	return nil
}

// Link implements platform.FS. An install has no links.
func (r *rehearsal) Link(oldName, newName string) error {
	return &os.LinkError{Op: "link", Old: oldName, New: newName, Err: errors.ErrUnsupported}
}

// Exchange implements platform.FS. Whether the disk can do it is not known before it is tried; the outcome is the same.
func (r *rehearsal) Exchange(a, b string) error {
	first, errA := r.at(a)
	second, errB := r.at(b)
	if err := errors.Join(errA, errB); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	r.names[path.Clean(a)], r.names[path.Clean(b)] = second, first
	return nil
}

// Remove implements platform.FS.
func (r *rehearsal) Remove(name string) error {
	g, err := r.at(name)
	if err == nil && g.folder {
		if inside, listed := r.ReadDir(name); listed != nil || len(inside) > 0 {
			err = syscall.ENOTEMPTY
		}
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: bare(err)}
	}
	r.names[path.Clean(name)] = &ghost{}
	return nil
}

// MkdirAll implements platform.FS.
func (r *rehearsal) MkdirAll(name string, _ fs.FileMode) error {
	for folder := path.Clean(name); folder != "."; folder = path.Dir(folder) {
		g, err := r.at(folder)
		switch {
		case err == nil && !g.folder:
			return &fs.PathError{Op: "mkdir", Path: folder, Err: syscall.ENOTDIR}
		case err == nil:
			return nil
		case !isAbsent(err):
			return err
		}
		r.names[folder] = &ghost{folder: true}
	}
	return nil
}

// ReadDir implements platform.FS.
func (r *rehearsal) ReadDir(name string) ([]fs.DirEntry, error) {
	g, err := r.at(name)
	if err == nil && !g.folder {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: name, Err: bare(err)}
	}
	found := map[string]fs.DirEntry{}
	if g.from != "" {
		listed, err := r.real.ReadDir(g.from)
		if err != nil {
			return nil, err
		}
		for _, e := range listed {
			found[e.Name()] = e
		}
	}
	for full, inside := range r.names {
		base := path.Base(full)
		switch {
		case path.Dir(full) != path.Clean(name):
		case *inside == ghost{}:
			delete(found, base)
		default:
			found[base] = fs.FileInfoToDirEntry(ghostInfo{name: base, ghost: *inside})
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }), nil
}

// Chmod implements platform.FS.
func (r *rehearsal) Chmod(string, fs.FileMode) error { return nil }

// SyncDir implements platform.FS.
func (r *rehearsal) SyncDir(string) error { return nil }

// Free implements platform.FS.
func (r *rehearsal) Free() (uint64, error) { return r.real.Free() }

// Lock implements platform.FS. Locks are had, save that somebody uses the set, who will end.
func (r *rehearsal) Lock(name string) (io.Closer, error) {
	if r.wait && path.Base(name) == readersFile {
		r.wait = false
		return nil, platform.ErrLocked
	}
	return io.NopCloser(nil), nil
}

// LockShared implements platform.FS.
func (r *rehearsal) LockShared(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Path implements platform.FS.
func (r *rehearsal) Path(name string) string { return r.real.Path(name) }

// Close implements platform.FS.
func (r *rehearsal) Close() error { return nil }

// ghostFile is an open file of a rehearsal. Each opening has a place of its own in it.
type ghostFile struct {
	name string
	data *[]byte
	at   int64
}

func (f *ghostFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *ghostFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(*f.data).ReadAt(p, off)
}

func (f *ghostFile) Write(p []byte) (int, error) {
	if short := f.at - int64(len(*f.data)); short > 0 {
		*f.data = append(*f.data, make([]byte, short)...)
	}
	within := copy((*f.data)[f.at:], p)
	*f.data = append(*f.data, p[within:]...)
	f.at += int64(len(p))
	return len(p), nil
}

// Seek implements io.Seeker as far as it is used: from the beginning.
func (f *ghostFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return f.at, &fs.PathError{Op: "seek", Path: f.name, Err: fs.ErrInvalid}
	}
	f.at = offset
	return offset, nil
}

func (f *ghostFile) Truncate(size int64) error {
	longer := max(0, size-int64(len(*f.data)))
	*f.data = append(*f.data, make([]byte, longer)...)[:size]
	return nil
}

func (f *ghostFile) Stat() (fs.FileInfo, error) {
	return ghostInfo{name: path.Base(f.name), ghost: ghost{data: f.data}}, nil
}

func (f *ghostFile) Sync() error  { return nil }
func (f *ghostFile) Close() error { return nil }

// ghostInfo tells about a name of a rehearsal.
type ghostInfo struct {
	name string
	ghost
}

func (i ghostInfo) Name() string       { return i.name }
func (i ghostInfo) ModTime() time.Time { return time.Time{} }
func (i ghostInfo) IsDir() bool        { return i.folder }
func (i ghostInfo) Sys() any           { return nil }

func (i ghostInfo) Size() int64 {
	if i.data == nil {
		return 0
	}
	return int64(len(*i.data))
}

func (i ghostInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
