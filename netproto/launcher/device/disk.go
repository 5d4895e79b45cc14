package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
)

// partsFolder holds the parts, which are files in progress.
const partsFolder = wire.StateFolder + "/parts"

// disk is the data folder of a device, for writing. It belongs to one goroutine. It neither follows links nor writes
// through them: all parents of a file must be real folders.
type disk struct {
	fsys    platform.FS
	tree    *tree.Tree
	plain   map[string]bool // folders that exist and are no links
	inUse   map[string]bool // names of resumable parts that are open
	folds   bool            // names that differ only in case are one file
	number  int             // of the last part
	buf     []byte
	written time.Time // last change of a file; zero after the cache was saved
	now     func() time.Time
}

var errLinkedFolder = errors.New("lies behind a symbolic link, which is not followed: remove the link on the device")

// openDisk makes the folders of a device and removes the leftovers of an earlier process.
func openDisk(fsys platform.FS, tree *tree.Tree, now func() time.Time) (*disk, error) {
	d := &disk{fsys: fsys, tree: tree, plain: map[string]bool{}, inUse: map[string]bool{}, now: now}
	if err := fsys.MkdirAll(partsFolder, 0o755); err != nil {
		return nil, err
	}
	d.folds = d.foldsCase()
	return d, d.sweep()
}

// buffer returns the buffer for reading.
func (d *disk) buffer() []byte {
	if d.buf == nil {
		d.buf = make([]byte, tree.ReadSize)
	}
	return d.buf
}

// partName returns an unused name for a part.
func (d *disk) partName() string {
	d.number++
	return fmt.Sprintf("%s/w%d", partsFolder, d.number)
}

// worthAsking is the size in bytes from which free space is checked before a file is written.
const worthAsking = 1 << 20

// room fails if a new file can't fit. A file with a base may share its blocks, so only writing it can tell.
func (d *disk) room(p *part) error {
	if p.size < worthAsking {
		return nil
	}
	if p.base != "" {
		if _, err := d.fsys.Lstat(p.base); err == nil {
			return nil
		}
	}
	free, err := d.fsys.Free()
	if err == nil && free < p.size {
		return &roomError{need: p.size, free: free}
	}
	return nil
}

// drop abandons a part and removes it.
func (d *disk) drop(p *part) {
	if p.file != nil {
		_ = p.file.Close() // it is removed anyway
	}
	if p.name != "" {
		_ = d.fsys.Remove(p.name) // a later sweep removes leftovers
	}
	d.forget(p)
}

// forget frees the name of a part.
func (d *disk) forget(p *part) {
	delete(d.inUse, p.name)
	p.file, p.name = nil, ""
}

// put writes a whole file, after checking data against hash.
func (d *disk) put(ctx context.Context, path string, hash wire.Hash, data []byte) (wire.Result, error) {
	if err := wire.CheckPath(path); err != nil {
		return wire.Failure, err
	}
	if wire.HashOf(data) != hash {
		return wire.HashMismatch, errMismatch
	}
	name := d.partName()
	f, err := d.fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return wire.Failure, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.replace(ctx, name, path, hash)
	}
	if err != nil {
		_ = d.fsys.Remove(name) // a later sweep removes leftovers
		return wire.Failure, err
	}
	return wire.Success, nil
}

// replace renames a complete file to its path, replacing a file or an empty folder.
func (d *disk) replace(ctx context.Context, name, path string, hash wire.Hash) error {
	err := d.tryReplace(ctx, name, path)
	if err != nil && !errors.Is(err, errLinkedFolder) && len(d.plain) > 0 {
		// Another process may have removed a folder since the check.
		clear(d.plain)
		err = d.tryReplace(ctx, name, path)
	}
	if err != nil {
		return err
	}
	d.written = d.now()
	return d.tree.Record(path, hash)
}

func (d *disk) tryReplace(ctx context.Context, name, target string) error {
	if err := d.makeFolder(path.Dir(target)); err != nil {
		return err
	}
	info, err := d.fsys.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		if err := d.removeEmpty(target, 0); err != nil {
			return err
		}
		clear(d.plain)
	case d.otherSpelling(target):
		if err := d.fsys.Remove(target); err != nil {
			return err
		}
	case info.Mode().IsRegular() && info.Mode().Perm() != 0o644:
		if err := d.fsys.Chmod(name, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return platform.RetryWhileLocked(ctx, func() error { return d.fsys.Rename(name, target) })
}

// makeFolder makes a folder and its parents. A file in the way is deleted: the desk has a folder there, so it has no such file.
func (d *disk) makeFolder(folder string) error {
	if folder == "." || d.plain[folder] {
		return nil
	}
	if err := d.makeFolder(path.Dir(folder)); err != nil {
		return err
	}
	info, err := d.fsys.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = d.fsys.MkdirAll(folder, 0o755)
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		err = &wire.PathError{Path: folder, Reason: errLinkedFolder.Error()}
		err = errors.Join(errLinkedFolder, err)
	case !info.IsDir():
		if err = d.fsys.Remove(folder); err == nil {
			err = d.fsys.MkdirAll(folder, 0o755)
		}
	}
	if err == nil {
		d.plain[folder] = true
	}
	return err
}

// plainParents fails if a parent of a file is a link. A missing parent is no link.
func (d *disk) plainParents(name string) error {
	folder := path.Dir(name)
	if folder == "." || d.plain[folder] {
		return nil
	}
	if err := d.plainParents(folder); err != nil {
		return err
	}
	info, err := d.fsys.Lstat(folder)
	switch {
	case err != nil:
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return errLinkedFolder
	case info.IsDir():
		d.plain[folder] = true
	}
	return nil
}

var errNotEmpty = errors.New("is a folder that holds files which are in no layout: remove them on the device")

// removeEmpty removes a folder that holds only empty folders.
func (d *disk) removeEmpty(folder string, depth int) error {
	entries, err := d.fsys.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || depth > tree.MaxDepth {
			return &wire.PathError{Path: folder, Reason: errNotEmpty.Error()}
		}
		if err := d.removeEmpty(folder+"/"+e.Name(), depth+1); err != nil {
			return err
		}
	}
	return d.fsys.Remove(folder)
}

// delete removes a file or an empty folder, and then its empty parents. A missing path counts as deleted.
func (d *disk) delete(ctx context.Context, name string) error {
	if err := wire.CheckPath(name); err != nil {
		return err
	}
	if err := d.plainParents(name); err != nil {
		return err
	}
	_, err := d.fsys.Lstat(name)
	if err != nil && (errors.Is(err, fs.ErrNotExist) || d.behindFile(name)) || d.otherSpelling(name) {
		return nil
	}
	if err == nil {
		err = platform.RetryWhileLocked(ctx, func() error { return d.fsys.Remove(name) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.written = d.now()
	d.removeParents(name)
	return nil
}

// behindFile reports whether a parent in the path is not a folder.
func (d *disk) behindFile(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if info, err := d.fsys.Lstat(folder); err == nil {
			return !info.IsDir()
		}
	}
	return false
}

// removeParents removes the empty parents of a name.
func (d *disk) removeParents(name string) {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if d.fsys.Remove(folder) != nil {
			return
		}
		delete(d.plain, folder)
	}
}

// roomError says that a file does not fit on the disk.
type roomError struct{ need, free uint64 }

func (e *roomError) Error() string {
	return fmt.Sprintf("needs %d bytes and %d are free: make room on the device", e.need, e.free)
}

// inWords is the text of a disk error for people, without the paths of this machine.
func inWords(err error) string {
	var path *wire.PathError
	var sys *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return ""
	case platform.IsDiskFull(err):
		return "the disk is full: make room on the device"
	case platform.IsReadOnly(err):
		return "the disk is read-only: make it writable on the device"
	case errors.Is(err, errLinkedFolder):
		return errLinkedFolder.Error()
	case errors.As(err, &path):
		return path.Reason
	case errors.Is(err, fs.ErrPermission):
		return "the device does not allow it: look at the permissions of its data folder"
	case platform.MayBeLocked(err):
		return "another program on the device has it open: close the game there"
	case errors.As(err, &sys):
		return sys.Op + ": " + sys.Err.Error() + ": look at the disk of the device"
	case errors.As(err, &link):
		return link.Op + ": " + link.Err.Error() + ": look at the disk of the device"
	}
	return strings.TrimSpace(string(bytes.ReplaceAll([]byte(err.Error()), []byte("\n"), []byte("; "))))
}
