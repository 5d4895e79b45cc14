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

// volume is the state of a disk that its processes share. Its methods are what the system does inside a call. Disk.mu is held for writing,
// unless a comment says that reading is enough.
type volume struct {
	cfg Config
	namespace
	journal
	clock
	number  uint64  // of the newest node
	used    int64   // bytes that take room
	claimed *uint64 // the result of Free; nil: the real free space
}

// newNode makes a node that has no name yet.
func (v *volume) newNode(kind, perm fs.FileMode) *node {
	v.number++
	n := &node{number: v.number, kind: kind, names: 1}
	n.now.perm = perm.Perm()
	v.stamp(n)
	n.durable = n.now
	if n.isFolder() {
		n.folder = folder{entries: map[string]entry{}, settled: map[string]entry{}, touched: map[string]*naming{}}
	}
	return n
}

// placeNode puts a new node into a gap.
func (v *volume) placeNode(p place, n *node) error {
	if err := mayChange(p.folder); err != nil {
		return err
	}
	v.changeNames(nil, p.set(n))
	v.stamp(p.folder)
	return nil
}

// openFile finds or makes the file that OpenFile opens.
func (v *volume) openFile(name string, flag int, perm fs.FileMode) (n *node, err error) {
	exclusive := flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 && !exclusive {
		if p, err := v.walk(name, false); err == nil && p.node != nil && p.node.isLink() {
			return nil, platform.ErrNoFile
		}
	}
	p, err := v.walk(name, !exclusive)
	switch {
	case err != nil:
		return nil, err
	case p.node == nil && (flag&os.O_CREATE == 0 || strings.HasSuffix(name, "/")):
		return nil, syscall.ENOENT
	case p.node == nil:
		n := v.newNode(0, perm)
		return n, v.placeNode(p, n)
	case exclusive:
		return nil, syscall.EEXIST
	default:
		return p.node, v.openNode(p.node, flag)
	}
}

func (v *volume) openNode(n *node, flag int) error {
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case n.isFolder() && (writes || flag&(os.O_CREATE|os.O_TRUNC) != 0):
		return syscall.EISDIR
	case writes && !n.writable():
		return syscall.EACCES
	case n.isFile() && flag&os.O_TRUNC != 0:
		v.resize(n, 0)
		return nil
	default:
		return nil
	}
}

// resize is truncate(2).
func (v *volume) resize(n *node, size int64) {
	before := n.content.stored
	n.content.resize(size)
	v.used += n.content.stored - before
	n.history.addChange(change{cut: size, size: size})
	v.stamp(n)
}

// writeData places data, which the disk keeps, and returns how many bytes found room.
func (v *volume) writeData(n *node, off int64, data []byte) (int, error) {
	fits := n.content.fits(off, len(data), v.cfg.Capacity-v.used)
	if fits > 0 {
		v.used -= n.content.stored
		n.content.putBytes(off, data[:fits])
		v.used += n.content.stored
		n.history.addChange(change{cut: noCut, pieces: []extent{{off, data[:fits]}}, size: n.content.size})
		v.stamp(n)
	}
	if fits < len(data) {
		return fits, ENOSPC
	}
	return fits, nil
}

// sync is fsync(2).
func (v *volume) sync(n *node) {
	if n.isFolder() {
		v.syncFolder(n)
		return
	}
	n.history.sync(&n.content)
	n.durable = n.now
}

// drop takes a name from a node; the bytes go with the last name and the last open file.
func (v *volume) drop(n *node) {
	n.names--
	n.now.changed = v.time()
	v.free(n)
}

// free gives the room of a node back if nothing refers to it any more.
func (v *volume) free(n *node) {
	if n.names == 0 && n.opened == 0 {
		v.used -= n.content.stored
	}
}

// rename is rename(2).
func (v *volume) rename(oldName, newName string) error {
	from, err := v.named(oldName)
	if err != nil {
		return err
	}
	to, err := v.walk(newName, false)
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
		v.moveNode(from, to)
	}
	return nil
}

// link is link(2).
func (v *volume) link(oldName, newName string) error {
	from, err := v.named(oldName)
	if err != nil {
		return err
	}
	to, err := v.walk(newName, false)
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
	from.node.now.changed = v.time()
	v.changeNames(nil, to.set(from.node))
	v.stamp(to.folder)
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

// moveNode gives what is at one place the name of another one.
func (v *volume) moveNode(from, to place) {
	if from.node == to.node { // another spelling of the same name
		v.changeNames(nil, to.set(from.node))
	} else {
		v.changeNames(nil, from.set(nil), to.set(from.node))
	}
	if to.node != nil && to.node != from.node {
		v.drop(to.node)
	}
	from.node.now.changed = v.time()
	v.stamp(from.folder, to.folder)
}

// exchange is renameat2(2) with RENAME_EXCHANGE.
func (v *volume) exchange(a, b string) error {
	if v.cfg.NoExchange {
		return errors.Join(errors.ErrUnsupported, syscall.EINVAL)
	}
	if !isName(a) || !isName(b) {
		return fs.ErrInvalid
	}
	first, err := v.named(a)
	if err != nil {
		return err
	}
	second, err := v.named(b)
	if err != nil {
		return err
	}
	if second.folder.inside(first.node) || first.folder.inside(second.node) {
		return syscall.EINVAL
	}
	if err := mayChange(first.folder, second.folder); err != nil || first.node == second.node {
		return err
	}
	v.changeNames(nil, first.set(second.node), second.set(first.node))
	first.node.now.changed = v.time()
	second.node.now.changed = first.node.now.changed
	v.stamp(first.folder, second.folder)
	return nil
}

// isName refuses what only a folder above can tell, as platform.Dir does.
func isName(name string) bool { return path.Base(name) != "." && path.Base(name) != ".." }

// remove is unlink(2) and rmdir(2).
func (v *volume) remove(name string) error {
	p, err := v.named(name)
	switch {
	case err != nil:
		return err
	case p.node.isFolder() && len(p.node.entries) > 0:
		return syscall.ENOTEMPTY
	}
	if err := mayChange(p.folder); err != nil {
		return err
	}
	v.changeNames(p.node, p.set(nil))
	v.drop(p.node)
	v.stamp(p.folder)
	return nil
}

// mkdirAll makes what is missing of a folder and those above it. As with os.Root a link to nothing on the way becomes one
// to a folder, but not the last element.
func (v *volume) mkdirAll(name string, perm fs.FileMode) error {
	name = cmp.Or(strings.TrimRight(name, "/"), name)
	for i := 0; i < len(name); i++ {
		if name[i] == '/' {
			if err := v.mkdir(name[:i], perm); err != nil {
				return err
			}
		}
	}
	if p, err := v.walk(name, false); err == nil && p.node != nil && p.node.isLink() {
		if _, err := v.findExisting(name, true); err != nil {
			return syscall.EEXIST
		}
	}
	return v.mkdir(name, perm)
}

// mkdir makes one folder if it is missing.
func (v *volume) mkdir(name string, perm fs.FileMode) error {
	p, err := v.walk(name, true)
	switch {
	case err != nil:
		return err
	case p.node == nil:
		return v.placeNode(p, v.newNode(fs.ModeDir, perm))
	case !p.node.isFolder():
		return syscall.ENOTDIR
	default:
		return nil
	}
}

// list is the names in a folder, sorted; Disk.mu is held for reading.
func (v *volume) list(name string) ([]fs.DirEntry, error) {
	f, err := v.findFolder(name)
	if err != nil {
		return nil, err
	}
	entries := slices.SortedFunc(maps.Values(f.entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = v.info(e.node, e.name)
	}
	return list, nil
}

// stat is what Stat and Lstat tell; Disk.mu is held for reading.
func (v *volume) stat(name string, follow bool) (fs.FileInfo, error) {
	p, err := v.findExisting(name, follow)
	if err != nil {
		return nil, err
	}
	return v.info(p.node, path.Base(name)), nil
}

// info is what a node tells, without what this disk does not have.
func (v *volume) info(n *node, name string) info {
	i := n.info(name)
	if v.cfg.NoInodes {
		i.number = 0
	}
	return i
}

// chmod changes the permission bits.
func (v *volume) chmod(name string, mode fs.FileMode) error {
	p, err := v.findExisting(name, true)
	if err != nil {
		return err
	}
	p.node.now.perm = mode.Perm()
	p.node.now.changed = v.time()
	return nil
}
