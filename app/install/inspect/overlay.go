package inspect

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

	"collet/app/install"
	"collet/platform"
)

// overlay is a file system that keeps all changes to an install folder in memory. The recovery and an update run on it
// unchanged, so that the prediction of the next start matches the real one. It fails where the disk would: for lack of
// bytes or files, and for lack of permission. It is not safe for concurrent use. A file reached over a link to a folder
// counts as a different file.
type overlay struct {
	real  platform.FS
	names map[string]*node // differences from the disk
	locks map[string]bool  // lock files that would be created
	wait  bool             // the set is in use: the first attempt at an exclusive readers' lock fails
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
	// maxChanged is the largest file in bytes that is changed in memory. It allows the largest lists of an install.
	maxChanged = 256 << 20
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

// node is the target of a name in an overlay. The zero value is a missing file.
type node struct {
	from   string  // a file with this name on the disk
	data   *[]byte // or a written file
	folder bool    // or a folder
}

var _ platform.FS = (*overlay)(nil)

func newOverlay(real platform.FS, wait bool) *overlay {
	return &overlay{real: real, names: map[string]*node{}, locks: map[string]bool{}, wait: wait, room: roomOf(real)}
}

// clone is a copy: changes there do not affect this one.
func (o *overlay) clone() *overlay {
	next := &overlay{real: o.real, names: make(map[string]*node, len(o.names)), locks: maps.Clone(o.locks), room: o.room}
	copies := make(map[*node]*node, len(o.names)) // two names may share one file
	for name, g := range o.names {
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
func (o *overlay) isFolder(name string, g *node) bool {
	if g.folder || g.from == "" {
		return g.folder
	}
	info, err := o.real.Stat(g.from)
	return err == nil && info.IsDir()
}

// mayChange is the error for a change of names in a folder; nil if it is a folder that this user may change.
func (o *overlay) mayChange(folder string) error {
	g, err := o.at(folder)
	switch {
	case err != nil:
		return bare(err)
	case !o.isFolder(folder, g):
		return syscall.ENOTDIR
	case g.from == "":
		return nil // it would be created by this user
	}
	return bare(o.real.MayWrite(g.from))
}

// size is the number of bytes of a file.
func (o *overlay) size(g *node) int64 {
	switch {
	case g.data != nil:
		return int64(len(*g.data))
	case g.from == "" || g.folder:
		return 0
	}
	info, err := o.real.Lstat(g.from)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// at is the target of a name.
func (o *overlay) at(name string) (*node, error) {
	name = path.Clean(name)
	if g, known := o.names[name]; known {
		if *g == (node{}) {
			return g, fs.ErrNotExist
		}
		return g, nil
	}
	info, err := o.real.Lstat(name)
	if err != nil {
		return nil, err
	}
	return &node{from: name, folder: info.IsDir()}, nil
}

// Lstat implements platform.FS.
func (o *overlay) Lstat(name string) (fs.FileInfo, error) {
	g, err := o.at(name)
	switch {
	case err != nil:
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: bare(err)}
	case g.from != "":
		return o.real.Lstat(g.from)
	default:
		return nodeInfo{name: path.Base(name), node: *g}, nil
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
func (o *overlay) Stat(name string) (fs.FileInfo, error) {
	if g, err := o.at(name); err == nil && g.from != "" {
		return o.real.Stat(g.from)
	}
	return o.Lstat(name)
}

// OpenFile implements platform.FS. It reads files opened for writing into memory, at most maxChanged bytes.
func (o *overlay) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	g, err := o.at(name)
	missing := install.IsAbsent(err)
	if err != nil && !(missing && flag&os.O_CREATE != 0) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0
	if !writes && g.data == nil {
		return o.real.OpenFile(g.from, flag, perm)
	}
	if err := o.mayOpen(name, g, missing); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var data []byte
	switch {
	case missing:
	case flag&os.O_TRUNC != 0:
		_ = o.room.take(o.size(g), 0, 0) // shrinking needs no room
	case g.data != nil:
		data = *g.data
	default:
		if data, err = platform.ReadFile(o.real, g.from, maxChanged); err != nil {
			return nil, err
		}
	}
	if g == nil || g.data == nil {
		g = &node{data: &data}
	}
	*g.data = data
	o.names[path.Clean(name)] = g
	return &nodeFile{name: name, data: g.data, room: &o.room}, nil
}

// mayOpen is the error for opening a file for writing. A missing one would be created.
func (o *overlay) mayOpen(name string, g *node, missing bool) error {
	switch {
	case !missing && g.folder:
		return syscall.EISDIR
	case !missing && g.data != nil:
		return nil
	case !missing:
		return bare(o.real.MayWrite(g.from))
	}
	if err := o.mayChange(path.Dir(path.Clean(name))); err != nil {
		return err
	}
	return o.room.take(0, 0, 1)
}

// Rename implements platform.FS, for files.
func (o *overlay) Rename(oldName, newName string) error {
	g, err := o.at(oldName)
	target, missing := o.at(newName)
	if err == nil && missing == nil && target.folder {
		err = syscall.EISDIR
	}
	for _, name := range []string{oldName, newName} {
		if err == nil {
			err = o.mayChange(path.Dir(path.Clean(name)))
		}
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: bare(err)}
	}
	if path.Clean(oldName) == path.Clean(newName) {
		return nil
	}
	if missing == nil {
		_ = o.room.take(o.size(target), 0, -1) // removal needs no room
	}
	o.names[path.Clean(newName)], o.names[path.Clean(oldName)] = g, &node{}
	return nil
}

// Link implements platform.FS. Installs contain no links, so it is unsupported.
func (o *overlay) Link(oldName, newName string) error {
	return &os.LinkError{Op: "link", Old: oldName, New: newName, Err: errors.ErrUnsupported}
}

// Exchange implements platform.FS. It succeeds even if the disk does not support it; the result is the same either way.
func (o *overlay) Exchange(a, b string) error {
	first, errA := o.at(a)
	second, errB := o.at(b)
	err := errors.Join(errA, errB)
	for _, name := range []string{a, b} {
		if err == nil {
			err = o.mayChange(path.Dir(path.Clean(name)))
		}
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	o.names[path.Clean(a)], o.names[path.Clean(b)] = second, first
	return nil
}

// Remove implements platform.FS.
func (o *overlay) Remove(name string) error {
	g, err := o.at(name)
	if err == nil && g.folder {
		if inside, listed := o.ReadDir(name); listed != nil || len(inside) > 0 {
			err = syscall.ENOTEMPTY
		}
	}
	if err == nil {
		err = o.mayChange(path.Dir(path.Clean(name)))
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: bare(err)}
	}
	_ = o.room.take(o.size(g), 0, -1) // removal needs no room
	o.names[path.Clean(name)] = &node{}
	return nil
}

// MkdirAll implements platform.FS.
func (o *overlay) MkdirAll(name string, _ fs.FileMode) error {
	name = path.Clean(name)
	g, err := o.at(name)
	switch {
	case name == "." || err == nil && o.isFolder(name, g):
		return nil
	case err == nil:
		err = syscall.ENOTDIR
	case errors.Is(err, fs.ErrNotExist):
		if err := o.MkdirAll(path.Dir(name), 0); err != nil {
			return err
		}
		if err = o.mayChange(path.Dir(name)); err == nil {
			err = o.room.take(0, 0, 1)
		}
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: bare(err)}
	}
	o.names[name] = &node{folder: true}
	return nil
}

// ReadDir implements platform.FS.
func (o *overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	g, err := o.at(name)
	if err == nil && !o.isFolder(name, g) {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: name, Err: bare(err)}
	}
	found := map[string]fs.DirEntry{}
	if g.from != "" {
		listed, err := o.real.ReadDir(g.from)
		if err != nil {
			return nil, err
		}
		for _, e := range listed {
			found[e.Name()] = e
		}
	}
	for full, inside := range o.names {
		base := path.Base(full)
		switch {
		case path.Dir(full) != path.Clean(name):
		case *inside == node{}:
			delete(found, base)
		default:
			found[base] = fs.FileInfoToDirEntry(nodeInfo{name: base, node: *inside})
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }), nil
}

// Chmod implements platform.FS.
func (o *overlay) Chmod(string, fs.FileMode) error { return nil }

// SyncDir implements platform.FS.
func (o *overlay) SyncDir(string) error { return nil }

// Free implements platform.FS.
func (o *overlay) Free() (uint64, error) {
	if o.room.bytes == noLimit {
		return o.real.Free()
	}
	return uint64(o.room.bytes), nil
}

// FreeFiles implements platform.FS.
func (o *overlay) FreeFiles() (uint64, error) {
	if o.room.files == noLimit {
		return o.real.FreeFiles()
	}
	return uint64(o.room.files), nil
}

// MayWrite implements platform.FS.
func (o *overlay) MayWrite(name string) error {
	if g, err := o.at(name); err == nil && g.from != "" {
		return o.real.MayWrite(g.from)
	}
	return nil
}

// Lock implements platform.FS. It succeeds, except for the first attempt at the readers' lock while the set is in use.
func (o *overlay) Lock(name string) (io.Closer, error) {
	if o.wait && path.Base(name) == install.ReadersFile {
		o.wait = false
		return nil, platform.ErrLocked
	}
	return o.LockShared(name)
}

// LockShared implements platform.FS. It reserves room for a missing lock file without creating it, and only reads an
// existing one.
func (o *overlay) LockShared(name string) (io.Closer, error) {
	name = path.Clean(name)
	g, err := o.at(name)
	switch {
	case err == nil && g.from != "":
		var f platform.File
		if f, err = o.real.OpenFile(g.from, os.O_RDONLY, 0); err == nil {
			return io.NopCloser(nil), f.Close()
		}
	case install.IsAbsent(err) && !o.locks[name]:
		if err = o.mayChange(path.Dir(name)); err == nil {
			err = o.room.take(0, 0, 1)
		}
		o.locks[name] = err == nil
	default:
		err = nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: bare(err)}
	}
	return io.NopCloser(nil), nil
}

// Path implements platform.FS.
func (o *overlay) Path(name string) string { return o.real.Path(name) }

// Close implements platform.FS.
func (o *overlay) Close() error { return nil }

// nodeFile is an open file of an overlay with its own offset.
type nodeFile struct {
	name string
	data *[]byte
	at   int64
	room *room
}

func (f *nodeFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *nodeFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(*f.data).ReadAt(p, off)
}

func (f *nodeFile) Write(p []byte) (int, error) {
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
func (f *nodeFile) grow(size int64) error {
	has := int64(len(*f.data))
	if err := f.room.take(has, max(has, size), 0); err != nil {
		return &fs.PathError{Op: "write", Path: f.name, Err: err}
	}
	return nil
}

// Seek implements io.Seeker for io.SeekStart only, the only use.
func (f *nodeFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return f.at, &fs.PathError{Op: "seek", Path: f.name, Err: fs.ErrInvalid}
	}
	f.at = offset
	return offset, nil
}

func (f *nodeFile) Truncate(size int64) error {
	if err := f.room.take(int64(len(*f.data)), size, 0); err != nil {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: err}
	}
	longer := max(0, size-int64(len(*f.data)))
	*f.data = append(*f.data, make([]byte, longer)...)[:size]
	return nil
}

func (f *nodeFile) Stat() (fs.FileInfo, error) {
	return nodeInfo{name: path.Base(f.name), node: node{data: f.data}}, nil
}

func (f *nodeFile) Sync() error  { return nil }
func (f *nodeFile) Close() error { return nil }

// nodeInfo is the fs.FileInfo of a name in an overlay.
type nodeInfo struct {
	name string
	node
}

func (i nodeInfo) Name() string       { return i.name }
func (i nodeInfo) ModTime() time.Time { return time.Time{} }
func (i nodeInfo) IsDir() bool        { return i.folder }
func (i nodeInfo) Sys() any           { return nil }

func (i nodeInfo) Size() int64 {
	if i.data == nil {
		return 0
	}
	return int64(len(*i.data))
}

func (i nodeInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
