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

// rehearsal is an install folder on which everything can be done and nothing happens: what would change is kept in memory.
// The recovery and an update run on it unchanged, so that what is told about the next start is what the next start does. What the
// disk would refuse is refused: what needs more room than there is, in bytes or in files, and what this user may not change. It is
// not safe for concurrent use, and takes what is reached over a link to a folder for another file.
type rehearsal struct {
	real  platform.FS
	names map[string]*ghost // what differs from the disk
	locks map[string]bool   // files of locks that would be made
	wait  bool              // somebody uses the set now: the first attempt to have it alone fails
	room  room
}

// room is what a volume still takes, and how it counts.
type room struct {
	bytes, files int64 // noLimit: as much as is wanted, or unknown
	block        int64 // bytes in which it gives room to a file
}

const (
	// noLimit is room that does not come to an end.
	noLimit = math.MaxInt64
	// usualBlock is the block of the common file systems, in bytes.
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

// take takes room for a file that grows, or gives back that of one that shrinks, and for more files, or fewer.
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

// ghost is what a name stands for in a rehearsal. The zero value stands for nothing.
type ghost struct {
	from   string  // a file that lies under this name on the disk
	data   *[]byte // or one that was written
	folder bool    // or a folder
}

var _ platform.FS = (*rehearsal)(nil)

func newRehearsal(real platform.FS, wait bool) *rehearsal {
	return &rehearsal{real: real, names: map[string]*ghost{}, locks: map[string]bool{}, wait: wait, room: roomOf(real)}
}

// again is the same folder for another rehearsal: what is done there is not done here.
func (r *rehearsal) again() *rehearsal {
	next := &rehearsal{real: r.real, names: make(map[string]*ghost, len(r.names)), locks: maps.Clone(r.locks), room: r.room}
	copies := make(map[*ghost]*ghost, len(r.names)) // two names may be of one file
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

// isFolder reports whether a name is a folder, also over a link.
func (r *rehearsal) isFolder(name string, g *ghost) bool {
	if g.folder || g.from == "" {
		return g.folder
	}
	info, err := r.real.Stat(g.from)
	return err == nil && info.IsDir()
}

// mayChange is the error that a change of the names in a folder meets: nil, if it is a folder that this user may change.
func (r *rehearsal) mayChange(folder string) error {
	g, err := r.at(folder)
	switch {
	case err != nil:
		return bare(err)
	case !r.isFolder(folder, g):
		return syscall.ENOTDIR
	case g.from == "":
		return nil // it would be made, and belong to this user
	}
	return bare(r.real.MayWrite(g.from))
}

// size is how many bytes of the disk a file has.
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
	if err := r.mayOpen(name, g, missing); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var data []byte
	switch {
	case missing:
	case flag&os.O_TRUNC != 0:
		_ = r.room.take(r.size(g), 0, 0) // less needs no room
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

// mayOpen is the error that opening a file for writing meets; one that is missing is made.
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
		_ = r.room.take(r.size(target), 0, -1) // it goes, which needs no room
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
	_ = r.room.take(r.size(g), 0, -1) // it goes, which needs no room
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

// Lock implements platform.FS. Locks are had, save that somebody uses the set, who will end.
func (r *rehearsal) Lock(name string) (io.Closer, error) {
	if r.wait && path.Base(name) == readersFile {
		r.wait = false
		return nil, platform.ErrLocked
	}
	return r.LockShared(name)
}

// LockShared implements platform.FS. The file is not made, and takes its room all the same; one that is there is only read.
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

// ghostFile is an open file of a rehearsal. Each opening has a place of its own in it.
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

// grow takes the room of a file that has at least so many bytes then.
func (f *ghostFile) grow(size int64) error {
	has := int64(len(*f.data))
	if err := f.room.take(has, max(has, size), 0); err != nil {
		return &fs.PathError{Op: "write", Path: f.name, Err: err}
	}
	return nil
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
