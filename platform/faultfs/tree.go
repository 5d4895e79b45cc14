package faultfs

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"collet/platform"
)

// The functions of this file are what the system does inside a call. d.mu is held for writing, unless one says that
// reading is enough.

// newNode makes a node that has no name yet.
func (d *Disk) newNode(kind, perm fs.FileMode) *node {
	d.number++
	n := &node{number: d.number, kind: kind, names: 1}
	n.now.perm = perm.Perm()
	n.now.modified = d.now()
	n.now.changed = n.now.modified
	n.durable = n.now
	if n.isFolder() {
		n.folder = folder{entries: map[string]entry{}, settled: map[string]entry{}, touched: map[string]*naming{}}
	}
	return n
}

// make puts a new node into a gap.
func (d *Disk) make(p place, n *node) error {
	if err := mayChange(p.folder); err != nil {
		return err
	}
	d.name(nil, p.set(n))
	d.stampFolders(p.folder)
	return nil
}

func (d *Disk) stampFolders(folders ...*node) {
	for _, f := range folders {
		f.now.modified = d.now()
		f.now.changed = f.now.modified
	}
}

// open finds or makes what OpenFile opens. made reports whether it was made.
func (d *Disk) open(name string, flag int, perm fs.FileMode) (n *node, err error) {
	exclusive := flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 && !exclusive {
		if p, err := d.walk(name, false); err == nil && p.node != nil && p.node.isLink() {
			return nil, platform.ErrNoFile
		}
	}
	p, err := d.walk(name, !exclusive)
	switch {
	case err != nil:
		return nil, err
	case p.node == nil && (flag&os.O_CREATE == 0 || strings.HasSuffix(name, "/")):
		return nil, syscall.ENOENT
	case p.node == nil:
		n := d.newNode(0, perm)
		return n, d.make(p, n)
	case exclusive:
		return nil, syscall.EEXIST
	default:
		return p.node, d.openNode(p.node, flag)
	}
}

func (d *Disk) openNode(n *node, flag int) error {
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case n.isFolder() && (writes || flag&(os.O_CREATE|os.O_TRUNC) != 0):
		return syscall.EISDIR
	case writes && !n.writable():
		return syscall.EACCES
	case n.isFile() && flag&os.O_TRUNC != 0:
		d.resize(n, 0)
		return nil
	default:
		return nil
	}
}

// resize is truncate(2).
func (d *Disk) resize(n *node, size int64) {
	before := n.content.stored
	n.content.resize(size)
	d.used += n.content.stored - before
	n.history.note(change{cut: size, size: size})
	d.stamp(n)
}

// stamp is for a file whose content changed.
func (d *Disk) stamp(n *node) {
	n.now.modified = d.now()
	n.now.changed = n.now.modified
}

// write places data, which the disk keeps, and returns how many bytes found room.
func (d *Disk) write(n *node, off int64, data []byte) (int, error) {
	fits := n.content.fits(off, len(data), d.cfg.Capacity-d.used)
	if fits > 0 {
		d.used -= n.content.stored
		n.content.put(off, data[:fits])
		d.used += n.content.stored
		n.history.note(change{cut: noCut, pieces: []extent{{off, data[:fits]}}, size: n.content.size})
		d.stamp(n)
	}
	if fits < len(data) {
		return fits, ENOSPC
	}
	return fits, nil
}

// sync is fsync(2).
func (d *Disk) sync(n *node) {
	if n.isFolder() {
		d.syncFolder(n)
		return
	}
	n.history.sync(&n.content)
	n.durable = n.now
}

// drop takes a name from a node; the bytes go with the last name and the last open file.
func (d *Disk) drop(n *node) {
	n.names--
	n.now.changed = d.now()
	d.free(n)
}

// free gives the room of a node back if nothing refers to it any more.
func (d *Disk) free(n *node) {
	if n.names == 0 && n.opened == 0 {
		d.used -= n.content.stored
	}
}

// rename is rename(2).
func (d *Disk) rename(oldName, newName string) error {
	from, err := d.named(oldName)
	if err != nil {
		return err
	}
	to, err := d.walk(newName, false)
	if err != nil {
		return err
	}
	if to.folder == nil {
		return syscall.EBUSY
	}
	if err := replaceable(from, to, strings.HasSuffix(newName, "/")); err != nil {
		return err
	}
	if err := mayChange(from.folder, to.folder); err != nil {
		return err
	}
	if from.node == to.node && (from.folder != to.folder || from.key != to.key) {
		return nil // two names of one file stay as they are
	}
	if from.node != to.node || from.folder.entries[from.key].name != to.name {
		d.move(from, to)
	}
	return nil
}

// link is link(2).
func (d *Disk) link(oldName, newName string) error {
	from, err := d.named(oldName)
	if err != nil {
		return err
	}
	to, err := d.walk(newName, false)
	switch {
	case err != nil:
		return err
	case to.node != nil:
		return syscall.EEXIST
	case from.node.isFolder():
		return syscall.EPERM
	case strings.HasSuffix(newName, "/"):
		return syscall.ENOENT
	}
	if err := mayChange(to.folder); err != nil {
		return err
	}
	from.node.names++
	from.node.now.changed = d.now()
	d.name(nil, to.set(from.node))
	d.stampFolders(to.folder)
	return nil
}

// replaceable says whether what is at one place may take the name of what is at another one. A folder takes no name that
// is taken, and none is replaced, as with os.Root.
func replaceable(from, to place, slash bool) error {
	switch {
	case from.node.isFolder() && to.folder.inside(from.node):
		return syscall.EINVAL
	case !from.node.isFolder() && slash:
		return syscall.ENOTDIR
	case to.node == nil || to.node == from.node && from.name != to.name:
		return nil
	case to.node.isFolder():
		return syscall.EEXIST
	case from.node.isFolder():
		return syscall.ENOTDIR
	default:
		return nil
	}
}

// move gives what is at one place the name of another one.
func (d *Disk) move(from, to place) {
	if from.node == to.node { // another spelling of the same name
		d.name(nil, to.set(from.node))
	} else {
		d.name(nil, from.set(nil), to.set(from.node))
	}
	if to.node != nil && to.node != from.node {
		d.drop(to.node)
	}
	from.node.now.changed = d.now()
	d.stampFolders(from.folder, to.folder)
}

// exchange is renameat2(2) with RENAME_EXCHANGE.
func (d *Disk) exchange(a, b string) error {
	if d.cfg.NoExchange {
		return errors.Join(errors.ErrUnsupported, syscall.EINVAL)
	}
	if !isName(a) || !isName(b) {
		return fs.ErrInvalid
	}
	first, err := d.named(a)
	if err != nil {
		return err
	}
	second, err := d.named(b)
	if err != nil {
		return err
	}
	if second.folder.inside(first.node) || first.folder.inside(second.node) {
		return syscall.EINVAL
	}
	if err := mayChange(first.folder, second.folder); err != nil || first.node == second.node {
		return err
	}
	d.name(nil, first.set(second.node), second.set(first.node))
	first.node.now.changed = d.now()
	second.node.now.changed = first.node.now.changed
	d.stampFolders(first.folder, second.folder)
	return nil
}

// isName refuses what only a folder above can tell, as platform.Dir does.
func isName(name string) bool { return path.Base(name) != "." && path.Base(name) != ".." }

// remove is unlink(2) and rmdir(2).
func (d *Disk) remove(name string) error {
	p, err := d.named(name)
	switch {
	case err != nil:
		return err
	case p.node.isFolder() && len(p.node.entries) > 0:
		return syscall.ENOTEMPTY
	}
	if err := mayChange(p.folder); err != nil {
		return err
	}
	d.name(p.node, p.set(nil))
	d.drop(p.node)
	d.stampFolders(p.folder)
	return nil
}

// mkdirAll makes what is missing of a folder and those above it. As with os.Root a link to nothing on the way becomes one
// to a folder, but not the last element.
func (d *Disk) mkdirAll(name string, perm fs.FileMode) error {
	name = cmp.Or(strings.TrimRight(name, "/"), name)
	for i := 0; i < len(name); i++ {
		if name[i] == '/' {
			if err := d.mkdir(name[:i], perm); err != nil {
				return err
			}
		}
	}
	if p, err := d.walk(name, false); err == nil && p.node != nil && p.node.isLink() {
		if _, err := d.find(name, true); err != nil {
			return syscall.EEXIST
		}
	}
	return d.mkdir(name, perm)
}

// mkdir makes one folder if it is missing.
func (d *Disk) mkdir(name string, perm fs.FileMode) error {
	p, err := d.walk(name, true)
	switch {
	case err != nil:
		return err
	case p.node == nil:
		return d.make(p, d.newNode(fs.ModeDir, perm))
	case !p.node.isFolder():
		return syscall.ENOTDIR
	default:
		return nil
	}
}

// list is the names in a folder, sorted; d.mu is held for reading.
func (d *Disk) list(name string) ([]fs.DirEntry, error) {
	f, err := d.findFolder(name)
	if err != nil {
		return nil, err
	}
	entries := slices.SortedFunc(maps.Values(f.entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = d.info(e.node, e.name)
	}
	return list, nil
}

// stat is what Stat and Lstat tell; d.mu is held for reading.
func (d *Disk) stat(name string, follow bool) (fs.FileInfo, error) {
	p, err := d.find(name, follow)
	if err != nil {
		return nil, err
	}
	return d.info(p.node, path.Base(name)), nil
}

// info is what a node tells, without what this disk does not have.
func (d *Disk) info(n *node, name string) info {
	i := n.info(name)
	if d.cfg.NoInodes {
		i.number = 0
	}
	return i
}

// chmod changes the permission bits.
func (d *Disk) chmod(name string, mode fs.FileMode) error {
	p, err := d.find(name, true)
	if err != nil {
		return err
	}
	p.node.now.perm = mode.Perm()
	p.node.now.changed = d.now()
	return nil
}
