package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"collet/platform"
)

// TreeFS shows a tree as a folder without copying its files. It is read-only: every change is an error. Its names are those of the tree; what
// it tells of a file is that of the source, with the tree's permissions. It is safe for concurrent use.
type TreeFS struct {
	root string // for messages, and where names that are not in the tree would be

	mu      sync.RWMutex
	files   map[string]Entry
	folders map[string][]string // names in a folder, sorted; "." is the tree itself
}

var _ platform.FS = (*TreeFS)(nil)

// NewTreeFS returns the folder of a tree. root is the absolute path for messages. Every entry has to be a file on the disk.
func NewTreeFS(root string, t Tree) (*TreeFS, error) {
	f := &TreeFS{root: root, files: map[string]Entry{}, folders: map[string][]string{".": nil}}
	for _, e := range t {
		if err := f.Add(e); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Add adds a file.
func (f *TreeFS) Add(e Entry) error {
	if e.From == "" || e.Link != "" {
		return fmt.Errorf("%s has no file on the disk", e.Path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[e.Path] = e
	for name := e.Path; name != "."; name = path.Dir(name) {
		folder, base := path.Dir(name), path.Base(name)
		i, there := slices.BinarySearch(f.folders[folder], base)
		if !there {
			f.folders[folder] = slices.Insert(f.folders[folder], i, base)
		}
	}
	return nil
}

// OpenFile implements platform.FS.
func (f *TreeFS) OpenFile(name string, flag int, _ fs.FileMode) (platform.File, error) {
	if flag != os.O_RDONLY {
		return nil, refused("open", name)
	}
	e, there := f.file(name)
	if !there {
		return nil, missing("open", name)
	}
	return os.Open(e.From)
}

func (f *TreeFS) file(name string) (Entry, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	e, there := f.files[name]
	return e, there
}

// ReadDir implements platform.FS.
func (f *TreeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.RLock()
	names, there := f.folders[name]
	names = slices.Clone(names)
	f.mu.RUnlock()
	if !there {
		return nil, missing("readdir", name)
	}
	var list []fs.DirEntry
	for _, base := range names {
		info, err := f.Lstat(path.Join(name, base))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, nil
}

// Stat implements platform.FS.
func (f *TreeFS) Stat(name string) (fs.FileInfo, error) { return f.Lstat(name) }

// Lstat implements platform.FS.
func (f *TreeFS) Lstat(name string) (fs.FileInfo, error) {
	e, there := f.file(name)
	if !there {
		f.mu.RLock()
		_, there = f.folders[name]
		f.mu.RUnlock()
		if !there {
			return nil, missing("lstat", name)
		}
		info, err := os.Stat(f.root)
		return treeInfo{info, path.Base(name), fs.ModeDir | Program}, err
	}
	info, err := os.Stat(e.From)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", e.From)
	}
	return treeInfo{info, path.Base(name), e.Mode}, err
}

// treeInfo tells of a source file, under the name and with the permissions that it has in the tree.
type treeInfo struct {
	fs.FileInfo
	name string
	mode fs.FileMode
}

func (i treeInfo) Name() string      { return i.name }
func (i treeInfo) Mode() fs.FileMode { return i.mode }
func (i treeInfo) IsDir() bool       { return i.mode.IsDir() }

// Path implements platform.FS: the path of the source.
func (f *TreeFS) Path(name string) string {
	if e, there := f.file(name); there {
		return e.From
	}
	return filepath.Join(f.root, filepath.FromSlash(name))
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }
func refused(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission} }

// The following methods of platform.FS change something, and are refused.

// Rename implements platform.FS.
func (f *TreeFS) Rename(oldName, _ string) error { return refused("rename", oldName) }

// Link implements platform.FS.
func (f *TreeFS) Link(oldName, _ string) error { return refused("link", oldName) }

// Exchange implements platform.FS.
func (f *TreeFS) Exchange(a, _ string) error { return refused("exchange", a) }

// Remove implements platform.FS.
func (f *TreeFS) Remove(name string) error { return refused("remove", name) }

// MkdirAll implements platform.FS.
func (f *TreeFS) MkdirAll(name string, _ fs.FileMode) error { return refused("mkdir", name) }

// Chmod implements platform.FS.
func (f *TreeFS) Chmod(name string, _ fs.FileMode) error { return refused("chmod", name) }

// SyncDir implements platform.FS.
func (f *TreeFS) SyncDir(name string) error { return refused("sync", name) }

// MayWrite implements platform.FS.
func (f *TreeFS) MayWrite(name string) error { return refused("write", name) }

// Lock implements platform.FS.
func (f *TreeFS) Lock(name string) (io.Closer, error) { return nil, refused("lock", name) }

// LockShared implements platform.FS.
func (f *TreeFS) LockShared(name string) (io.Closer, error) { return nil, refused("lock", name) }

// Free implements platform.FS.
func (f *TreeFS) Free() (uint64, error) { return 0, errors.ErrUnsupported }

// FreeFiles implements platform.FS.
func (f *TreeFS) FreeFiles() (uint64, error) { return 0, errors.ErrUnsupported }

// Close implements platform.FS.
func (f *TreeFS) Close() error { return nil }
