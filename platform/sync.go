package platform

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// syncsAtOnce is how many files are synced concurrently: the journal of a file system combines concurrent syncs into one transaction.
// With 500 small files on ext4, four at once took a quarter of the time of one, sixteen a tenth, and more took no less.
const syncsAtOnce = 16

// manySyncs is from how many files or folders on the volume is synced as a whole.
const manySyncs = 64

// Syncer may be implemented by an FS to sync many files at once.
type Syncer interface {
	// SyncsTogether reports whether SyncFiles of many files takes hardly longer than that of a few.
	SyncsTogether() bool
	// SyncFiles returns when the contents of all these files are on the disk, as File.Sync does for one.
	SyncFiles(names []string) error
	// SyncDirs is SyncDir for each of these folders. Errors for which pass returns true are ignored.
	SyncDirs(names []string, pass func(error) bool) error
}

// SyncFiles returns when the contents of written and closed files are on the disk. It does not sync their names, see SyncDir. On an FS
// that is not a Syncer they are synced one by one, in order.
func SyncFiles(fsys FS, names []string) error {
	if s, can := fsys.(Syncer); can {
		return s.SyncFiles(names)
	}
	for _, name := range names {
		if err := syncFile(fsys, name); err != nil {
			return err
		}
	}
	return nil
}

// syncFile syncs a file that was written through another handle: fsync applies to the file, not to the handle.
func syncFile(fsys FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDirs returns when the names in folders are on the disk. Errors for which pass returns true are ignored. On an FS that is not a
// Syncer they are synced one by one, in order.
func SyncDirs(fsys FS, names []string, pass func(error) bool) error {
	if s, can := fsys.(Syncer); can {
		return s.SyncDirs(names, pass)
	}
	for _, name := range names {
		if err := fsys.SyncDir(name); err != nil && !pass(err) {
			return err
		}
	}
	return nil
}

// SyncsTogether implements Syncer.
func (d *Dir) SyncsTogether() bool { return d.volume != nil }

// SyncFiles implements Syncer. All files are tried; the errors are joined.
func (d *Dir) SyncFiles(names []string) error {
	if done, err := syncVolume(d, names, func(error) bool { return false }); done {
		return err
	}
	return eachAtOnce(names, func(name string) error { return syncFile(d, name) })
}

// SyncDirs implements Syncer. All folders are tried; the errors are joined.
func (d *Dir) SyncDirs(names []string, pass func(error) bool) error {
	if done, err := syncVolume(d, names, pass); done {
		return err
	}
	return eachAtOnce(names, func(name string) error {
		if err := d.SyncDir(name); err != nil && !pass(err) {
			return err
		}
		return nil
	})
}

// syncVolume syncs the volume if that takes less time than to sync many names on it. An error may be that of another file of the volume:
// then it is not known which of these are on the disk.
func syncVolume(d *Dir, names []string, pass func(error) bool) (done bool, err error) {
	if d.volume == nil || len(names) < manySyncs {
		return false, nil
	}
	bytes := int64(0)
	for _, name := range names {
		info, err := d.Stat(name)
		if err != nil && pass(err) {
			continue
		}
		if err != nil || !d.volume.has(info) {
			return false, nil // to be tried one by one
		}
		bytes += info.Size()
	}
	if !d.volume.isQuiet(bytes) {
		return false, nil
	}
	if err := d.volume.sync(); err != nil {
		return true, &fs.PathError{Op: "syncfs", Path: d.path, Err: err}
	}
	return true, nil
}

// eachAtOnce calls do for each name, at most syncsAtOnce at a time, and joins the errors.
func eachAtOnce(names []string, do func(name string) error) error {
	errs := make([]error, len(names))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(names), syncsAtOnce) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(names[i])
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}
