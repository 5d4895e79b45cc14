package faultfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"collet/platform"
)

// file is an open file. It refers to the same node even if the name changes.
type file struct {
	process *process
	node    *node
	name    string
	flag    int

	mu     sync.Mutex // one Read, Write or Seek at a time
	at     int64
	closed bool // disk.mu protects it
}

var _ platform.File = (*file)(nil)

// release closes the file; disk.mu is held.
func (f *file) release() {
	f.closed = true
	delete(f.process.files, f)
	f.node.opened--
	f.process.disk.free(f.node)
}

// reads and writes report whether the file was opened for reading and for writing.
func (f *file) reads() bool  { return f.flag&os.O_WRONLY == 0 }
func (f *file) writes() bool { return f.flag&(os.O_WRONLY|os.O_RDWR) != 0 }

// usable is nil if the file is open, not a folder, and the call is allowed by may; disk.mu is held.
func (f *file) usable(may bool) error {
	switch {
	case f.closed:
		return fs.ErrClosed
	case !may:
		return syscall.EBADF
	case f.node.isFolder():
		return syscall.EISDIR
	default:
		return nil
	}
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readAt(p, f.at)
	f.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "readat", Path: f.name, Err: errors.New("negative offset")}
	}
	return f.readAt(p, off)
}

func (f *file) readAt(p []byte, off int64) (n int, err error) {
	o := Op{Verb: Read, Name: f.name, Offset: off, Size: int64(len(p))}
	err = f.process.call(o, func(limit int) error {
		return f.process.reading(func() error {
			if err := f.usable(f.reads()); err != nil || len(p) == 0 {
				return err
			}
			if limit >= 0 {
				p = p[:min(limit, len(p))]
			}
			n, err = f.node.content.readAt(p, off)
			return err
		})
	})
	return n, err
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine := bytes.Clone(p) // the disk keeps the data, and the caller may change p
	o := Op{Verb: Write, Name: f.name, Offset: f.at, Size: int64(len(p))}
	err = f.process.call(o, func(limit int) error {
		if limit >= 0 {
			mine = mine[:min(limit, len(mine))]
		}
		return f.process.writing(func() error {
			n, err = f.writeLocked(mine)
			return err
		})
	})
	if err == nil && n < len(p) {
		err = o.wrap(io.ErrShortWrite)
	}
	return n, err
}

// writeLocked is Write; disk.mu is held.
func (f *file) writeLocked(p []byte) (int, error) {
	if err := f.usable(f.writes()); err != nil {
		return 0, err
	}
	if f.flag&os.O_APPEND != 0 {
		f.at = f.node.content.size
	}
	n, err := f.process.disk.writeData(f.node, f.at, p)
	f.at += int64(n)
	if f.flag&os.O_SYNC != 0 && err == nil {
		f.process.disk.sync(f.node)
	}
	return n, err
}

// Seek implements io.Seeker. It is not an operation of the disk.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.process.reading(func() error {
		from := map[int]int64{io.SeekStart: 0, io.SeekCurrent: f.at, io.SeekEnd: f.node.content.size}
		base, known := from[whence]
		switch {
		case f.closed:
			return fs.ErrClosed
		case !known || base+offset < 0:
			return syscall.EINVAL
		default:
			f.at = base + offset
			return nil
		}
	})
	if err != nil {
		return 0, &fs.PathError{Op: "seek", Path: f.name, Err: err}
	}
	return f.at, nil
}

// Truncate implements platform.File.
func (f *file) Truncate(size int64) error {
	return f.process.call(Op{Verb: Truncate, Name: f.name, Size: size}, func(int) error {
		return f.process.writing(func() error {
			if err := f.usable(true); err != nil {
				return err
			}
			if size < 0 || !f.writes() {
				return syscall.EINVAL
			}
			f.process.disk.resize(f.node, size)
			return nil
		})
	})
}

// Stat implements platform.File.
func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.process.call(Op{Verb: Stat, Name: f.name}, func(int) error {
		return f.process.reading(func() error {
			if f.closed {
				return fs.ErrClosed
			}
			info = f.process.disk.info(f.node, path.Base(f.name))
			return nil
		})
	})
	return info, err
}

// Sync implements platform.File. Bytes written before a failed sync may be lost: systems drop them, and a later successful sync does
// not include them.
func (f *file) Sync() error {
	err := f.process.call(Op{Verb: Sync, Name: f.name}, func(int) error {
		return f.process.writing(func() error {
			if f.closed {
				return fs.ErrClosed
			}
			f.process.disk.sync(f.node)
			return nil
		})
	})
	if err != nil {
		_ = f.process.writing(func() error { f.node.history.fail(); return nil }) // the error is that the process has ended
	}
	return err
}

// Close implements io.Closer. A failed close closes the file, too.
func (f *file) Close() error {
	err := f.process.call(Op{Verb: Close, Name: f.name}, func(int) error { return f.process.writing(f.close) })
	if err != nil {
		_ = f.process.writing(f.close) // an error means that it is closed already
	}
	return err
}

func (f *file) close() error {
	if f.closed {
		return fs.ErrClosed
	}
	f.release()
	return nil
}
