package install

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"collet/platform"
)

// rehearsal is a view of an install folder that keeps all changes in memory. The recovery and an update run on it
// unchanged, so that the prediction of the next start matches the real one. It fails where the disk would: for lack of
// bytes or files, and for lack of permission. It is not safe for concurrent use. A file reached over a link to a folder
// counts as a different file.
type rehearsal struct {
	real  platform.FS
	names map[string]*ghost // differences from the disk
	locks map[string]bool   // lock files that would be created
	wait  bool              // the set is in use: the first attempt at an exclusive readers' lock fails
	room  room
}

// room is the free space of a volume and its allocation unit.
type room struct {
	bytes, files int64 // noLimit: unlimited or unknown
	block        int64 // allocation unit in bytes
}

const (
	// noLimit is unlimited room.
	noLimit = math.MaxInt64
	// usualBlock is the block size of common file systems, in bytes.
	usualBlock = 4096
)

func roomOf(fsys platform.FS) room {
	r := room{noLimit, noLimit, usualBlock}
	if free, err := fsys.Free(); err == nil {
		r.bytes = int64(min(free, noLimit))
		if free%usualBlock != 0 {
			r.block = 1
		}
	}
	if free, err := fsys.FreeFiles(); err == nil {
		r.files = int64(min(free, noLimit))
	}
	return r
}

// take reserves room for a file that changes from one size to another, and for additional files. Negative differences
// release room.
func (r *room) take(from, to, files int64) error {
	blocks := func(size int64) int64 { return (size + r.block - 1) / r.block * r.block }
	bytes := blocks(to) - blocks(from)
	if bytes > 0 && bytes > r.bytes || files > 0 && files > r.files {
		return syscall.ENOSPC
	}
	if r.bytes != noLimit {
		r.bytes -= bytes
	}
	if r.files != noLimit {
		r.files -= files
	}
	return nil
}

// ghost is the target of a name in a rehearsal. The zero value is a missing file.
type ghost struct {
	from   string  // a file with this name on the disk
	data   *[]byte // or a written file
	folder bool    // or a folder
}

var _ platform.FS = (*rehearsal)(nil)

func newRehearsal(real platform.FS, wait bool) *rehearsal {
	return &rehearsal{real: real, names: map[string]*ghost{}, locks: map[string]bool{}, wait: wait, room: roomOf(real)}
}

// again is a copy of the view for another rehearsal: changes there do not affect this one.
func (r *rehearsal) again() *rehearsal {
	next := &rehearsal{real: r.real, names: make(map[string]*ghost, len(r.names)), locks: maps.Clone(r.locks), room: r.room}
	copies := make(map[*ghost]*ghost, len(r.names)) // two names may share one file
	for name, g := range r.names {
		if copies[g] == nil {
			one := *g
			if g.data != nil {
				data := slices.Clone(*g.data)
				one.data = &data
			}
			copies[g] = &one
		}
		next.names[name] = copies[g]
	}
	return next
}

// isFolder reports whether a name is a folder or a link to one.
func (r *rehearsal) isFolder(name string, g *ghost) bool {
	if g.folder || g.from == "" {
		return g.folder
	}
	info, err := r.real.Stat(g.from)
	return err == nil && info.IsDir()
}

// mayChange is the error for a change of names in a folder; nil if it is a folder that this user may change.
func (r *rehearsal) mayChange(folder string) error {
	g, err := r.at(folder)
	switch {
	case err != nil:
		return bare(err)
	case !r.isFolder(folder, g):
		return syscall.ENOTDIR
	case g.from == "":
		return nil // it would be created by this user
	}
	return bare(r.real.MayWrite(g.from))
}

// size is the number of bytes of a file.
func (r *rehearsal) size(g *ghost) int64 {
	switch {
	case g.data != nil:
		return int64(len(*g.data))
	case g.from == "" || g.folder:
		return 0
	}
	info, err := r.real.Lstat(g.from)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// at is the target of a name.
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

// bare is an error without the path of a PathError.
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

// OpenFile implements platform.FS. It reads files opened for writing into memory, at most maxLists bytes.
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
	if err := r.mayOpen(name, g, missing); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var data []byte
	switch {
	case missing:
	case flag&os.O_TRUNC != 0:
		_ = r.room.take(r.size(g), 0, 0) // shrinking needs no room
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
	return &ghostFile{name: name, data: g.data, room: &r.room}, nil
}

// mayOpen is the error for opening a file for writing. A missing one would be created.
func (r *rehearsal) mayOpen(name string, g *ghost, missing bool) error {
	switch {
	case !missing && g.folder:
		return syscall.EISDIR
	case !missing && g.data != nil:
		return nil
	case !missing:
		return bare(r.real.MayWrite(g.from))
	}
	if err := r.mayChange(path.Dir(path.Clean(name))); err != nil {
		return err
	}
	return r.room.take(0, 0, 1)
}

// Rename implements platform.FS, for files.
func (r *rehearsal) Rename(oldName, newName string) error {
	g, err := r.at(oldName)
	target, missing := r.at(newName)
	if err == nil && missing == nil && target.folder {
		err = syscall.EISDIR
	}
	for _, name := range []string{oldName, newName} {
		if err == nil {
			err = r.mayChange(path.Dir(path.Clean(name)))
		}
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: bare(err)}
	}
	if path.Clean(oldName) == path.Clean(newName) {
		return nil
	}
	if missing == nil {
		_ = r.room.take(r.size(target), 0, -1) // removal needs no room
	}
	r.names[path.Clean(newName)], r.names[path.Clean(oldName)] = g, &ghost{}
	return nil
}

// Link implements platform.FS. Installs contain no links, so it is unsupported.
func (r *rehearsal) Link(oldName, newName string) error {
	return &os.LinkError{Op: "link", Old: oldName, New: newName, Err: errors.ErrUnsupported}
}

// Exchange implements platform.FS. It succeeds even if the disk does not support it; the result is the same either way.
func (r *rehearsal) Exchange(a, b string) error {
	first, errA := r.at(a)
	second, errB := r.at(b)
	err := errors.Join(errA, errB)
	for _, name := range []string{a, b} {
		if err == nil {
			err = r.mayChange(path.Dir(path.Clean(name)))
		}
	}
	if err != nil {
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
	if err == nil {
		err = r.mayChange(path.Dir(path.Clean(name)))
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: bare(err)}
	}
	_ = r.room.take(r.size(g), 0, -1) // removal needs no room
	r.names[path.Clean(name)] = &ghost{}
	return nil
}

// MkdirAll implements platform.FS.
func (r *rehearsal) MkdirAll(name string, _ fs.FileMode) error {
	name = path.Clean(name)
	g, err := r.at(name)
	switch {
	case name == "." || err == nil && r.isFolder(name, g):
		return nil
	case err == nil:
		err = syscall.ENOTDIR
	case errors.Is(err, fs.ErrNotExist):
		if err := r.MkdirAll(path.Dir(name), 0); err != nil {
			return err
		}
		if err = r.mayChange(path.Dir(name)); err == nil {
			err = r.room.take(0, 0, 1)
		}
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: bare(err)}
	}
	r.names[name] = &ghost{folder: true}
	return nil
}

// ReadDir implements platform.FS.
func (r *rehearsal) ReadDir(name string) ([]fs.DirEntry, error) {
	g, err := r.at(name)
	if err == nil && !r.isFolder(name, g) {
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
func (r *rehearsal) Free() (uint64, error) {
	if r.room.bytes == noLimit {
		return r.real.Free()
	}
	return uint64(r.room.bytes), nil
}

// FreeFiles implements platform.FS.
func (r *rehearsal) FreeFiles() (uint64, error) {
	if r.room.files == noLimit {
		return r.real.FreeFiles()
	}
	return uint64(r.room.files), nil
}

// MayWrite implements platform.FS.
func (r *rehearsal) MayWrite(name string) error {
	if g, err := r.at(name); err == nil && g.from != "" {
		return r.real.MayWrite(g.from)
	}
	return nil
}

// Lock implements platform.FS. It succeeds, except for the first attempt at the readers' lock while the set is in use.
func (r *rehearsal) Lock(name string) (io.Closer, error) {
	if r.wait && path.Base(name) == readersFile {
		r.wait = false
		return nil, platform.ErrLocked
	}
	return r.LockShared(name)
}

// LockShared implements platform.FS. It reserves room for a missing lock file without creating it, and only reads an
// existing one.
func (r *rehearsal) LockShared(name string) (io.Closer, error) {
	name = path.Clean(name)
	g, err := r.at(name)
	switch {
	case err == nil && g.from != "":
		var f platform.File
		if f, err = r.real.OpenFile(g.from, os.O_RDONLY, 0); err == nil {
			return io.NopCloser(nil), f.Close()
		}
	case isAbsent(err) && !r.locks[name]:
		if err = r.mayChange(path.Dir(name)); err == nil {
			err = r.room.take(0, 0, 1)
		}
		r.locks[name] = err == nil
	default:
		err = nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: bare(err)}
	}
	return io.NopCloser(nil), nil
}

// Path implements platform.FS.
func (r *rehearsal) Path(name string) string { return r.real.Path(name) }

// Close implements platform.FS.
func (r *rehearsal) Close() error { return nil }

// ghostFile is an open file of a rehearsal with its own offset.
type ghostFile struct {
	name string
	data *[]byte
	at   int64
	room *room
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
	if err := f.grow(f.at + int64(len(p))); err != nil {
		return 0, err
	}
	if short := f.at - int64(len(*f.data)); short > 0 {
		*f.data = append(*f.data, make([]byte, short)...)
	}
	within := copy((*f.data)[f.at:], p)
	*f.data = append(*f.data, p[within:]...)
	f.at += int64(len(p))
	return len(p), nil
}

// grow reserves room for a file of at least size bytes.
func (f *ghostFile) grow(size int64) error {
	has := int64(len(*f.data))
	if err := f.room.take(has, max(has, size), 0); err != nil {
		return &fs.PathError{Op: "write", Path: f.name, Err: err}
	}
	return nil
}

// Seek implements io.Seeker for io.SeekStart only, the only use.
func (f *ghostFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return f.at, &fs.PathError{Op: "seek", Path: f.name, Err: fs.ErrInvalid}
	}
	f.at = offset
	return offset, nil
}

func (f *ghostFile) Truncate(size int64) error {
	if err := f.room.take(int64(len(*f.data)), size, 0); err != nil {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: err}
	}
	longer := max(0, size-int64(len(*f.data)))
	*f.data = append(*f.data, make([]byte, longer)...)[:size]
	return nil
}

func (f *ghostFile) Stat() (fs.FileInfo, error) {
	return ghostInfo{name: path.Base(f.name), ghost: ghost{data: f.data}}, nil
}

func (f *ghostFile) Sync() error  { return nil }
func (f *ghostFile) Close() error { return nil }

// ghostInfo is the fs.FileInfo of a name in a rehearsal.
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
