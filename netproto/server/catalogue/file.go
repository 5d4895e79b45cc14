package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"collet/netproto/release"
	"collet/platform"
)

// TailSize is how many bytes at the end of a portion are sent only after a last check of the file: a portion during which the
// file changed never completes at the client. One page, so that little is copied.
const TailSize = 4 << 10

// File is one offered file. After load only Index is written, by assemble, and seen, by every session.
type File struct {
	Entry
	path     string            // on disk
	identity platform.Identity // of the hashed file; disk mode
	Data     []byte            // memory mode: the content
	InMemory bool
	in       *os.File       // disk mode: open as long as the catalogue is held; nil: opened for each portion
	plain    release.Digest // of a release: the required digest
	unpacked bool           // path is in the cache

	seen atomic.Int64 // disk mode: the last successful CheckUnchanged, in nanoseconds of Unix time
}

// loadContent reads the file once, computes both digests and, in memory mode, keeps the content. It refuses irregular files and files
// that change meanwhile. In disk mode the file stays open if position is below maxHandles.
func (f *File) loadContent(ctx context.Context, inMemory bool, position int) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	if err := f.readContent(ctx, in, inMemory); err != nil {
		in.Close()
		return err
	}
	if !f.keepOpen(in, position) {
		in.Close()
	}
	return nil
}

// loadAs is load for a file of a release, whose size and digest are known; fits is false if path has another content or is
// missing. A file that was hashed for an earlier catalogue and is unchanged is not read again.
func (f *File) loadAs(ctx context.Context, inMemory bool, position int, known map[string]*File) (fits bool, err error) {
	want, size := f.plain, f.Size
	info, err := os.Stat(f.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false, nil
	}
	if old := known[f.path]; old != nil && !inMemory && !old.InMemory && old.Digest == want && sameFile(old.identity, platform.IdentityOf(info)) {
		f.identity, f.FNV = old.identity, old.FNV
		in, err := os.Open(f.path)
		if err != nil {
			return false, err
		}
		if !f.keepOpen(in, position) {
			in.Close()
		}
		return true, nil
	}
	err = f.loadContent(ctx, inMemory, position)
	switch {
	case err == nil && f.Digest == want && f.Size == size:
		return true, nil
	case err != nil && !errors.Is(err, errMoving) && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if f.in != nil {
		f.in.Close()
	}
	f.in, f.Data, f.Digest, f.Size = nil, nil, want, size
	return false, nil
}

func (f *File) readContent(ctx context.Context, in *os.File, inMemory bool) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "read", Path: f.path, Err: errors.New("is no regular file")}
	}
	f.identity, f.InMemory = platform.IdentityOf(info), inMemory
	f.Size = info.Size()
	if err := f.hashContent(ctx, in); err != nil {
		return err
	}
	if now, err := in.Stat(); err != nil || !sameFile(f.identity, platform.IdentityOf(now)) {
		return errors.Join(err, &fs.PathError{Op: "read", Path: f.path, Err: errMoving})
	}
	return nil
}

var errMoving = errors.New("changed while it was being read; finish publishing first")

// hashBuffer is how many bytes of a file are hashed at a time, in each worker.
const hashBuffer = 256 << 10

// hashContent streams in through both hashes, and into f.Data in memory mode.
func (f *File) hashContent(ctx context.Context, in io.Reader) error {
	sha, fnv := release.SHA256.NewHash(), release.FNV1a64.NewHash()
	buf := make([]byte, min(hashBuffer, f.Size+1))
	if f.InMemory {
		f.Data = make([]byte, 0, f.Size)
	}
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(buf)
		total += int64(n)
		if total > f.Size {
			return &fs.PathError{Op: "read", Path: f.path, Err: errMoving}
		}
		sha.Write(buf[:n])
		fnv.Write(buf[:n])
		if f.InMemory {
			f.Data = append(f.Data, buf[:n]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	f.Digest = release.SHA256.SumOf(sha)
	f.FNV, _ = release.FNV1a64.SumOf(fnv).FNV()
	return nil
}

// sameFile reports whether a and b are of one unchanged file. The inode's change time is not compared: a backup that creates a
// hard link changes it, but not the content.
func sameFile(a, b platform.Identity) bool {
	return a.Size == b.Size && a.Modified.Equal(b.Modified) && a.Inode == b.Inode
}

// ChangedError says that a file on disk is not the hashed one.
type ChangedError struct {
	path    string
	was, is platform.Identity
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q is not the file that was hashed: %d bytes of %v then, %d bytes of %v now",
		e.path, e.was.Size, e.was.Modified, e.is.Size, e.is.Modified)
}

// lookPeriod is how long a CheckUnchanged also counts as the first check of the next portions. That check only decides between a clear
// refusal and a broken connection; the check before a portion's last bytes is never skipped.
const lookPeriod = 10 * time.Millisecond

// IsUnseen reports whether the last CheckUnchanged of the file is older than lookPeriod.
func (f *File) IsUnseen() bool { return time.Since(time.Unix(0, f.seen.Load())) > lookPeriod }

// Open returns the open file, and the function that ends its use.
func (f *File) Open() (in *os.File, done func() error, err error) {
	if f.in != nil {
		return f.in, func() error { return nil }, nil
	}
	if in, err = os.Open(f.path); err != nil {
		return nil, nil, err
	}
	return in, in.Close, nil
}
