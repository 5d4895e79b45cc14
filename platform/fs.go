package platform

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"time"
)

// File is an open file. It is not safe for concurrent use, except ReadAt.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	io.Closer
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	// Sync returns when the content is on the disk. It does not sync the name: see FS.SyncDir.
	Sync() error
}

// FS is a folder and everything below it. A name that leads out of it (by "..", as an absolute path or through a symbolic link) is an
// error. All methods are safe for concurrent use. Errors are *fs.PathError or *os.LinkError, and errors.Is with fs.ErrNotExist,
// fs.ErrExist and fs.ErrPermission works.
type FS interface {
	// OpenFile opens with os.O_… flags. perm is for created files. errors.Is(err, ErrNoFile) holds for a pipe or a device, and
	// for a link if the flags allow writing; it never waits for a pipe, opens a device, or writes through a link.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename replaces newName atomically if it exists.
	Rename(oldName, newName string) error
	// Link creates a hard link; errors.Is(err, fs.ErrExist) holds if newName exists. After any other error no link exists:
	// not every volume and not every file allows links.
	Link(oldName, newName string) error
	// Exchange swaps two existing files or folders atomically. If the system can't, errors.Is(err, errors.ErrUnsupported) holds
	// and both are unchanged.
	Exchange(a, b string) error
	// Remove removes a file, a link or an empty folder.
	Remove(name string) error
	// MkdirAll creates a folder and its parents; existing ones are not an error.
	MkdirAll(name string, perm fs.FileMode) error
	// ReadDir lists a folder, sorted by name. "." is the folder itself. Info of the entries works.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat follows symbolic links as long as they stay inside; Lstat does not follow.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// Chmod changes the permission bits, as far as the system has them.
	Chmod(name string, mode fs.FileMode) error
	// SyncDir returns when the names in the folder are on the disk, if the system has such a call.
	SyncDir(name string) error
	// Free is how many bytes of the folder's volume this user may still use. errors.Is(err, errors.ErrUnsupported) holds if the
	// file system does not count its space: then it is unknown, not full.
	Free() (uint64, error)
	// FreeFiles is how many more files and folders fit on the volume. errors.Is(err, errors.ErrUnsupported) holds if the file
	// system has no such limit, or does not report it.
	FreeFiles() (uint64, error)
	// MayWrite asks the system, without trying, whether this user may change a file, or the names in a folder. It returns nil, or
	// the error of a change, such as that of a read-only volume. It is nil if the system does not know.
	MayWrite(name string) error
	// Lock takes the exclusive lock of the file name, which it creates if needed. If the lock is held, also by this process, it
	// returns ErrLocked at once. Close releases the lock; so does the end of the process. The file stays, because after its
	// removal two processes could hold locks on two files of one name. Its permission bits allow access only to users that may
	// write to its folder: any other user could block the lock forever.
	Lock(name string) (io.Closer, error)
	// LockShared takes the same lock in shared mode; any number of shared locks, in this process or others, may be held at once.
	// It returns ErrLocked at once while the lock is held exclusively, as Lock does while it is shared. An existing file is only
	// opened for reading, so this works in a folder that is not writable.
	LockShared(name string) (io.Closer, error)
	// Path is the absolute path of name, for messages and for loading modules, without any check.
	Path(name string) string
	// Close closes the folder. Files and locks that were opened through it stay open.
	Close() error
}

// Identity shows that a file is unchanged since it was hashed: equal identities mean equal content, unless a change was hidden
// deliberately. Inode and Changed are zero if the system does not have them.
type Identity struct {
	Size     int64
	Modified time.Time
	Changed  time.Time // last change of the inode, which ordinary calls can't set back
	Inode    uint64
}

// Same reports whether two identities are of the same, unchanged file.
func (a Identity) Same(b Identity) bool {
	return a.Size == b.Size && a.Inode == b.Inode && a.Modified.Equal(b.Modified) && a.Changed.Equal(b.Changed)
}

// Identified may be implemented by the FileInfo of other file systems; IdentityOf uses it in place of Sys.
type Identified interface {
	Identity() Identity
}

// IdentityOf is the identity in a result of Stat or Lstat.
func IdentityOf(info fs.FileInfo) Identity {
	if own, ok := info.(Identified); ok {
		return own.Identity()
	}
	id := Identity{Size: info.Size(), Modified: info.ModTime()}
	id.Inode, id.Changed = inode(info)
	return id
}

// Size is the length of a plain file in bytes, or -1 if there is none.
func Size(fsys FS, name string) int64 {
	info, err := fsys.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// ReadFile reads a whole file of at most limit bytes. Of a longer one it returns the first limit bytes and ErrTooLong, in an
// *fs.PathError. It uses about limit bytes of memory at most.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = min(max(info.Size(), 0), limit)
	}
	buffer := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // no copy if the file has its reported size
	_, err = buffer.ReadFrom(io.LimitReader(f, limit+1))
	data := buffer.Bytes()
	if err == nil && int64(len(data)) > limit {
		return data[:limit], &fs.PathError{Op: "read", Path: name, Err: ErrTooLong}
	}
	return data, err
}
