package faultfs

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxName is the longest name in bytes: 255 on ext4, XFS, NTFS (there in UTF-16 units) and APFS.
	maxName = 255
	// maxLinks is how many links one name may lead over (40 on Linux).
	maxLinks = 40
)

// errEscapes has the text of os.Root's error.
var errEscapes = errors.New("path escapes from parent")

// place is the result of resolving a name: a node, or a free name in a folder if node is nil. The root has no folder.
type place struct {
	folder *node
	key    string
	name   string // the last element
	node   *node
}

// set is the change that gives the place another node, or none, under the name that was resolved.
func (p place) set(n *node) set {
	if n == nil {
		return set{folder: p.folder, key: p.key}
	}
	return set{folder: p.folder, key: p.key, entry: entry{p.name, n}}
}

// namespace is the tree of names.
type namespace struct {
	root     *node
	foldCase bool
}

// walker resolves a name. It never leaves the root: ".." only returns to an entered folder.
type walker struct {
	names *namespace
	stack []*node  // the folders entered, the root first
	todo  []string // elements to go, the next one last
	links int
}

// walk resolves a name. A link at its end is followed only if follow is set, or if the name ends in a slash. Disk.mu is held.
func (s *namespace) walk(name string, follow bool) (place, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return place{}, syscall.EINVAL
	}
	w := walker{names: s, stack: []*node{s.root}}
	if err := w.push(name); err != nil {
		return place{}, err
	}
	wantsFolder := strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.")
	p := place{node: s.root, name: "."}
	for len(w.todo) > 0 {
		var err error
		if p, err = w.step(follow || wantsFolder); err != nil {
			return place{}, err
		}
	}
	if wantsFolder && p.node != nil && !p.node.isFolder() {
		return place{}, syscall.ENOTDIR
	}
	return p, nil
}

// push puts the elements of a name before the remaining ones.
func (w *walker) push(name string) error {
	if strings.HasPrefix(name, "/") {
		return errEscapes
	}
	elements := slices.DeleteFunc(strings.Split(name, "/"), func(e string) bool { return e == "" || e == "." })
	slices.Reverse(elements)
	w.todo = append(w.todo, elements...)
	return nil
}

// step resolves one element.
func (w *walker) step(follow bool) (place, error) {
	last := len(w.todo) - 1
	name := w.todo[last]
	w.todo = w.todo[:last]
	if name == ".." {
		return w.up()
	}
	if len(name) > maxName {
		return place{}, syscall.ENAMETOOLONG
	}
	p := place{folder: w.stack[len(w.stack)-1], key: w.names.key(name), name: name}
	p.node = p.folder.entries[p.key].node
	return p, w.enter(p, len(w.todo) == 0, follow)
}

func (w *walker) up() (place, error) {
	if len(w.stack) == 1 {
		return place{}, errEscapes
	}
	w.stack = w.stack[:len(w.stack)-1]
	return place{node: w.stack[len(w.stack)-1], name: ".."}, nil
}

// enter enters a folder. It follows a link if more elements remain or follow is set.
func (w *walker) enter(p place, last, follow bool) error {
	switch {
	case p.node == nil && last:
		return nil
	case p.node == nil:
		return syscall.ENOENT
	case p.node.isLink() && (!last || follow):
		if w.links++; w.links > maxLinks {
			return syscall.ELOOP
		}
		return w.push(p.node.target)
	case p.node.isFolder():
		w.stack = append(w.stack, p.node)
		return nil
	case !last:
		return syscall.ENOTDIR
	default:
		return nil
	}
}

// findExisting is walk for an existing name.
func (s *namespace) findExisting(name string, follow bool) (place, error) {
	p, err := s.walk(name, follow)
	if err == nil && p.node == nil {
		err = syscall.ENOENT
	}
	return p, err
}

// named is find for a rename or a removal: the root and ".." are errors, because they have no name that could change.
func (s *namespace) named(name string) (place, error) {
	p, err := s.findExisting(name, false)
	if err == nil && p.folder == nil {
		err = syscall.EBUSY
	}
	return p, err
}

// findFolder is find for a folder.
func (s *namespace) findFolder(name string) (*node, error) {
	p, err := s.findExisting(name, true)
	if err == nil && !p.node.isFolder() {
		err = syscall.ENOTDIR
	}
	return p.node, err
}

// key is the key of a name in its folder. With FoldCase it is the name in upper case, as NTFS compares names.
func (s *namespace) key(name string) string {
	if s.foldCase {
		return strings.ToUpper(name)
	}
	return name
}

// mayChange reports whether the names in a folder may be changed.
func mayChange(folders ...*node) error {
	for _, f := range folders {
		if !f.writable() {
			return syscall.EACCES
		}
	}
	return nil
}

// everything is all nodes by name, as a reader sees them; Disk.mu is held.
func (s *namespace) everything() map[string]*node {
	all := map[string]*node{}
	var visit func(name string, n *node)
	visit = func(name string, n *node) {
		all[cmp.Or(name, ".")] = n
		for _, e := range n.entries {
			visit(joined(name, e.name), e.node)
		}
	}
	visit("", s.root)
	return all
}

func joined(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
