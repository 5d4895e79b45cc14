package publish

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"sync"
	"sync/atomic"

	"collet/build/advice"
	"collet/build/publish/parallel"
	"collet/netproto/release"
	"collet/platform"
)

// number numbers the unfinished files of one process.
type number struct{ n atomic.Int64 }

// openFile opens a file for reading.
func openFile(fsys platform.FS, name string) (platform.File, error) {
	return fsys.OpenFile(name, os.O_RDONLY, 0)
}

// objectStore writes files of the release folder that never change. A file is complete under a temporary name before it is synced and
// renamed, in a batch with others. It is safe for concurrent use, but keepFinished is not.
type objectStore struct {
	fs     platform.FS
	serial number
	dirty  dirty

	mu      sync.Mutex
	waiting []waiting // complete files without their final name
	bytes   int64     // of the waiting files
}

// has reports whether the folder holds an object with the expected size.
func (s *objectStore) has(o release.Object) bool {
	return !o.IsZero() && platform.Size(s.fs, o.Path()) == o.Size
}

// unfinished is an object being written.
type unfinished struct {
	platform.File
	fs   platform.FS
	name string
}

// create opens a new unfinished object.
func (s *objectStore) create() (*unfinished, error) {
	if err := s.fs.MkdirAll(tmpFolder, 0o755); err != nil {
		return nil, advice.Because(err, "", "make the folder for unfinished files")
	}
	name := fmt.Sprintf("%s/object-%d", tmpFolder, s.serial.n.Add(1))
	out, err := s.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return nil, advice.Because(err, "", "begin an object")
	}
	return &unfinished{out, s.fs, name}, nil
}

// keepFinished names what is complete, after work that was interrupted, so that the next run need not make it again. What can't be
// named is dropped.
func (s *objectStore) keepFinished() {
	due := s.waiting
	s.waiting = nil
	if s.nameFiles(due) == nil {
		return
	}
	for _, w := range due { // those that were not tried
		w.file.drop()
	}
}

// drop discards an unfinished object.
func (u *unfinished) drop() {
	u.Close()
	_ = u.fs.Remove(u.name) // otherwise the next start removes it
}

// finish gives the object its name, in a batch with others, at sync at the latest. Syncs in parallel cost a journaling file system little
// more than one. then is called when the object is durable under its name.
func (s *objectStore) finish(u *unfinished, o release.Object, then func() error) error {
	return s.finishAs(u, o.Path(), o.Size, then)
}

// finishAs is finish under any name.
func (s *objectStore) finishAs(u *unfinished, name string, size int64, then func() error) error {
	s.mu.Lock()
	s.waiting = append(s.waiting, waiting{u, name, then})
	s.bytes += size
	var due []waiting
	if len(s.waiting) >= syncBatch || s.bytes >= syncBytes {
		due, s.waiting, s.bytes = s.waiting, nil, 0
	}
	s.mu.Unlock()
	return s.nameFiles(due)
}

// syncBatch is the number of files synced together. They stay open until then, and systems allow some hundreds of open files.
const syncBatch = 64

// syncBytes is the number of bytes from which waiting files are synced: a kill costs at most the work of these.
const syncBytes = 16 << 20

// waiting is a complete file without its final name.
type waiting struct {
	file *unfinished
	name string
	then func() error
}

// nameFiles syncs files and renames them to their final names.
func (s *objectStore) nameFiles(due []waiting) error {
	return parallel.Each(context.Background(), syncBatch/2, len(due), func(_ context.Context, i int) error {
		w := due[i]
		err := w.file.Sync()
		if e := w.file.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = s.rename(w.file.name, w.name)
		}
		if err != nil {
			_ = s.fs.Remove(w.file.name)
			return advice.Because(err, room(err), "write %s", w.name)
		}
		if w.then != nil {
			return w.then()
		}
		return nil
	})
}

// room returns advice for a full disk.
func room(err error) string {
	if platform.IsDiskFull(err) {
		return "make room and run the same command again: it goes on where it stopped"
	}
	return ""
}

// rename gives a finished file its name.
func (s *objectStore) rename(from, to string) error {
	if err := s.makeFolder(path.Dir(to)); err != nil {
		return err
	}
	s.dirty.addFile(path.Dir(from)) // a rename between two folders is durable when both are synced
	return s.fs.Rename(from, to)
}

// touch lets sync include the name of an existing object, because an interrupted run may not have synced it.
func (s *objectStore) touch(o release.Object) { s.touchName(o.Path()) }

func (s *objectStore) touchName(name string) { s.noteFolder(path.Dir(name)) }

// makeFolder creates a folder, whose name is durable after sync.
func (s *objectStore) makeFolder(name string) error { return s.dirty.folder(s.fs, name) }

// noteFolder lets sync include a folder with new names.
func (s *objectStore) noteFolder(name string) { s.dirty.addFile(name) }

// sync makes all new objects and heads durable, including their names.
func (s *objectStore) sync() error {
	s.mu.Lock()
	due := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if err := s.nameFiles(due); err != nil {
		return err
	}
	if err := s.dirty.syncAll(s.fs); err != nil {
		return advice.Because(err, room(err), "sync the release folder")
	}
	return nil
}

// sumFile computes the object of a file.
func sumFile(file io.ReaderAt, size int64) (release.Object, error) {
	h := release.SHA256.NewHash()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(file, 0, size), pageFor(size)); err != nil {
		return release.Object{}, err
	}
	return release.Object{Sum: release.SHA256.SumOf(h), Size: size}, nil
}

// putObject writes bytes as an object, unless it exists.
func (s *objectStore) putObject(data []byte) (release.Object, error) {
	o := release.ObjectOf(data)
	return o, s.putAs(data, o, o.Path(), nil)
}

// putAs writes bytes under a name. then, which may be nil, is called when they are durable there, as finish does.
func (s *objectStore) putAs(data []byte, o release.Object, name string, then func() error) error {
	if platform.Size(s.fs, name) == o.Size {
		s.touchName(name)
		if then == nil {
			return nil
		}
		return then()
	}
	u, err := s.create()
	if err != nil {
		return err
	}
	if _, err := u.Write(data); err != nil {
		u.drop()
		return advice.Because(err, room(err), "write %s", name)
	}
	return s.finishAs(u, name, o.Size, then)
}
