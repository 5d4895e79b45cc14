package faultfs

import (
	"io/fs"
	"time"

	"collet/platform"
)

// node is a file, a folder or a symbolic link, independent of its names. Its number is its inode number: new for each node, and kept by
// changes of names and power cuts.
type node struct {
	number  uint64
	kind    fs.FileMode // type bits: 0, fs.ModeDir or fs.ModeSymlink
	now     attributes
	durable attributes

	content content // files: what a reader sees
	history history // files: what of it is durable
	target  string  // links
	folder          // folders

	names  int // number of its names, as a reader sees it
	opened int // number of its open files
}

// attributes are the inode's attributes except the size.
type attributes struct {
	perm     fs.FileMode
	modified time.Time
	changed  time.Time
}

// folder is the names in a folder.
type folder struct {
	parent  *node              // nil for the root, and after its removal
	entries map[string]entry   // as a reader sees them, by key
	settled map[string]entry   // the durable ones
	placed  *naming            // the naming that placed the folder, while that is not durable
	newest  *naming            // the last naming in this folder, while that is not durable
	touched map[string]*naming // the last naming of each name, while that is not durable
}

// entry is a name and its node. The name is as it was created; its key may be case-folded.
type entry struct {
	name string
	node *node
}

func (n *node) isFolder() bool { return n.kind == fs.ModeDir }
func (n *node) isLink() bool   { return n.kind == fs.ModeSymlink }
func (n *node) isFile() bool   { return n.kind == 0 }

// writable honours the owner's write bit, as for an ordinary user.
func (n *node) writable() bool { return n.now.perm&0o200 != 0 }

// inside reports whether n is top or below it.
func (n *node) inside(top *node) bool {
	for ; n != nil; n = n.parent {
		if n == top {
			return true
		}
	}
	return false
}

// info is the FileInfo of a node under one name.
func (n *node) info(name string) info {
	size := n.content.size
	if n.isLink() {
		size = int64(len(n.target))
	}
	return info{name: name, size: size, mode: n.kind | n.now.perm, attributes: n.now, number: n.number}
}

// info implements fs.FileInfo, fs.DirEntry and platform.Identified.
type info struct {
	name string
	size int64
	mode fs.FileMode
	attributes
	number uint64
}

var _ interface {
	fs.FileInfo
	fs.DirEntry
	platform.Identified
} = info{}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) ModTime() time.Time         { return i.modified }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
func (i info) String() string             { return fs.FormatFileInfo(i) }

// Identity implements platform.Identified. A disk without inode numbers tells only size and time.
func (i info) Identity() platform.Identity {
	id := platform.Identity{Size: i.size, Modified: i.modified}
	if i.number != 0 {
		id.Inode, id.Changed = i.number, i.changed
	}
	return id
}
