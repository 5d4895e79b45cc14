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

// partsFolder is where files under way lie.
const partsFolder = wire.StateFolder + "/parts"

// disk is the data folder of a device as it is written to. It belongs to one goroutine. Links are never followed, and never
// written through: what leads to a file has to be folders.
type disk struct {
	fsys    platform.FS
	tree    *tree.Tree
	plain   map[string]bool // folders that are there and no links
	inUse   map[string]bool // names of parts that can be gone on with, as long as they are open
	folds   bool            // names that differ in case are one file
	number  int             // of the last part
	buf     []byte
	written time.Time // last change of a file; zero when the cache was saved since
	now     func() time.Time
}

var errLinkedFolder = errors.New("lies behind a symbolic link, which is not followed: remove the link on the device")

// openDisk makes the folders of a device and clears what an earlier process left.
func openDisk(fsys platform.FS, tree *tree.Tree, now func() time.Time) (*disk, error) {
	d := &disk{fsys: fsys, tree: tree, plain: map[string]bool{}, inUse: map[string]bool{}, now: now}
	if err := fsys.MkdirAll(partsFolder, 0o755); err != nil {
		return nil, err
	}
	d.folds = d.foldsCase()
	return d, d.sweep()
}

// buffer is for reading.
func (d *disk) buffer() []byte {
	if d.buf == nil {
		d.buf = make([]byte, tree.ReadSize)
	}
	return d.buf
}

// partName is a name that no part has.
func (d *disk) partName() string {
	d.number++
	return fmt.Sprintf("%s/w%d", partsFolder, d.number)
}

// worthAsking is the size in bytes from which a file that does not fit is refused before it fills the disk.
const worthAsking = 1 << 20

// room reports when a new file can't fit. What builds on another may share its blocks, so only the disk can tell.
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

// drop forgets a part and removes it.
func (d *disk) drop(p *part) {
	if p.file != nil {
		_ = p.file.Close() // it goes anyway
	}
	if p.name != "" {
		_ = d.fsys.Remove(p.name) // the next sweep takes what stays
	}
	d.forget(p)
}

// forget lets go of the name of a part.
func (d *disk) forget(p *part) {
	delete(d.inUse, p.name)
	p.file, p.name = nil, ""
}

// put writes a whole file, which has the hash.
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
		_ = d.fsys.Remove(name) // the next sweep takes what stays
		return wire.Failure, err
	}
	return wire.Success, nil
}

// replace puts a complete file in the place of another, or of nothing, or of an empty folder.
func (d *disk) replace(ctx context.Context, name, path string, hash wire.Hash) error {
	err := d.tryReplace(ctx, name, path)
	if err != nil && !errors.Is(err, errLinkedFolder) && len(d.plain) > 0 {
		// Somebody may have removed a folder since we looked.
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
	return platform.Patiently(ctx, func() error { return d.fsys.Rename(name, target) })
}

// makeFolder makes a folder and those above it. A file in the way goes: the desk has a folder there, so it has no such file.
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

// plainParents reports a link on the way to a file. What is not there is no link.
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

// removeEmpty removes a folder that holds nothing but empty folders.
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

// delete removes a file, or an empty folder, and the folders above it that are empty then. What is not there is deleted.
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
		err = platform.Patiently(ctx, func() error { return d.fsys.Remove(name) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.written = d.now()
	d.removeParents(name)
	return nil
}

// behindFile reports whether something that is no folder stands where a folder of the path would be.
func (d *disk) behindFile(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if info, err := d.fsys.Lstat(folder); err == nil {
			return !info.IsDir()
		}
	}
	return false
}

// removeParents removes the folders above a name as far as they are empty.
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

// inWords is what a fault of the disk means for people, without the paths of this machine.
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
