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
	// Sync returns when the content is on the disk. The name is not: see FS.SyncDir.
	Sync() error
}

// FS is a folder and everything below it; a name that would lead out of it, by "..", by being absolute or over a symbolic
// link, is refused. All methods are safe for concurrent use. Errors are *fs.PathError or *os.LinkError, and errors.Is with
// fs.ErrNotExist, fs.ErrExist and fs.ErrPermission works.
type FS interface {
	// OpenFile opens with os.O_… flags. perm matters when a file is made. errors.Is(err, ErrNoFile) holds for a pipe or a device,
	// and for a link where the flags allow to write; such a file is not waited for, written to, or followed.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename replaces newName atomically if it exists.
	Rename(oldName, newName string) error
	// Link gives a file, of which oldName stays, a second name; errors.Is(err, fs.ErrExist) holds where that is taken. What else it
	// returns says that there is no link: not every volume has them, and not every file may have one.
	Link(oldName, newName string) error
	// Exchange swaps two existing files or folders in one step. Where the system can't, errors.Is(err, errors.ErrUnsupported) holds
	// and nothing has changed.
	Exchange(a, b string) error
	// Remove removes a file, a link or an empty folder.
	Remove(name string) error
	// MkdirAll makes a folder and those above it; one that is there already is no error.
	MkdirAll(name string, perm fs.FileMode) error
	// ReadDir lists a folder, sorted by name. "." is the folder itself. The entries can be asked for their Info.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat follows symbolic links as long as they stay inside; Lstat does not follow.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// Chmod changes the permission bits, as far as the system has them.
	Chmod(name string, mode fs.FileMode) error
	// SyncDir returns when the names in the folder are on the disk, where the system has such a call.
	SyncDir(name string) error
	// Free is how many bytes the volume of the folder has left for this user. errors.Is(err, errors.ErrUnsupported) holds where
	// the file system does not count its room: that is unknown, and not full.
	Free() (uint64, error)
	// FreeFiles is how many more files and folders the volume takes. errors.Is(err, errors.ErrUnsupported) holds where the file
	// system has no such limit, or does not tell it.
	FreeFiles() (uint64, error)
	// MayWrite asks the system, without trying, whether this user may change a file, or the names in a folder: nil, or the error that
	// a change would meet, such as that of a volume that is read-only. It is nil where the system can't tell.
	MayWrite(name string) error
	// Lock takes the exclusive lock that stands behind name, which is made if need be, or returns ErrLocked at once, also
	// when it is this process that holds it. Close releases it; the system does when the process ends, however it ends.
	// The file stays, because removing it would let two processes hold locks on two files of one name. Only those who may write
	// to its folder can open it, as far as the system has permission bits: any other user could hold the lock for good.
	Lock(name string) (io.Closer, error)
	// LockShared takes the same lock together with any number of other holders that share it, in this process or others.
	// It returns ErrLocked at once while somebody holds it exclusively, as Lock does while anybody shares it. A file that
	// is there already is only opened for reading, so this works in a folder that can't be written.
	LockShared(name string) (io.Closer, error)
	// Path is the absolute path of name, for messages and for loading modules. It checks nothing.
	Path(name string) string
	// Close lets go of the folder. Files and locks that were opened through it stay open.
	Close() error
}

// Identity is what tells that a file is still the file that was hashed: equal identities mean equal content unless
// somebody went to lengths to hide a change. Inode and Changed are zero where the system has no such thing.
type Identity struct {
	Size     int64
	Modified time.Time
	Changed  time.Time // last change of the inode, which no ordinary call can set back
	Inode    uint64
}

// Same reports whether two identities are of the same, unchanged file.
func (a Identity) Same(b Identity) bool {
	return a.Size == b.Size && a.Inode == b.Inode && a.Modified.Equal(b.Modified) && a.Changed.Equal(b.Changed)
}

// Identified is what the FileInfo of a file system that is not the system's own may implement; IdentityOf asks it instead
// of Sys.
type Identified interface {
	Identity() Identity
}

// IdentityOf reads the identity out of what Stat or Lstat returned.
func IdentityOf(info fs.FileInfo) Identity {
	if own, ok := info.(Identified); ok {
		return own.Identity()
	}
	id := Identity{Size: info.Size(), Modified: info.ModTime()}
	id.Inode, id.Changed = inode(info)
	return id
}

// ReadFile reads a whole file of at most limit bytes. Of a longer one it returns the first limit bytes and ErrTooLong, in an
// *fs.PathError. The limit is the caller's memory.
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
	buffer := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // nothing is copied where the file has the size that it says
	_, err = buffer.ReadFrom(io.LimitReader(f, limit+1))
	data := buffer.Bytes()
	if err == nil && int64(len(data)) > limit {
		return data[:limit], &fs.PathError{Op: "read", Path: name, Err: ErrTooLong}
	}
	return data, err
}
